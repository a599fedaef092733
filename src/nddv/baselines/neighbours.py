"""KNN-Shapley: the exact Shapley value of the nearest-neighbour utility, in O(n log n) a query.

Jia et al., "Efficient task-specific data valuation for nearest neighbor algorithms", PVLDB 2019.

The utility of a coalition S at a validation point (x, y) is 1/K times the number of points with
label y among the min(K, |S|) nearest of S. Equidistant points are common (discrete features), so
their order matters; here the neighbours are taken as if tied points came in a random order, and the
value is its expectation. By linearity that is the Shapley value of the expected utility. It depends
neither on the order of the rows nor on luck.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nddv.support.settings import Count, NotNegative, checked
from nddv.values import NoValues

CHUNK_ELEMENTS = 1_000_000


@checked
def knn_shapley(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_valid: NDArray[np.floating],
    y_valid: NDArray[np.int64],
    *,
    k: Count = 10,
    tie_tolerance: NotNegative = 1e-6,
) -> NDArray[np.float64]:
    """Mean over validation points of the exact KNN-Shapley value of each training point.

    Parameters
    ----------
    X, y : (n, d) features and (n,) labels of the points to value.
    X_valid, y_valid : (m, d) and (m,) validation points.
    k : number of neighbours; may exceed n.
    tie_tolerance : squared distances that differ by less than this fraction of themselves are tied
        (the default absorbs the rounding of float32 features).

    Returns
    -------
    (n,) values; their sum is the mean utility of the whole training set.
    """
    if len(X) == 0 or len(X_valid) == 0:
        raise NoValues("KNN-Shapley needs at least one training and one validation point")
    n = len(X)
    points, queries = np.asarray(X, dtype=np.float64), np.asarray(X_valid, dtype=np.float64)
    total = np.zeros(n)
    step = max(1, CHUNK_ELEMENTS // n)
    for start in range(0, len(queries), step):
        chunk = slice(start, start + step)
        distances = _squared_distances(queries[chunk], points)
        order = np.argsort(distances, axis=1)
        ranked = np.take_along_axis(distances, order, axis=1)
        match = (y[order] == y_valid[chunk, None]).astype(np.float64)
        values = _values_by_rank(match, ranked, k, tie_tolerance)
        total += np.bincount(order.ravel(), weights=values.ravel(), minlength=n)
    return total / len(queries)


def _squared_distances(A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared Euclidean distances (a, b) between the rows of A (a, d) and B (b, d)."""
    norms = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)[None, :]
    return np.maximum(norms - 2.0 * (A @ B.T), 0.0)


def _values_by_rank(
    match: NDArray[np.float64], ranked: NDArray[np.float64], k: int, tie_tolerance: float
) -> NDArray[np.float64]:
    """KNN-Shapley values of points sorted by distance, averaged over the orders of tied points.

    For a fixed order, with w_i = 1/max(K, i) and c_i = w_{i−1} − w_i, the recursion of Jia et al.
    (s_i = s_{i+1} + (m_i − m_{i+1})·w_i, s_n = m_n·w_n) is s_i = w_i·m_i − Σ_{j>i} c_j·m_j. A tied
    point is at each rank of its group with the same probability, and each of the other ranks then
    holds a random other member of the group.

    Parameters
    ----------
    match : (m, n) 1 where the label of the point at that rank is the validation label.
    ranked : (m, n) squared distances, ascending.
    """
    m, n = match.shape
    weight = 1.0 / np.maximum(k, np.arange(1, n + 1))
    drop = np.concatenate([[0.0], weight[:-1] - weight[1:]])
    first, last = _tie_groups(ranked, tie_tolerance)
    size = (last - first + 1).astype(np.float64)

    matches_before = np.concatenate([np.zeros((m, 1)), np.cumsum(match, axis=1)], axis=1)
    group_matches = np.take_along_axis(matches_before, last + 1, axis=1)
    group_matches -= np.take_along_axis(matches_before, first, axis=1)

    mean_weight = _range_sum(weight, first, last) / size
    # Σ_{j in group} (j − first)·c_j: over all ranks of the point, the drops of the later members.
    ranks = np.arange(n)
    later = _range_sum(drop * ranks, first, last) - first * _range_sum(drop, first, last)
    inside = (group_matches - match) * later / (size * np.maximum(size - 1, 1))

    through = np.cumsum(drop * group_matches / size, axis=1)
    beyond = through[:, -1:] - np.take_along_axis(through, last, axis=1)
    return match * mean_weight - inside - beyond


def _range_sum(
    terms: NDArray[np.float64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Σ_{j=first}^{last} terms_j for every pair of ranks."""
    before = np.concatenate([[0.0], np.cumsum(terms)])
    return before[last + 1] - before[first]


def _tie_groups(
    ranked: NDArray[np.float64], tolerance: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last rank of the group of tied points that each rank belongs to, both (m, n)."""
    m, n = ranked.shape
    ranks = np.broadcast_to(np.arange(n), (m, n))
    starts = np.ones((m, n), dtype=bool)
    starts[:, 1:] = np.diff(ranked, axis=1) > tolerance * ranked[:, 1:]
    first = np.maximum.accumulate(np.where(starts, ranks, 0), axis=1)
    ends = np.ones((m, n), dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    last = np.minimum.accumulate(np.where(ends, ranks, n)[:, ::-1], axis=1)[:, ::-1]
    return first, last
