"""One-sided upper confidence bounds on the mean of bounded independent draws.

Each of the M draws lies in an interval of known width. With probability at least 1 − α, their
expectation is at most the mean of the draws plus the radius.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nddv.coalitions.measures import FLOOR

UTILITY_RANGES = {
    "accuracy": (0.0, 1.0),
    "log_likelihood": (float(np.log(FLOOR)), 0.0),
    "probability": (0.0, 1.0),
}
"""Lowest and highest utility of :class:`~nddv.coalitions.LogisticGame`, whatever the coalition."""


def largest_error(
    sensitivities: ArrayLike, utility_range: tuple[float, float]
) -> NDArray[np.float64]:
    """B^max of Corollary sampled_pairwise_certificate: the largest possible e_i(A) + e_j(A).

    With all utilities in [lo, hi] and R = hi − lo,

        B^max = max over σ ∈ {−1, 1} of Σ_{k ∈ {i, j}} max(|s_k|, |s_k − σR|).

    Proof: |s_i − U(A∪i) + U(A)| + |s_j − U(A∪j) + U(A)| is convex in the three utilities, so it is
    largest at a corner of [lo, hi]³. U(A) = lo leaves Δ_i, Δ_j ∈ {0, R}, which is σ = 1; U(A) = hi
    leaves {−R, 0}. A corner attains it, so no smaller bound follows from the range alone. It is at
    most |s_i| + |s_j| + 2R, with equality if both s have the same sign.

    Parameters
    ----------
    sensitivities : (..., 2) of the two points.
    """
    s = np.asarray(sensitivities, dtype=np.float64)
    width = range_width(utility_range)
    corners = [np.maximum(np.abs(s), np.abs(s - side * width)).sum(axis=-1) for side in (-1, 1)]
    return np.asarray(np.maximum(*corners), dtype=np.float64)


def range_width(utility_range: tuple[float, float]) -> float:
    """R = hi − lo."""
    low, high = utility_range
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(
            f"utility_range must be two finite numbers (lowest, highest), got {utility_range}; "
            "without such a range no bound from samples holds"
        )
    return high - low


def hoeffding_radius(width: ArrayLike, count: int, alpha: float) -> NDArray[np.float64]:
    """Width·√(log(1/α) / (2M)): Eq. sampled_pairwise_certificate."""
    check_alpha(alpha)
    return np.asarray(width, dtype=np.float64) * np.sqrt(np.log(1 / alpha) / (2 * count))


def bernstein_radius(
    variance: ArrayLike, width: ArrayLike, count: int, alpha: float
) -> NDArray[np.float64]:
    """√(2V log(2/α) / M) + 7·width·log(2/α) / (3(M−1)): Maurer and Pontil (2009), Theorem 4.

    Empirical Bernstein: V is the sample variance with divisor M − 1. If draws vary little compared
    with their width, the radius falls nearly as 1/M.
    """
    check_alpha(alpha)
    if count < 2:
        raise ValueError(f"a sample variance needs at least two draws, got {count}")
    log = np.log(2 / alpha)
    spread = np.sqrt(2 * np.asarray(variance, dtype=np.float64) * log / count)
    return np.asarray(spread + 7 * np.asarray(width) * log / (3 * (count - 1)), dtype=np.float64)


def check_alpha(alpha: float) -> None:
    """Refuse a probability of failure outside (0, 1)."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha, the probability of failure, must be in (0, 1), got {alpha}")
