"""Newton's method for many weighted logistic regressions on the same points, all at once.

One regression has the parameters θ (K, p), a row per logit, the intercept in the last column: one
logit for two classes (K = 1), a softmax over K logits otherwise. It minimises

    F(θ) = ½·penalty·|θ without intercepts|² + C·Σᵢ wᵢ·loss(θ xᵢ, yᵢ)

and differs from the others of its batch in the weights w only. So every step is made of matrix
products between all weights (B, n) and the points (n, p), or the products of their features.

No step needs a line search. Along a direction that changes the logits of a point by at most r
(the largest difference between its logits), |φ'''| ≤ r·φ'' for φ(t) = F(θ + tΔ) (Bach 2010, "Self-
concordant analysis for logistic regression"). With a Newton step Δ, integrating twice gives

    φ(t) ≤ φ(0) + φ''(0)·((e^{rt} − 1 − rt)/r² − t),

which is below φ(0) at t = 1 whenever r ≤ 1.79, and least at t = log(1 + r)/r. The full step is
taken when r is that small or when F turns out lower for it, and the bounded one otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

SAFE_CHANGE = 1.79
"""A full Newton step that changes no logit by more than this lowers the objective."""

ABSENT = -1e30
"""Logit of a class that is not to be predicted: finite, so that 0·ABSENT is 0."""


@dataclass(frozen=True)
class Points:
    """The points of all regressions.

    Attributes
    ----------
    X : (n, p) features and a last column of ones.
    targets : (K, n) indicators of the classes, one row per logit.
    C : inverse strength of the penalty.
    pairs : (n, p(p+1)/2) products of two features.
    unpack : (p²,) where the entries of a symmetric (p, p) matrix are among the pairs.
    """

    X: Tensor
    targets: Tensor
    C: float
    pairs: Tensor
    unpack: Tensor

    @classmethod
    def build(cls, X: Tensor, y: Tensor, n_classes: int, C: float) -> Points:
        """Prepare features X (n, d) and classes y (n,)."""
        X = torch.cat([X, X.new_ones(len(X), 1)], dim=1)
        targets = F.one_hot(y, n_classes).T.to(X.dtype)
        p = X.shape[1]
        rows, columns = torch.triu_indices(p, p, device=X.device)
        unpack = torch.empty(p, p, dtype=torch.long, device=X.device)
        unpack[rows, columns] = unpack[columns, rows] = torch.arange(len(rows), device=X.device)
        return cls(
            X,
            (targets[1:] if n_classes == 2 else targets).contiguous(),
            C,
            X[:, rows] * X[:, columns],
            unpack.ravel(),
        )


@dataclass(frozen=True)
class Batch:
    """Some regressions.

    Attributes
    ----------
    weights, penalty : (B, n) and (B,).
    theta, logits : (B, K, p) parameters and the logits (B, K, n) of all points.
    work : (2, B, K, n) memory to compute in. New arrays of this size cost more than the arithmetic.
    """

    weights: Tensor
    penalty: Tensor
    theta: Tensor
    logits: Tensor
    work: Tensor

    def take(self, rows: Tensor) -> Batch:
        """The regressions in these rows."""
        theta = self.theta[rows]
        return Batch(
            self.weights[rows],
            self.penalty[rows],
            theta,
            self.logits[rows],
            self.work[:, : len(theta)],
        )


def minimise(
    points: Points,
    weights: Tensor,
    penalty: Tensor,
    theta: Tensor,
    absent: Tensor,
    tolerance: float,
    max_iterations: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Minimise F for every row of weights; a regression that is done leaves the batch.

    Parameters
    ----------
    weights : (B, n), at least two classes with a positive weight in each row.
    penalty : (B,).
    theta : (B, K, p) start, zero in the rows of absent classes.
    absent : (B, K) classes that have no weight and are left out of the softmax.
    tolerance : a regression is done after a step that changes none of its logits by more; what is
        left is of the order of the square of it.

    Returns
    -------
    Parameters (B, K, p), whether done (B,), and the number of steps (B,).
    """
    found, done = theta.clone(), torch.zeros(len(theta), dtype=torch.bool, device=theta.device)
    steps = torch.zeros(len(theta), dtype=torch.long, device=theta.device)
    rows = torch.arange(len(theta), device=theta.device)
    logits = theta @ points.X.T
    if absent.any():
        logits += ABSENT * absent[:, :, None]
    batch = Batch(weights, penalty, theta.clone(), logits, logits.new_empty(2, *logits.shape))
    for iteration in range(1, max_iterations + 1):
        if len(rows) == 0:
            break
        change = _step(points, batch)
        finished = change <= tolerance
        steps[rows] = iteration
        found[rows] = batch.theta
        if finished.any():
            done[rows[finished]] = True
            rows, batch = rows[~finished], batch.take(~finished)
    return found, done, steps


def _step(points: Points, batch: Batch) -> Tensor:
    """Move the batch by a Newton step each; give the largest change of a logit (B,)."""
    probabilities, spare = batch.work
    _probabilities(batch.logits, out=probabilities)
    residuals = torch.sub(probabilities, points.targets, out=spare).mul_(batch.weights[:, None])
    gradient = points.C * (residuals @ points.X)
    gradient[..., :-1] += batch.penalty[:, None, None] * batch.theta[..., :-1]
    direction = _solve_directly(points, batch, -gradient)
    along = torch.matmul(direction, points.X.T, out=spare)
    change = _spread(along)
    unsafe = torch.nonzero(change > SAFE_CHANGE).ravel()
    if len(unsafe):
        length = _lengths(points, batch.take(unsafe), direction[unsafe], along[unsafe])
        direction[unsafe] *= length[:, None, None]
        along[unsafe] *= length[:, None, None]
    batch.theta.add_(direction)
    batch.logits.add_(along)
    return change


def _lengths(points: Points, batch: Batch, direction: Tensor, along: Tensor) -> Tensor:
    """Step lengths (B,): 1 if that lowers the objective, else the one that is sure to."""
    moved = replace(batch, theta=batch.theta + direction, logits=batch.logits + along)
    change = _spread(along)
    lower = _objective(points, moved) <= _objective(points, batch)
    return torch.where(lower, torch.ones_like(change), torch.log1p(change) / change)


def _probabilities(logits: Tensor, out: Tensor) -> Tensor:
    """Class probabilities (B, K, n) of logits; of class 1 alone if there is one logit."""
    if logits.shape[1] == 1:
        return torch.sigmoid(logits, out=out)
    return torch.softmax(logits, dim=1, out=out)


def _spread(along: Tensor) -> Tensor:
    """Largest change (B,) of a difference between the logits of a point, of changes (B, K, n)."""
    if along.shape[1] == 1:
        return torch.maximum(along.amax(dim=(1, 2)), -along.amin(dim=(1, 2)))
    return (along.amax(dim=1) - along.amin(dim=1)).amax(dim=1)


def _objective(points: Points, batch: Batch) -> Tensor:
    """F (B,)."""
    one = batch.logits.shape[1] == 1
    normaliser = F.softplus(batch.logits[:, 0]) if one else torch.logsumexp(batch.logits, dim=1)
    losses = normaliser - (batch.logits * points.targets).sum(dim=1)
    squares = batch.theta[..., :-1].square().sum(dim=(1, 2))
    return 0.5 * batch.penalty * squares + points.C * (batch.weights * losses).sum(dim=1)


def _solve_directly(points: Points, batch: Batch, right: Tensor) -> Tensor:
    """Solve H s = right (B, K, p) by Cholesky decomposition of the Hessians.

    The probabilities are in the first part of the batch's working memory.

    The Hessian does not change when a constant is added to all intercepts, and hardly depends on
    the intercept when all probabilities are near 0 or 1. A small term on its diagonal keeps it
    definite. The minimum stays where it is: only the gradient decides that.
    """
    B, K, p = right.shape
    probabilities, spare = batch.work
    hessian = right.new_empty(B, K, p, K, p)
    for k in range(K):
        for l in range(k, K):
            one, other, curvature = probabilities[:, k], probabilities[:, l], spare[:, 0]
            if k == l:
                torch.addcmul(one, one, one, value=-1, out=curvature)
            else:
                torch.mul(one, other, out=curvature).neg_()
            packed = points.C * (curvature.mul_(batch.weights) @ points.pairs)
            block = packed[:, points.unpack].view(B, p, p)
            hessian[:, k, :, l] = block
            hessian[:, l, :, k] = block
    hessian = hessian.view(B, K * p, K * p)
    diagonal = hessian.diagonal(dim1=1, dim2=2).view(B, K, p)
    small = torch.finfo(right.dtype).eps ** 0.5
    diagonal[..., -1] += small * (diagonal[..., -1].amax(dim=1) + 1)[:, None]
    diagonal[..., :-1] += batch.penalty[:, None, None]
    factor, _ = torch.linalg.cholesky_ex(hessian)
    return torch.cholesky_solve(right.reshape(B, K * p, 1), factor).view(B, K, p)
