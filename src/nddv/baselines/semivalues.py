"""Data Shapley and Beta Shapley from the utilities along random permutations.

Both are semivalues φ_i = 1/n Σ_{j=0}^{n−1} w_j E_{|S|=j, i∉S} [U(S ∪ i) − U(S)], with weights of
mean one. In a random permutation the position of a point is uniform, and the points before it are a
random coalition. So w_j·[U(S ∪ i) − U(S)] at its position j has the expectation φ_i, and one set of
permutations serves any number of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from nddv.coalitions import Game, LogisticGame
from nddv.coalitions.walks import predicted_walk
from nddv.laws import beta_shapley_law
from nddv.support.settings import NotNegative, Positive, checked, whole
from nddv.values import Values

Orders = NDArray[np.intp]
Walk = Callable[[Orders, float], tuple[NDArray[np.float64], NDArray[np.intp]]]
"""Orders (R, n) and a tolerance -> what :meth:`nddv.coalitions.Game.walk` gives."""


@checked
def data_shapley(
    game: Game, rng: np.random.Generator, *, step: NotNegative = 0.0, **sampling: Any
) -> Values:
    """Data Shapley values (Ghorbani and Zou 2019, ICML): all coalition sizes weigh the same.

    They sum to U(N) − U(∅), however few permutations there are.

    Parameters
    ----------
    step : fit the points of a permutation so far when there are this share more of them, and
        predict what the points between two fits add (:mod:`nddv.coalitions.walks`; for the game of
        the logistic regression only). 0: fit after every point.
    sampling : as in :func:`permutation_semivalues`.
    """
    weights, walk = {"shapley": np.ones(game.n)}, walk_of(game, step)
    return permutation_semivalues(game, rng, weights, walk=walk, **sampling)["shapley"]


@checked
def beta_shapley(
    game: Game,
    rng: np.random.Generator,
    *,
    alpha: Positive = 4.0,
    beta: Positive = 1.0,
    step: NotNegative = 0.0,
    **sampling: Any,
) -> Values:
    """Beta(α, β)-Shapley values (Kwon and Zou 2022, AISTATS).

    α > β leans towards small coalitions, where a single point matters more; α = β = 1 is Data
    Shapley.

    Parameters
    ----------
    alpha : weight of small coalitions.
    beta : weight of large coalitions.
    step : fit the points of a permutation so far when there are this share more of them, and
        predict what the points between two fits add (:mod:`nddv.coalitions.walks`; for the game of
        the logistic regression only). 0: fit after every point.
    sampling : as in :func:`permutation_semivalues`.
    """
    weights, walk = {"beta": beta_weights(game.n, alpha, beta)}, walk_of(game, step)
    return permutation_semivalues(game, rng, weights, walk=walk, **sampling)["beta"]


def beta_weights(n: int, alpha: float, beta: float) -> NDArray[np.float64]:
    """Weights w_j ∝ B(j+β, n−j−1+α) / B(j+1, n−j) of the coalition sizes j = 0, …, n−1, mean one.

    Equations (3) and (5) of Kwon and Zou (2022).
    """
    return n * beta_shapley_law(alpha, beta).omega(n)


@checked
def permutation_semivalues(
    game: Game,
    rng: np.random.Generator,
    weights: Mapping[str, NDArray[np.float64]],
    *,
    max_permutations: Annotated[int, whole(2)] = 100,
    precision: NotNegative = 0.0,
    tolerance: NotNegative = 0.0,
    batch: int = 50,
    walk: Walk | None = None,
) -> dict[str, Values]:
    """Several semivalues from one set of random permutations.

    Parameters
    ----------
    weights : name -> (n,) weights of the coalition sizes 0, …, n−1, with mean one.
    max_permutations : where sampling ends at the latest.
    precision : sampling ends when no standard error, of any point and semivalue, exceeds this, in
        units of the utility. Checked after each batch. At 0 only values without any spread do.
    tolerance : a permutation is cut once its utility is this close to U(N), and U(N) fills the rest
        (Ghorbani and Zou's truncation but for the filling; see ``nddv.coalitions.game``). The next
        point gets what is left, at most the tolerance, all later ones nothing: Shapley values still
        sum to U(N) − U(∅). 0: never; the values are then unbiased.
    batch : permutations walked at once.
    walk : in place of that of the game.

    Returns
    -------
    name -> Values with standard errors over permutations. The record tells how many permutations
    there were, how many positions up to their cuts, and U(∅) and U(N).
    """
    stacked = np.stack(list(weights.values()))
    done, positions = 0, 0
    mean, squares = np.zeros_like(stacked), np.zeros_like(stacked)
    stderr = np.full_like(stacked, np.inf)
    while done < max_permutations and stderr.max() > precision:
        count = min(batch, max_permutations - done)
        orders = rng.permuted(np.broadcast_to(np.arange(game.n), (count, game.n)), axis=1)
        utilities, evaluated = (walk or game.walk)(orders, tolerance)
        new = walk_contributions(utilities, orders, stacked)
        positions += int(evaluated.sum())

        # Means and sums of squared deviations of two samples put together (Chan et al. 1979).
        total = done + count
        shift = new.mean(axis=0) - mean
        squares += ((new - new.mean(axis=0)) ** 2).sum(axis=0) + shift**2 * done * count / total
        mean += shift * count / total
        done = total
        if done > 1:
            stderr = np.sqrt(squares / (done * (done - 1)))
    record = {
        "permutations": done,
        "positions": positions,
        "largest_stderr": float(stderr.max()),
        "utility_empty": float(utilities[0, 0]),
        "utility_all": float(utilities[0, -1]),
    }
    return {name: Values(mean[k], stderr[k], dict(record)) for k, name in enumerate(weights)}


def walk_of(game: Game, step: float) -> Walk | None:
    """The walk whose fits are ``step`` apart; None for that of the game, which fits every point."""
    if step == 0:
        return None
    if not isinstance(game, LogisticGame):
        raise TypeError("step: walks are predicted for the game of logistic regressions only")
    return partial(predicted_walk, game, step=step)


def walk_contributions(
    utilities: NDArray[np.float64], orders: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted marginal contribution of every point at its place in every permutation.

    Parameters
    ----------
    utilities : (P, n+1) of the prefixes of 0, …, n points.
    orders : (P, n) permutations.
    weights : (W, n) by the number of points before.

    Returns
    -------
    (P, W, n), the last axis by point.
    """
    marginals = weights * np.diff(utilities, axis=1)[:, None, :]
    contributions = np.empty_like(marginals)
    np.put_along_axis(contributions, orders[:, None, :], marginals, axis=2)
    return contributions
