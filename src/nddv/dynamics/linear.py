"""Products of one model, or of several stacked along leading axes.

Every function of a training step takes the parameters of one model or of a stack of models, with
one more axis in front: (P,) or (K, P) parameters, (B, W) or (K, B, W) states. A stack of small
models costs less than one model after the other, since each operation starts only once.
"""

from __future__ import annotations

import torch
from torch import Tensor


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x A + b: (…, B, inputs), (…, inputs, outputs), (…, outputs) give (…, B, outputs)."""
    if x.ndim == 2:
        return torch.addmm(bias, x, weight)
    return torch.baddbmm(bias.unsqueeze(-2), x, weight)


def weighted_sum(weights: Tensor, x: Tensor) -> Tensor:
    """Σ_i w_i x_i: (…, B) and (…, B, W) give (…, W)."""
    return weights @ x if weights.ndim == 1 else (weights.unsqueeze(-2) @ x).squeeze(-2)


def projections(x: Tensor, direction: Tensor) -> Tensor:
    """x_i · d: (…, B, W) and (…, W) give (…, B)."""
    return x @ direction if direction.ndim == 1 else (x @ direction.unsqueeze(-1)).squeeze(-1)
