"""The principal axes of the points, in which many parameters are found quickly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Axes:
    """A shift and an orthonormal basis of all that n points span, at most n directions.

    A logistic regression with a free intercept and an L2 penalty is the same in these coordinates:
    the best coefficients lie in the span, have the same norm, and the intercept takes up the shift.

    Attributes
    ----------
    centre : (d,) weighted mean of the points.
    basis : (d, r) principal axes of the weighted points.
    """

    centre: Tensor
    basis: Tensor

    @classmethod
    def of(cls, X: Tensor, weights: Tensor) -> Self:
        """Find the axes of points X (n, d) with weights (n,)."""
        weights = weights / weights.sum()
        centre = weights @ X
        centred = X - centre
        span = torch.linalg.qr(centred.T).Q if len(X) < X.shape[1] else None
        inside = centred if span is None else centred @ span
        basis = torch.linalg.eigh(inside.T @ (weights[:, None] * inside)).eigenvectors
        return cls(centre, basis if span is None else span @ basis)

    def to(self, dtype: torch.dtype) -> Axes:
        """The axes in another precision."""
        return Axes(self.centre.to(dtype), self.basis.to(dtype))

    def points(self, X: Tensor) -> Tensor:
        """Coordinates (n, r) of points X (n, d)."""
        return (X - self.centre) @ self.basis

    def inwards(self, theta: Tensor) -> Tensor:
        """Parameters (B, K, r + 1) in these coordinates, of parameters (B, K, d + 1)."""
        coefficients, intercepts = theta[..., :-1], theta[..., -1:]
        shifted = intercepts + coefficients @ self.centre[:, None]
        return torch.cat([coefficients @ self.basis, shifted], dim=-1)

    def outwards(self, theta: Tensor) -> Tensor:
        """The inverse of ``inwards``."""
        coefficients, intercepts = theta[..., :-1] @ self.basis.T, theta[..., -1:]
        return torch.cat([coefficients, intercepts - coefficients @ self.centre[:, None]], dim=-1)
