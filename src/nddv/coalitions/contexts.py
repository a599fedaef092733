"""Marginals of every point in the context of a coalition, from the one fit of the coalition.

The marginal of i at A is Δ_i(A∖i) = U(A ∪ i) − U(A∖i): of a member what its removal loses, of any
other point what its addition gains. :mod:`nddv.coalitions.expansion` predicts the fits with one
point more or less; their utilities on the validation points are exact, for accuracy too. Where
a class appears or vanishes, or a predicted change is long, the engine fits again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.coalitions.design import Design
from nddv.coalitions.expansion import EXACT, Expansion, Moves
from nddv.coalitions.fits import Fits
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.measures import measure
from nddv.coalitions.newcomers import fits_here, newcomer_logits
from nddv.coalitions.predict import scores
from nddv.coalitions.threads import apply, workers
from nddv.support.settings import UTILITIES

LONGEST = 1.0
"""A predicted change that is longer in the norm of the Hessian is fitted instead."""

NEAR = 1e-2
"""Length of the last step of such a fit, where the others are predictions."""

LOGITS_TOGETHER = 2**20
"""Validation logits that are in memory at once."""


@dataclass(frozen=True)
class Marginals:
    """Marginals of all points at some coalitions."""

    marginals: NDArray[np.float64]  # (B, n, U)
    refits: NDArray[np.intp]  # (B,) how many of the n fits were made by the engine


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
        self._classes = np.eye(game.n_classes, dtype=np.intp)[game.y_train]

    def predicted(self, members: NDArray[np.bool_]) -> Marginals:
        """Predicted marginals at coalitions (B, n)."""
        return self._all(members, exact=False)

    def exact(self, members: NDArray[np.bool_]) -> Marginals:
        """Marginals at coalitions (B, n) by fits; they begin at the predictions."""
        return self._all(members, exact=True)

    def errors(self, members: NDArray[np.bool_]) -> Marginals:
        """Exact minus predicted marginals at coalitions (B, n)."""
        exact, predicted = self.exact(members), self.predicted(members)
        return Marginals(exact.marginals - predicted.marginals, exact.refits + predicted.refits)

    def _all(self, members: NDArray[np.bool_], exact: bool) -> Marginals:
        fits = self.game.engine.fit(members)
        every = range(len(members))
        with workers(self.game.device) as threads:
            parts = apply(lambda b: self._at(members[b], fits[b : b + 1], exact), every, threads)
        return Marginals(
            np.reshape([found for found, _ in parts], (len(members), self.n, -1)),
            np.array([refits for _, refits in parts], dtype=np.intp),
        )

    def _at(
        self, members: NDArray[np.bool_], fit: Fits, exact: bool
    ) -> tuple[NDArray[np.float64], int]:
        """Marginals (n, U) at one coalition, and how many fits the engine has made."""
        utilities = np.empty((self.n, len(self.utilities)))
        sizes = members @ self._classes
        own = self._classes @ sizes  # how many members have the class of a point
        again = np.where(members, own == 1, own == 0)
        on = torch.as_tensor(members, device=self._design.X.device)
        if (sizes > 0).sum() < 2:
            again[:] = True
        else:
            expansion = Expansion.at(self._design, self._design.models(fit)[0], on)
            again |= self._measure(expansion, ~again, exact, utilities)
        if members.any() and fits_here(self._design, on):
            again &= ~self._newcomers(on, ~members & (own == 0), utilities)
        if again.any():
            utilities[again] = self._refitted(members, np.flatnonzero(again), fit)
        here = scores(fit, self.game.X_valid, self.game.y_valid, self.game.device)[:, self._columns]
        return np.where(members, -1.0, 1.0)[:, None] * (utilities - here), int(again.sum())

    def _measure(
        self,
        expansion: Expansion,
        wanted: NDArray[np.bool_],
        exact: bool,
        utilities: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Write utilities (n, U) of the wanted points, and say where the engine must fit."""
        moves = expansion.predicted()
        asked = torch.as_tensor(wanted).to(moves.rows.device) & moves.length.isfinite()
        short = asked & (moves.length <= LONGEST) if not exact else torch.zeros_like(asked)
        again = np.array(wanted)

        def write(some: Moves) -> None:
            rows = some.rows.numpy(force=True)
            found = measure(self._every(expansion, some), self._design.y_valid, self.utilities)
            utilities[rows] = found.numpy(force=True)
            again[rows] = False

        for some in self._chunks(moves.take(short), len(expansion.span.V)):
            write(some)
        points = len(expansion.span.V) + int(expansion.members.sum())
        for some in self._chunks(moves.take(asked & ~short), points):
            refined, reached = expansion.refined(some, EXACT if exact else NEAR)
            write(refined.take(reached))
        return again

    def _newcomers(
        self, members: Tensor, wanted: NDArray[np.bool_], utilities: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Write utilities (n, U) of the wanted points, each of a new class; say which (n,)."""
        written = np.zeros_like(wanted)
        for label in np.unique(self.game.y_train[wanted]):
            rows = np.flatnonzero(wanted & (self.game.y_train == label))
            points = torch.as_tensor(rows, device=members.device)
            logits, reached = newcomer_logits(self._design, members, points)
            rows = rows[reached.numpy(force=True)]
            found = measure(logits[reached], self._design.y_valid, self.utilities)
            utilities[rows], written[rows] = found.numpy(force=True), True
        return written

    def _chunks(self, moves: Moves, points: int) -> Iterator[Moves]:
        """Changes in parts whose logits of some points fit in memory."""
        size = max(1, LOGITS_TOGETHER // (self.game.n_classes * points))
        for first in range(0, len(moves.rows), size):
            yield moves.take(slice(first, first + size))

    def _every(self, expansion: Expansion, moves: Moves) -> Tensor:
        """Validation logits (b, K, m) with a row for every class, absent ones too."""
        logits = expansion.logits(moves)
        present, classes = expansion.model.present, self.game.n_classes
        if classes == 2 or len(present) == classes:
            return logits
        every = logits.new_full((len(logits), classes, logits.shape[2]), -torch.inf)
        every[:, present] = logits
        return every

    def _refitted(
        self, members: NDArray[np.bool_], points: NDArray[np.intp], start: Fits
    ) -> NDArray[np.float64]:
        """Utilities (b, U) of fits with each of points (b,) added or removed."""
        rows = np.flatnonzero(members | np.isin(np.arange(self.n), points))
        weights = members[rows] ^ (rows == points[:, None])
        fits = self.game.engine.among(rows).fit(weights, start)
        found = scores(fits, self.game.X_valid, self.game.y_valid, self.game.device)
        return found[:, self._columns]
