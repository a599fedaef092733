"""The points of a logistic game in coordinates, and the curvature of its objective at a fit.

A fit has K logits: one for two classes, else one for each class *that is present*. Its parameters
θ (K, p) have the intercept in the last column, and minimise, for weights w of the points,

    F(θ) = ½·penalty·|θ without intercepts|² + C·Σᵢ wᵢ·loss(θ xᵢ, yᵢ).

With residuals rᵢ = pᵢ − yᵢ (K,) and Sᵢ (K, K), the derivative of the residuals by the logits, the
gradient of a loss is rᵢ ⊗ xᵢ and the Hessian of F is penalty + C Σᵢ wᵢ Sᵢ ⊗ xᵢxᵢᵀ. For K > 1 it
does not feel a constant that is added to all intercepts; the term (C Σ w / K)·11ᵀ on the intercepts
makes it definite, and changes nothing, because residuals sum to zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from nddv.coalitions.axes import Axes
from nddv.coalitions.fits import Fits

if TYPE_CHECKING:
    from nddv.coalitions.logistic import LogisticGame

TOGETHER = 2**14
"""Points whose weighted features are in memory at once."""

SMALLEST = 1e-12
"""A point that is nearer to a span is in it."""


@dataclass(frozen=True)
class Model:
    """One fit in coordinates: parameters of the logits of the classes that are present."""

    theta: Tensor  # (K, p)
    present: Tensor  # (K,) their classes; [1] for two classes, which have one logit
    penalty: float

    def targets(self, y: Tensor) -> Tensor:
        """Indicators (K, n) of classes (n,)."""
        return (y == self.present[:, None]).to(self.theta)

    def probabilities(self, X: Tensor) -> Tensor:
        """Of the logits (K, n) of points X (n, p)."""
        logits = self.theta @ X.T
        return logits.sigmoid_() if len(logits) == 1 else torch.softmax(logits, dim=0)

    def moved(self, step: Tensor) -> Model:
        """The model with its parameters changed."""
        return Model(self.theta + step, self.present, self.penalty)


@dataclass(frozen=True)
class Design:
    """Training points X (n, p) and validation points V (m, p), the last column ones."""

    X: Tensor
    V: Tensor
    y: Tensor  # (n,) classes
    y_valid: Tensor  # (m,)
    n_classes: int
    C: float
    axes: Axes

    @classmethod
    def of(cls, game: LogisticGame) -> Self:
        """The points of a game, in the principal axes of the training points."""
        X = torch.as_tensor(game.X_train).to(game.device, torch.float64)
        V = torch.as_tensor(game.X_valid).to(X)
        axes = Axes.of(X, X.new_ones(len(X)))
        y, y_valid = (torch.as_tensor(a).to(X.device).long() for a in (game.y_train, game.y_valid))
        X, V = (F.pad(axes.points(points), (0, 1), value=1.0) for points in (X, V))
        return cls(X, V, y, y_valid, game.n_classes, game.C, axes)

    def to(self, dtype: torch.dtype) -> Design:
        """The same points in another precision."""
        return replace(self, X=self.X.to(dtype), V=self.V.to(dtype), axes=self.axes.to(dtype))

    def models(self, fits: Fits) -> list[Model]:
        """Fits in coordinates."""
        coefficients, intercepts = (
            torch.as_tensor(a).to(self.X) for a in (fits.coefficients, fits.intercepts)
        )
        everywhere = torch.isfinite(intercepts)
        packed = torch.cat([coefficients, intercepts[..., None]], dim=2)
        thetas = self.axes.inwards(packed)
        models = []
        for theta, finite in zip(thetas, everywhere, strict=True):
            present = torch.nonzero(finite).ravel()
            single = self.n_classes == 2
            # Two opposite logits ±z/2 have half of the squared coefficients of one logit z.
            penalty = 2.0 if len(present) == 2 and not single else 1.0
            models.append(Model(theta[present], present + single, penalty))
        return models


@dataclass(frozen=True)
class Span:
    """All points in coordinates of the span of some; of what is outside, only what a fit needs."""

    X: Tensor  # (n, q) training points inside the span, the last column ones
    V: Tensor  # (m, q) validation points
    distance: Tensor  # (n,) of the training points from the span
    beyond: Tensor | None  # (m, n) validation points times unit vectors; None: no point is outside
    basis: Tensor | None  # (p − 1, q − 1)

    @classmethod
    def of(cls, design: Design, members: Tensor) -> Self:
        """The span of members (n,)."""
        X, V = design.X, design.V
        if members.sum() >= X.shape[1] - 1:
            return cls(X, V, X.new_zeros(len(X)), None, None)
        basis = torch.linalg.qr(X[members, :-1].T).Q
        away = X[:, :-1] - X[:, :-1] @ basis @ basis.T
        away[members] = 0.0
        distance = away.norm(dim=1)
        beyond = V[:, :-1] @ (away / distance.clamp_min(SMALLEST)[:, None]).T
        return cls(_inside(X, basis), _inside(V, basis), distance, beyond, basis)

    def model(self, model: Model) -> Model:
        """A fit of the members in these coordinates."""
        if self.basis is None:
            return model
        return replace(model, theta=_inside(model.theta, self.basis))


def _inside(vectors: Tensor, basis: Tensor) -> Tensor:
    """Coordinates in a basis (p − 1, q − 1) of vectors (..., p), the last entry kept."""
    return torch.cat([vectors[..., :-1] @ basis, vectors[..., -1:]], dim=-1)


def gradient(model: Model, X: Tensor, targets: Tensor, weights: Tensor, C: float) -> Tensor:
    """Gradient of F (K, p) for points X (n, p), indicators (K, n) and weights (n,)."""
    residuals = model.probabilities(X) - targets
    total = C * ((residuals * weights) @ X)
    total[:, :-1] += model.penalty * model.theta[:, :-1]
    return total


def hessian(model: Model, X: Tensor, weights: Tensor, C: float) -> Tensor:
    """Hessian of F (K·p, K·p) for points X (n, p) and weights (n,)."""
    P = model.probabilities(X)
    K, p = model.theta.shape
    blocks = X.new_zeros(K, p, K, p)
    for first in range(0, len(X), TOGETHER):
        rows = slice(first, first + TOGETHER)
        some, w = X[rows], C * weights[rows]
        for k in range(K):
            for l in range(k, K):
                curvature = P[k, rows] * (float(k == l) - P[l, rows]) * w
                block = some.T @ (some * curvature[:, None])
                blocks[k, :, l] += block
                if l > k:
                    blocks[l, :, k] += block
    total = blocks.view(K * p, K * p)
    total.diagonal().view(K, p)[:, :-1] += model.penalty
    if K > 1:
        blocks[:, -1, :, -1] += C * weights.sum() / K
    # Where all probabilities are 0 or 1 nothing holds the intercepts.
    intercepts = total.diagonal().view(K, p)[:, -1]
    intercepts += torch.finfo(X.dtype).eps ** 0.5 * (intercepts.amax() + 1)
    return total


def hessian_blocks(model: Model, X: Tensor, weights: Tensor, C: float) -> Tensor:
    """The blocks (K, p, p) of the Hessian of F that belong to one logit each."""
    P = model.probabilities(X)
    blocks = torch.stack([X.T @ (X * (C * w * (1 - w) * weights)[:, None]) for w in P])
    diagonal = blocks.diagonal(dim1=1, dim2=2)
    diagonal[:, :-1] += model.penalty
    diagonal[:, -1] += torch.finfo(X.dtype).eps ** 0.5 * (diagonal[:, -1].amax() + 1)
    return blocks


def times_hessian(
    model: Model, X: Tensor, weights: Tensor, C: float, P: Tensor, direction: Tensor
) -> Tensor:
    """Hessian of F times a direction (K, p), with the probabilities P (K, n) of the model."""
    along = direction @ X.T
    change = P * (along - (P * along).sum(dim=0)) if len(P) > 1 else P * (1 - P) * along
    product = C * ((change * weights) @ X)
    product[:, :-1] += model.penalty * direction[:, :-1]
    if len(P) > 1:
        product[:, -1] += C * weights.sum() / len(P) * direction[:, -1].sum()
    return product
