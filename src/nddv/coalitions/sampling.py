"""Semi-values of all points from marginals at sampled coalitions, stratified by size.

Every point has a marginal at every coalition (:mod:`nddv.laws` has the identity), so

    φ = Σ_h W_h E_h[Δ(A)],

one mean for each octave h of sizes. A *cell* is one such mean; there may be several for an octave,
as in a mean of predicted marginals plus a mean of their errors. A few draws of each cell, the
pilot, tell its spread σ_h; more are drawn in proportion to W_h σ_h/√cost (Neyman's allocation),
round by round, until a limit is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.coalitions.contexts import Contexts, Marginals
from nddv.coalitions.strata import Stratum, octaves
from nddv.laws import Law
from nddv.support.wording import InputError

Array = NDArray[np.float64]

PILOT = 4
"""Draws of every cell before any allocation."""

GROWTH = 1.5
"""From round to round the number of draws grows by this factor."""

COST_OF_ERRORS = 5.0
"""Cost of the errors of all predictions at a coalition, where the predictions cost 1."""

LEAST_WEIGHT = 0.02
"""Octaves of a smaller probability are drawn from together: their pilots would cost too much."""

PER_REFIT = 0.02
"""Cost of one fit of the engine, where the prediction of all points costs 1."""


@dataclass
class Cell:
    """A mean over the coalitions of one stratum.

    Attributes
    ----------
    kind : what is averaged, in words.
    marginals : of coalitions (B, n): arrays (B, n, U), and the fits they took.
    cost : of one draw, without fits of the engine.
    draws : so far, (M, n, U).
    """

    kind: str
    stratum: Stratum
    marginals: Callable[[NDArray[np.bool_]], Marginals]
    cost: float = 1.0
    draws: list[Array] = field(default_factory=list)
    refits: int = 0

    @property
    def single(self) -> bool:
        """Whether one draw is all there is."""
        return self.stratum.single

    def add(self, count: int, rng: np.random.Generator) -> None:
        """Draw more coalitions."""
        found = self.marginals(self.stratum.draw(count, rng))
        self.draws.extend(found.marginals)
        self.refits += int(found.refits.sum())

    def all_draws(self) -> Array:
        """(M, n, U)."""
        return np.stack(self.draws)

    def mean_cost(self) -> float:
        """Of one draw so far."""
        return self.cost + PER_REFIT * self.refits / len(self.draws)


@dataclass(frozen=True)
class Limits:
    """Where sampling ends: at whatever is reached first.

    Attributes
    ----------
    coalitions : most draws, the pilot's among them.
    seconds : no draw begins later. (What this ends is not the same on another machine.)
    reliability : 1 − mean squared standard error / variance of the values, for every utility.
    precision : largest root mean squared standard error.
    """

    coalitions: int = 2000
    seconds: float = np.inf
    reliability: float = 1.0
    precision: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Semi-values, standard errors, and the cells that they are the sum of."""

    values: Array  # (n, U)
    stderr: Array  # (n, U)
    cells: list[Cell]
    seconds: float
    ended: str  # which limit was reached

    @property
    def coalitions(self) -> int:
        """How many were drawn."""
        return sum(len(cell.draws) for cell in self.cells)

    @property
    def reliability(self) -> Array:
        """(U,) of the values: the correlation that two independent estimates would have."""
        return reliability(self.values, self.stderr)

    def record(self) -> dict[str, Any]:
        """What was drawn, for a file."""
        return {
            "coalitions": self.coalitions,
            "refits": sum(cell.refits for cell in self.cells),
            "reliability": [round(float(r), 4) for r in self.reliability],
            "ended": self.ended,
        }


def reliability(values: Array, stderr: Array) -> Array:
    """1 − mean squared standard error / variance of the values, of each column."""
    spread = values.var(axis=0)
    noise = np.square(stderr).mean(axis=0)
    share = np.divide(noise, spread, out=np.ones_like(spread), where=spread > 0)
    return np.where(noise == 0, 1.0, np.maximum(0.0, 1 - share))


def predicted_cells(contexts: Contexts, law: Law) -> list[Cell]:
    """Predicted marginals of each octave; exact ones where there is a single coalition."""
    return [
        Cell("exact", stratum, contexts.exact)
        if stratum.single
        else Cell("predicted", stratum, contexts.predicted)
        for stratum in octaves(law, contexts.n, least=LEAST_WEIGHT)
    ]


def corrected_cells(contexts: Contexts, law: Law) -> list[Cell]:
    """Predicted marginals, and beside them their errors at other coalitions: together unbiased."""
    cells = predicted_cells(contexts, law)
    strata = octaves(law, contexts.n, factor=4, least=LEAST_WEIGHT)
    drawn = [stratum for stratum in strata if not stratum.single]
    return cells + [Cell("errors", s, contexts.errors, COST_OF_ERRORS) for s in drawn]


def sample(
    cells: Sequence[Cell],
    rng: np.random.Generator,
    limits: Limits,
    pilot: int = PILOT,
    batch: int = 8,
) -> Estimate:
    """Draw from cells until a limit is reached.

    Parameters
    ----------
    pilot : draws of each cell at first, at least 2.
    batch : coalitions that are fitted together.
    """
    if pilot < 2:
        raise ValueError(f"pilot must be at least 2 draws of each octave, got {pilot}")
    start = perf_counter()
    for number, cell in enumerate(cells, start=1):
        cell.add(1 if cell.single else pilot, rng)
        if perf_counter() - start > limits.seconds and number < len(cells):
            needed = (perf_counter() - start) / number * len(cells)
            raise InputError(
                f"seconds={limits.seconds:g} is too short: the pilot of {pilot} coalitions in each "
                f"of {len(cells)} octaves of sizes takes about {needed:.1f} s here; allow more",
                seconds=float(np.ceil(needed)),
            )
    ended = _ended(cells, limits, start)
    while not ended:
        for cell, count in _allocation(cells, limits):
            while count > 0 and perf_counter() - start < limits.seconds:
                cell.add(min(batch, count), rng)
                count -= batch
        ended = _ended(cells, limits, start)
    values, stderr = _estimate(cells)
    return Estimate(values, stderr, list(cells), perf_counter() - start, ended)


def _estimate(cells: Sequence[Cell]) -> tuple[Array, Array]:
    """Values and standard errors (n, U)."""
    values, variance = 0.0, 0.0
    for cell in cells:
        draws, weight = cell.all_draws(), cell.stratum.weight
        values = values + weight * draws.mean(axis=0)
        if not cell.single:
            variance = variance + weight**2 * draws.var(axis=0, ddof=1) / len(draws)
    return np.asarray(values), np.broadcast_to(np.sqrt(variance), np.shape(values))


def _allocation(cells: Sequence[Cell], limits: Limits) -> list[tuple[Cell, int]]:
    """How many draws each cell is to have more in the next round, in units of whole draws."""
    drawn = [cell for cell in cells if not cell.single]
    variances = np.array([c.all_draws().var(axis=0, ddof=1).mean(axis=0) for c in drawn])  # (c, U)
    weights = np.array([cell.stratum.weight for cell in drawn])
    # every utility in units of its own error
    scale = (weights[:, None] ** 2 * variances).sum(axis=0)
    spread = weights * np.sqrt((variances / np.where(scale > 0, scale, 1)).sum(axis=1))
    # A pilot that happens to vary little must not leave its cell with so few draws that nobody
    # notices: no cell counts less than half the mean of its kind.
    kinds = np.array([cell.kind for cell in drawn])
    least = [spread[kinds == kind].mean() / 2 for kind in kinds]
    shares = np.maximum(spread, least) / np.sqrt([cell.mean_cost() for cell in drawn])
    counts = np.array([len(cell.draws) for cell in drawn])
    total = min(np.ceil(GROWTH * counts.sum()), limits.coalitions - len(cells) + len(drawn))
    if shares.sum() == 0:
        return []
    wanted = np.ceil(total * shares / shares.sum()).astype(int)
    more = np.maximum(0, wanted - counts)
    room = int(total - counts.sum())
    # cells that already have too many leave less for the others
    more = np.floor(more * min(1.0, room / max(1, more.sum()))).astype(int)
    if room > 0 and more.sum() == 0:
        more[np.argmax(wanted - counts)] = 1
    return [(cell, int(count)) for cell, count in zip(drawn, more, strict=True) if count]


def _ended(cells: Sequence[Cell], limits: Limits, start: float) -> str:
    """Which limit is reached; empty if none is."""
    if all(cell.single for cell in cells):
        return "exact"
    values, stderr = _estimate(cells)
    if not stderr.any():
        return "no spread"
    if (reliability(values, stderr) >= limits.reliability).all():
        return "reliability"
    if np.sqrt(np.square(stderr).mean(axis=0)).max() <= limits.precision:
        return "precision"
    if sum(len(cell.draws) for cell in cells) >= limits.coalitions:
        return "coalitions"
    if perf_counter() - start >= limits.seconds:
        return "seconds"
    return ""
