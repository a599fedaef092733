"""Limited-memory BFGS for a batch of regressions with many parameters."""

from __future__ import annotations

import torch
from torch import Tensor

from nddv.coalitions.regressions import Batch, Points, spread

MEMORY = 10
REFRESH = 20

TOLERANCE = 3e-5
"""Norm of the gradient at the end, each part in units of the root of the Hessian's diagonal."""


Pair = tuple[Tensor, Tensor, Tensor]
"""A step (B, K, p), the change of the gradient in it, and one over their product (B, 1, 1)."""


class QuasiNewton:
    """L-BFGS (Liu & Nocedal 1989) on top of the diagonal of the Hessian.

    A step costs two products with the points. In their principal axes the diagonal is most of the
    Hessian. So a gradient that is small in units of the diagonal leaves little to gain: about half
    of its square in the objective, and no coefficient or logit is off by much more than its norm.
    A gradient below its own rounding error is as good as zero.
    """

    def __init__(self, points: Points, batch: Batch) -> None:
        self.points = points
        self.batch = batch
        self.rounding = (
            torch.finfo(batch.theta.dtype).eps * points.C * (batch.weights @ points.X.abs())
        )
        self.steps = 0
        self.diagonal = self.gradient = self.last = torch.zeros_like(batch.theta)
        self.pairs: list[Pair] = []

    def keep(self, rows: Tensor) -> None:
        self.batch = self.batch.take(rows)
        self.rounding, self.diagonal = self.rounding[rows], self.diagonal[rows]
        self.gradient, self.last = self.gradient[rows], self.last[rows]
        self.pairs = [(s[rows], c[rows], i[rows]) for s, c, i in self.pairs]

    def step(self) -> tuple[Tensor, Tensor]:
        gradient = self.batch.gradient(self.points)
        if self.steps > 0:
            self._remember(gradient - self.gradient)
        if self.steps % REFRESH == 0:
            self.diagonal = self._diagonal()
        self.steps += 1
        direction = self._direction(gradient)
        along = torch.matmul(direction, self.points.X.T, out=self.batch.work[1])
        newton = -_dot(gradient, direction) / self._curvature(direction, along)
        change = spread(along).clamp_min(torch.finfo(along.dtype).tiny)
        length = torch.log1p(change * newton.ravel()) / change
        lost = self.batch.move(direction, along, length)
        self.gradient, self.last = gradient, direction.mul_(length[:, None, None])
        return self._norm(gradient) <= self._norm(self.rounding[:, None]).clamp_min(TOLERANCE), lost

    def _norm(self, gradient: Tensor) -> Tensor:
        """Norms (B,) of gradients (B, K, p) in units of the root of the diagonal."""
        return _dot(gradient, gradient / self.diagonal).ravel().sqrt()

    def _remember(self, change: Tensor) -> None:
        """Keep the last step with the change of the gradient that it made."""
        product = _dot(self.last, change).clamp_min(torch.finfo(change.dtype).tiny)
        self.pairs = [*self.pairs[-MEMORY + 1 :], (self.last, change, 1 / product)]

    def _direction(self, gradient: Tensor) -> Tensor:
        """Minus the approximate inverse Hessian times the gradient, by the two-loop recursion."""
        direction = -gradient
        factors = []
        for step, change, inverse in reversed(self.pairs):
            factors.append(inverse * _dot(step, direction))
            direction.addcmul_(factors[-1], change, value=-1)
        direction /= self.diagonal
        if self.pairs:
            _, change, inverse = self.pairs[-1]
            direction /= inverse * _dot(change / self.diagonal, change)
        for (step, change, inverse), factor in zip(self.pairs, reversed(factors), strict=True):
            direction.addcmul_(factor - inverse * _dot(change, direction), step)
        return direction

    def _diagonal(self) -> Tensor:
        """Diagonal of the Hessian (B, 1, p), its mean over the logits."""
        probabilities, spare = self.batch.work
        torch.addcmul(probabilities, probabilities, probabilities, value=-1, out=spare)
        curvature = self.batch.weights * spare.mean(dim=1)
        diagonal = self.points.C * (curvature @ self.points.X.square())
        diagonal[:, :-1] += self.batch.penalty[:, None]
        diagonal[:, -1] += torch.finfo(diagonal.dtype).eps ** 0.5
        return diagonal[:, None]

    def _curvature(self, direction: Tensor, along: Tensor) -> Tensor:
        """Second derivative of F (B, 1, 1) along directions; overwrites the probabilities."""
        probabilities = self.batch.work[0]
        squares = direction[..., :-1].square().sum(dim=(1, 2)) * self.batch.penalty
        mean = probabilities.mul_(along).sum(dim=1)
        variance = probabilities.mul_(along).sum(dim=1) - mean.square()
        curvature = squares + self.points.C * torch.linalg.vecdot(self.batch.weights, variance)
        return curvature[:, None, None]


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """Inner products (B, 1, 1) of arrays (B, K, p)."""
    return (a * b).sum(dim=(1, 2), keepdim=True)
