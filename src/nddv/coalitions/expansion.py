"""The fit of a coalition, and what it says about the fits with one point more or one point less.

At the fit θ of a coalition A the objective is expanded to second order. With B_i = 1_K ⊗ x_i and
G_i = B_iᵀ H⁻¹ B_i (K, K), a point changes the parameters by δ_i = −C H⁻¹(a_i ⊗ x_i):

- *added*, i ∉ A: its own loss is kept exact. The logits z of the point solve the proximal equation
  z + C G_i (p(z) − y_i) = θ x_i, and a_i = p(z) − y_i. (A Newton step that expands the loss of the
  new point too can be off by orders of magnitude: at θ the point may be far from fitted.)
- *removed*, i ∈ A: a Newton step, a_i = −(1 − C S_i G_i)⁻¹ r_i.

Further steps with the same H, corrected for the point itself by Woodbury's formula, lead to the
fits themselves. The length of a change in the norm of H is C √(a_iᵀ G_i a_i).

With fewer members than features, the Hessian outside their span is the bare penalty. So only the
span is expanded; of a point outside of it, only the distance from it, and the products of its unit
vector with the validation points, enter.

Of very many parameters only the blocks of H that belong to one logit are kept. Predictions are then
rougher; refined changes are fits all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from nddv.coalitions.design import Design, Model, Span, gradient, hessian, hessian_blocks
from nddv.coalitions.newton import SAFE_CHANGE
from nddv.coalitions.proximal import curvatures, leverages, probabilities, prox, solve_small
from nddv.coalitions.regressions import spread

LARGEST = 4000
"""Up to this many parameters the whole Hessian is inverted; beyond, its blocks."""

REFINING_STEPS = 25
EXACT = 1e-4
"""A change is a fit when its last step has at most this length in the norm of H."""

SHORT = 0.3
"""A step of at most this length in the norm of H is safe, whatever it does to the logits."""


@dataclass(frozen=True)
class Moves:
    """Changes of the parameters by some points, each added to the coalition or removed from it."""

    rows: Tensor  # (b,) the points
    inside: Tensor  # (b, K, q) changes inside the span
    outside: Tensor  # (b, K) changes along the unit vector from the span towards the point
    length: Tensor  # (b,) in the norm of H

    def take(self, some: Tensor | slice) -> Moves:
        """The changes by some of these points."""
        return Moves(*(array[some] for array in vars(self).values()))

    @classmethod
    def join(cls, parts: Sequence[Moves]) -> Self:
        """The changes of all parts."""
        return cls(*map(torch.cat, zip(*(vars(part).values() for part in parts), strict=True)))

    def double(self) -> Moves:
        """The changes in double precision."""
        return Moves(self.rows, self.inside.double(), self.outside.double(), self.length.double())


@dataclass(frozen=True)
class Expansion:
    """The fit of one coalition of two classes or more, expanded, in coordinates of its span."""

    span: Span
    members: Tensor  # (n,) whether a point is in the coalition
    targets: Tensor  # (n, K) indicators of the classes
    model: Model
    C: float
    inverse: Tensor  # (1, K·q, K·q) of the Hessian, or (K, q, q) of its blocks
    blocks: Tensor  # (n, K, K) G_i

    @classmethod
    def at(cls, design: Design, model: Model, members: Tensor) -> Self:
        """Expand the fit of a coalition of members (n,)."""
        span, C = Span.of(design, members), design.C
        model, targets = span.model(model), model.targets(design.y)
        own, ones = span.X[members], span.X.new_ones(int(members.sum()))
        if model.theta.numel() <= LARGEST:
            factor = torch.linalg.cholesky(hessian(model, own, ones, C))[None]
            # The engine stops a little before the minimum; one Newton step goes there.
            rest = gradient(model, own, targets[:, members], ones, C)
            step = torch.cholesky_solve(rest.reshape(1, -1, 1), factor)
            model = model.moved(-step.view_as(rest))
        else:
            factor = torch.linalg.cholesky(hessian_blocks(model, own, ones, C))
        inverse = torch.cholesky_inverse(factor)
        blocks = leverages(span.X, inverse, len(targets))
        outside = (span.distance.square() / model.penalty)[:, None].expand(-1, len(targets))
        blocks += torch.diag_embed(outside)
        return cls(span, members, targets.T, model, C, inverse, blocks)

    @property
    def X(self) -> Tensor:
        """Training points (n, q) inside the span."""
        return self.span.X

    def still(self) -> Moves:
        """One change that is none."""
        nothing = torch.zeros_like(self.model.theta)[None]
        first = torch.zeros(1, dtype=torch.long, device=nothing.device)
        return Moves(first, nothing, nothing[..., 0], nothing[:, 0, 0])

    def predicted(self) -> Moves:
        """Changes by every point: added if it is not a member, removed if it is."""
        logits = self.X @ self.model.theta.T
        a = torch.empty_like(logits)
        own, other = self.members, ~self.members
        P = probabilities(logits[own])
        leverage = self.C * self.curvature(P) @ self.blocks[own]
        unit = torch.eye(P.shape[1]).to(P)
        a[own] = -solve_small(unit - leverage, P - self.targets[own])
        z = prox(logits[other], self.C * self.blocks[other], self.targets[other])
        a[other] = probabilities(z) - self.targets[other]
        inside = -self.C * self.solve(_outer(a, self.X))
        outside = -self.C / self.model.penalty * a * self.span.distance[:, None]
        squares = (a[:, None] @ self.blocks @ a[:, :, None]).ravel()
        rows = torch.arange(len(a), device=a.device)
        return Moves(rows, inside, outside, self.C * squares.clamp_min(0).sqrt())

    def refined(
        self, moves: Moves, last: float = EXACT, steps: int = REFINING_STEPS
    ) -> tuple[Moves, Tensor]:
        """The changes to the fits themselves, from predicted ones; and where they were reached.

        last : length of a step that is the last.
        steps : at most so many; what is not reached then is where the last step led.
        """
        reached = torch.zeros(len(moves.rows), dtype=torch.bool, device=self.X.device)
        inside, outside = moves.inside.clone(), moves.outside.clone()
        place = torch.arange(len(reached), device=self.X.device)
        path = _Path(self, moves)
        for left in range(steps, 0, -1):
            done = path.step().abs() <= last**2  # far below zero there is no way down
            reached[place[done]] = True
            leaving = done if left > 1 else torch.ones_like(done)
            if leaving.any():
                inside[place[leaving]] = path.theta[leaving] - self.model.theta
                outside[place[leaving]] = path.outside[leaving]
                place = place[~leaving]
                if len(place) == 0:
                    break
                path.keep(~leaving)
        return Moves(moves.rows, inside, outside, moves.length), reached

    def logits(self, moves: Moves) -> Tensor:
        """Validation logits (b, K, m) after changes."""
        changed = (self.model.theta + moves.inside) @ self.span.V.T
        if self.span.beyond is not None:
            changed += moves.outside[:, :, None] * self.span.beyond[:, moves.rows].T[:, None]
        return changed

    def curvature(self, P: Tensor) -> Tensor:
        """S (b, K, K) of probabilities (b, K), as much of it as the Hessian has."""
        return curvatures(P) if len(self.inverse) == 1 else torch.diag_embed(P * (1 - P))

    def solve(self, right: Tensor) -> Tensor:
        """H⁻¹ times each of (b, K, q)."""
        groups = right.reshape(len(right), len(self.inverse), -1).transpose(0, 1)
        return (groups @ self.inverse).transpose(0, 1).reshape(right.shape)


class _Path:
    """The way of some regressions from predictions to fits.

    Conjugate gradients in the norm of the Hessian of the coalition, corrected for the point that is
    added or removed by Woodbury's formula; of lengths by the true curvature along the step, and
    where a step is long, cut to the safe lengths of :mod:`nddv.coalitions.regressions`.
    """

    def __init__(self, at: Expansion, moves: Moves) -> None:
        self.at, self.own = at, at.X[at.members]
        self.own_slope = at.targets[at.members].T @ self.own
        rows = moves.rows
        self.theta, self.outside = at.model.theta + moves.inside, moves.outside
        self.x, self.distance = at.X[rows], at.span.distance[rows, None]
        self.targets, self.blocks = at.targets[rows], at.blocks[rows]
        self.sign = torch.where(at.members[rows], -1.0, 1.0).to(self.x)[:, None]
        self.first = self.x @ at.model.theta.T
        self.logits = self.theta @ self.own.T
        self.last: _Step | None = None

    def keep(self, rows: Tensor) -> None:
        """Go on with some of the regressions only."""
        per_row = "theta outside x distance targets blocks sign first logits"
        for name in per_row.split():
            setattr(self, name, getattr(self, name)[rows])
        if self.last is not None:
            self.last = self.last.take(rows)

    def step(self) -> Tensor:
        """Make one step; squared lengths (b,) in the norm of the Hessian."""
        C, penalty = self.at.C, self.at.model.penalty
        P = probabilities(self.logits, dim=1)
        z = (self.theta * self.x[:, None]).sum(dim=2) + self.outside * self.distance
        own_P = probabilities(z)
        a = C * self.sign * (own_P - self.targets)
        slope = C * (P @ self.own - self.own_slope) + _outer(a, self.x)
        slope[..., :-1] += penalty * self.theta[..., :-1]
        beyond = penalty * self.outside + a * self.distance
        along = (self.at.solve(slope) * self.x[:, None]).sum(dim=2)
        along += beyond * self.distance / penalty
        # The Hessian of the coalition holds a member's curvature where the fit of all members is.
        where = torch.where(self.sign > 0, own_P, probabilities(self.first))
        S = C * self.sign[:, :, None] * self.at.curvature(where)
        unit = torch.eye(P.shape[1]).to(P)
        right = (S @ along[:, :, None])[..., 0]
        correction = solve_small(unit + S @ self.blocks, right)
        step = self.at.solve(slope - _outer(correction, self.x))
        step_beyond = (beyond - correction * self.distance) / penalty
        now = _Step(step, step_beyond, step @ self.own.T, slope, beyond)
        gain = now.gain()
        if self.last is not None:
            now.follow(self.last)
        length = self._length(now, P, own_P, gain)
        self.theta = self.theta - length[:, None, None] * now.inside
        self.logits = self.logits - length[:, None, None] * now.along
        self.outside = self.outside - length[:, None] * now.outside
        self.last = now
        return gain

    def _length(self, now: _Step, P: Tensor, own_P: Tensor, gain: Tensor) -> Tensor:
        """By how much (b,) of their steps the regressions go."""
        penalty, C = self.at.model.penalty, self.at.C
        own_along = (now.inside * self.x[:, None]).sum(dim=2) + now.outside * self.distance
        # The true curvature along the step.
        squares = now.inside[..., :-1].square().sum(dim=(1, 2)) + now.outside.square().sum(dim=1)
        curvature = penalty * squares + C * _variance(P, now.along).sum(dim=1)
        curvature += C * self.sign[:, 0] * _variance(own_P[:, :, None], own_along[:, :, None])[:, 0]
        length = now.gain() / curvature.clamp_min(torch.finfo(P.dtype).tiny)
        far = torch.nonzero(gain.abs() > SHORT**2).ravel()
        if len(far):
            # The largest change of a difference of logits.
            most = torch.maximum(spread(now.along[far]), spread(own_along[far, :, None]))
            change = length[far] * most
            length[far] *= torch.where(change <= SAFE_CHANGE, 1.0, torch.log1p(change) / change)
        return length


@dataclass
class _Step:
    """A step of some regressions, and the gradients where it begins."""

    inside: Tensor  # (b, K, q) the step against the gradient
    outside: Tensor  # (b, K)
    along: Tensor  # (b, K, s) what it changes in the logits of the members
    slope: Tensor  # (b, K, q) gradient inside the span
    beyond: Tensor  # (b, K) and outside

    def gain(self) -> Tensor:
        """Step times gradient (b,)."""
        return self.times(self.slope, self.beyond)

    def times(self, slope: Tensor, beyond: Tensor) -> Tensor:
        """Step times another gradient (b,)."""
        return (self.inside * slope).sum(dim=(1, 2)) + (self.outside * beyond).sum(dim=1)

    def follow(self, last: _Step) -> None:
        """Conjugate this step to the last one (Polak and Ribière)."""
        change = self.times(self.slope - last.slope, self.beyond - last.beyond)
        share = (change / last.gain()).clamp_min(0)
        self.inside = self.inside + share[:, None, None] * last.inside
        self.outside = self.outside + share[:, None] * last.outside
        self.along = self.along + share[:, None, None] * last.along

    def take(self, rows: Tensor) -> _Step:
        """The steps of some regressions."""
        return _Step(*(array[rows] for array in vars(self).values()))


def _outer(a: Tensor, x: Tensor) -> Tensor:
    """a ⊗ x (b, K, q) of each of (b, K) and (b, q)."""
    return a[:, :, None] * x[:, None]


def _variance(P: Tensor, along: Tensor) -> Tensor:
    """Variances (b, s) of changes (b, K, s) of logits under probabilities (b, K, s)."""
    if P.shape[1] == 1:
        return (P * (1 - P) * along.square())[:, 0]
    return (P * along.square()).sum(dim=1) - (P * along).sum(dim=1).square()
