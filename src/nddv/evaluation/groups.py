"""Gaps between groups: of mean scores, and of the rates of detection.

Groups are the classes of the task or a protected attribute (adult: sex). The paper does not say
whether its "task labels" are those before or after label noise. It partitions the data that are
valued, so `label`, the observed classes, stands beside its numbers. `clean-label` is reported too,
because noise moves a corrupted point to another group.

Gaps of finite groups are not zero even if a rule treats all groups alike: with ten corrupted points
in a class, its TPR is known to about ±0.15. So each gap comes with two references. `floor` is the
mean gap if flagged points fall on groups at random, at the same TPR and FPR. `chance` is the mean
gap if points are flagged without regard to the corruption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nddv.evaluation.detection import flag_lowest, order_lowest_first, two_means
from nddv.evaluation.thresholds import (
    Codes,
    Flags,
    Floats,
    Rates,
    Scores,
    auroc,
    detection_rates,
    envelopes,
    group_sizes,
    local_slopes,
    precision_and_recall,
    rates_of_counts,
    thresholds,
)
from nddv.problems.problem import Problem, Truth
from nddv.values import Values

RULES = ("budget", "two-means", "balanced")
"""Rules whose gaps are reported: the paper's, OpenDataVal's, and one that knows the groups."""


class Partition(NamedTuple):
    """A group for each training point: ``codes`` (n,) are positions in the names ``groups``.

    The name is ``"label"`` (observed), ``"clean-label"`` or ``"protected"``. A group may have no
    points.
    """

    name: str
    codes: Codes
    groups: tuple[str, ...]


def partitions(truth: Truth, problem: Problem) -> list[Partition]:
    """The partitions of a problem: observed labels, clean labels, the protected attribute if any.

    If no label was corrupted, observed and clean labels are the same and appear once.
    """
    classes = tuple(problem.record["classes"])
    parts = [Partition("label", problem.y_train, classes)]
    if not np.array_equal(problem.y_train, truth.y_clean):
        parts.append(Partition("clean-label", truth.y_clean, classes))
    if truth.group is not None:
        parts.append(Partition("protected", truth.group, tuple(truth.record["groups"])))
    return parts


# ------------------------------------------------------------------ scores


def group_means(scores: Scores, codes: Codes, n_groups: int) -> Floats:
    """Mean score (G,) of each group; NaN for one without points."""
    with np.errstate(invalid="ignore"):
        return np.bincount(codes, scores, n_groups) / np.bincount(codes, minlength=n_groups)


def score_gaps(scores: Scores, codes: Codes, n_groups: int) -> Floats:
    """|φ̄_g − φ̄| (G,), in the unit of the scores (Lemma score_centering)."""
    return np.abs(group_means(scores, codes, n_groups) - scores.mean())


def calibrated(values: Scores, codes: Codes, n_groups: int) -> Floats:
    """Scores (n,) in standard deviations from the mean of their group; zero if all are equal.

    With one group: standard scores. With several: the paper's "group-wise score calibration"
    (tab:adult_cor4), as we read it; the gaps of means are zero afterwards, whatever the values.
    """
    centred = values - group_means(values, codes, n_groups)[codes]
    spread = np.sqrt(group_means(centred**2, codes, n_groups))[codes]
    rounding = 1e-12 * np.abs(values).max(initial=0.0)  # equal values may miss their own mean
    return np.divide(centred, spread, out=np.zeros(len(values)), where=spread > rounding)


# ------------------------------------------------------------------ rules


def balanced_budgets(sizes: Codes, k: int) -> Codes:
    """Split a budget k over groups (G,) by their sizes, rounded by the largest remainders."""
    whole, rest = np.divmod(k * sizes, sizes.sum())
    whole[np.argsort(-rest, kind="stable")[: k - whole.sum()]] += 1
    return whole


def flag_lowest_balanced(
    values: Scores, k: int, codes: Codes, n_groups: int, rng: np.random.Generator
) -> Flags:
    """Flag the lowest of (n,) values of each group, as many as its share of the budget k.

    The paper's "group-balanced budget rule that uses protected-group sizes but no corruption
    labels", which in tab:adult_cor4 is applied to NDDV alone.
    """
    sizes = np.bincount(codes, minlength=n_groups)
    order = order_lowest_first(values, rng)
    order = order[np.argsort(codes[order], kind="stable")]
    place = np.arange(len(values)) - (np.cumsum(sizes) - sizes)[codes[order]]
    flags = np.zeros(len(values), dtype=bool)
    flags[order] = place < balanced_budgets(sizes, k)[codes[order]]
    return flags


def detect(
    rule: str, values: Scores, budget: int, partition: Partition, rng: np.random.Generator
) -> tuple[Flags, Floats, Floats]:
    """The points that a rule of ``RULES`` flags, the scores that it cuts, and their thresholds.

    All are (n,). Scores are in standard deviations of all values; for the balanced rule, which has
    one threshold per group, of the values of their group.
    """
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}: choose one of {', '.join(RULES)}")
    codes, n_groups = np.zeros(len(values), dtype=np.int64), 1
    if rule == "balanced":
        codes, n_groups = partition.codes, len(partition.groups)
        flags = flag_lowest_balanced(values, budget, codes, n_groups, rng)
    else:
        flags = two_means(values) if rule == "two-means" else flag_lowest(values, budget, rng)
    scores = calibrated(values, codes, n_groups)
    return flags, scores, thresholds(scores, flags, codes, n_groups)[codes]


# ------------------------------------------------------------------ gaps of detection


def detection_gaps(rates: Rates) -> tuple[Floats, Floats]:
    """DTPRGap_g and DEOGap_g, (..., G) each (Eq. class_conditional_detection_gaps).

    NaN for a group without corrupted points; DEOGap_g also for one without clean points.
    """
    dtpr = np.abs(rates.tpr_by_group - np.expand_dims(rates.tpr, -1))
    return dtpr, dtpr + np.abs(rates.fpr_by_group - np.expand_dims(rates.fpr, -1))


def worst(gaps: Floats) -> Floats:
    """The largest of gaps (..., G) over the groups that have one; NaN if none has."""
    largest = np.max(gaps, axis=-1, where=~np.isnan(gaps), initial=-np.inf)
    return np.where(np.isneginf(largest), np.nan, largest)


def floor_gaps(
    flags: Flags, mask: Flags, partition: Partition, draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Mean worst gaps if as many corrupted and clean points were flagged, from random groups."""
    corrupted, clean = group_sizes(mask, partition.codes, len(partition.groups))
    hits = rng.multivariate_hypergeometric(corrupted, int((flags & mask).sum()), draws)
    false_alarms = rng.multivariate_hypergeometric(clean, int((flags & ~mask).sum()), draws)
    return _mean_worst(hits, false_alarms, corrupted, clean)


def chance_gaps(
    flags: Flags,
    mask: Flags,
    partition: Partition,
    balanced: bool,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Mean worst gaps if as many points were flagged at random; balanced: as many per group."""
    n_groups = len(partition.groups)
    corrupted, clean = group_sizes(mask, partition.codes, n_groups)
    if balanced:
        flagged = np.bincount(partition.codes[flags], minlength=n_groups)
        hits = rng.hypergeometric(corrupted, clean, flagged, (draws, n_groups))
        return _mean_worst(hits, flagged - hits, corrupted, clean)
    sizes = np.concatenate([corrupted, clean])
    drawn = rng.multivariate_hypergeometric(sizes, int(flags.sum()), draws)
    return _mean_worst(drawn[:, :n_groups], drawn[:, n_groups:], corrupted, clean)


def _mean_worst(*counts: Codes) -> tuple[float, float]:
    """Means of the worst gaps over draws of flagged points: :func:`rates_of_counts` of each."""
    dtpr, deo = detection_gaps(rates_of_counts(*counts))
    return float(worst(dtpr).mean()), float(worst(deo).mean())


# ------------------------------------------------------------------ tables


def group_tables(
    problems: Mapping[int, Problem],
    truths: Mapping[int, Truth],
    values: Sequence[Values],
    address: Mapping[str, Any],
    step: float,
    draws: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Gaps of every values file of one problem, over its seeds.

    Parameters
    ----------
    problems, truths : of each seed.
    values : of any methods and seeds; a record with a ``gap`` becomes a row with its reason.
    address : ``dataset``, ``n`` and ``corruption``: the first columns of both tables.
    step : h of the slopes, in standard deviations of the scores.
    draws : number of random selections for the floor and the chance level.

    Returns
    -------
    groups : a row per method, seed, partition, rule and group: ``points``, ``corrupted``,
        ``score_gap``, ``tpr``, ``fpr``, ``dtpr``, ``deo``, ``slope_tpr``, ``slope_fpr``.
    summary : a row per method, seed, partition and rule:

        - groups, without_corrupted: number of groups, and of groups without corrupted points;
        - auroc, precision, recall: of all points;
        - score_gap, score_gap_mean: largest and mean over groups, in standard deviations of the
          scores that the rule cuts; d_phi: the largest in the unit of the values; epsilon_u: the
          same before centring, of NDDV;
        - slope_tpr, slope_fpr: largest over groups; ..._pooled: of all points;
        - predicted_dtpr, predicted_deo: the envelopes of score_gap and these slopes;
        - dtpr, deo, and ..._mean: largest and mean over groups; ..._floor, ..._chance: references;
        - reweighting, weight_range: how NDDV was fitted, if the record says so.
    """
    rows: list[pd.DataFrame] = []
    summary: list[dict[str, Any]] = []
    for valued in values:
        seed = int(valued.record["seed"])
        truth, fit = truths[seed], valued.record.get("fit", {})
        labels = {**address, "method": valued.record["method"], "seed": seed}
        labels["reweighting"] = fit.get("params", {}).get("reweighting", "")
        labels["weight_range"] = fit.get("weight_range", np.nan)
        for partition in partitions(truth, problems[seed]):
            for rule in RULES:
                named = {**labels, "partition": partition.name, "rule": rule}
                row = {**named, "gap": valued.record.get("gap", "")}
                if not row["gap"]:
                    by_group, measured = _measure(valued, truth, partition, rule, seed, step, draws)
                    rows.append(by_group.assign(**named)[[*named, *by_group]])
                    row.update(measured)
                summary.append(row)
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(), pd.DataFrame(summary)


def _measure(
    valued: Values,
    truth: Truth,
    partition: Partition,
    rule: str,
    seed: int,
    step: float,
    draws: int,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Rows of the groups, and their summary, for one method, partition and rule."""
    values, u, mask = valued.values, valued.sensitivities, truth.mask
    codes, n_groups = partition.codes, len(partition.groups)
    if values.shape != mask.shape:
        raise ValueError(f"{len(values)} values for {len(mask)} training points")
    # The stream of nddv.evaluation.collect, so that ties are broken as in the detection table.
    ties = np.random.default_rng([seed, 2])
    flags, scores, threshold = detect(rule, values, int(mask.sum()), partition, ties)
    rates = detection_rates(flags, mask, codes, n_groups)
    dtpr, deo = detection_gaps(rates)
    slopes = local_slopes(scores, threshold, mask, codes, n_groups, step)
    corrupted, clean = group_sizes(mask, codes, n_groups)
    rows = pd.DataFrame(
        {
            "group": partition.groups,
            "points": corrupted + clean,
            "corrupted": corrupted,
            "score_gap": score_gaps(scores, codes, n_groups),
            "tpr": rates.tpr_by_group,
            "fpr": rates.fpr_by_group,
            "dtpr": dtpr,
            "deo": deo,
            "slope_tpr": slopes.tpr_by_group,
            "slope_fpr": slopes.fpr_by_group,
        }
    )
    largest = rows[["score_gap", "slope_tpr", "slope_fpr", "dtpr", "deo"]].max()
    predicted = envelopes(largest["score_gap"], largest["slope_tpr"], largest["slope_fpr"])
    rng = np.random.default_rng([seed, 3])
    floor = floor_gaps(flags, mask, partition, draws, rng)
    chance = chance_gaps(flags, mask, partition, rule == "balanced", draws, rng)
    summary = {
        "groups": n_groups,
        "without_corrupted": int((corrupted == 0).sum()),
        "auroc": auroc(values, mask),
        **dict(zip(("precision", "recall"), precision_and_recall(flags, mask), strict=True)),
        **largest.to_dict(),
        **rows[["score_gap", "dtpr", "deo"]].mean().add_suffix("_mean").to_dict(),
        "d_phi": float(worst(score_gaps(values, codes, n_groups))),
        # max_g |ū_g − ū| of the sensitivities u that were centred to values (Eq. score_centering)
        "epsilon_u": np.nan if u is None else float(worst(score_gaps(u, codes, n_groups))),
        "slope_tpr_pooled": float(slopes.tpr),
        "slope_fpr_pooled": float(slopes.fpr),
        **dict(zip(("predicted_dtpr", "predicted_deo"), predicted, strict=True)),
        **dict(zip(("dtpr_floor", "deo_floor"), floor, strict=True)),
        **dict(zip(("dtpr_chance", "deo_chance"), chance, strict=True)),
    }
    return rows, summary
