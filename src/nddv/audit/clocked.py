"""Estimators of semi-values against the clock: what each has after any number of seconds.

An estimator runs once. The moment at which each of its draws comes is noted, so its values and
standard errors can be looked at as they were at any earlier moment. The clock starts before the
game is made, and counts seconds of the processor, which other work on the machine disturbs little:
on one thread of an idle machine they are those on the wall. An estimator goes on until it has
enough draws for standard errors, even if its time is over. At earlier moments it then has nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import process_time
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from nddv.audit.context import point_gaps
from nddv.baselines.semivalues import walk_contributions
from nddv.baselines.subsamples import difference_of_means
from nddv.coalitions.contexts import Contexts, Marginals
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.sampling import Cell, Limits, sample
from nddv.coalitions.strata import Stratum
from nddv.laws import Law

Array = NDArray[np.float64]
Play = Callable[[], LogisticGame]
Seen = tuple[Array, Array, tuple[Cell, ...]]
"""Values (n,), standard errors (n,), and the cells that intervals are made of."""

LEAST = 2
"""Draws from which a standard error can be computed."""

TOGETHER = 64
"""Coalitions that maximum sample reuse fits together."""

MOST = 10**9
"""Coalitions that no estimator reaches: the clock ends it."""


@dataclass(frozen=True)
class Snapshot:
    """What an estimator has at some moment."""

    seconds: float  # when the last of its draws came
    draws: int
    values: Array  # (n,)
    stderr: Array  # (n,)
    cells: tuple[Cell, ...] = ()  # what intervals are made of; none for sample reuse


@dataclass(frozen=True)
class Trail:
    """The draws of an estimator in the order in which they came.

    Attributes
    ----------
    moments : (M,) seconds since the start.
    view : what the first k draws say: values, standard errors, cells; None where k is too small.
    """

    moments: Array
    view: Callable[[int], Seen | None]

    def at(self, seconds: float = np.inf) -> Snapshot | None:
        """What there was after some seconds; None where that was too little. Without: the end."""
        count = int(np.searchsorted(self.moments, seconds, side="right"))
        seen = self.view(count) if count else None
        return None if seen is None else Snapshot(float(self.moments[count - 1]), count, *seen)

    def ready(self) -> float:
        """Seconds after which there were values."""
        return next((float(t) for t in np.unique(self.moments) if self.at(t)), np.inf)


def walk_orders(play: Play, law: Law, rng: np.random.Generator, seconds: float) -> Trail:
    """Marginals along random orders of all points, every fit made (Ghorbani and Zou 2019).

    The interval of a gap is Student's, of the mean over orders.
    """
    start = process_time()
    game = play()
    moments: list[float] = []
    weights = game.n * law.omega(game.n)
    every = Stratum(game.n, np.arange(game.n + 1), 1.0, law.sizes(game.n))
    cell = Cell("orders", every, _not_drawn)
    while process_time() - start < seconds or len(moments) < LEAST:
        order = rng.permutation(game.n)[None]
        utilities, _ = game.walk(order)
        found = walk_contributions(utilities, order, weights[None])
        cell.draws.append(found[0, 0, :, None])
        moments.append(process_time() - start)
    return Trail(np.array(moments), lambda count: _view([cell], [count], LEAST))


def reuse_samples(play: Play, rng: np.random.Generator, seconds: float) -> Trail:
    """Banzhaf values by maximum sample reuse (Wang and Jia 2023): see ``data_banzhaf``."""
    start = process_time()
    game = play()
    moments: list[float] = []
    members: list[NDArray[np.bool_]] = []
    utilities: list[Array] = []

    def view(count: int) -> Seen | None:
        blocks = slice(-(-count // TOGETHER))
        drawn = np.concatenate(members[blocks])[:count]
        inside = drawn.sum(axis=0)
        if min(inside.min(), count - inside.max()) < LEAST:
            return None
        return (*difference_of_means(drawn, np.concatenate(utilities[blocks])[:count]), ())

    while not moments or process_time() - start < seconds or view(len(moments)) is None:
        members.append(rng.random((TOGETHER, game.n)) < 0.5)
        utilities.append(game.utilities(members[-1]))
        moments += [process_time() - start] * TOGETHER
    return Trail(np.array(moments), view)


def draw_marginals(
    play: Play,
    law: Law,
    cells_of: Callable[[Contexts, Law], list[Cell]],
    rng: np.random.Generator,
    seconds: float,
    reliability: float = 1.0,
) -> Trail:
    """Marginals of all points at coalitions (:mod:`nddv.coalitions.sampling`).

    cells_of : ``predicted_cells``, or ``corrected_cells``, which are unbiased.
    reliability : at which drawing ends before the time.
    """
    start = process_time()
    cells = cells_of(Contexts(play()), law)
    moments: list[float] = []
    sequence: list[int] = []

    def clocked(number: int, cell: Cell) -> Cell:
        marginals = cell.marginals

        def found(members: NDArray[np.bool_]) -> Marginals:
            if process_time() - start > seconds and len(set(sequence)) == len(cells):
                raise _TimeIsUp
            drawn = marginals(members)
            moments.extend([process_time() - start] * len(members))
            sequence.extend([number] * len(members))
            return drawn

        return replace(cell, marginals=found)

    cells = [clocked(number, cell) for number, cell in enumerate(cells)]
    with suppress(_TimeIsUp):
        sample(cells, rng, Limits(MOST, reliability=reliability))

    def view(count: int) -> Seen | None:
        return _view(cells, np.bincount(sequence[:count], minlength=len(cells)).tolist(), 1)

    return Trail(np.array(moments), view)


class _TimeIsUp(Exception):
    """No draw begins any more."""


def _not_drawn(members: NDArray[np.bool_]) -> NoReturn:
    raise TypeError("orders are walked, coalitions are not drawn")


def _view(cells: Sequence[Cell], counts: Sequence[int], least: int) -> Seen | None:
    """What the first draws of each cell say; None if one has fewer than the least."""
    if min(counts) < least:
        return None
    seen = tuple(replace(c, draws=c.draws[:count]) for c, count in zip(cells, counts, strict=True))
    found = point_gaps(seen)
    return found.gap, found.stderr, seen
