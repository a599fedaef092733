"""Gaps between groups: three tables of the paper, and its figure of class-conditional detection.

A table is a function of the summary rows that ``nddv.evaluation.groups`` writes, of published
numbers and of gaps: a row per problem and method with means and spreads over seeds, the published
number beside its measurement, and what was not run as a gap with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nddv.reporting.detection import NOT_RUN, PROBLEM, without_variants
from nddv.reporting.figures import COLOURS
from nddv.reporting.tables import Provenance, format_numbers, over_seeds, write_measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Gaps = Sequence[Mapping[str, Any]]
"""Problems whose data set cannot be had, each with the ``reason``."""

NDDV = "nddv-"
CONTROLS = ("small-loss", "random")
MARKERS = ["o", "s", "^", "D"]
PER_ROW = 4  # problems side by side in the figure
GAPS = {"dtpr": "DTPRGap", "deo": "DEOGap"}

_ABOUT_GAPS = (
    "DTPRGap = |TPR − TPR_g|, DEOGap adds |FPR − FPR_g|; the largest over the groups g that have "
    "such points (the means over groups are in the CSV). Floor: their mean where as many corrupted "
    "and clean points are flagged, of whichever groups: a gap that finite groups show without any "
    "difference between them. "
)
_ABOUT_SLOPES = (
    "Scores are in standard deviations, the paper's unit is not printed; L̂ are central differences "
    "of a group's rates when its scores move against the threshold, the largest over groups; "
    "predicted: ε·L̂_TPR and ε·(L̂_TPR + L̂_FPR), ε the largest score gap. Predictions do not depend "
    "on the unit, and are no bounds. Within: share of the seeds whose gap is not larger."
)

ABOUT = {
    "threshold_sensitivity": (
        "Groups are the classes: label, as observed, noise included; clean-label, before the "
        "noise. The paper does not say which. Points are flagged by the matched budget. "
        + _ABOUT_GAPS
        + _ABOUT_SLOPES
    ),
    "adult_score_gaps": (
        "Groups are by the protected attribute (Adult: sex). ε_U: the largest gap of a group's "
        "mean sensitivity, D̂_φ: of its mean value, after centring, which multiplies it by "
        "N/(N − 1): an identity, not a finding. Raw scores of two fits have two units; the last "
        "gap is in standard deviations of the values. Δ_V: range of the learned weights."
    ),
    "adult_detection_gaps": (
        "Groups are by the protected attribute (Adult: sex). Rule budget: the lowest values; "
        "balanced: the lowest of each group, as many as its share of the points, which in the "
        "paper NDDV alone is granted, on scores calibrated by group: their score gap is zero, and "
        "so is what it predicts. The paper's predictions for all methods are its slopes times "
        "0.061, the score gap of NDDV; ours use the score gap of each method. "
        + _ABOUT_GAPS
        + _ABOUT_SLOPES
    ),
}

HEADINGS = {
    "dataset": "Data set",
    "n": "n",
    "corruption": "Corruption",
    "partition": "Groups",
    "title": "Method",
    "reweighting": "Weights",
    "rule": "Rule",
    "score_gap": "ε, in sd",
    "epsilon_u": "ε_U",
    "published_epsilon_u": "ε_U in the paper",
    "scaled_epsilon_u": "N/(N − 1)·ε_U",
    "published_scaled_epsilon_u": "N/(N − 1)·ε_U in the paper",
    "d_phi": "D̂_φ",
    "published_d_phi": "D̂_φ in the paper",
    "d_phi_sd_units": "D̂_φ, in sd",
    "weight_range": "Δ_V",
    "published_weight_range": "Δ_V in the paper",
    "slope_tpr": "L̂_TPR",
    "published_slope_tpr": "L̂_TPR in the paper",
    "slope_fpr": "L̂_FPR",
    "published_slope_fpr": "L̂_FPR in the paper",
    "predicted_dtpr": "Predicted DTPRGap",
    "published_predicted_dtpr": "Predicted DTPRGap in the paper",
    "predicted_deo": "Predicted DEOGap",
    "published_predicted_deo": "Predicted DEOGap in the paper",
    "dtpr": "DTPRGap",
    "published_dtpr": "DTPRGap in the paper",
    "dtpr_floor": "Floor of DTPRGap",
    "dtpr_within": "DTPRGap within",
    "deo": "DEOGap",
    "published_deo": "DEOGap in the paper",
    "deo_floor": "Floor of DEOGap",
    "deo_within": "DEOGap within",
    "recall": "TPR",
    "note": "Note",
}

_DETECTION = [
    "score_gap",
    *("slope_tpr", "slope_fpr", "predicted_dtpr", "predicted_deo"),
    *("dtpr", "dtpr_mean", "dtpr_floor", "deo", "deo_mean", "deo_floor"),
    *("recall", "auroc"),
]
_COMPARED = ["dtpr_within", "dtpr_share", "deo_within", "deo_share"]


def threshold_sensitivity(rows: pd.DataFrame, published: pd.DataFrame, gaps: Gaps) -> pd.DataFrame:
    """Class-wise gaps and envelopes (tab:threshold_sensitivity_diagnostics), NDDV and controls."""
    rows = without_variants(rows)
    shown = rows["method"].str.startswith(NDDV) | rows["method"].isin(CONTROLS)
    classes = rows["partition"] != "protected"
    keys = [*PROBLEM, "partition", "method", "title"]
    chosen = rows[shown & classes & (rows["rule"] == "budget")]
    found = _summary(chosen, keys, _DETECTION)
    return _complete(found, published, ["method", "partition"], gaps)


def adult_score_gaps(rows: pd.DataFrame, published: pd.DataFrame, gaps: Gaps) -> pd.DataFrame:
    """Score gaps of NDDV by the protected attribute, with and without weights (tab:adult_thm2)."""
    nddv = rows["method"].str.startswith(NDDV) & (rows["partition"] == "protected")
    chosen = rows[nddv & (rows["rule"] == "budget")]
    chosen = chosen.assign(
        scaled_epsilon_u=chosen["epsilon_u"] * chosen["n"] / (chosen["n"] - 1),
        d_phi_sd_units=chosen["score_gap"],
        # a readout and its variant without weights: `reweighting` tells them apart
        method=chosen["method"].str.replace(":.*", "", regex=True),
    )
    keys = [*PROBLEM, "method", "title", "reweighting"]
    columns = ["epsilon_u", "scaled_epsilon_u", "d_phi", "d_phi_sd_units", "weight_range"]
    found = _summary(chosen, keys, columns).drop(columns=_COMPARED)
    return _complete(found, published, ["method", "reweighting"], gaps)


def adult_detection_gaps(rows: pd.DataFrame, published: pd.DataFrame, gaps: Gaps) -> pd.DataFrame:
    """Gaps of detection by the protected attribute, of all methods (tab:adult_cor4)."""
    rows = without_variants(rows)
    chosen = rows[(rows["partition"] == "protected") & rows["rule"].isin(["budget", "balanced"])]
    keys = [*PROBLEM, "method", "title", "rule"]
    found = _summary(chosen, keys, _DETECTION)
    chance = chosen.assign(
        method="chance",
        title="Chance: values without information",
        dtpr=chosen["dtpr_chance"],
        deo=chosen["deo_chance"],
    )
    # A seed has one chance level, whatever the method.
    levels = over_seeds(chance.drop_duplicates([*keys, "seed"]), keys, list(GAPS))
    found = pd.concat([found, levels.assign(note="expectation")], ignore_index=True)
    return _complete(found, published, ["method", "rule"], gaps)


TABLES: dict[str, Callable[[pd.DataFrame, pd.DataFrame, Gaps], pd.DataFrame]] = {
    "threshold_sensitivity": threshold_sensitivity,
    "adult_score_gaps": adult_score_gaps,
    "adult_detection_gaps": adult_detection_gaps,
}


def _summary(rows: pd.DataFrame, keys: list[str], columns: list[str]) -> pd.DataFrame:
    """Means over seeds, with the reason of what gave no values.

    ``<gap>_within`` is the share of the seeds in which a gap is not above its prediction, and
    ``<gap>_share`` the gap as a part of it.
    """
    _check_once(rows, keys)
    compared = {}
    for gap in GAPS:
        measured, predicted = rows[gap], rows[f"predicted_{gap}"]
        known = measured.notna() & predicted.notna()
        # Room for rounding: a gap of zero is within a prediction of zero.
        compared[f"{gap}_within"] = (measured <= predicted + 1e-9).where(known).astype(float)
        compared[f"{gap}_share"] = (measured / predicted).where(predicted > 1e-9)
    rows = rows.assign(**compared)
    found = over_seeds(rows, keys, columns)
    # That some methods have none of these needs no note.
    quiet = over_seeds(rows, keys, ["epsilon_u", *_COMPARED])
    kept = [*_COMPARED, *(n for n in ("epsilon_u", "epsilon_u_sd") if n not in found)]
    reasons = rows.assign(gap=rows["gap"].fillna("")).groupby(keys, sort=False)["gap"].max()
    told = zip(found["note"], found.join(reasons, on=keys)["gap"], strict=True)
    notes = ["; ".join(part for part in (note, gap) if part) for note, gap in told]
    return pd.concat([found, quiet[kept]], axis=1).assign(note=notes)


def _check_once(rows: pd.DataFrame, keys: list[str]) -> None:
    """A method is there once: fits with other settings would be averaged with its own."""
    twice = rows[rows.duplicated([*keys, "seed"])]
    if len(twice):
        named = ", ".join(f"{key} {twice[key].iloc[0]}" for key in [*keys, "seed"])
        raise ValueError(f"two summary rows for {named}: give an ablation to its own table only")


def _complete(
    found: pd.DataFrame, published: pd.DataFrame, names: list[str], gaps: Gaps
) -> pd.DataFrame:
    """Lay published numbers beside the measured ones; add what was not run, with the reason.

    names : columns that, with the problem, tell published rows apart.
    """
    keys = [*PROBLEM, *names]
    kept = [*keys, "title"]
    printed = published.rename(columns=lambda name: name if name in kept else f"published_{name}")
    # The paper names no encoder; ours may be another.
    plain = found.assign(dataset=[name.partition("@")[0] for name in found["dataset"]])
    table = plain.merge(printed.drop(columns="title"), on=keys, how="left")
    table = table.assign(dataset=found["dataset"].to_numpy())
    absent = {(gap["dataset"].partition("@")[0], gap["n"], gap["corruption"]): gap for gap in gaps}
    run = set(plain[keys].itertuples(index=False, name=None))
    missing = []
    for row in printed.to_dict("records"):
        gap = absent.get(tuple(row[name] for name in PROBLEM))
        if gap is not None:
            missing.append({**row, "dataset": gap["dataset"], "note": gap["reason"]})
        elif tuple(row[name] for name in keys) not in run:
            missing.append({**row, "note": NOT_RUN})
    return pd.concat([table, pd.DataFrame(missing)], ignore_index=True) if missing else table


def write_groups(
    stem: str | Path, name: str, table: pd.DataFrame, title: str, provenance: Provenance
) -> list[Path]:
    """Write a table of gaps with what its numbers mean and come from; give the paths."""
    text = format_numbers(table, HEADINGS)
    return write_measured(stem, table, text, title, ABOUT[name], provenance)


# ------------------------------------------------------------------ figure


def class_conditional_figure(rows: pd.DataFrame, partition: str = "label") -> Figure:
    """Draw gaps between classes against the quality of detection (fig class_conditional).

    Two panels for each problem, DTPRGap above DEOGap; a point for each method, at its mean over
    seeds ± 1 sd. The dash at the same TPR is the method's floor: what equal
    treatment of the classes would show. Good methods lie right and at their floor.

    Parameters
    ----------
    rows : summary rows of ``nddv.evaluation.groups``.
    partition : ``"label"`` or ``"clean-label"``.
    """
    rows = without_variants(rows)
    chosen = rows[(rows["partition"] == partition) & (rows["rule"] == "budget")]
    if chosen.empty:
        raise ValueError(f"no gaps to draw: the table has no rows for groups by {partition}")
    _check_once(chosen, [*PROBLEM, "title"])
    titles = list(chosen["title"].unique())
    look = {
        title: (COLOURS[i % len(COLOURS)], MARKERS[i // len(COLOURS) % len(MARKERS)])
        for i, title in enumerate(titles)
    }
    problems = list(chosen.groupby(PROBLEM, sort=False))
    columns = min(len(problems), PER_ROW)
    blocks = -(-len(problems) // columns)
    entries = -(-(len(titles) + 2) // columns)
    size = (2.9 * columns + 0.4, 5.2 * blocks + 0.2 * entries + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    # One pair of panels for each problem: of shape (blocks, columns, the two gaps).
    panels = figure.subplots(2 * blocks, columns, squeeze=False)
    pairs = panels.reshape(blocks, 2, columns).swapaxes(1, 2).reshape(-1, 2)
    for pair, (problem, part) in zip(pairs, problems, strict=False):
        for panel, letter, (gap, name) in zip(pair, "ab", GAPS.items(), strict=True):
            _draw_gaps(panel, part, gap, look)
            panel.set_ylabel(f"{letter}. largest {name}", fontsize=9)
        heading = "{}, n = {},\n{}".format(*problem) + f", {int(part['groups'].max())} classes"
        pair[0].set_title(heading, fontsize=9)
        pair[1].set_xlabel("TPR = F1, matched budget", fontsize=9)
    for panel in pairs[len(problems) :].ravel():
        panel.set_visible(False)
    seeds = chosen["seed"].nunique()
    spread = f" Bars: ± 1 sd over {seeds} seeds." if seeds > 1 else ""
    figure.suptitle(f"Gaps between classes and quality of detection.{spread}", fontsize=10)
    first = pairs[0, 0]
    keys = [
        first.plot([], [], marker, color=colour, label=title)[0]
        for title, (colour, marker) in look.items()
    ]
    keys += first.plot([], [], "_", color="0.3", label="floor: all classes treated alike")
    keys += first.plot([], [], ":", color="0.5", label="chance: values without information")
    figure.legend(
        handles=keys, loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
    return figure


def _draw_gaps(
    panel: Axes, rows: pd.DataFrame, gap: str, look: Mapping[str, tuple[str, str]]
) -> None:
    columns = ["recall", gap, f"{gap}_floor"]
    means = rows.groupby("title", sort=False)[columns].mean()
    spreads = rows.groupby("title", sort=False)[columns].std(ddof=1)
    for title, mean in means.dropna().iterrows():
        colour, marker = look[str(title)]
        spread = spreads.loc[title]
        panel.errorbar(
            mean["recall"], mean[gap], spread[gap], spread["recall"],
            fmt=marker, color=colour, markersize=5, elinewidth=0.7, alpha=0.9,
        )  # fmt: skip
        panel.plot(mean["recall"], mean[f"{gap}_floor"], "_", color=colour, markersize=9)
    panel.axhline(np.nanmean(rows[f"{gap}_chance"]), color="0.5", linestyle=":", linewidth=1)
    panel.set_xlim(0, 1)
    panel.set_ylim(bottom=0)
    panel.tick_params(labelsize=8)
