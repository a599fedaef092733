"""Reference marginals of every point, from retraining on coalitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.baselines.leave_one_out import leave_one_out
from nddv.baselines.semivalues import beta_weights, walk_contributions
from nddv.baselines.subsamples import data_banzhaf
from nddv.coalitions.game import Game
from nddv.methods.valuation import logistic_game
from nddv.problems.problem import Problem
from nddv.support.measuring import measure, versions
from nddv.support.settings import UTILITIES

STREAM = 1
"""Random numbers: the stream of the methods, so that a cache may already have their fits."""

BATCH = 8
"""Orders that are walked at once; an interruption loses at most their fits."""


@dataclass(frozen=True)
class Marginals:
    """Finite marginals Δ_i(C) = U(C ∪ i) − U(C) of every point (Eq. finite_marginal_target).

    Walks are marginals at the points that come before i in each of M random orders: contexts of i,
    drawn by the law of the Shapley value.
    """

    loo: NDArray[np.float64]  # (n,) at the reference coalition C = N∖i, exact
    walks: NDArray[np.float64]  # (M, n)
    sizes: NDArray[np.int64]  # (M, n) number of points that come before
    banzhaf: NDArray[np.float64]  # (n,) mean over coalitions, every point in them or not by ½
    banzhaf_stderr: NDArray[np.float64]  # (n,)

    def semivalue(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values (n,) of "loo", "shapley", "banzhaf" or "beta", and their standard errors (n,)."""
        if name == "loo":
            return self.loo, np.zeros_like(self.loo)
        if name == "banzhaf":
            return self.banzhaf, self.banzhaf_stderr
        if name not in ("shapley", "beta"):
            raise ValueError(f"unknown semi-value {name!r}: loo, shapley, banzhaf or beta")
        weights = beta_weights(len(self.loo), 4.0, 1.0)[self.sizes] if name == "beta" else 1.0
        draws = weights * self.walks
        return draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(len(draws))


def audit_marginals(
    problem: Problem, seed: int, permutations: int, coalitions: int, **game: Any
) -> tuple[dict[str, Marginals], dict[str, Any]]:
    """Reference marginals for each utility, and a record of their cost.

    All utilities use the same coalitions, so with a ``cache`` each coalition is fitted once.
    """
    by_utility, fitted = {}, 0
    with measure() as run:
        for utility in UTILITIES:
            played = logistic_game(problem, utility=utility, **game)
            rng = np.random.default_rng([seed, STREAM])
            by_utility[utility] = reference_marginals(played, rng, permutations, coalitions)
            fitted += played.fitted
    return by_utility, {"fits": fitted, **run.as_record(), "versions": versions()}


def reference_marginals(
    game: Game, rng: np.random.Generator, permutations: int = 50, coalitions: int = 1000
) -> Marginals:
    """Exact leave-one-out marginals, and sampled marginals, of one game.

    The same rng gives the same coalitions. So games that share a cache and differ in the utility
    share the fits.
    """
    if permutations < 2:
        raise ValueError(f"permutations must be at least 2, got {permutations}")
    orders = rng.permuted(np.broadcast_to(np.arange(game.n), (permutations, game.n)), axis=1)
    parts = (orders[k : k + BATCH] for k in range(0, permutations, BATCH))
    every = np.ones((1, game.n))
    walks = [walk_contributions(game.walk(part)[0], part, every)[:, 0] for part in parts]
    banzhaf = data_banzhaf(game, rng, num_models=coalitions)
    assert banzhaf.stderr is not None
    loo = leave_one_out(game).values
    sizes = np.argsort(orders, axis=1)
    return Marginals(loo, np.concatenate(walks), sizes, banzhaf.values, banzhaf.stderr)


def to_arrays(marginals: Mapping[str, Marginals]) -> dict[str, NDArray[Any]]:
    """The marginals of each utility as named arrays, for a file."""
    return {
        f"{utility}_{name}": array
        for utility, of_utility in marginals.items()
        for name, array in vars(of_utility).items()
    }


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Marginals]:
    """Undo :func:`to_arrays`."""
    utilities = [name.removesuffix("_loo") for name in arrays if name.endswith("_loo")]
    fields = Marginals.__dataclass_fields__
    return {
        utility: Marginals(**{name: arrays[f"{utility}_{name}"] for name in fields})
        for utility in utilities
    }
