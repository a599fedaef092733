"""Games: what a coalition of training points is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Utilities = Callable[[NDArray[np.generic]], NDArray[np.float64]]
"""Utilities (B,) of coalitions given by weights (B, n)."""

CHUNK_ELEMENTS = 4_000_000


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
        """Utilities of all beginnings of some orders of the players; see ``walk_prefixes``."""
        ...


def walk_prefixes(
    utilities: Utilities, orders: NDArray[np.intp], tolerance: float = 0.0, stride: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Utilities of all beginnings of orders of the players, for any game.

    A walk is truncated (Ghorbani & Zou 2019) at the first beginning whose utility is within
    ``tolerance`` of that of all players: from there on it has the utility of all players. The
    beginnings of no player and of all players are always evaluated, once.

    Parameters
    ----------
    utilities : of coalitions.
    orders : (P, n) permutations.
    tolerance : 0 evaluates everything.
    stride : how many positions to evaluate at once in each order; as many as fit in memory if 0.
        It changes the cost of truncated walks, never a result.

    Returns
    -------
    utilities : (P, n + 1), of the first 0, 1, ..., n players of each order.
    evaluated : (P,) number of players at which the walk was truncated, n if it was not.
    """
    orders = np.asarray(orders)
    stride = stride or max(1, CHUNK_ELEMENTS // max(1, orders.size))

    def evaluate(walks: NDArray[np.intp], weights: NDArray[np.bool_]) -> NDArray[np.float64]:
        return utilities(weights.reshape(-1, weights.shape[2])).reshape(weights.shape[:2])

    ends = np.stack([np.zeros(orders.shape[1], bool), np.ones(orders.shape[1], bool)])
    return walk_blocks(evaluate, utilities(ends), orders, tolerance, stride)


def walk_blocks(
    evaluate: Callable[[NDArray[np.intp], NDArray[np.bool_]], NDArray[np.float64]],
    ends: NDArray[np.float64],
    orders: NDArray[np.intp],
    tolerance: float,
    stride: int,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Walk as ``walk_prefixes`` does, block of positions by block of positions.

    Parameters
    ----------
    evaluate : gets the numbers (A,) of the walks that go on and the weights (A, s, n) of their next
        s beginnings, one player longer each; gives utilities (A, s).
    ends : (2,) utilities of no player and of all players.
    """
    P, n = orders.shape
    empty, everyone = ends
    found = np.full((P, n + 1), everyone)
    found[:, 0] = empty
    evaluated = np.full(P, n)
    walks = np.arange(P)
    if tolerance > 0 and abs(everyone - empty) <= tolerance:
        return found, np.zeros(P, dtype=np.intp)
    # position[p, i]: how many players come before player i in order p
    position = np.argsort(orders, axis=1)
    for first in range(1, n, stride):
        lengths = np.arange(first, min(first + stride, n))
        weights = position[walks, None, :] < lengths[:, None]
        block = evaluate(walks, weights)
        if tolerance > 0:
            close = np.abs(everyone - block) <= tolerance
            stops = close.any(axis=1)
            evaluated[walks[stops]] = lengths[close[stops].argmax(axis=1)]
            block[np.logical_or.accumulate(close, axis=1)] = everyone
        found[walks[:, None], lengths] = block
        if tolerance > 0:
            walks = walks[~stops]
            if len(walks) == 0:
                break
    return found, evaluated
