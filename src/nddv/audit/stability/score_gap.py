"""Terminal score-gap transfer (Corollary score_gap_transfer)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.audit.stability.contraction import decay_and_noise, euler_decay_and_noise
from nddv.audit.stability.setting import PATHS, fitted_run, populations
from nddv.dynamics.flow import Flow
from nddv.dynamics.population import encode
from nddv.replay.seeds import generator

BLOCK = 50  # copies simulated at once
SHARED, LABELLED = "shared", "labelled"


@dataclass(frozen=True)
class ScoreMap:
    """h_i(x) = x·∇g_i(x) of a linear–softmax terminal map with logits Aᵀx + b.

    "labelled": g_i is the cross-entropy of point i, and h_i its NDDV score up to the one global
    sign. It depends on the label, so κ_ij is not zero across classes. "shared": g = log Σ_c exp of
    the logits, the part of the cross-entropy without the label; κ = 0.

    weight: (W, C) = A; bias: (C,) = b; labels: (N,).
    """

    weight: Tensor
    bias: Tensor
    labels: Tensor
    kind: str

    def __call__(self, x: Tensor) -> Tensor:
        """Scores (…, N) of states (…, N, W): h_i = u·r with u = Aᵀx and residual r."""
        u = x @ self.weight
        return (u * self._residuals(u)).sum(-1)

    def slopes(self, x: Tensor) -> Tensor:
        """‖∇h_i(x)‖, (…, N): ∇h = A(r + Ju) with J = diag p − ppᵀ."""
        u = x @ self.weight
        p = torch.softmax(u + self.bias, dim=-1)
        turn = p * (u - (p * u).sum(-1, keepdim=True))
        return ((self._residuals(u) + turn) @ self.weight.T).norm(dim=-1)

    def _residuals(self, u: Tensor) -> Tensor:
        p = torch.softmax(u + self.bias, dim=-1)
        if self.kind == SHARED:
            return p
        return p - torch.nn.functional.one_hot(self.labels, p.shape[-1])

    def lipschitz(self, radius: float) -> float:
        """A Lipschitz constant of every h_i on the ball ‖x‖ ≤ radius: proved, not estimated.

        ∇h = Ar + AJu. A_c are the columns of A, and D is their diameter. Ar is a convex combination
        of the A_c (shared) or of the A_c − A_y (labelled), so ‖Ar‖ ≤ max‖A_c‖ or D. For AJu there
        are two bounds, and the smaller is taken. First, J is a covariance, so ‖AJAᵀ‖ ≤ D²/4
        (Popoviciu), and ‖x‖ is at most the radius. Second, for all x, ‖A Jv‖ ≤ D/2 Σ|(Jv)_c| ≤ D/2
        times the standard deviation of v_c under p, for v = u = log p − b up to a constant. The
        variance of log p is at most 1 + ¼ log²(C − 1) (Reeb & Wolf 2015, IEEE Trans. Inf. Theory
        61), that of b at most (range/2)².
        """
        diameter = float(self._distances().max())
        at_zero = float(self.weight.norm(dim=0).max()) if self.kind == SHARED else diameter
        log_p = (1 + 0.25 * log(len(self.bias) - 1) ** 2) ** 0.5
        everywhere = diameter / 2 * (log_p + float(self.bias.max() - self.bias.min()) / 2)
        return at_zero + min(radius * diameter**2 / 4, everywhere)

    def heterogeneity(self, radius: float) -> Tensor:
        """κ_ij, (N, N), on that ball: h_i − h_j = x·(A_{y_j} − A_{y_i}) is linear."""
        if self.kind == SHARED:
            return self.weight.new_zeros(len(self.labels), len(self.labels))
        return radius * self._distances()[self.labels][:, self.labels]

    def _distances(self) -> Tensor:
        columns = self.weight.T.contiguous()
        return torch.cdist(columns, columns)


def score_gap_transfer(
    seed: int = 100,
    interactions: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    points: int = 100,
    steps: int = 50,
    diffusion: float = 0.2,
    copies: int = 300,
) -> pd.DataFrame:
    """The bound of Eq. dynamic_group_utility_bound against measured gaps; the groups are classes.

    Initial states, weights v and the terminal map are those of a flow fitted at a = 1; the states
    then move by the linear–quadratic flow (Eq. lq_drift) with each a, without control. The fitted
    terminal map stays as it is: the corollary conditions on it.

    L_h and κ_ij hold on the smallest ball about 0 that contains every terminal state of the
    simulation. `ScoreMap.lipschitz` is a proved, conservative constant there. `slope_seen`, the
    largest ‖∇h‖ at a visited state, is a lower estimate that shows how conservative it is.

    Parameters
    ----------
    seed : of the points, the fit and the noise.
    interactions : values of a.
    points, steps, diffusion : N points; Euler steps on [0, 1]; σ of Σ = σI.
    copies : independent populations, over which the expectation is taken.

    Returns
    -------
    One row per map, a and group:
        map : "shared" (κ = 0) or "labelled" (the NDDV score), see `ScoreMap`.
        interaction, group, size : a; class; n_g.
        measured, stderr, spread : E|ū_g − ū|; its standard error; standard deviation over copies.
        bound : right side of the equation. bound_euler : the same with Q_ij of the Euler scheme.
        kappa_part : the contribution of κ to either.
        lipschitz, slope_seen : L_h as used; largest slope at a visited state.
        bound_seen : bound_euler with slope_seen for L_h; not guaranteed.
        ratio : bound / measured.
    """
    run = fitted_run(seed, points, diffusion=diffusion)
    params, y = run.flow.unpack(run.flat), run.data.y
    x0, mass = encode(run.flow, params.encoder, run.data.rows), run.shares()
    weight, bias = params.head
    maps = {kind: ScoreMap(weight, bias, y, kind) for kind in (SHARED, LABELLED)}
    rows: list[dict[str, object]] = []
    for k, a in enumerate(interactions):
        flow = replace(run.flow, control="open_loop", interaction=a, steps=steps)
        idle = [[x0.new_zeros(flow.width)]] * steps  # no control
        draws = generator(seed, PATHS, k)
        moved = populations(flow, idle, x0, mass, copies, BLOCK, draws)
        x = torch.cat([states[-1] for states in moved])
        distances = expected_distances(flow, x0)
        for kind, score_map in maps.items():
            rows += [{"map": kind, "interaction": a, **r} for r in _gaps(score_map, x, *distances)]
    return pd.DataFrame(rows).sort_values(["map", "group", "interaction"], ignore_index=True)


def _gaps(score_map: ScoreMap, x: Tensor, q: Tensor, q_euler: Tensor) -> list[dict[str, object]]:
    """Measured gaps and bounds of every group.

    x: (copies, N, W) terminal states; q, q_euler: (N, N) of `expected_distances`.
    """
    scores, slope = score_map(x), float(score_map.slopes(x).max())
    radius = float(x.norm(dim=2).max())
    lipschitz, kappa = score_map.lipschitz(radius), score_map.heterogeneity(radius)
    rows: list[dict[str, object]] = []
    for group in torch.unique(score_map.labels):
        members = score_map.labels == group
        gaps = (scores[:, members].mean(1) - scores.mean(1)).abs()
        measured, spread = float(gaps.mean()), float(gaps.std())
        # rows of members, all columns: the double average of the bound
        far, far_euler, apart = (float(matrix[members].mean()) for matrix in (q, q_euler, kappa))
        rows.append(
            {
                "group": int(group),
                "size": int(members.sum()),
                "measured": measured,
                "stderr": spread / len(x) ** 0.5,
                "spread": spread,
                "bound": lipschitz * far + apart,
                "bound_euler": lipschitz * far_euler + apart,
                "kappa_part": apart,
                "lipschitz": lipschitz,
                "slope_seen": slope,
                "bound_seen": slope * far_euler + apart,
                "ratio": (lipschitz * far + apart) / measured,
            }
        )
    return rows


def expected_distances(flow: Flow, x0: Tensor) -> tuple[Tensor, Tensor]:
    """Q_ij(T), (N, N): as Eq. qij_definition has it, and of the Euler scheme."""
    squares = torch.cdist(x0, x0).square()
    frobenius = flow.diffusion**2 * flow.width
    euler = euler_decay_and_noise(flow.interaction, flow.dt, flow.steps)
    continuous = decay_and_noise(flow.interaction, np.array([flow.horizon]))

    def distances(forms: tuple[NDArray[np.float64], ...]) -> Tensor:
        decay, noise = (float(form[-1]) for form in forms)
        return (decay * squares + noise * frobenius).sqrt().fill_diagonal_(0.0)

    return distances(continuous), distances(euler)
