"""Volume Shapley: points are worth the volume that they span, counted once where they repeat.

Xu et al., "Validation free and replication robust volume-based data valuation", NeurIPS 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.baselines.semivalues import permutation_semivalues
from nddv.coalitions.game import truncate
from nddv.support.settings import Positive, checked
from nddv.values import Values

CHUNK_ELEMENTS = 2_000_000

SATURATED = 16
"""No replica of a cell counts beyond this many: α^17 is below the rounding of 1, as α ≤ 1/10."""


@checked
def volume_shapley(
    X: NDArray[np.floating], rng: np.random.Generator, *, omega: Positive = 0.05, **sampling: Any
) -> Values:
    """Shapley values of the robust volume of the features; neither labels nor validation points.

    Parameters
    ----------
    X : (n, d) features.
    omega : width of the cells; see :class:`VolumeGame`.
    sampling : as in :func:`nddv.baselines.semivalues.permutation_semivalues`.
    """
    weights = {"shapley": np.ones(len(X))}
    return permutation_semivalues(VolumeGame(X, omega), rng, weights, **sampling)["shapley"]


class VolumeGame:
    """The robust volume of a coalition, relative to that of all points.

    The features are divided into cells of width ω. With X̃ the means of the coalition's points in
    each of its cells and c their numbers, Xu et al. define the robust volume of a coalition as
    √det(X̃ᵀX̃)·Π (1 − α^{c+1})/(1 − α), the product over its cells with α = 1/(10·number of cells):
    replicas add next to nothing.

    Two things are made definite here. The grid is the same for all coalitions; it begins at the
    least value of each feature over all points. And it is the volume in the span of all points,
    relative to theirs: the same up to a factor if the features have full rank, and free of
    overflow. It is 0 for fewer cells than dimensions of the span.

    Parameters
    ----------
    X : (n, d) features.
    omega : width of the cells.
    """

    def __init__(self, X: NDArray[np.floating], omega: float) -> None:
        features = np.asarray(X, dtype=np.float64)
        self.n = len(features)
        grid = np.floor((features - features.min(axis=0)) / omega)
        _, cells = np.unique(grid, axis=0, return_inverse=True)
        self._cells = cells.ravel()
        # In this basis of the span the volume of all points is about 1.
        left, singular, _ = np.linalg.svd(features, full_matrices=False)
        rank = int(np.sum(singular > singular.max() * max(X.shape) * np.finfo(np.float32).eps))
        self._points = left[:, :rank]
        self._unit = 0.0
        whole = self._log_volumes(np.arange(self.n), self.n)[0]
        self._unit = whole if np.isfinite(whole) else 0.0

    def utilities(self, weights: NDArray[np.generic]) -> NDArray[np.float64]:
        """Relative volumes (B,) of coalitions of weights (B, n), which count points."""
        coalitions = (np.repeat(np.arange(self.n), row.astype(np.intp)) for row in weights)
        logs = [self._log_volumes(c, len(c))[0] if len(c) else -np.inf for c in coalitions]
        return np.exp(logs)

    def walk(
        self, orders: NDArray[np.intp], tolerance: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Relative volumes of all beginnings of orders (P, n), as ``nddv.coalitions.Game`` says."""
        logs = [self._log_volumes(order, 1) for order in orders]
        return truncate(np.pad(np.exp(logs), ((0, 0), (1, 0))), tolerance)

    def _log_volumes(self, order: NDArray[np.intp], shortest: int) -> NDArray[np.float64]:
        """Logarithms of the relative volumes of the first ``shortest``, ... points of an order.

        A point changes the mean of its cell, and so the Gram matrix of the means by two outer
        products; one sum over the order gives the matrices of all beginnings.
        """
        count, mean, before = self._running_means(order)
        cells = np.cumsum(count == 1)[shortest - 1 :]
        rank = self._points.shape[1]
        gram = mean[: shortest - 1].T @ mean[: shortest - 1]
        gram -= before[: shortest - 1].T @ before[: shortest - 1]
        half_logs = []
        step = max(1, CHUNK_ELEMENTS // max(1, rank**2))
        for start in range(shortest - 1, len(order), step):
            new, old = mean[start : start + step], before[start : start + step]
            grams = new[:, :, None] * new[:, None, :] - old[:, :, None] * old[:, None, :]
            grams[0] += gram
            np.cumsum(grams, axis=0, out=grams)
            gram = grams[-1].copy()
            sign, logdet = np.linalg.slogdet(grams)
            half_logs.append(np.where(sign > 0, logdet / 2, -np.inf))
        spanned = np.where(cells >= rank, np.concatenate(half_logs), -np.inf)
        return spanned + _log_replication(count, shortest, cells) - self._unit

    def _running_means(
        self, order: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        """Of the cell of each point, as the points come in an order of k of them.

        Returns
        -------
        count : (k,) its points so far, with this one.
        mean, before : (k, rank) their mean with and without this one; 0 without any.
        """
        cell, points = self._cells[order], self._points[order]
        by_cell = np.argsort(cell, kind="stable")
        place = np.arange(len(order))
        opens = np.concatenate([[True], np.diff(cell[by_cell]) > 0])
        first = np.maximum.accumulate(np.where(opens, place, 0))
        through = np.cumsum(points[by_cell], axis=0)
        count, total = np.empty_like(place), np.empty_like(points)
        count[by_cell] = place - first + 1
        total[by_cell] = through - (through - points[by_cell])[first]
        before = np.where(count[:, None] > 1, total - points, 0.0)
        return count, total / count[:, None], before / np.maximum(count - 1, 1)[:, None]


def _log_replication(
    count: NDArray[np.intp], shortest: int, cells: NDArray[np.intp]
) -> NDArray[np.float64]:
    """log Π (1 − α^{c+1})/(1 − α) of the beginnings of at least ``shortest`` points.

    Parameters
    ----------
    count : (k,) for each point of the order, the points of its cell so far.
    cells : number of cells of each of these beginnings.
    """
    # held[k, c]: cells with c points after k + 1 points; a point moves its cell from c − 1 to c.
    held = np.zeros((len(count), SATURATED + 1))
    place = np.arange(len(count))
    held[place, np.minimum(count, SATURATED)] += 1
    held[place, np.minimum(count - 1, SATURATED)] -= 1
    held = np.cumsum(held, axis=0)[shortest - 1 :, 1:]
    alpha = 1 / (10 * cells)
    powers = alpha[:, None] ** np.arange(2, SATURATED + 2)
    return (held * np.log1p(-powers)).sum(axis=1) - cells * np.log1p(-alpha)
