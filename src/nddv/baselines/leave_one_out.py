"""Leave-one-out, and the marginal contribution of every point to a coalition of a given size.

Leave-one-out is the marginal contribution to all others; DU-Shapley averages over all sizes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nddv.coalitions import Game, LogisticGame
from nddv.coalitions.contexts import Contexts
from nddv.support.settings import Flag, checked
from nddv.values import Values

CHUNK_ELEMENTS = 16_000_000


@checked
def leave_one_out(game: Game, *, predicted: Flag = False) -> Values:
    """Leave-one-out values U(N) − U(N∖i) (Cook 1977; Koh and Liang 2017).

    Parameters
    ----------
    predicted : predict the fits without a point from the fit of all, by a Newton step each, and
        further steps where it is long (:mod:`nddv.coalitions.contexts`). For the game of the
        logistic regression only.
    """
    n = game.n
    if predicted:
        marginals = contexts_of(game).predicted(np.ones((1, n), dtype=bool))
        return Values(marginals.marginals[0, :, 0], record={"fits": 1 + int(marginals.refits[0])})
    everyone = game.utilities(np.ones((1, n), dtype=bool))
    without = np.empty(n)
    for first in range(0, n, step := max(1, CHUNK_ELEMENTS // n)):
        left_out = np.arange(first, min(first + step, n))
        without[left_out] = game.utilities(np.arange(n) != left_out[:, None])
    return Values(everyone - without, record={"fits": n + 1})


def marginals_at_size(
    game: Game, ranks: NDArray[np.intp], sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Marginal contributions U(D ∪ i) − U(D) of every point i to a coalition D of k other points.

    D are the first k points of an order without i, so in a random order it is a random coalition.
    Nearly everything is shared: points beyond the first k + 1 enter the first k, the others leave
    the first k + 1.

    Parameters
    ----------
    ranks : (P, n) place of every point in each of P orders, from 0.
    sizes : (P,) k, from 0 to n − 1.

    Returns
    -------
    (P, n) from n + 2 utilities an order.
    """
    smaller, larger = ranks < sizes[:, None], ranks <= sizes[:, None]
    changed = np.empty(ranks.size)
    step = max(1, CHUNK_ELEMENTS // game.n)
    for start in range(0, ranks.size, step):
        order, point = np.divmod(np.arange(start, min(start + step, ranks.size)), game.n)
        leaves = larger[order, point]
        coalitions = np.where(leaves[:, None], larger[order], smaller[order])
        coalitions[np.arange(len(point)), point] = ~leaves
        changed[start : start + step] = game.utilities(coalitions)
    by_point = changed.reshape(ranks.shape)
    with_all, with_fewer = game.utilities(larger)[:, None], game.utilities(smaller)[:, None]
    return np.where(larger, with_all - by_point, by_point - with_fewer)


def predicted_at_size(
    game: Game, ranks: NDArray[np.intp], sizes: NDArray[np.intp]
) -> tuple[NDArray[np.float64], int]:
    """The marginals of :func:`marginals_at_size`, predicted from fits of k and k + 1 points.

    Returns
    -------
    (P, n) predictions, and how many fits were made.
    """
    contexts = contexts_of(game)
    larger = ranks <= sizes[:, None]
    leaving, entering = contexts.predicted(larger), contexts.predicted(ranks < sizes[:, None])
    fits = 2 * len(ranks) + int(leaving.refits.sum() + entering.refits.sum())
    return np.where(larger, leaving.marginals[..., 0], entering.marginals[..., 0]), fits


def contexts_of(game: Game) -> Contexts:
    """Predictions of the marginals of a game."""
    if not isinstance(game, LogisticGame):
        raise TypeError("marginals are predicted for the game of logistic regressions only")
    return Contexts(game)
