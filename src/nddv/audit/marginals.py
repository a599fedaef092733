"""Reference marginals of a problem: what retraining on coalitions says of every point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nddv.baselines.leave_one_out import leave_one_out
from nddv.baselines.semivalues import walk_contributions
from nddv.baselines.subsamples import data_banzhaf
from nddv.coalitions.game import Game

BATCH = 8
"""Orders walked at once; what an interruption loses is at most their fits."""


@dataclass(frozen=True)
class Marginals:
    """Finite marginals Δ_i(C) = U(C ∪ i) − U(C) of every point (Eq. finite_marginal_target).

    Attributes
    ----------
    loo : (n,) at the reference coalition C = N∖i, exact.
    walks : (M, n) at the points that come before i in each of M random orders: contexts of i drawn
        by the law of the Shapley value.
    banzhaf, banzhaf_stderr : (n,) mean over coalitions that hold every point with probability ½.
    """

    loo: NDArray[np.float64]
    walks: NDArray[np.float64]
    banzhaf: NDArray[np.float64]
    banzhaf_stderr: NDArray[np.float64]

    @property
    def shapley(self) -> NDArray[np.float64]:
        """Sampled Shapley values (n,)."""
        mean: NDArray[np.float64] = self.walks.mean(axis=0)
        return mean

    @property
    def shapley_stderr(self) -> NDArray[np.float64]:
        """Their standard errors (n,) over orders."""
        spread: NDArray[np.float64] = self.walks.std(axis=0, ddof=1)
        return spread / np.sqrt(len(self.walks))


def reference_marginals(
    game: Game, rng: np.random.Generator, permutations: int = 50, coalitions: int = 1000
) -> Marginals:
    """Exact leave-one-out marginals, and sampled ones, of one game.

    The same rng gives the same coalitions, so that games of other utilities that share a cache
    share the fits.
    """
    if permutations < 2:
        raise ValueError(f"permutations must be at least 2, got {permutations}")
    orders = rng.permuted(np.broadcast_to(np.arange(game.n), (permutations, game.n)), axis=1)
    walks = [_walk(game, orders[k : k + BATCH]) for k in range(0, permutations, BATCH)]
    banzhaf = data_banzhaf(game, rng, coalitions)
    assert banzhaf.stderr is not None
    loo = leave_one_out(game).values
    return Marginals(loo, np.concatenate(walks), banzhaf.values, banzhaf.stderr)


def _walk(game: Game, orders: NDArray[np.intp]) -> NDArray[np.float64]:
    utilities, _ = game.walk(orders)
    return walk_contributions(utilities, orders, np.ones((1, game.n)))[:, 0]


def to_arrays(marginals: Mapping[str, Marginals]) -> dict[str, NDArray[np.float64]]:
    """Marginals by utility as arrays with names, to be stored."""
    return {
        f"{utility}_{name}": array
        for utility, one in marginals.items()
        for name, array in vars(one).items()
    }


def from_arrays(arrays: Mapping[str, NDArray[np.float64]]) -> dict[str, Marginals]:
    """Undo :func:`to_arrays`."""
    utilities = [name.removesuffix("_loo") for name in arrays if name.endswith("_loo")]
    fields = Marginals.__dataclass_fields__
    return {
        utility: Marginals(**{name: arrays[f"{utility}_{name}"] for name in fields})
        for utility in utilities
    }
