"""Detection of corrupted points: three rules, the detection curve, and levels of chance.

- budget-matched: flag the k lowest values, where k is the number of corrupted points, so that
  F1 = precision = recall. This is the rule of the paper's text.
- two-means: flag the lower cluster of an exact 2-means of the values. This is OpenDataVal's rule.
- two-means at least: flag one low cluster after another until a minimum fraction is flagged. This
  is the rule of the released code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.evaluation.thresholds import auroc, precision_and_recall


def order_lowest_first(values: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices (n,) that sort the values upwards, with ties in a random order."""
    shuffled = rng.permutation(len(values))
    return shuffled[np.argsort(values[shuffled], kind="stable")]


def flag_lowest(
    values: NDArray[np.floating], k: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Flag the k lowest of (n,) values; ties are broken at random, never by index."""
    if not 0 <= k <= len(values):
        raise ValueError(f"cannot flag {k} of {len(values)} points")
    flags = np.zeros(len(values), dtype=bool)
    flags[order_lowest_first(values, rng)[:k]] = True
    return flags


def two_means(values: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Flag the lower cluster of the exact 2-means of (n,) values; none if all values are equal."""
    return two_means_at_least(values, 0.0)


def two_means_at_least(values: NDArray[np.floating], fraction: float) -> NDArray[np.bool_]:
    """Flag lower clusters of (n,) values until at least ``fraction`` of the points are flagged.

    Each round splits the points that are not flagged yet by an exact 2-means, and flags the lower
    part. Equal values are never separated, so fewer are flagged if all remaining values are equal.
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order].astype(np.float64)
    flagged = 0
    while flagged == 0 or flagged < fraction * len(values):
        split = _lower_cluster(ranked[flagged:])
        if split == 0:
            break
        flagged += split
    flags = np.zeros(len(values), dtype=bool)
    flags[order[:flagged]] = True
    return flags


def _lower_cluster(ranked: NDArray[np.float64]) -> int:
    """Size of the lower cluster of the best 2-means of ascending values; 0 if all are equal."""
    n = len(ranked)
    possible = np.flatnonzero(np.diff(ranked) > 0) + 1
    if len(possible) == 0:
        return 0
    # Least within-cluster squares = most between-cluster squares; centring keeps it accurate.
    centred = ranked - ranked.mean()
    lower_sum = np.cumsum(centred)[possible - 1]
    between = lower_sum**2 * (1.0 / possible + 1.0 / (n - possible))
    return int(possible[np.argmax(between)])


def f1_score(flags: NDArray[np.bool_], mask: NDArray[np.bool_]) -> float:
    """F1 of flags (n,) against the corrupted points (n,); 0 where it is undefined."""
    together = int(flags.sum()) + int(mask.sum())
    return 2.0 * int((flags & mask).sum()) / together if together else 0.0


def detection_curve(
    values: NDArray[np.floating], mask: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Fraction of the corrupted points found after inspecting the i lowest, i = 0..n, (n+1,)."""
    if not mask.any():
        raise ValueError("a detection curve needs corrupted points; this problem has none")
    hits = np.cumsum(mask[order_lowest_first(values, rng)])
    return np.concatenate([[0.0], hits / hits[-1]])


def area_under(curve: NDArray[np.float64]) -> float:
    """Area under a detection curve over the fraction inspected: ½ by chance, 1 − r/2 at best."""
    return float(np.trapezoid(curve, dx=1.0 / (len(curve) - 1)))


@dataclass(frozen=True)
class Chance:
    """Expected scores of values without information, at corruption rate r."""

    budget: float
    two_means: float
    flag_everything: float
    area: float


def chance_levels(rate: float) -> Chance:
    """Chance levels at a corruption rate 0 < r ≤ 1.

    Budget-matched: r. Random values split by 2-means flag half of the points, at precision r and
    recall ½: F1 = 2r/(2r + 1). Flagging every point: F1 = 2r/(1 + r).
    """
    if not 0 < rate <= 1:
        raise ValueError(f"chance levels need a corruption rate in (0, 1], got {rate}")
    return Chance(
        budget=rate,
        two_means=2 * rate / (2 * rate + 1),
        flag_everything=2 * rate / (1 + rate),
        area=0.5,
    )


@dataclass(frozen=True)
class DetectionScores:
    """All detection scores of one method on one problem.

    With the matched budget, F1, precision and recall are equal. ``auroc`` is the probability that a
    corrupted point has a lower value than a clean one; equal values count half.
    """

    f1_budget: float
    f1_two_means: float
    precision_two_means: float
    recall_two_means: float
    flagged_two_means: int
    f1_two_means_at_least: float
    precision_two_means_at_least: float
    recall_two_means_at_least: float
    flagged_two_means_at_least: int
    area: float
    auroc: float


def detection_scores(
    values: NDArray[np.floating],
    mask: NDArray[np.bool_],
    minimum_flagged: float,
    rng: np.random.Generator,
) -> tuple[DetectionScores, NDArray[np.float64]]:
    """Score values (n,) against the mask of corrupted points (n,); also return the curve (n+1,).

    One random order of ties serves the budget-matched rule and the curve, so they agree.
    """
    if values.shape != mask.shape:
        raise ValueError(f"{len(values)} values for {len(mask)} training points")
    curve = detection_curve(values, mask, rng)
    budget = int(mask.sum())
    rules = {
        "two_means": two_means(values),
        "two_means_at_least": two_means_at_least(values, minimum_flagged),
    }
    by_rule: dict[str, Any] = {}
    for rule, flags in rules.items():
        precision, recall = precision_and_recall(flags, mask)
        by_rule[f"f1_{rule}"] = f1_score(flags, mask)
        by_rule[f"precision_{rule}"], by_rule[f"recall_{rule}"] = precision, recall
        by_rule[f"flagged_{rule}"] = int(flags.sum())
    scores = DetectionScores(
        f1_budget=float(curve[budget]), area=area_under(curve), auroc=auroc(values, mask), **by_rule
    )
    return scores, curve
