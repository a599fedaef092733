"""Reference marginals of every point, from retraining on coalitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.audit.bounds import UTILITY_RANGES
from nddv.audit.context import certified_shares
from nddv.baselines.leave_one_out import leave_one_out
from nddv.coalitions.contexts import Contexts
from nddv.coalitions.sampling import Cell, Estimate, Limits, corrected_cells, sample
from nddv.laws import LAWS
from nddv.methods.valuation import logistic_game
from nddv.problems.problem import Problem
from nddv.support.measuring import measure, versions
from nddv.support.settings import UTILITIES

STREAM = 1
"""Random numbers: the stream of the methods."""

SAMPLED = ("shapley", "banzhaf", "beta")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Marginals:
    """Finite marginals Δ_i(C) = U(C ∪ i) − U(C) of every point (Eq. finite_marginal_target).

    All arrays are (n,). Leave-one-out is exact; the means over coalitions have standard errors.
    """

    loo: Array  # at the reference coalition C = N∖i
    shapley: Array
    shapley_stderr: Array
    banzhaf: Array
    banzhaf_stderr: Array
    beta: Array
    beta_stderr: Array
    deviation: Array  # mean |Δ_i(C) − Δ_i(N∖i)| over the contexts of the Shapley value

    def semivalue(self, name: str) -> tuple[Array, Array]:
        """Values (n,) of "loo", "shapley", "banzhaf" or "beta", and their standard errors (n,)."""
        if name == "loo":
            return self.loo, np.zeros_like(self.loo)
        if name not in SAMPLED:
            raise ValueError(f"unknown semi-value {name!r}: loo, {', '.join(SAMPLED)}")
        return getattr(self, name), getattr(self, f"{name}_stderr")


def audit_marginals(
    problem: Problem,
    seed: int,
    coalitions: int,
    reliability: float = 1.0,
    alpha: float = 0.05,
    **game: Any,
) -> tuple[dict[str, Marginals], pd.DataFrame, dict[str, Any]]:
    """Reference marginals for each utility, what they certify, and a record of their cost.

    All utilities are measured on the same fits.

    Parameters
    ----------
    coalitions : most that are drawn for each semi-value.
    reliability : of all values, at which no more are drawn.
    alpha : probability of a wrong certificate.

    Returns
    -------
    Marginals by utility; rows of :func:`~nddv.audit.context.certified_shares`; the record.
    """
    fitted = 0
    with measure() as run:
        loo = []
        for utility in UTILITIES:
            played = logistic_game(problem, utility=utility, **game)
            loo.append(leave_one_out(played).values)
            fitted += played.fitted
        contexts = Contexts(played, UTILITIES)
        rng = np.random.default_rng([seed, STREAM])
        limits = Limits(coalitions, reliability=reliability)
        found, estimates = reference_marginals(contexts, np.stack(loo, axis=1), rng, limits)
        ranges = {utility: UTILITY_RANGES[utility] for utility in UTILITIES}
        shares = certified_shares(estimates, ranges, alpha, rng)
    cells = [cell for estimate in estimates.values() for cell in estimate.cells]
    fitted += sum(len(cell.draws) + cell.refits for cell in cells)
    record = {"fits": fitted, **run.as_record(), "versions": versions()}
    return dict(zip(UTILITIES, found, strict=True)), shares, record


def reference_marginals(
    contexts: Contexts, loo: Array, rng: np.random.Generator, limits: Limits
) -> tuple[list[Marginals], dict[str, Estimate]]:
    """Semi-values of a game beside its leave-one-out marginals, and the estimates they are of.

    Marginals of all points are predicted at each coalition, and fitted at some others to correct
    the predictions: the sum is unbiased (:mod:`nddv.audit.context`).

    Parameters
    ----------
    loo : (n, U) exact leave-one-out marginals.

    Returns
    -------
    Marginals of each of the U utilities, and estimates by the name of the semi-value.
    """
    estimates = {
        name: sample(corrected_cells(contexts, LAWS[name]), rng, limits) for name in SAMPLED
    }
    found = {"deviation": _deviation(estimates["shapley"].cells, loo)}
    for name, estimate in estimates.items():
        found |= {name: estimate.values, f"{name}_stderr": estimate.stderr}
    return [
        Marginals(loo[:, u], **{name: array[:, u] for name, array in found.items()})
        for u in range(loo.shape[1])
    ], estimates


def _deviation(cells: Sequence[Cell], loo: Array) -> Array:
    """Mean distances (n, U) of marginals from others (n, U)."""
    contexts = [cell for cell in cells if cell.kind != "errors"]
    parts = (c.stratum.weight * np.abs(c.all_draws() - loo).mean(axis=0) for c in contexts)
    return np.asarray(sum(parts))


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
