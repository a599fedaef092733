"""Single points in a fit: their leverage, and their logits if they were added to it.

Arrays of b points with K logits each: probabilities P (b, K), curvatures S (b, K, K) of their
losses, leverages G_i = B_iᵀ H⁻¹ B_i (K, K) with B_i = 1_K ⊗ x_i.
"""

from __future__ import annotations

import torch
from torch import Tensor

from nddv.coalitions.newton import SAFE_CHANGE

STEPS = 40
LAST_CHANGE = 1e-5
"""The proximal equation is solved when a Newton step changes no logit by more than this."""


def probabilities(logits: Tensor, dim: int = -1) -> Tensor:
    """Of logits with K along one dimension."""
    return logits.sigmoid() if logits.shape[dim] == 1 else torch.softmax(logits, dim=dim)


def curvatures(P: Tensor) -> Tensor:
    """S (b, K, K) of probabilities (b, K)."""
    if P.shape[1] == 1:
        return (P * (1 - P))[:, :, None]
    return torch.diag_embed(P) - P[:, :, None] * P[:, None]


def leverages(X: Tensor, inverse: Tensor, K: int) -> Tensor:
    """G (n, K, K) of points X (n, q), from H⁻¹ (1, K·q, K·q) or from its blocks (K, q, q)."""
    if len(inverse) == K:
        return torch.diag_embed(((X @ inverse) * X).sum(dim=2).T)
    parts = inverse.view(K, X.shape[1], K, X.shape[1])
    blocks = X.new_empty(len(X), K, K)
    for k in range(K):
        for l in range(k, K):
            blocks[:, k, l] = blocks[:, l, k] = ((X @ parts[k, :, l]) * X).sum(dim=1)
    return blocks


def solve_small(matrices: Tensor, right: Tensor) -> Tensor:
    """Solutions of matrices (b, K, K) for (b, K), or for (b, K, L); not finite where singular."""
    if matrices.shape[1] == 1:
        return right / (matrices if right.dim() == 3 else matrices[..., 0])
    return torch.linalg.solve_ex(matrices, right)[0]


def prox(start: Tensor, G: Tensor, targets: Tensor) -> Tensor:
    """Solutions z (b, K) of z + G (p(z) − targets) = start, by Newton's method.

    They minimise ½|z − start|² in the norm of G⁻¹ plus the loss at z, so the safe step lengths of
    :mod:`nddv.coalitions.regressions` hold.
    """
    z, unit = start.clone(), torch.eye(start.shape[1]).to(start)
    rows = torch.arange(len(z), device=z.device)
    for _ in range(STEPS):
        P = probabilities(z[rows])
        gap = z[rows] - start[rows] + (G[rows] @ (P - targets[rows])[:, :, None])[..., 0]
        step = solve_small(unit + G[rows] @ curvatures(P), gap)
        change = step.abs().amax(dim=1) * (1 if step.shape[1] == 1 else 2)
        length = torch.where(change <= SAFE_CHANGE, 1.0, torch.log1p(change) / change)
        z[rows] -= length[:, None] * step
        rows = rows[change > LAST_CHANGE]
        if len(rows) == 0:
            break
    return z
