"""Many weighted logistic regressions on the same points, as arrays.

One regression has the parameters θ (K, p), a row per logit, the intercept in the last column: one
logit for two classes (K = 1), a softmax over K logits otherwise. It minimises

    F(θ) = ½·penalty·|θ without intercepts|² + C·Σᵢ wᵢ·loss(θ xᵢ, yᵢ)

The regressions of a batch differ only in the weights w (and perhaps the penalty). So every step
consists of matrix products between an array of all regressions and an array of the points.

No method here searches along a line. If a step of length t along a direction changes no difference
between the logits of a point by more than r·t, then φ(t) = F(θ + tΔ) has |φ'''| ≤ r·φ'' (Bach 2010,
"Self-concordant analysis for logistic regression"). Integrated twice, with t₀ = −φ'(0)/φ''(0),

    φ(t) ≤ φ(0) + φ''(0)·((e^{rt} − 1 − rt)/r² − t₀·t),

which is least at t = log(1 + r·t₀)/r and below φ(0) at t = t₀ whenever r·t₀ ≤ 1.79.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor

ABSENT = -1e30
"""Logit of a class that must not be predicted. It is finite, so that 0·ABSENT is 0."""


@dataclass(frozen=True)
class Points:
    """The points of all regressions."""

    X: Tensor  # (n, p) features and a last column of ones
    targets: Tensor  # (K, n) indicators of the classes, one row per logit
    C: float  # inverse strength of the penalty

    @classmethod
    def build(cls, X: Tensor, y: Tensor, n_classes: int, C: float) -> Self:
        """Prepare features X (n, d) and classes y (n,)."""
        targets = F.one_hot(y, n_classes).T.to(X.dtype)
        X = torch.cat([X, X.new_ones(len(X), 1)], dim=1)
        return cls(X, (targets[1:] if n_classes == 2 else targets).contiguous(), C)

    def take(self, rows: Tensor) -> Points:
        """The points in these rows."""
        return Points(self.X[rows], self.targets[:, rows], self.C)


@dataclass(frozen=True)
class Batch:
    """Some regressions and their current parameters."""

    weights: Tensor  # (B, n)
    penalty: Tensor  # (B,)
    theta: Tensor  # parameters (B, K, p)
    logits: Tensor  # (B, K, n) of all points
    work: Tensor  # (2, B, K, n) scratch: new arrays of this size cost more than the arithmetic

    @classmethod
    def start(
        cls, points: Points, weights: Tensor, penalty: Tensor, theta: Tensor, absent: Tensor
    ) -> Self:
        """Begin at parameters theta, which are zero for the absent (B, K) classes."""
        logits = theta @ points.X.T
        if absent.any():
            logits += ABSENT * absent[:, :, None]
        return cls(weights, penalty, theta, logits, logits.new_empty(2, *logits.shape))

    def take(self, rows: Tensor) -> Batch:
        """The regressions in these rows."""
        theta, logits = self.theta[rows], self.logits[rows]
        work = self.work[:, : len(theta)]
        return Batch(self.weights[rows], self.penalty[rows], theta, logits, work)

    def move(self, direction: Tensor, along: Tensor, length: Tensor) -> Tensor:
        """Make steps of lengths (B,), in place; a row whose length is not finite stays.

        Returns
        -------
        Which rows stay (B,): rounding has left them no direction to go.
        """
        lost = ~torch.isfinite(length)
        if lost.any():
            direction[lost], along[lost], length[lost] = 0.0, 0.0, 0.0
        self.theta.addcmul_(direction, length[:, None, None])
        self.logits.addcmul_(along, length[:, None, None])
        return lost

    def gradient(self, points: Points) -> Tensor:
        """Gradient of F (B, K, p); leaves the probabilities in the first half of ``work``."""
        probabilities, spare = self.work
        if self.logits.shape[1] == 1:
            torch.sigmoid(self.logits, out=probabilities)
        else:
            torch.softmax(self.logits, dim=1, out=probabilities)
        residuals = torch.sub(probabilities, points.targets, out=spare)
        gradient = points.C * (residuals.mul_(self.weights[:, None]) @ points.X)
        gradient[..., :-1] += self.penalty[:, None, None] * self.theta[..., :-1]
        return gradient


class Method(Protocol):
    """A minimiser: it moves its batch in place, step by step."""

    batch: Batch

    def step(self) -> tuple[Tensor, Tensor]:
        """Make one step; say which regressions are done (B,), and which cannot go on (B,)."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Go on with the regressions in these rows only."""
        ...


def minimise(method: Method, max_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Step until all regressions are done. A regression that is done, or lost, leaves the batch.

    Returns
    -------
    Parameters (B, K, p), whether done (B,), and the number of steps (B,).
    """
    theta = torch.empty_like(method.batch.theta)
    succeeded = torch.zeros(len(theta), dtype=torch.bool, device=theta.device)
    steps = torch.full((len(theta),), max_steps, device=theta.device)
    rows = torch.arange(len(theta), device=theta.device)
    for step in range(1, max_steps + 1):
        done, lost = method.step()
        leaving = done | lost
        if leaving.any():
            theta[rows[leaving]] = method.batch.theta[leaving]
            succeeded[rows[done]] = True
            steps[rows[leaving]] = step
            rows = rows[~leaving]
            if len(rows) == 0:
                break
            method.keep(~leaving)
    else:
        theta[rows] = method.batch.theta
    return theta, succeeded, steps


def spread(along: Tensor) -> Tensor:
    """Largest difference (B,) between the logits of a point, of logits (B, K, n)."""
    if along.shape[1] == 1:
        return torch.maximum(along.amax(dim=(1, 2)), -along.amin(dim=(1, 2)))
    return (along.amax(dim=1) - along.amin(dim=1)).amax(dim=1)
