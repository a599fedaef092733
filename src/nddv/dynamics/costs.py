"""Terminal costs Φ_i with the gradients that the adjoint needs, and running costs R_i."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from nddv.dynamics.layers import affine

LOSSES = ("cross_entropy", "squared_error")


@dataclass(frozen=True)
class Terminal:
    """Terminal costs of B points.

    outputs: (B, C) terminal map; costs: (B,) Φ_i; residuals: (B, C) ∂Φ_i/∂outputs;
    gradients: (B, W) ∇_xΦ_i(X_{i,S}).
    """

    outputs: Tensor
    costs: Tensor
    residuals: Tensor
    gradients: Tensor


def terminal(head: Sequence[Tensor], x: Tensor, y: Tensor, loss: str) -> Terminal:
    """Evaluate Φ_i and its state gradient at terminal states x (B, W).

    y: (B,) class indices for "cross_entropy", (B,) numbers for "squared_error" (½ of the square).
    """
    weight, bias = head
    outputs = affine(x, weight, bias)
    if loss == "cross_entropy":
        log_p = F.log_softmax(outputs, dim=-1)
        index = y.unsqueeze(-1)
        costs = -log_p.gather(-1, index).squeeze(-1)
        minus_one = torch.full_like(index, -1, dtype=outputs.dtype)
        residuals = log_p.exp().scatter_add(-1, index, minus_one)
    elif loss == "squared_error":
        residuals = outputs - y.unsqueeze(-1)
        costs = 0.5 * residuals.square().squeeze(-1)
    else:
        raise ValueError(f"unknown loss {loss!r}: choose one of {LOSSES}")
    return Terminal(outputs, costs, residuals, residuals @ weight.mT)


def running(outputs: Sequence[Tensor], weight: float, dt: float) -> Tensor:
    """Σ_s R_i Δt with R_i = ρ/2 ‖ψ_s(X_{i,s})‖², per point: (B,)."""
    total = torch.zeros_like(outputs[0][..., 0])
    for u in outputs:
        total = total + 0.5 * weight * dt * u.square().sum(-1)
    return total
