"""Games: the utility of every coalition of training points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Utilities = Callable[[NDArray[np.generic]], NDArray[np.float64]]
"""Utilities (B,) of coalitions given by weights (B, n)."""

CHUNK_ELEMENTS = 4_000_000

ROUNDING = 1e-9
"""Added to a tolerance. As floating point numbers, accuracies of 0.86 and 0.85 differ by a little
more than 0.01, others by a little less. Truncation must not depend on that."""


class Game(Protocol):
    """Utilities of the coalitions of n players.

    A coalition is a vector of n weights: 0 or 1, or how often it holds each player.
    """

    n: int

    def utilities(self, weights: NDArray[np.generic]) -> NDArray[np.float64]:
        """Utilities (B,) of coalitions of weights (B, n)."""
        ...

    def walk(
        self, orders: NDArray[np.intp], tolerance: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Utilities of all prefixes of some orders of the players; see ``walk_prefixes``."""
        ...


def walk_prefixes(
    utilities: Utilities, orders: NDArray[np.intp], tolerance: float = 0.0, stride: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Utilities of all prefixes of orders of the players, for any game.

    A walk is truncated at the first prefix whose utility is within ``tolerance`` of U(N), the
    utility of all players. The rest of the walk is filled with U(N). So the next player receives
    the remainder, at most the tolerance, and later players receive nothing. The steps of a walk
    still sum to U(N) − U(∅) exactly. (Ghorbani & Zou 2019 keep the last utility instead. There the
    next player receives nothing, and the remainder is lost.) The empty prefix and the full one are
    evaluated only once.

    Parameters
    ----------
    utilities : of coalitions.
    orders : (P, n) permutations.
    tolerance : with 0, everything is evaluated.
    stride : how many positions to evaluate at once in each order; with 0, as many as fit in memory.
        It changes the cost of truncated walks, never a result.

    Returns
    -------
    utilities : (P, n + 1), of the first 0, 1, ..., n players of each order.
    evaluated : (P,) number of players at which the walk was truncated, n if it was not.
    """
    P, n = orders.shape
    empty, everyone = utilities(np.stack([np.zeros(n, bool), np.ones(n, bool)]))
    paths = np.full((P, n + 1), everyone)
    paths[:, 0] = empty
    # position[p, i]: how many players come before player i in order p
    position = np.argsort(orders, axis=1)
    stride = stride or max(1, CHUNK_ELEMENTS // max(1, orders.size))
    walks = np.arange(P)
    for first in range(1, n, stride):
        so_far = paths[walks, max(0, first - stride) : first]
        walks = walks[~within(so_far, everyone, tolerance).any(axis=1)]
        if len(walks) == 0:
            break
        lengths = np.arange(first, min(first + stride, n))
        weights = position[walks, None, :] < lengths[:, None]
        paths[walks[:, None], lengths] = utilities(weights.reshape(-1, n)).reshape(-1, len(lengths))
    return truncate(paths, tolerance)


def truncate(
    walks: NDArray[np.float64], tolerance: float
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Truncate walks (P, n + 1) as ``walk_prefixes`` says, and count evaluated players (P,).

    The last column is U(N), which also fills the columns beyond the truncation.
    """
    everyone = walks[:, -1:]
    close = within(walks, everyone, tolerance)
    close[:, -1] = True
    evaluated = close.argmax(axis=1)
    beyond = np.arange(walks.shape[1]) > evaluated[:, None]
    return np.where(beyond, everyone, walks), evaluated


def within(
    utilities: NDArray[np.float64], everyone: float | NDArray[np.float64], tolerance: float
) -> NDArray[np.bool_]:
    """Whether to truncate walks that have reached these utilities; never with tolerance 0."""
    return (np.abs(everyone - utilities) <= tolerance + ROUNDING) & (tolerance > 0)
