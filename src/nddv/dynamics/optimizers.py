"""Optimiser steps as pure functions, so that the participation readout can differentiate them.

A state is one tensor of moments. It has 1 row (SGD) or 2 rows (AdamW), each as long as the
parameter vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi

import torch
from torch import Tensor

from nddv.dynamics.choices import OPTIMIZERS, SCHEDULES


@dataclass(frozen=True)
class Optimizer:
    """AdamW, or SGD with momentum, both with decoupled weight decay and gradient-norm clipping.

    AdamW divides by √(v̂ + ε²) rather than √v̂ + ε. The two agree to first order in ε, and only the
    first is differentiable where a gradient is zero (for a feature that never varies).
    """

    name: str
    learning_rate: float
    weight_decay: float
    clip: float
    total_steps: int
    schedule: str = "constant"
    momentum: float = 0.9
    second_momentum: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        if self.name not in OPTIMIZERS:
            raise ValueError(f"unknown optimizer {self.name!r}: choose one of {OPTIMIZERS}")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"unknown schedule {self.schedule!r}: choose one of {SCHEDULES}")

    def init(self, flat: Tensor) -> Tensor:
        """Zero moments: (1 or 2, P); of stacked models (1 or 2, K, P)."""
        return flat.new_zeros((2 if self.name == "adamw" else 1, *flat.shape))

    def rate(self, step: int) -> float:
        """Learning rate of this step; "linear" and "cosine" decay to zero."""
        done = step / max(self.total_steps, 1)
        if self.schedule == "linear":
            return self.learning_rate * (1 - done)
        if self.schedule == "cosine":
            return self.learning_rate * 0.5 * (1 + cos(pi * done))
        return self.learning_rate

    def step(
        self, step: int, flat: Tensor, moments: Tensor, gradient: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Parameters and moments after step number `step` (from 0)."""
        gradient = clip_norm(gradient, self.clip)
        rate = self.rate(step)
        decayed = flat * (1 - rate * self.weight_decay)
        if self.name == "sgd":
            velocity = self.momentum * moments[0] + gradient
            return decayed - rate * velocity, velocity.unsqueeze(0)
        first = torch.lerp(gradient, moments[0], self.momentum)
        second = torch.lerp(gradient * gradient, moments[1], self.second_momentum)
        correction = 1 - self.second_momentum ** (step + 1)
        scale = torch.rsqrt(second / correction + self.epsilon**2)
        rate = rate / (1 - self.momentum ** (step + 1))
        return torch.addcmul(decayed, first, scale, value=-rate), torch.stack([first, second])

    def pullback(
        self,
        step: int,
        flat: Tensor,
        moments: Tensor,
        gradient: Tensor,
        dflat: Tensor,
        dmoments: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Vector–Jacobian product of `step`: cotangents of `flat`, `moments` and `gradient`."""
        rate = self.rate(step)
        clipped = clip_norm(gradient, self.clip)
        if self.name == "sgd":
            dvelocity = dmoments[0] - rate * dflat
            dgradient = dvelocity
            back = (self.momentum * dvelocity).unsqueeze(0)
        else:
            first = torch.lerp(clipped, moments[0], self.momentum)
            second = torch.lerp(clipped * clipped, moments[1], self.second_momentum)
            correction = 1 - self.second_momentum ** (step + 1)
            scale = torch.rsqrt(second / correction + self.epsilon**2)
            pull = dflat * scale * (rate / (1 - self.momentum ** (step + 1)))
            dfirst = dmoments[0] - pull
            dsecond = torch.addcmul(
                dmoments[1], pull * first, scale * scale, value=0.5 / correction
            )
            dgradient = (1 - self.momentum) * dfirst
            dgradient.addcmul_(clipped, dsecond, value=2 * (1 - self.second_momentum))
            back = torch.stack([self.momentum * dfirst, self.second_momentum * dsecond])
        norm = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
        long = norm > self.clip
        if long.any():
            unit = gradient / norm.clamp_min(self.clip)
            across = dgradient - unit * (unit * dgradient).sum(-1, keepdim=True)
            dgradient = torch.where(long, (self.clip / norm) * across, dgradient)
        return dflat * (1 - rate * self.weight_decay), back, dgradient


def clip_norm(gradient: Tensor, limit: float) -> Tensor:
    """Scale a gradient (P,), or each of (K, P), down to norm `limit` if it is longer.

    There is no branch on the norm, so `torch.func.vmap` can run many retrainings at once. A shorter
    gradient is multiplied by exactly one.
    """
    norm = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
    return gradient * (limit / norm.clamp_min(limit))
