"""Detection of corrupted points: three rules, the detection curve, and levels of chance.

- budget-matched: flag the k lowest values, where k is the number of corrupted points, so that
  F1 = precision = recall. This is the rule of the paper's text.
- two-means: flag the lower cluster of an exact 2-means of the values. This is OpenDataVal's rule.
- two-means at least: flag one low cluster after another until a minimum fraction is flagged. This
  is the rule of the released code.
"""

from __future__ import annotations

import numpy as np

from nddv.evaluation.thresholds import Codes, Flags, Floats, Scores, auroc, precision_and_recall


def order_lowest_first(values: Scores, rng: np.random.Generator) -> Codes:
    """Indices (n,) that sort the values upwards, with ties in a random order."""
    shuffled = rng.permutation(len(values))
    return shuffled[np.argsort(values[shuffled], kind="stable")]


def flag_lowest(values: Scores, k: int, rng: np.random.Generator) -> Flags:
    """Flag the k lowest of (n,) values; ties are broken at random, never by index."""
    if not 0 <= k <= len(values):
        raise ValueError(f"cannot flag {k} of {len(values)} points")
    flags = np.zeros(len(values), dtype=bool)
    flags[order_lowest_first(values, rng)[:k]] = True
    return flags


def two_means(values: Scores) -> Flags:
    """Flag the lower cluster of the exact 2-means of (n,) values; none if all values are equal."""
    return two_means_at_least(values, 0.0)


def two_means_at_least(values: Scores, fraction: float) -> Flags:
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


def _lower_cluster(ranked: Floats) -> int:
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


def f1_score(flags: Flags, mask: Flags) -> float:
    """F1 of flags (n,) against the corrupted points (n,); 0 where it is undefined."""
    together = int(flags.sum()) + int(mask.sum())
    return 2.0 * int((flags & mask).sum()) / together if together else 0.0


def detection_curve(values: Scores, mask: Flags, rng: np.random.Generator) -> Floats:
    """Fraction of the corrupted points found after inspecting the i lowest, i = 0..n, (n+1,)."""
    if not mask.any():
        raise ValueError("a detection curve needs corrupted points; this problem has none")
    hits = np.cumsum(mask[order_lowest_first(values, rng)])
    return np.concatenate([[0.0], hits / hits[-1]])


def area_under(curve: Floats) -> float:
    """Area under a detection curve over the fraction inspected: ½ by chance, 1 − r/2 at best."""
    return float(np.trapezoid(curve, dx=1.0 / (len(curve) - 1)))


def chance_levels(rate: float) -> dict[str, float]:
    """Expected scores of values without information, at a corruption rate 0 < r ≤ 1.

    Budget-matched: r. Random values split by 2-means flag half of the points, at precision r and
    recall ½: F1 = 2r/(2r + 1). Flagging every point: F1 = 2r/(1 + r).
    """
    if not 0 < rate <= 1:
        raise ValueError(f"chance levels need a corruption rate in (0, 1], got {rate}")
    two_means, everything = 2 * rate / (2 * rate + 1), 2 * rate / (1 + rate)
    return {"budget": rate, "two_means": two_means, "flag_everything": everything, "area": 0.5}


def detection_scores(
    values: Scores, mask: Flags, minimum_flagged: float, rng: np.random.Generator
) -> tuple[dict[str, float], Floats]:
    """Score values (n,) against the mask of corrupted points (n,); also return the curve (n+1,).

    One random order of ties serves the budget-matched rule and the curve, so they agree.

    Returns
    -------
    scores : ``f1_budget`` (also precision and recall); ``f1_<rule>``, ``precision_<rule>``,
        ``recall_<rule>``, ``flagged_<rule>`` of both 2-means rules; ``area``; ``auroc``.
    """
    if values.shape != mask.shape:
        raise ValueError(f"{len(values)} values for {len(mask)} training points")
    curve = detection_curve(values, mask, rng)
    scores = {"f1_budget": float(curve[int(mask.sum())])}
    for rule, fraction in (("two_means", 0.0), ("two_means_at_least", minimum_flagged)):
        flags = two_means_at_least(values, fraction)
        precision, recall = precision_and_recall(flags, mask)
        scores |= {f"f1_{rule}": f1_score(flags, mask), f"precision_{rule}": precision}
        scores |= {f"recall_{rule}": recall, f"flagged_{rule}": int(flags.sum())}
    return scores | {"area": area_under(curve), "auroc": auroc(values, mask)}, curve
