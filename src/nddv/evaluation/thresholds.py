"""Rates of a detection rule, and how they change with its threshold.

The positive class is the corruption, and low values are flagged. TPR is the share of the corrupted
points that a rule flags; FPR is the share of the clean points. Rates are given for all points and
for each group of a partition.

Local threshold sensitivity (tab:threshold_sensitivity_diagnostics): the paper estimates "local
TPR/FPR sensitivity to group-level score shifts" by "finite-difference slopes" and prints neither
step nor unit. Here the scores of a group move by ±h, and the threshold τ stays:

    L_g = [rate_g(τ + h) − rate_g(τ − h)] / 2h,

per unit of score. The slope of a rule is the largest over the groups. The predicted envelopes are
the products that fit the printed numbers: ε·L_TPR and ε·(L_TPR + L_FPR), where ε is the largest
score gap of a group. They have no unit, because the unit of the scores cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Scores = NDArray[np.floating]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]


class Rates(NamedTuple):
    """Rates of all points (...), and of G groups (..., G); NaN for a group without such points."""

    tpr: Floats
    fpr: Floats
    tpr_by_group: Floats
    fpr_by_group: Floats


def group_sizes(mask: Flags, codes: Codes, n_groups: int) -> tuple[Codes, Codes]:
    """Numbers of corrupted and of clean points in each group, (G,) and (G,)."""
    if mask.shape != codes.shape:
        raise ValueError(f"{len(codes)} groups named for {len(mask)} points")
    if mask.all() or not mask.any():
        missing = "clean" if mask.all() else "corrupted"
        raise ValueError(f"rates of detection need {missing} points; this problem has none")
    corrupted = np.bincount(codes[mask], minlength=n_groups)
    return corrupted, np.bincount(codes[~mask], minlength=n_groups)


def rates_of_counts(hits: Codes, false_alarms: Codes, corrupted: Codes, clean: Codes) -> Rates:
    """Rates from the numbers of corrupted (..., G) and clean (..., G) points that are flagged.

    corrupted, clean : (G,), as :func:`group_sizes` returns them.
    """
    with np.errstate(invalid="ignore"):
        by_group = hits / corrupted, false_alarms / clean
    return Rates(hits.sum(-1) / corrupted.sum(), false_alarms.sum(-1) / clean.sum(), *by_group)


def detection_rates(flags: Flags, mask: Flags, codes: Codes, n_groups: int) -> Rates:
    """Rates of flags (n,) against the corrupted points (n,), by the group (n,) of each point."""
    sizes = group_sizes(mask, codes, n_groups)
    flagged = [np.bincount(codes[flags & of], minlength=n_groups) for of in (mask, ~mask)]
    return rates_of_counts(flagged[0], flagged[1], *sizes)


def thresholds(scores: Scores, flags: Flags, codes: Codes, n_groups: int) -> Floats:
    """Threshold (G,) of each group: half way from its highest flagged to its lowest kept score.

    It is −inf if none is flagged, inf if all are, NaN for a group without points. For a rule with
    one threshold, pass all points as one group.
    """
    highest, lowest = np.full(n_groups, -np.inf), np.full(n_groups, np.inf)
    np.maximum.at(highest, codes[flags], scores[flags])
    np.minimum.at(lowest, codes[~flags], scores[~flags])
    with np.errstate(invalid="ignore"):
        return (highest + lowest) / 2


def local_slopes(
    scores: Scores, threshold: Scores, mask: Flags, codes: Codes, n_groups: int, step: float
) -> Rates:
    """Slopes of the rates, central differences with a step h: L_g of the module's docstring.

    Parameters
    ----------
    scores : (n,); slopes are per unit of these.
    threshold : (n,) of each point; a point is flagged if its score is at or below it.
    step : h > 0, in the same unit.
    """
    if step <= 0:
        raise ValueError(f"the step of a slope must be positive, got {step}")
    margin = scores - threshold
    crossed = detection_rates((-step < margin) & (margin <= step), mask, codes, n_groups)
    return Rates(*(rate / (2 * step) for rate in crossed))


def envelopes(score_gap: float, slope_tpr: float, slope_fpr: float) -> tuple[float, float]:
    """Predicted DTPRGap and DEOGap: ε·L_TPR and ε·(L_TPR + L_FPR).

    This is a linearisation, not a bound. It holds if a group has the scores of all points, moved by
    at most ε, and if the rates are linear over that distance.
    """
    return score_gap * slope_tpr, score_gap * (slope_tpr + slope_fpr)


def auroc(values: Scores, mask: Flags) -> float:
    """Chance that a clean point (n,) has a higher value than a corrupted one; a tie counts half.

    It is ½ without information, and needs no threshold (Mann–Whitney: computed from ranks).
    """
    corrupted, clean = (int(size.sum()) for size in group_sizes(mask, np.zeros(len(mask), int), 1))
    ranks = rankdata(values)[~mask].sum()
    return float((ranks - clean * (clean + 1) / 2) / (corrupted * clean))


def precision_and_recall(flags: Flags, mask: Flags) -> tuple[float, float]:
    """Precision and recall of flags (n,); equal for a budget-matched rule, 0 where undefined."""
    hits = int((flags & mask).sum())
    return hits / max(int(flags.sum()), 1), hits / max(int(mask.sum()), 1)
