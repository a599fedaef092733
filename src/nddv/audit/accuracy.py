"""How near estimators of semi-values come to a precise reference, and in how many seconds.

The game is that of the downstream logistic regression, by the mean probability of the true label.
The reference is unbiased, and drawn from a seed of its own, so its errors are independent of those
of the estimators. Its reliability R, 1 − noise/variance, is known from its standard errors.
Pearson's correlation with it, divided by √R, is what the correlation with the exact values would be
(Spearman 1904). The noise of the estimator itself stays in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.audit.clocked import (
    Play,
    Snapshot,
    Trail,
    draw_marginals,
    reuse_samples,
    walk_orders,
)
from nddv.audit.context import Gaps, all_gaps
from nddv.audit.estimators import CERTIFYING, PERMUTATIONS, PREDICTED, REUSE, TARGET, TWO_LEVEL
from nddv.audit.ranks import correlation
from nddv.coalitions.sampling import corrected_cells, predicted_cells, reliability
from nddv.laws import Law, find_law
from nddv.methods.valuation import logistic_game, value_or_gap
from nddv.problems.problem import Problem
from nddv.support.measuring import measure, versions

Array = NDArray[np.float64]
Row = dict[str, Any]

UTILITY = "probability"

MOMENTS = 40
"""Moments, evenly on a logarithmic axis, among which that of the target is looked for."""

ROUNDING = 1e-9
"""Of a moment, relative: the last one is as late as the last draw."""

RESOLUTION = 2.0
"""The reference knows the order of two points beyond so many standard errors."""

REPEATS, QUICK = 3, 1.0
"""A method that takes fewer seconds than the latter in all is run so often; the median counts."""

_KEYS, _TAKEN = ["semivalue", "method"], ["budget", "seconds", "draws"]
_NEAR = ["pearson", "spearman", "disattenuated", "reliability", "reference_reliability"]
COLUMNS = {
    "accuracy": [*_KEYS, *_TAKEN, *_NEAR, "gap"],
    "seconds": [*_KEYS, "to_target", "extrapolated", "gap"],
    "shares": [*_KEYS, *_TAKEN, "pairs", "certified_one", "certified_all", "agreement", "gap"],
}
"""Of the frames."""

# Streams of random numbers, apart from those of the audits.
REFERENCE, ESTIMATES = 7, 8


@dataclass(frozen=True)
class Reference:
    """Precise semi-values."""

    values: Array  # (n,)
    reliability: float
    gaps: Gaps  # of all pairs

    @classmethod
    def of(cls, snapshot: Snapshot) -> Reference:
        """What a long run has found."""
        share = float(reliability(snapshot.values, snapshot.stderr))
        return cls(snapshot.values, share, all_gaps(snapshot.cells)[1])

    @property
    def variance(self) -> float:
        """Of the exact values over points: that of these without their noise."""
        return float(self.values.var() * self.reliability)

    def near(self, values: Array) -> Row:
        """Correlations of other values (n,) with these."""
        r = pearson(values, self.values)
        return {
            "pearson": r,
            "spearman": correlation(values, self.values),
            "disattenuated": disattenuated(r, self.reliability),
            "reference_reliability": self.reliability,
        }

    def square(self, values: Array) -> float:
        """r² with the exact values; below zero where r is."""
        return _square(self.near(values)["disattenuated"])

    def agreement(self, gaps: Gaps, certain: NDArray[np.bool_]) -> float:
        """Of the pairs with a certain order that is known here, the share that is alike here."""
        known = certain & (np.abs(self.gaps.gap) > RESOLUTION * self.gaps.stderr)
        alike = np.sign(gaps.gap[known]) == np.sign(self.gaps.gap[known])
        return float(alike.mean()) if known.any() else np.nan


def pearson(x: Array, y: Array) -> float:
    """Pearson's correlation; NaN if one of the two is constant or empty."""
    if len(x) == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])


def disattenuated(r: float, of_reference: float) -> float:
    """A correlation without what the noise of the reference takes away; NaN if it is all noise."""
    return r / np.sqrt(of_reference) if of_reference > 0 else np.nan


def _square(r: float) -> float:
    return r * abs(r)


def compare_semivalues(
    problem: Problem,
    seed: int,
    laws: Mapping[str, Mapping[str, Any]],
    budgets: Sequence[float],
    reference: Mapping[str, float],
    alpha: float,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Compare estimators of the semi-values of one problem at equal time.

    Parameters
    ----------
    laws : name of a semi-value -> ``methods`` of the registry that estimate it without a budget.
    budgets : seconds at which sampling estimators are looked at.
    reference : ``reliability`` at which it ends, ``seconds`` that it may take.
    alpha : probability of a wrong certificate.
    settings : of the methods, by name.

    Returns
    -------
    Frames, and a record of the references. A row of every frame has ``semivalue`` and ``method``; a
    ``gap`` gives the reason where there are no numbers.

    - accuracy: a row per ``budget`` (none: a method of the registry), with the seconds and draws
      that it took, ``pearson``, ``spearman``, ``disattenuated``, the ``reliability`` of its own and
      that of the reference;
    - seconds: until the squared correlation with the exact values is ``TARGET``; ``extrapolated``:
      by the standard errors at the end, whose squares fall as 1/seconds;
    - shares: of all pairs, those with a certain order, for one pair at a time and for all at once.
    """
    longest = max(budgets)
    frames: dict[str, list[Row]] = {"accuracy": [], "seconds": [], "shares": []}
    record: dict[str, Any] = {"references": {}, "versions": versions()}
    play = partial(logistic_game, problem, utility=UTILITY)
    with measure() as run:
        for name, entry in laws.items():
            law = find_law(name)
            known, about = make_reference(play, law, seed, reference)
            record["references"][name] = about
            for method in entry["methods"]:
                row = _valued(method, problem, seed, (settings or {}).get(method, {}), known)
                frames["accuracy"].append({"semivalue": name, **row})
                frames["seconds"].append({"semivalue": name, **_seconds_of_method(row)})
            for method, trail in _trails(play, law, seed, longest):
                of = {"semivalue": name, "method": method}
                frames["accuracy"] += [of | _accuracy(trail, b, known) for b in budgets]
                frames["seconds"].append(of | seconds_to_target(trail, known))
                if method in CERTIFYING:
                    frames["shares"] += [of | _shares(trail, b, known, alpha) for b in budgets]
    record |= run.as_record()
    return {
        name: pd.DataFrame(rows, columns=COLUMNS[name]) for name, rows in frames.items()
    }, record


def make_reference(
    play: Play, law: Law, seed: int, limits: Mapping[str, float]
) -> tuple[Reference, dict[str, Any]]:
    """Semi-values until a reliability or a time is reached, and a record of what they took."""
    rng = np.random.default_rng([seed, REFERENCE])
    snapshot = draw_marginals(play, law, corrected_cells, rng, **limits).at()
    assert snapshot is not None  # it does not end before
    found = Reference.of(snapshot)
    about = {
        "reliability": round(found.reliability, 4),
        "coalitions": snapshot.draws,
        "seconds": round(snapshot.seconds, 4),
    }
    return found, about


def _trails(play: Play, law: Law, seed: int, seconds: float) -> Iterator[tuple[str, Trail]]:
    """The estimators that sample, one after the other."""
    estimators: dict[str, Callable[..., Trail]] = {
        PREDICTED: partial(draw_marginals, play, law, predicted_cells),
        TWO_LEVEL: partial(draw_marginals, play, law, corrected_cells),
    }
    if law.share is None:
        estimators[PERMUTATIONS] = partial(walk_orders, play, law)
    elif law == find_law("banzhaf"):
        estimators[REUSE] = partial(reuse_samples, play)
    for number, (method, estimate) in enumerate(estimators.items()):
        rng = np.random.default_rng([seed, ESTIMATES, number])
        yield method, estimate(rng=rng, seconds=seconds)


def _valued(
    method: str, problem: Problem, seed: int, settings: Mapping[str, Any], known: Reference
) -> Row:
    """Accuracy of a method of the registry."""
    seconds: list[float] = []
    while len(seconds) < (REPEATS if sum(seconds) < QUICK else 1):
        start = process_time()
        values = value_or_gap(method, problem, seed, **settings)
        seconds.append(process_time() - start)
        if values.record.get("gap"):
            return {"method": method, "gap": values.record["gap"]}
    return {
        "method": method,
        "seconds": float(np.median(seconds)),
        **known.near(values.values),
        "gap": "",
    }


def _accuracy(trail: Trail, budget: float, known: Reference) -> Row:
    snapshot = trail.at(budget)
    if snapshot is None:
        return {"budget": budget, "gap": _too_early(trail)}
    return {
        "budget": budget,
        "seconds": snapshot.seconds,
        "draws": snapshot.draws,
        **known.near(snapshot.values),
        "reliability": float(reliability(snapshot.values, snapshot.stderr)),
        "gap": "",
    }


def _too_early(trail: Trail) -> str:
    return f"no values before {trail.ready():.1f} s"


def _shares(trail: Trail, budget: float, known: Reference, alpha: float) -> Row:
    snapshot = trail.at(budget)
    if snapshot is None:
        return {"budget": budget, "gap": _too_early(trail)}
    pairs, gaps = all_gaps(snapshot.cells)
    one, every = gaps.certain(alpha), gaps.certain(alpha, "bonferroni")
    return {
        "budget": budget,
        "seconds": snapshot.seconds,
        "draws": snapshot.draws,
        "pairs": len(pairs),
        "certified_one": float(one.mean()),
        "certified_all": float(every.mean()),
        "agreement": known.agreement(gaps, one),
        "gap": "",
    }


def seconds_to_target(trail: Trail, known: Reference) -> Row:
    """Seconds until r² is ``TARGET`` (``to_target``), seen or ``extrapolated``; or the ``gap``."""
    reached = None
    for moment in np.geomspace(trail.moments[-1], trail.ready(), MOMENTS):
        snapshot = trail.at(moment * (1 + ROUNDING))
        if snapshot is None or not known.square(snapshot.values) >= TARGET:
            break
        reached = snapshot
    if reached is not None:
        return {"to_target": reached.seconds, "extrapolated": False, "gap": ""}
    last = trail.at()
    assert last is not None  # it has gone on until there was one
    share = float(np.square(last.stderr).mean()) / known.variance if known.variance else np.nan
    seconds = last.seconds * share * TARGET / (1 - TARGET)
    if seconds > last.seconds:
        return {"to_target": seconds, "extrapolated": True, "gap": ""}
    square = known.square(last.values)
    return {"gap": f"r² is {square:.4f} after {last.seconds:.1f} s; its own noise is not why"}


def _seconds_of_method(row: Row) -> Row:
    """Seconds of a method, if it reaches the target."""
    of = {"method": row["method"]}
    if row["gap"]:
        return of | {"gap": row["gap"]}
    square = _square(row["disattenuated"])
    if square >= TARGET:
        return of | {"to_target": row["seconds"], "extrapolated": False, "gap": ""}
    return of | {"gap": f"r² is {square:.4f}"}
