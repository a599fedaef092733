"""Marginals of every point in the context of a coalition, from the one fit of the coalition.

The marginal of i at A is Δ_i(A∖i) = U(A ∪ i) − U(A∖i): of a member what its removal loses, of any
other point what its addition gains. :mod:`nddv.coalitions.expansion` predicts the fits with one
point more or less; their utilities on the validation points are exact, for accuracy too. Where
a class appears or vanishes, or a predicted change is long, the engine fits again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.coalitions.design import Design
from nddv.coalitions.expansion import LARGEST, Expansion, Moves
from nddv.coalitions.fits import Fits
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.measures import measure, with_absent
from nddv.coalitions.newcomers import fits_here, newcomer_logits
from nddv.coalitions.predict import scores
from nddv.coalitions.threads import apply, workers
from nddv.support.settings import UTILITIES

LONGEST = 0.6
"""A predicted change that is longer in the norm of the Hessian is fitted instead."""

NEAR = 0.1
ROUGH_STEPS = 4
"""A long predicted change goes on until a step is this short, or for so many steps."""

NEARLY = 1e-3
"""Length of the last step in single precision on the way to a fit."""

LOGITS_TOGETHER = 2**20
"""Validation logits that are in memory at once."""


Found = Callable[[NDArray[np.bool_], Fits], tuple[NDArray[np.float64], int]]
"""Numbers (n, U) at a coalition (n,) with its fit, and how many fits the engine has made."""


@dataclass(frozen=True)
class Marginals:
    """Marginals of all points at some coalitions."""

    marginals: NDArray[np.float64]  # (B, n, U)
    refits: NDArray[np.intp]  # (B,) how many of the n fits were made by the engine


def megabytes(game: LogisticGame) -> float:
    """About how much memory the marginals of all points at a coalition of a game take."""
    n, m, q = game.n, len(game.X_valid), min(game.n, game.engine.d) + 1
    K = game.engine.n_logits
    curvature = 3 * min(K * q * K * q, max(K * q * q, LARGEST**2))
    numbers = curvature + 5 * n * K * q + 4 * (n + m) * game.engine.d + n * m
    return 8 * (numbers + 8 * LOGITS_TOGETHER) / 2**20


class Contexts:
    """Marginals at the coalitions of a logistic game.

    Parameters
    ----------
    game : two classes or more.
    utilities : to measure; by default the game's own.
    """

    def __init__(self, game: LogisticGame, utilities: Sequence[str] | None = None) -> None:
        self.game, self.n = game, game.n
        self.utilities = tuple(utilities or (game.utility,))
        self._columns = [UTILITIES.index(name) for name in self.utilities]
        self._design = Design.of(game)
        self._rough = self._design.to(torch.float32)

    def predicted(self, members: NDArray[np.bool_]) -> Marginals:
        """Predicted marginals at coalitions (B, n)."""
        return self._each(members, lambda one, fit: self._at(one, fit, exact=False))

    def exact(self, members: NDArray[np.bool_]) -> Marginals:
        """Marginals at coalitions (B, n) by fits; they begin at the predictions."""
        return self._each(members, lambda one, fit: self._at(one, fit, exact=True))

    def errors(self, members: NDArray[np.bool_]) -> Marginals:
        """Exact minus predicted marginals at coalitions (B, n), in one go."""
        return self._each(members, self._errors_at)

    def _each(self, members: NDArray[np.bool_], at: Found) -> Marginals:
        """Marginals at coalitions (B, n) from a function of one coalition and its fit."""
        fits = self.game.engine.fit(members)
        with workers(self.game.device) as threads:
            every = range(len(members))
            parts = apply(lambda b: at(members[b], fits[b : b + 1]), every, threads)
        return Marginals(
            np.reshape([found for found, _ in parts], (len(members), self.n, -1)),
            np.array([refits for _, refits in parts], dtype=np.intp),
        )

    def _at(
        self, members: NDArray[np.bool_], fit: Fits, exact: bool
    ) -> tuple[NDArray[np.float64], int]:
        """Marginals (n, U) at one coalition, and how many fits the engine has made."""
        utilities = np.empty((self.n, len(self.utilities)))
        alike = self._alike(members)
        again = np.where(members, alike == 1, alike == 0)
        design = self._design if exact else self._rough
        on = torch.as_tensor(members, device=design.X.device)
        expansion = self._expansion(design, members, fit)
        if expansion is None:
            again[:] = True
            here = self._scores(fit)
        else:
            again |= self._measure(expansion, expansion.predicted(), ~again, exact, utilities)
            here = self._utilities(expansion, expansion.still())
        if members.any() and fits_here(design, on):
            again &= ~self._newcomers(design, on, ~members & (alike == 0), utilities)
        if again.any():
            utilities[again] = self._refitted(members, np.flatnonzero(again), fit)
        return np.where(members, -1.0, 1.0)[:, None] * (utilities - here), int(again.sum())

    def _errors_at(self, members: NDArray[np.bool_], fit: Fits) -> tuple[NDArray[np.float64], int]:
        """Errors (n, U) of the predictions at one coalition: zero where the engine fits anyway."""
        near, far = np.zeros((2, self.n, len(self.utilities)))
        rough = self._expansion(self._rough, members, fit)
        expansion = self._expansion(self._design, members, fit)
        if rough is None or expansion is None:
            return near, 0
        alike = self._alike(members)
        wanted = np.where(members, alike > 1, alike > 0)
        moves = rough.predicted()
        wanted &= ~self._measure(rough, moves, wanted, False, near)
        begin = self._nearly(rough, moves) if rough.span.basis is None else expansion.predicted()
        again = self._measure(expansion, begin, wanted, True, far)
        if again.any():
            far[again] = self._refitted(members, np.flatnonzero(again), fit)
        near -= self._utilities(rough, rough.still())
        far -= self._utilities(expansion, expansion.still())
        errors = np.where(wanted, np.where(members, -1.0, 1.0), 0.0)[:, None] * (far - near)
        return errors, int(again.sum())

    def _alike(self, members: NDArray[np.bool_]) -> NDArray[np.intp]:
        """How many members have the class of each point, (n,)."""
        y = self.game.y_train
        return np.bincount(y[members], minlength=self.game.n_classes)[y]

    def _expansion(self, design: Design, members: NDArray[np.bool_], fit: Fits) -> Expansion | None:
        """The expanded fit of a coalition; None if it has no two classes."""
        if len(np.unique(self.game.y_train[members])) < 2:
            return None
        on = torch.as_tensor(members, device=design.X.device)
        return Expansion.at(design, design.models(fit)[0], on)

    def _measure(
        self,
        expansion: Expansion,
        moves: Moves,
        wanted: NDArray[np.bool_],
        exact: bool,
        utilities: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Write utilities (n, U) of the wanted points, and say where the engine must fit."""
        on = torch.as_tensor(wanted).to(moves.rows.device)
        asked = on[moves.rows] & moves.length.isfinite()
        short = asked & (moves.length <= LONGEST) if not exact else torch.zeros_like(asked)
        again = np.array(wanted)

        def write(some: Moves) -> None:
            rows = some.rows.numpy(force=True)
            utilities[rows] = self._utilities(expansion, some)
            again[rows] = False

        for some in self._chunks(moves.take(short), len(expansion.span.V)):
            write(some)
        points = len(expansion.span.V) + int(expansion.members.sum())
        for some in self._chunks(moves.take(asked & ~short), points):
            refined, reached = (
                expansion.refined(some) if exact else expansion.refined(some, NEAR, ROUGH_STEPS)
            )
            write(refined.take(reached) if exact else refined)
        return again

    def _nearly(self, rough: Expansion, moves: Moves) -> Moves:
        """Changes that are nearly those of the fits, as far as single precision goes."""
        points = len(rough.span.V) + int(rough.members.sum())
        finite = moves.take(moves.length.isfinite())
        parts = [rough.refined(some, NEARLY)[0] for some in self._chunks(finite, points)]
        return Moves.join(parts).double()

    def _newcomers(
        self,
        design: Design,
        members: Tensor,
        wanted: NDArray[np.bool_],
        utilities: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Write utilities (n, U) of the wanted points, each of a new class; say which (n,)."""
        written = np.zeros_like(wanted)
        for label in np.unique(self.game.y_train[wanted]):
            rows = np.flatnonzero(wanted & (self.game.y_train == label))
            points = torch.as_tensor(rows, device=members.device)
            logits, reached = newcomer_logits(design, members, points)
            rows = rows[reached.numpy(force=True)]
            found = measure(logits[reached], design.y_valid, self.utilities)
            utilities[rows], written[rows] = found.numpy(force=True), True
        return written

    def _chunks(self, moves: Moves, points: int) -> Iterator[Moves]:
        """Changes in parts whose logits of some points fit in memory."""
        size = max(1, LOGITS_TOGETHER // (self.game.n_classes * points))
        for first in range(0, len(moves.rows), size):
            yield moves.take(slice(first, first + size))

    def _utilities(self, expansion: Expansion, moves: Moves) -> NDArray[np.float64]:
        """Utilities (b, U) after changes; absent classes have a logit too, of −inf."""
        logits = expansion.logits(moves)
        logits = with_absent(logits, expansion.model.present, self.game.n_classes)
        return measure(logits, self._design.y_valid, self.utilities).numpy(force=True)

    def _scores(self, fits: Fits) -> NDArray[np.float64]:
        """Utilities (b, U) of fits."""
        found = scores(fits, self.game.X_valid, self.game.y_valid, self.game.device)
        return found[:, self._columns]

    def _refitted(
        self, members: NDArray[np.bool_], points: NDArray[np.intp], start: Fits
    ) -> NDArray[np.float64]:
        """Utilities (b, U) of fits with each of points (b,) added or removed."""
        rows = np.flatnonzero(members | np.isin(np.arange(self.n), points))
        weights = members[rows] ^ (rows == points[:, None])
        return self._scores(self.game.engine.among(rows).fit(weights, start))
