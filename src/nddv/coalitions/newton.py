"""Newton's method for a batch of regressions with few parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from nddv.coalitions.regressions import Batch, Points, spread

SAFE_CHANGE = 1.79
"""A full step lowers the objective if it changes the logits by at most this much."""

LAST_CHANGE = 1e-2
"""A step that changes the logits by at most this much is the last: the rest is of its square."""


@dataclass(frozen=True)
class Pairs:
    """Products of two features, of all points."""

    products: Tensor  # (n, p(p+1)/2)
    unpack: Tensor  # (p²,) where the entries of a symmetric (p, p) matrix are among the products

    @classmethod
    def build(cls, X: Tensor) -> Self:
        """Multiply the columns of X (n, p)."""
        p = X.shape[1]
        rows, columns = torch.triu_indices(p, p, device=X.device)
        unpack = torch.empty(p, p, dtype=torch.long, device=X.device)
        unpack[rows, columns] = unpack[columns, rows] = torch.arange(len(rows), device=X.device)
        return cls(X[:, rows] * X[:, columns], unpack.ravel())

    def take(self, rows: Tensor) -> Pairs:
        """The products of the points in these rows."""
        return Pairs(self.products[rows], self.unpack)


class Newton:
    """Newton's method. The Hessians of all regressions are one product of weights and pairs."""

    def __init__(self, points: Points, pairs: Pairs, batch: Batch) -> None:
        self.points = points
        self.pairs = pairs
        self.batch = batch

    def keep(self, rows: Tensor) -> None:
        self.batch = self.batch.take(rows)

    def step(self) -> tuple[Tensor, Tensor]:
        direction = self._solve(-self.batch.gradient(self.points))
        along = torch.matmul(direction, self.points.X.T, out=self.batch.work[1])
        change = spread(along)
        length = torch.where(change <= SAFE_CHANGE, 1.0, torch.log1p(change) / change)
        lost = self.batch.move(direction, along, length)
        return change <= LAST_CHANGE, lost

    def _solve(self, right: Tensor) -> Tensor:
        """Solve H s = right (B, K, p), with the probabilities in the batch's memory.

        The Hessian does not change when a constant is added to all intercepts, and hardly depends
        on the intercept when all probabilities are near 0 or 1. A small term on its diagonal keeps
        it definite. The minimum stays where it is: only the gradient decides that.
        """
        hessian = self._hessian()
        B, K, p = right.shape
        diagonal = hessian.diagonal(dim1=1, dim2=2).view(B, K, p)
        small = torch.finfo(right.dtype).eps ** 0.5
        diagonal[..., -1] += small * (diagonal[..., -1].amax(dim=1) + 1)[:, None]
        diagonal[..., :-1] += self.batch.penalty[:, None, None]
        factor, _ = torch.linalg.cholesky_ex(hessian)
        return torch.cholesky_solve(right.reshape(B, K * p, 1), factor).view(B, K, p)

    def _hessian(self) -> Tensor:
        """Hessians (B, K·p, K·p) of the losses."""
        probabilities, spare = self.batch.work
        B, K, p = self.batch.theta.shape
        curvature = spare[:, 0]
        hessian = spare.new_empty(B, K, p, K, p)
        for k in range(K):
            for l in range(k, K):
                p_k, p_l = probabilities[:, k], probabilities[:, l]
                if k == l:
                    torch.addcmul(p_k, p_k, p_k, value=-1, out=curvature)
                else:
                    torch.mul(p_k, p_l, out=curvature).neg_()
                packed = curvature.mul_(self.batch.weights) @ self.pairs.products
                block = packed.mul_(self.points.C)[:, self.pairs.unpack].view(B, p, p)
                hessian[:, k, :, l] = block
                hessian[:, l, :, k] = block
        return hessian.view(B, K * p, K * p)
