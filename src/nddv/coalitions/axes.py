"""Coordinates in which the regressions are solved quickly and precisely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Axes:
    """A shift and, if wanted, an orthonormal basis of the span of n points (at most n directions).

    A logistic regression with a free intercept and an L2 penalty is the same in these coordinates:
    the best coefficients lie in the span, have the same norm, and the intercept takes up the shift.
    """

    center: Tensor  # (d,) weighted mean of the points
    basis: Tensor | None  # (d, r) their principal axes; None for the features as they are

    @classmethod
    def shift(cls, X: Tensor) -> Self:
        """Only subtract the mean of points X (n, d); features of unlike scales stay apart."""
        return cls(X.mean(dim=0), None)

    @classmethod
    def of(cls, X: Tensor, weights: Tensor) -> Self:
        """Find the axes of points X (n, d) with weights (n,)."""
        weights = weights / weights.sum()
        center = weights @ X
        centred = X - center
        span = torch.linalg.qr(centred.T).Q if len(X) < X.shape[1] else None
        inside = centred if span is None else centred @ span
        basis = torch.linalg.eigh(inside.T @ (weights[:, None] * inside)).eigenvectors
        return cls(center, basis if span is None else span @ basis)

    def to(self, dtype: torch.dtype) -> Axes:
        """The axes in another precision."""
        return Axes(self.center.to(dtype), None if self.basis is None else self.basis.to(dtype))

    def points(self, X: Tensor) -> Tensor:
        """Coordinates (n, r) of points X (n, d)."""
        return self._rotate(X - self.center)

    def inwards(self, theta: Tensor) -> Tensor:
        """Parameters (B, K, r + 1) in these coordinates, of parameters (B, K, d + 1)."""
        coefficients, intercepts = theta[..., :-1], theta[..., -1:]
        shifted = intercepts + coefficients @ self.center[:, None]
        return torch.cat([self._rotate(coefficients), shifted], dim=-1)

    def outwards(self, theta: Tensor) -> Tensor:
        """The inverse of ``inwards``."""
        coefficients, intercepts = theta[..., :-1], theta[..., -1:]
        if self.basis is not None:
            coefficients = coefficients @ self.basis.T
        return torch.cat([coefficients, intercepts - coefficients @ self.center[:, None]], dim=-1)

    def _rotate(self, vectors: Tensor) -> Tensor:
        """Coordinates (..., r) of vectors (..., d)."""
        return vectors if self.basis is None else vectors @ self.basis
