"""The controlled mean-field flow: parameters, forward Euler path, population aggregate.

    X_{s+1} = X_s + [a(μ_s − X_s) + ψ_s(X_s)]Δt + σ ΔW_s,   μ_s = N⁻¹ Σ_i v_i X_{i,s}

(Eqs. lq_drift, weighted_mean_state, discrete_soc), with X_0 = encoder(x) and the terminal map
ψ_S a linear layer on X_S. N is the number of points that move together: the batch in training,
the whole training set when scoring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import prod, sqrt
from typing import Any

import torch
from torch import Tensor

from nddv.dynamics.layers import Chain, ConstantLayer, DenseLayer, KANLayer, Layer


@dataclass(frozen=True)
class Parameters:
    """Views into one flat parameter vector."""

    encoder: Sequence[Tensor]
    controls: Sequence[Sequence[Tensor]]
    head: Sequence[Tensor]


@dataclass(frozen=True)
class Path:
    """A realised Euler path of B points.

    states: S+1 tensors (B, W); aggregates: S tensors (W,); outputs: S tensors ψ_s(X_s), (B, W).
    """

    states: list[Tensor]
    aggregates: list[Tensor]
    outputs: list[Tensor]
    caches: list[Any]


@dataclass(frozen=True)
class Flow:
    """Architecture and constants of the controlled flow; holds no parameters.

    features, outputs: input dimension d, and number of classes (1 for regression). What the
    constants mean is said in `nddv.estimator.settings`; Σ = σ I with σ = `diffusion`.
    """

    features: int
    outputs: int
    input_energy: float
    width: int
    steps: int
    horizon: float
    interaction: float
    diffusion: float
    running_cost: float
    control: str
    hidden: int
    centers: int
    reach: float
    nu: float

    @classmethod
    def of(cls, settings: Any, features: int, outputs: int) -> Flow:
        """The flow of some settings (`nddv.estimator.settings.Settings`)."""
        constants = {f.name: getattr(settings, f.name) for f in fields(cls)[2:]}
        return cls(features, outputs, **constants)

    @property
    def dt(self) -> float:
        return self.horizon / self.steps

    @cached_property
    def encoder(self) -> DenseLayer:
        """Initial map: states start with unit variance whatever the number of features."""
        std = self.input_energy**-0.5
        return DenseLayer(self.features, self.width, activation=False, std=std)

    @cached_property
    def head(self) -> DenseLayer:
        return DenseLayer(self.width, self.outputs, activation=False)

    @cached_property
    def controller(self) -> Layer:
        """The architecture of one ψ_s; every Euler step has parameters of its own."""
        if self.control == "open_loop":
            return ConstantLayer(self.width)
        if self.control == "mlp":
            return Chain(
                (
                    DenseLayer(self.width, self.hidden, activation=True),
                    DenseLayer(self.hidden, self.width, activation=False),
                )
            )
        sizes = ((self.width, self.hidden), (self.hidden, self.width))
        return Chain(tuple(KANLayer(*s, self.centers, self.reach, self.nu) for s in sizes))

    @cached_property
    def _blocks(self) -> list[Layer]:
        return [self.encoder, *[self.controller] * self.steps, self.head]

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        return [shape for block in self._blocks for shape in block.shapes()]

    @cached_property
    def sizes(self) -> list[int]:
        return [prod(shape) for shape in self.shapes]

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
        """A fresh flat parameter vector."""
        return flatten([p for block in self._blocks for p in block.init(generator, dtype)])

    def unpack(self, flat: Tensor) -> Parameters:
        """Name the parts of a flat parameter vector, or of a stack of them (views, no copy)."""
        lead = flat.shape[:-1]
        pieces = flat.split(self.sizes, -1)
        parts = [p.view(*lead, *s) for p, s in zip(pieces, self.shapes, strict=True)]
        per_control = len(self.controller.shapes())
        stop = 2 + per_control * self.steps
        controls = [parts[i : i + per_control] for i in range(2, stop, per_control)]
        return Parameters(parts[:2], controls, parts[stop:])


def flatten(tensors: Sequence[Tensor], stacked: int = 0) -> Tensor:
    """One vector of all entries, in order; `stacked` axes in front are left as they are."""
    return torch.cat([t.reshape(*t.shape[:stacked], -1) for t in tensors], dim=-1)


def euler_step(flow: Flow, x: Tensor, mu: Tensor, control: Tensor, noise: Tensor) -> Tensor:
    """One Euler–Maruyama step (Eq. discrete_state_map); `noise` is standard normal."""
    mu = mu.unsqueeze(-2)
    a_dt = flow.interaction * flow.dt
    x = (1 - a_dt) * x + a_dt * mu + flow.dt * control
    return x + flow.diffusion * sqrt(flow.dt) * noise if flow.diffusion else x


def mean_state(mass: Tensor, x: Tensor) -> Tensor:
    """μ = B⁻¹ Σ_i v_i X_i (Eq. weighted_mean_state): mass (B,) and states (B, W) give (W,)."""
    total = mass @ x if mass.ndim == 1 else (mass.unsqueeze(-2) @ x).squeeze(-2)
    return total / x.shape[-2]


def rollout(
    flow: Flow,
    controls: Sequence[Sequence[Tensor]],
    x0: Tensor,
    noise: Tensor,
    mass: Tensor | None = None,
    aggregates: Sequence[Tensor] | None = None,
) -> Path:
    """Forward Euler path of B points (Algorithm 1, line 4).

    Either `mass` (B,) is given, the points' shares v_i in their own aggregate
    μ_s = B⁻¹ Σ v_i X_{i,s}, or `aggregates`, a path μ_0 … μ_{S−1} made by other points.

    x0: (B, W) initial states; noise: (S, B, W) standard normal. Of stacked models: (K, B, W) and
    (S, K, B, W).
    """
    if (mass is None) == (aggregates is None):
        raise ValueError("give either the points' mass or a fixed aggregate path")
    path = Path([x0], [], [], [])
    x = x0
    for s in range(flow.steps):
        mu = mean_state(mass, x) if mass is not None else aggregates[s]  # type: ignore[index]
        control, cache = flow.controller.forward(controls[s], x)
        x = euler_step(flow, x, mu, control, noise[s])
        path.states.append(x)
        path.aggregates.append(mu)
        path.outputs.append(control)
        path.caches.append(cache)
    return path
