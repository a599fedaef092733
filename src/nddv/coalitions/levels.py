"""Semi-values by participation level: marginals where all points have weight t, or nearly.

With sample weights w the logistic regression has parameters θ(w) and the utility U(w). At the level
w = t·1 let m_i(t) = ∂U/∂w_i. A random coalition of share t of many points acts nearly like all
points at weight t (the diagonal formula of Aumann and Shapley 1974), and the mixing law of a
semi-value (:mod:`nddv.laws`) becomes a mean over levels:

    leave-one-out ≈ m_i(1),   Banzhaf ≈ m_i(½),   Shapley ≈ ∫ m_i(t) dt,   Beta ≈ a weighted ∫.

Implicit differentiation of ∇F = 0 gives ∂θ/∂w_i = −C H⁻¹(r_i ⊗ x_i), so one solve v = H⁻¹∇U serves
all points: m_i = −C r_i·(v x_i). One fit and one solve a level.

Points of high leverage weigh too much at weight t. :mod:`nddv.coalitions.fields` corrects that, and
takes finite marginals instead of derivatives, wherever a fit has not too many parameters.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.coalitions.design import Design, Model, gradient, hessian, times_hessian
from nddv.coalitions.fields import field_marginals, fits_here
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.measures import slopes, with_absent
from nddv.coalitions.threads import workers
from nddv.laws import NODES, Law

DIRECT_SIZE = 1000
"""Up to this many parameters a Hessian is factorised; beyond, conjugate gradients solve."""

TOLERANCE = 1e-7
"""Norm at which conjugate gradients end, relative to the first."""

MAX_STEPS = 1000


def level_derivatives(game: LogisticGame, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """m_i(t) (L, n) of a game at levels (L,), each above 0: derivatives of the game's utility."""
    weights = np.repeat(np.asarray(levels, dtype=np.float64)[:, None], game.n, axis=1)
    with workers(game.device):
        design = Design.of(game)
        models = design.models(game.engine.fit(weights))
        found = [_derivatives(design, *at, game.utility) for at in zip(models, levels, strict=True)]
    return np.stack(found)


def level_semivalues(game: LogisticGame, law: Law, nodes: int = NODES) -> NDArray[np.float64]:
    """Semi-values (n,) of a game as a mean over the levels of a law.

    Of marginals in the fields of the levels. Of derivatives instead where a fit has too many
    parameters for that, and for leave-one-out, where they are the classical influence function.
    """
    t, weights = law.levels(game.n, nodes)
    finite = law.share != 1.0 and fits_here(game)
    marginals = field_marginals(game, t) if finite else level_derivatives(game, t)
    return np.asarray(weights @ marginals, dtype=np.float64)


def _derivatives(design: Design, model: Model, level: float, utility: str) -> NDArray[np.float64]:
    """m_i (n,) at the fit of one level."""
    weights = torch.full_like(design.X[:, 0], level)
    solver = _Solver(design, model, weights)
    # The engine stops a little before the minimum; one Newton step goes there.
    targets = model.targets(design.y)
    model = model.moved(-solver(gradient(model, design.X, targets, weights, design.C)))
    logits = with_absent(model.theta @ design.V.T, model.present, design.n_classes)
    slope = _at_classes(slopes(logits, design.y_valid, utility), model)
    adjoint = solver(slope @ design.V)
    residuals = model.probabilities(design.X) - targets
    along = adjoint @ design.X.T
    return np.asarray((-design.C * (residuals * along).sum(dim=0)).numpy(force=True))


def _at_classes(slope: Tensor, model: Model) -> Tensor:
    """The rows of the classes that are present."""
    return slope if len(slope) == 1 else slope[model.present]


class _Solver:
    """Solves H v = right (K, p) at a model, directly or by conjugate gradients."""

    def __init__(self, design: Design, model: Model, weights: Tensor) -> None:
        self.objective = model, design.X, weights, design.C
        self.factor: Tensor | None = None
        if model.theta.numel() <= DIRECT_SIZE:
            self.factor = torch.linalg.cholesky(hessian(*self.objective))
        else:
            self.P = model.probabilities(design.X)
            curvature = self.P * (1 - self.P) * weights
            self.diagonal = design.C * (curvature @ design.X.square())
            self.diagonal[:, :-1] += model.penalty

    def __call__(self, right: Tensor) -> Tensor:
        if self.factor is not None:
            return torch.cholesky_solve(right.reshape(-1, 1), self.factor).view_as(right)
        solution, residual = torch.zeros_like(right), right.clone()
        scaled = residual / self.diagonal
        direction, product = scaled.clone(), (residual * scaled).sum()
        end = TOLERANCE**2 * product
        for _ in range(MAX_STEPS):
            if product <= end:
                break
            image = times_hessian(*self.objective, self.P, direction)
            length = product / (direction * image).sum()
            solution += length * direction
            residual -= length * image
            scaled = residual / self.diagonal
            last, product = product, (residual * scaled).sum()
            direction = scaled + (product / last) * direction
        return solution
