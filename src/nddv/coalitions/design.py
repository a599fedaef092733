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

from dataclasses import dataclass
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

    def gradient(self, model: Model, weights: Tensor) -> Tensor:
        """Gradient of F (K, p) for weights (n,)."""
        residuals = model.probabilities(self.X) - model.targets(self.y)
        gradient = self.C * ((residuals * weights) @ self.X)
        gradient[:, :-1] += model.penalty * model.theta[:, :-1]
        return gradient

    def hessian(self, model: Model, weights: Tensor, X: Tensor | None = None) -> Tensor:
        """Hessian of F (K·p, K·p) for weights (n,), in other coordinates X (n, q) if given."""
        points = self.X if X is None else X
        P = model.probabilities(self.X)
        K, p = len(P), points.shape[1]
        hessian = points.new_zeros(K, p, K, p)
        for first in range(0, len(points), TOGETHER):
            rows = slice(first, first + TOGETHER)
            some, w = points[rows], self.C * weights[rows]
            for k in range(K):
                for l in range(k, K):
                    curvature = P[k, rows] * (float(k == l) - P[l, rows]) * w
                    block = some.T @ (some * curvature[:, None])
                    hessian[k, :, l] += block
                    if l > k:
                        hessian[l, :, k] += block
        flat = hessian.view(K * p, K * p)
        flat.diagonal().view(K, p)[:, :-1] += model.penalty
        if K > 1:
            hessian[:, -1, :, -1] += self.C * weights.sum() / K
        return flat

    def times_hessian(self, model: Model, weights: Tensor, P: Tensor, direction: Tensor) -> Tensor:
        """Hessian of F times a direction (K, p), with the probabilities P (K, n)."""
        along = direction @ self.X.T
        change = P * (along - (P * along).sum(dim=0)) if len(P) > 1 else P * (1 - P) * along
        product = self.C * ((change * weights) @ self.X)
        product[:, :-1] += model.penalty * direction[:, :-1]
        if len(P) > 1:
            product[:, -1] += self.C * weights.sum() / len(P) * direction[:, -1].sum()
        return product
