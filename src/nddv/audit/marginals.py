"""Reference marginals of every point, from retraining on coalitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.audit.absence import Absence
from nddv.audit.bounds import UTILITY_RANGES
from nddv.audit.context import certified_shares
from nddv.audit.references import (
    Sampled,
    check_predictions,
    correctable,
    reweighted,
    sample_reference,
)
from nddv.baselines.leave_one_out import leave_one_out
from nddv.coalitions.contexts import Contexts
from nddv.coalitions.sampling import Cell, Limits
from nddv.laws import LAWS
from nddv.methods.valuation import logistic_game
from nddv.problems.problem import Problem
from nddv.support.measuring import measure, versions
from nddv.support.settings import UTILITIES

STREAM = 1
"""Random numbers: the stream of the methods."""

DRAWN = ("shapley", "banzhaf")
"""Semi-values with coalitions of their own; Beta has those of Shapley, weighted."""

SAMPLED = (*DRAWN, "beta")

UNCORRECTED = "predictions were not corrected: fits have too many parameters"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Marginals:
    """Finite marginals Δ_i(C) = U(C ∪ i) − U(C) of every point (Eq. finite_marginal_target).

    All arrays are (n,). Leave-one-out is exact; the means over coalitions have standard errors,
    and their ranks have a reliability (1,), the correlation with another sample of this size.
    """

    loo: Array  # at the reference coalition C = N∖i
    shapley: Array
    shapley_stderr: Array
    banzhaf: Array
    banzhaf_stderr: Array
    beta: Array
    beta_stderr: Array
    shapley_reliability: Array
    banzhaf_reliability: Array
    beta_reliability: Array
    deviation: Array  # mean |Δ_i(C) − Δ_i(N∖i)| over the contexts of the Shapley value

    def semivalue(self, name: str) -> tuple[Array, Array]:
        """Values (n,) of "loo", "shapley", "banzhaf" or "beta", and their standard errors (n,)."""
        if name == "loo":
            return self.loo, np.zeros_like(self.loo)
        if name not in SAMPLED:
            raise ValueError(f"unknown semi-value {name!r}: loo, {', '.join(SAMPLED)}")
        return getattr(self, name), getattr(self, f"{name}_stderr")

    def reliability(self, name: str) -> float:
        """Of the ranks of "loo", which is exact, "shapley", "banzhaf" or "beta"."""
        return 1.0 if name == "loo" else float(getattr(self, f"{name}_reliability")[0])


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
    reliability : of the values, at which no more are drawn; of those by log-likelihood alone where
        fits have many parameters.
    alpha : probability of a wrong certificate.

    Returns
    -------
    Marginals by utility; rows of :func:`~nddv.audit.context.certified_shares`, with a ``gap`` where
    predictions were not corrected, so that no order is certain; the record.
    """
    fitted = 0
    with measure() as run:
        loo = []
        for utility in UTILITIES:
            played = logistic_game(problem, utility=utility, **game)
            loo.append(leave_one_out(played).values)
            fitted += played.fitted
        contexts, corrected = Contexts(played, UTILITIES), correctable(played)
        rng = np.random.default_rng([seed, STREAM])
        limits = Limits(coalitions, reliability=reliability)
        absence = Absence.of(played, UTILITIES)
        exact = np.stack(loo, axis=1)
        found, sampled = reference_marginals(contexts, exact, rng, limits, corrected, absence)
        estimates = {name: one.estimate for name, one in sampled.items()}
        ranges = {utility: UTILITY_RANGES[utility] for utility in UTILITIES}
        gap = "" if corrected else UNCORRECTED
        stretches = {name: one.stretch for name, one in sampled.items()}
        shares = certified_shares(estimates, ranges, alpha, rng, stretches, gap)
        agreement = check_predictions(contexts, rng)
    cells = [cell for name in DRAWN for cell in estimates[name].cells]
    fitted += sum(len(cell.draws) + cell.refits for cell in cells)
    about = {name: estimate.record() for name, estimate in estimates.items()}
    record = {
        "fits": fitted,
        "corrected": corrected,
        "predictions": {u: None if np.isnan(r) else round(r, 4) for u, r in agreement.items()},
        "references": about,
        **run.as_record(),
        "versions": versions(),
    }
    return dict(zip(UTILITIES, found, strict=True)), shares, record


def reference_marginals(
    contexts: Contexts,
    loo: Array,
    rng: np.random.Generator,
    limits: Limits,
    corrected: bool = True,
    absence: Absence | None = None,
) -> tuple[list[Marginals], dict[str, Sampled]]:
    """Semi-values of a game beside its leave-one-out marginals, and the draws they are of.

    Marginals of all points are predicted at each coalition. With ``corrected``, they are also
    fitted at some others to correct the predictions: the sum is unbiased
    (:mod:`nddv.audit.context`).

    Parameters
    ----------
    loo : (n, U) exact leave-one-out marginals.
    absence : removes the noise of classes that appear.

    Returns
    -------
    Marginals of each of the U utilities, and draws by the name of the semi-value.
    """
    sampled = {
        name: sample_reference(contexts, LAWS[name], loo, rng, limits, corrected, absence)
        for name in DRAWN
    }
    sampled["beta"] = reweighted(sampled["shapley"], LAWS["beta"], rng, absence)
    found = {"deviation": _deviation(sampled["shapley"].met, loo)}
    for name, one in sampled.items():
        found |= {name: one.estimate.values, f"{name}_stderr": one.estimate.stderr}
        found[f"{name}_reliability"] = one.reliability[None]
    return [
        Marginals(loo[:, u], **{name: array[:, u] for name, array in found.items()})
        for u in range(loo.shape[1])
    ], sampled


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
