"""One fit that stands for all coalitions of a share t, and the marginals of all points in it.

A coalition holds a point with weight 1 or not at all. In the fit where all points have weight t, a
point of high leverage weighs too much: as a member it would be fitted, and its residual small, but
with the weight t its residual stays large and pulls with t times that. Let r⁻ be the residual of a
point without itself, and h = C S G⁻ its leverage there. With weight w its residual is
r = r⁻/(1 + w h), as a member it is r₁ = r⁻/(1 + h). A member pulls with r₁, and it is a member with
probability t; so the weight of the point in the field is the one with

    w r = t r₁,    that is    w = t / (1 + (1 − t) h).

Its curvature S/(1 + w h) is then right too. Residuals with the weight 1 are those of the proximal
equation (:mod:`nddv.coalitions.expansion`), so h is found from r₁/r, and the loss of the point
itself is exact. A few rounds of fits and weights reach the fixed point. At t = 1 and for points
without leverage it is the diagonal w = t.

The marginal of a point is the change of the utility from no weight to weight 1 in the field of the
others: removed by a Newton step, added by the proximal equation, and measured exactly (of two
classes, by an expansion to the second order where both changes are short).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.coalitions.design import Design, Model, gradient, hessian
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.measures import bends, check_smooth, measure, slopes, with_absent
from nddv.coalitions.proximal import curvatures, leverages, probabilities, prox, solve_small
from nddv.coalitions.threads import workers

LARGEST = 2000
"""Most parameters of a fit whose Hessian is inverted here."""

MOST_WORK = 2e10
"""Most points · parameters²: beyond, products with the inverse would take minutes."""

ROUNDS = 2
"""Times that the weights are set anew."""

LEAST = 1e-3
"""Smallest part of a residual that is left to a member, beyond its weight."""

SHORT = 0.1
"""Length in the norm of H up to which a change is short."""

NUMBERS_TOGETHER = 2**22
"""Numbers of one array that are in memory at once."""


def fits_here(game: LogisticGame) -> bool:
    """Whether the fits of a game have few enough parameters for its number of points."""
    parameters = game.engine.n_logits * (min(game.engine.d, game.n) + 1)
    return parameters <= LARGEST and game.n * parameters**2 <= MOST_WORK


def field_marginals(game: LogisticGame, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Marginals (L, n) of all points in the fields of levels (L,), each above 0."""
    check_smooth(game.utility)
    weights = np.repeat(np.asarray(levels, dtype=np.float64)[:, None], game.n, axis=1)
    with workers(game.device):
        design = Design.of(game)
        fits = game.engine.fit(weights)
        for _ in range(ROUNDS):
            pairs = zip(design.models(fits), weights, levels, strict=True)
            weights = np.stack([Field.at(design, m, w).balanced(t) for m, w, t in pairs])
            fits = game.engine.fit(weights, fits)
        fields = zip(design.models(fits), weights, strict=True)
        found = [Field.at(design, m, w).marginals(game.utility) for m, w in fields]
    return np.stack(found)


@dataclass(frozen=True)
class _Part:
    """Some points in a field."""

    rows: slice
    residuals: Tensor  # (b, K) with their weights
    member: Tensor  # (b, K) residuals with weight 1
    removed: Tensor  # (b, K) a: the change −C H⁻¹(a ⊗ x) takes the weight from the point
    added: Tensor  # (b, K) and this one gives it the weight 1
    length: Tensor  # (b,) of the longer change, in the norm of H


@dataclass(frozen=True)
class Field:
    """The fit of points with weights."""

    design: Design
    model: Model
    weights: Tensor  # (n,)
    inverse: Tensor  # (K·p, K·p) of the Hessian

    @classmethod
    def at(cls, design: Design, model: Model, weights: NDArray[np.float64]) -> Self:
        """From a fit of the engine, which stops a little before the minimum."""
        X, C = design.X, design.C
        w = torch.as_tensor(weights).to(X)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(hessian(model, X, w, C)))
        rest = gradient(model, X, model.targets(design.y), w, C)
        model = model.moved(-(inverse @ rest.ravel()).view_as(rest))
        return cls(design, model, w, inverse)

    def balanced(self, level: float) -> NDArray[np.float64]:
        """Weights (n,) that points have in a coalition of a share, by what they have here."""
        found = torch.empty_like(self.weights)
        for part in self._parts(len(self.model.theta) ** 2):
            left = (part.member * part.residuals).sum(dim=1)
            left = (left / part.residuals.square().sum(dim=1)).nan_to_num(1.0).clamp_max(1)
            beyond = (left - self.weights[part.rows]).clamp_min(LEAST)
            found[part.rows] = level * beyond / (beyond + (1 - level) * (1 - left))
        return found.numpy(force=True)

    def marginals(self, utility: str) -> NDArray[np.float64]:
        """U(weight 1) − U(weight 0) of every point (n,), the others as they are."""
        V = self.design.V
        K, p = self.model.theta.shape
        found = torch.empty_like(self.weights, dtype=torch.float64)
        expanded = self._expanded(utility) if K == 1 else None
        for part in self._parts(K * max(len(V), K * p)):
            far = torch.ones_like(self.weights[part.rows], dtype=torch.bool)
            if expanded is not None:
                found[part.rows] = expanded(part)
                far = part.length > SHORT
            rows = torch.arange(len(self.weights), device=far.device)[part.rows][far]
            if len(rows):
                ends = [self._measured(rows, a[far], utility) for a in (part.added, part.removed)]
                found[rows] = ends[0] - ends[1]
        return found.numpy(force=True)

    def _measured(self, rows: Tensor, a: Tensor, utility: str) -> Tensor:
        """Utilities (b,) after changes a (b, K) by some points."""
        design, theta = self.design, self.model.theta
        right = (a[:, :, None] * design.X[rows][:, None]).flatten(1)
        changed = theta - design.C * (right @ self.inverse).view(-1, *theta.shape)
        logits = with_absent(changed @ design.V.T, self.model.present, design.n_classes)
        return measure(logits, design.y_valid, (utility,))[:, 0]

    def _expanded(self, utility: str) -> Callable[[_Part], Tensor]:
        """Marginals of points of two classes to the second order of their changes."""
        design, logits = self.design, self.model.theta @ self.design.V.T
        V, y, C = design.V, design.y_valid, design.C
        slope = (slopes(logits, y, utility) @ V)[0]
        bend = V.T @ (bends(logits, y, utility)[0][:, None] * V)

        def marginals(part: _Part) -> Tensor:
            along = design.X[part.rows] @ self.inverse
            curve = ((along @ bend) * along).sum(dim=1)
            first, last = part.removed[:, 0], part.added[:, 0]
            return C * (first - last) * (along @ slope) + C**2 / 2 * (last**2 - first**2) * curve

        return marginals

    def _parts(self, numbers: int) -> Iterator[_Part]:
        """All points, so many at once that an array of so many numbers a point is not too large."""
        size = max(1, NUMBERS_TOGETHER // numbers)
        C, n = self.design.C, len(self.weights)
        for first in range(0, n, size):
            rows = slice(first, min(first + size, n))
            X, w = self.design.X[rows], self.weights[rows, None]
            P = self.model.probabilities(X).T
            targets = self.model.targets(self.design.y[rows]).T
            blocks = leverages(X, self.inverse[None], P.shape[1])
            # 1 − C w S G: by this the point itself has lowered G and its residual
            own = -C * w[:, :, None] * (curvatures(P) @ blocks)
            own.diagonal(dim1=1, dim2=2).add_(1.0)
            removed = -w * solve_small(own, P - targets)
            logits = X @ self.model.theta.T - C * (blocks @ removed[:, :, None])[..., 0]
            without = solve_small(own.transpose(1, 2), blocks).transpose(1, 2)
            member = probabilities(prox(logits, C * without, targets)) - targets
            added = removed + solve_small(own, member)
            squares = [(a[:, None] @ blocks @ a[:, :, None]).ravel() for a in (added, removed)]
            length = C * torch.maximum(*squares).clamp_min(0).sqrt()
            yield _Part(rows, P - targets, member, removed, added, length)
