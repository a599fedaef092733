"""The budget of Theorem continuous_inclusion_bridge, every term computed by retraining.

Point i enters the coalition C with weight λ ∈ [0, 1]; U_{C,i}(λ) is the utility of the retrained
model and m_i(C, λ) its derivative (Definition continuous_inclusion). The score s_i differs from the
finite marginal Δ_i(C) = U(C ∪ i) − U(C) by at most (Eq. coalition_bridge_budget)

    B_i(C; λ₀) = ½ L (λ₀² + (1−λ₀)²)    curvature: m changes along λ
               + |Γ'|                    calibration: the utility changes, but not point i's loss
               + ‖∇g‖ ‖r‖                residual: the state moves, but not along itself
               + |ρ − 1| |u|             scale: it moves along itself, at another rate than 1
               + |s − u|                 context: the score was read from another run

Here g = −Φ_i(·) is the oriented terminal scalar under the terminal map retrained at (C, λ₀). (The
change of the map itself along λ is part of Γ.) u = X·∇g, and ∂_λX = ρX + r with r ⊥ X (Proposition
local_adjoint_calibration), at the terminal state X = X_{i,T} of point i for (C, λ₀).

m and ∂_λX are exact derivatives through all training steps, by forward mode (`torch.func.jvp`) on
many retrainings at once. The theorem assumes that m is Lipschitz. If a gradient's norm crosses the
limit `clip` along λ, m jumps; a large enough clip avoids this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import simpson
from torch import Tensor

from nddv.audit.retraining import map_many
from nddv.dynamics.costs import terminal
from nddv.dynamics.participation import train_again
from nddv.dynamics.utility import evaluate
from nddv.estimator.folds import Fold, single_fold
from nddv.estimator.nddv import NDDV

TERMS = ("curvature", "calibration", "residual", "scale", "context")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class InclusionPaths:
    """K inclusion paths of one point each, on a grid of G weights λ, for states of width W.

    grid: (G,); utilities: (K, G) U_{C,i}(λ); slopes: (K, G) m_i(C, λ); states, tangents: (K, G, W)
    X_{i,T} and ∂_λX_{i,T}; gradients: (K, G, W) ∇g_i at X_{i,T}.
    """

    grid: Array
    utilities: Array
    slopes: Array
    states: Array
    tangents: Array
    gradients: Array


def inclusion_paths(
    fold: Fold, points: ArrayLike, coalitions: ArrayLike, grid: Array
) -> InclusionPaths:
    """Retrain along λ: path k adds points[k] to coalitions[k].

    points: (K,); coalitions: (K, n) participation weights, in which the entry of the point itself
    is ignored; grid: (G,) weights λ.
    """
    run, goal = fold.run, fold.goal
    like = run.flat
    chosen = torch.as_tensor(np.asarray(points, dtype=np.int64), device=like.device)
    directions = torch.nn.functional.one_hot(chosen, len(run.data.rows)).to(like.dtype)
    base = torch.as_tensor(np.asarray(coalitions, dtype=np.float64), device=like.device)
    base = base.to(like.dtype) * (1 - directions)
    steps = torch.as_tensor(grid, dtype=like.dtype, device=like.device)
    weights = base.unsqueeze(1) + steps[:, None] * directions.unsqueeze(1)  # (K, G, n)

    def end(w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat = train_again(run, w)
        evaluation = evaluate(run, flat, w, goal)
        x = evaluation.population[-1]
        costs = terminal(run.flow.unpack(flat).head, x, run.data.y, run.data.loss)
        return evaluation.utility, x, -costs.gradients

    def along(w: Tensor, direction: Tensor) -> tuple[Tensor, ...]:
        (u, x, gradient), (du, dx, _) = torch.func.jvp(end, (w,), (direction,))  # type: ignore[misc]
        # (n, W) to the row of the point
        return u, du, direction @ x, direction @ dx, direction @ gradient

    repeated = directions.unsqueeze(1).expand_as(weights)
    with torch.no_grad():
        parts = map_many(run, along, weights.flatten(0, 1), repeated.flatten(0, 1))
    shape = weights.shape[:2]
    return InclusionPaths(grid, *(f.unflatten(0, shape).double().numpy(force=True) for f in parts))


def lipschitz(grid: Array, slopes: Array) -> Array:
    """Lipschitz constants (K,) of m from its values (K, G) on a grid, made conservative.

    The steepest chord between neighbours is too small by O(h). The step from a grid of every other
    point to the full grid shows how much is missing: its increase is added once more.
    """

    def steepest(every: int) -> Array:
        rise = np.abs(np.diff(slopes[:, ::every], axis=1))
        return np.asarray((rise / np.diff(grid[::every])).max(axis=1))

    fine = steepest(1)
    return np.asarray(fine + np.maximum(fine - steepest(2), 0.0))


def bridge_budget(
    model: NDDV,
    points: ArrayLike,
    coalitions: ArrayLike,
    lambda0: float = 0.5,
    intervals: int = 16,
    readouts: Sequence[str] = ("terminal",),
) -> pd.DataFrame:
    """Every term of B_i(C; λ₀) for all pairs of points and coalitions, and whether it holds.

    Parameters
    ----------
    model : small, of one member, fitted with meta data and dtype="float64".
    points : (p,) indices i.
    coalitions : (c, n) participation weights C; the entry of point i itself is ignored.
    lambda0 : λ₀, a multiple of 1/intervals.
    intervals : of the grid on [0, 1], an even number; p·c·(intervals + 1) models are trained.
    readouts : whose scores are bounded.

    Returns
    -------
    One row per readout, point and coalition: readout, point, coalition (its number), size (number
    of others in C), lambda0; score s_i, marginal Δ_i(C), local m_i(C, λ₀), radial u; lipschitz L,
    rho; the terms curvature, calibration, residual, scale, context and their sum budget; gap
    |s_i − Δ_i(C)|; holds: gap ≤ budget (Eq. coalition_bridge). And its parts: local_gap
    |Δ − m(λ₀)| ≤ curvature (Eq. local_to_finite_marginal); adjoint_gap |m(λ₀) − u| ≤
    calibration + residual + scale (Eq. local_adjoint_calibration); integral_error |∫m dλ − Δ|,
    Simpson's rule (Eq. continuous_marginal_identity).
    """
    fold = single_fold(model)
    n, sets = len(fold.index), np.asarray(coalitions, dtype=np.float64)
    if sets.ndim != 2 or sets.shape[1] != n or len(sets) == 0:
        raise ValueError(f"coalitions must have shape (c, {n}), got {sets.shape}")
    chosen = np.asarray(points, dtype=np.intp)
    if chosen.ndim != 1 or len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= n:
        raise ValueError(f"points must be a list of indices from 0 to {n - 1}")
    if fold.run.flat.dtype != torch.float64:
        raise ValueError('the budget compares small differences: fit with dtype="float64"')
    if intervals < 2 or intervals % 2:
        raise ValueError(f"intervals must be even and at least 2, got {intervals}")
    grid, at = np.linspace(0.0, 1.0, intervals + 1), round(lambda0 * intervals)
    if not 0 <= lambda0 <= 1 or abs(at - lambda0 * intervals) > 1e-9:
        raise ValueError(
            f"lambda0={lambda0} is not on the grid: choose a multiple of 1/{intervals}"
        )
    which, context = (a.ravel() for a in np.meshgrid(chosen, np.arange(len(sets)), indexing="ij"))
    paths = inclusion_paths(fold, which, sets[context], grid)
    others = (sets[context] > 0).sum(axis=1) - (sets[context, which] > 0)
    shared = {"point": which, "coalition": context, "size": others, "lambda0": lambda0}
    terms = local_terms(paths, at)
    tables = []
    for readout in readouts:
        score = fold.sensitivities(readout).mean(0)[which]
        table = pd.DataFrame({"readout": readout, **shared, "score": score, **terms})
        table["context"] = (table["score"] - table["radial"]).abs()
        table["budget"] = table[list(TERMS)].sum(axis=1)
        table["gap"] = (table["score"] - table["marginal"]).abs()
        table["holds"] = table["gap"] <= table["budget"]
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def local_terms(paths: InclusionPaths, at: int) -> dict[str, Array]:
    """The terms of B_i(C; λ₀) that do not need the score, (K,) each; λ₀ = grid[at]."""
    lambda0 = paths.grid[at]
    x, dx, gradient = (a[:, at] for a in (paths.states, paths.tangents, paths.gradients))
    squared = (x**2).sum(axis=1)
    rho = np.divide((x * dx).sum(axis=1), squared, out=np.zeros_like(squared), where=squared > 0)
    r = dx - rho[:, None] * x
    u, m = (x * gradient).sum(axis=1), paths.slopes[:, at]
    marginal = paths.utilities[:, -1] - paths.utilities[:, 0]
    constant = lipschitz(paths.grid, paths.slopes)
    return {
        "marginal": marginal,
        "local": m,
        "radial": u,
        "lipschitz": constant,
        "rho": rho,
        "curvature": constant / 2 * (lambda0**2 + (1 - lambda0) ** 2),
        "calibration": np.abs(m - (gradient * dx).sum(axis=1)),
        "residual": np.linalg.norm(gradient, axis=1) * np.linalg.norm(r, axis=1),
        "scale": np.abs(rho - 1) * np.abs(u),
        "local_gap": np.abs(marginal - m),
        "adjoint_gap": np.abs(m - u),
        "integral_error": np.abs(simpson(paths.slopes, x=paths.grid, axis=1) - marginal),
    }
