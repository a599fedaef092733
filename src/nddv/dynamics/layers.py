"""Layers with explicit pullbacks, the building blocks of the control ψ_s.

The adjoint recursion needs vector–Jacobian products of the control, at every Euler step of every
batch. Here they are written out. That makes a training step several times cheaper than an autograd
graph would. A pullback consists of differentiable torch operations, so autograd can still
differentiate through it when the participation readout asks.

A layer is a frozen description without state. The caller hands in its parameters as a list:

    y, cache = layer.forward(params, x)             # x: (B, inputs) -> y: (B, outputs)
    dx, dparams = layer.pullback(params, cache, dy)  # dy: (B, outputs)

As in every function of a training step, parameters, inputs and cotangents of several models may be
stacked along one more axis in front. That costs less than one model after the other, since each
operation starts only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from math import sqrt
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from nddv.dynamics.kernels import kernel

Shape = tuple[int, ...]
Cotangents = tuple[Tensor, list[Tensor]]  # of the inputs, and of each parameter


class Layer(Protocol):
    """What a layer must offer."""

    def shapes(self) -> list[Shape]: ...

    def init(self, generator: torch.Generator, dtype: torch.dtype) -> list[Tensor]: ...

    def forward(self, params: Sequence[Tensor], x: Tensor) -> tuple[Tensor, Any]: ...

    def pullback(self, params: Sequence[Tensor], cache: Any, dy: Tensor) -> Cotangents: ...


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x A + b: (…, B, inputs), (…, inputs, outputs), (…, outputs) give (…, B, outputs).

    Stacked models may share their inputs x (B, inputs): one product then serves all of them.
    """
    if weight.ndim == 2:
        return torch.addmm(bias, x, weight)
    if x.ndim == 3:
        return torch.baddbmm(bias.unsqueeze(-2), x, weight)
    models, inputs, outputs = weight.shape
    y = x @ weight.transpose(0, 1).reshape(inputs, -1)
    return y.view(-1, models, outputs).transpose(0, 1) + bias.unsqueeze(-2)


def weight_cotangent(x: Tensor, dy: Tensor) -> Tensor:
    """xᵀ dy, the cotangent of A in `affine`: (…, B, inputs) and (…, B, outputs)."""
    if x.ndim == dy.ndim:
        return x.mT @ dy
    models, _, outputs = dy.shape
    pulled = x.T @ dy.transpose(0, 1).reshape(len(x), -1)
    return pulled.view(-1, models, outputs).transpose(0, 1)


def _times(made: Tensor, factor: Tensor) -> Tensor:
    """made · factor, in the memory of `made`, unless it will be differentiated."""
    return made * factor if torch.is_grad_enabled() else made.mul_(factor)


def _plus(made: Tensor, other: Tensor) -> Tensor:
    """made + other, in the memory of `made`, unless it will be differentiated."""
    return made + other if torch.is_grad_enabled() else made.add_(other)


def _silu_slope(x: Tensor, sigmoid: Tensor) -> Tensor:
    return sigmoid * (1 + x * (1 - sigmoid))


def _normal(shape: Shape, std: float, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    # drawn in float64 so that float32 and float64 runs start from the same point
    return (torch.randn(shape, generator=generator, dtype=torch.float64) * std).to(dtype)


@lru_cache(maxsize=16)
def _grid(count: int, reach: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Evenly spaced centres on [−reach, reach], as a column."""
    return torch.linspace(-reach, reach, count, dtype=dtype, device=device).unsqueeze(1)


@dataclass(frozen=True)
class KANLayer:
    """Learned univariate functions summed over inputs (Eqs. kan_control, rbf).

    y_q = Σ_p [α_b SiLU(x_p) + Σ_g α_k,g h_k(x_p, c_g)], with `centers` Matérn bases c_g evenly on
    [−reach, reach]; the length scale is their spacing. Xavier initialisation.
    """

    inputs: int
    outputs: int
    centers: int
    reach: float
    nu: float

    def shapes(self) -> list[Shape]:
        return [((self.centers + 1) * self.inputs, self.outputs)]

    def init(self, generator: torch.Generator, dtype: torch.dtype) -> list[Tensor]:
        std = sqrt(2.0 / (self.inputs * (self.centers + 1) + self.outputs))
        return [_normal(self.shapes()[0], std, generator, dtype)]

    @cached_property
    def _scale(self) -> float:
        """u = scale·x − grid, the kernel's argument; the length scale is the grid's spacing."""
        return kernel(self.nu).scale * max(self.centers - 1, 1) / (2 * self.reach)

    def forward(self, params: Sequence[Tensor], x: Tensor) -> tuple[Tensor, Any]:
        basis = kernel(self.nu)
        grid = _grid(self.centers, self.reach * self._scale, x.dtype, x.device)
        u = (x * self._scale).unsqueeze(-2) - grid  # (B, centers, inputs)
        k, e = basis.bases(u)
        k, sigmoid = k.flatten(-2), torch.sigmoid(x)
        silu = x * sigmoid
        radial, smooth = self._split(params[0])
        # two products: to join the bases and SiLU first would copy both
        return _plus(k @ radial, silu @ smooth), (x, u, e, sigmoid, k, silu)

    def _split(self, weight: Tensor) -> Sequence[Tensor]:
        """The weights of the bases, and those of SiLU."""
        return weight.split([self.centers * self.inputs, self.inputs], -2)

    def pullback(self, params: Sequence[Tensor], cache: Any, dy: Tensor) -> Cotangents:
        x, u, e, sigmoid, k, silu = cache
        radial, smooth = self._split(params[0])
        dk = (dy @ radial.mT).unflatten(-1, (self.centers, self.inputs))
        dx = _times(dk, kernel(self.nu).minus_slope(u, e)).sum(-2) * -self._scale
        dx = torch.addcmul(dx, dy @ smooth.mT, _silu_slope(x, sigmoid))
        return dx, [torch.cat([k.mT @ dy, silu.mT @ dy], -2)]


@dataclass(frozen=True)
class DenseLayer:
    """y = act(x A + b), `activation` SiLU or none. Weights start at Xavier's scale or at `std`."""

    inputs: int
    outputs: int
    activation: bool
    std: float | None = None

    def shapes(self) -> list[Shape]:
        return [(self.inputs, self.outputs), (self.outputs,)]

    def init(self, generator: torch.Generator, dtype: torch.dtype) -> list[Tensor]:
        std = self.std or sqrt(2.0 / (self.inputs + self.outputs))
        weight = _normal((self.inputs, self.outputs), std, generator, dtype)
        return [weight, torch.zeros(self.outputs, dtype=dtype)]

    def forward(self, params: Sequence[Tensor], x: Tensor) -> tuple[Tensor, Any]:
        z = affine(x, *params)
        return (F.silu(z) if self.activation else z), (x, z)

    def pullback(self, params: Sequence[Tensor], cache: Any, dy: Tensor) -> Cotangents:
        x, z = cache
        if self.activation:
            dy = dy * _silu_slope(z, torch.sigmoid(z))
        return dy @ params[0].mT, [weight_cotangent(x, dy), dy.sum(-2)]


@dataclass(frozen=True)
class ConstantLayer:
    """An open-loop control: one vector for all states (the model of Eq. lq_drift)."""

    outputs: int

    def shapes(self) -> list[Shape]:
        return [(self.outputs,)]

    def init(self, generator: torch.Generator, dtype: torch.dtype) -> list[Tensor]:
        return [torch.zeros(self.outputs, dtype=dtype)]

    def forward(self, params: Sequence[Tensor], x: Tensor) -> tuple[Tensor, Any]:
        return params[0].unsqueeze(-2).expand(x.shape), x

    def pullback(self, params: Sequence[Tensor], cache: Any, dy: Tensor) -> Cotangents:
        return torch.zeros_like(cache), [dy.sum(-2)]


@dataclass(frozen=True)
class Chain:
    """Layers applied one after the other; their parameters are concatenated in order."""

    layers: tuple[Layer, ...]

    def shapes(self) -> list[Shape]:
        return [shape for layer in self.layers for shape in layer.shapes()]

    def init(self, generator: torch.Generator, dtype: torch.dtype) -> list[Tensor]:
        return [p for layer in self.layers for p in layer.init(generator, dtype)]

    def _split(self, params: Sequence[Tensor]) -> list[Sequence[Tensor]]:
        rest = iter(params)
        return [list(islice(rest, len(layer.shapes()))) for layer in self.layers]

    def forward(self, params: Sequence[Tensor], x: Tensor) -> tuple[Tensor, Any]:
        caches = []
        for layer, own in zip(self.layers, self._split(params), strict=True):
            x, cache = layer.forward(own, x)
            caches.append(cache)
        return x, caches

    def pullback(self, params: Sequence[Tensor], cache: Any, dy: Tensor) -> Cotangents:
        grads: list[Tensor] = []
        for layer, own, own_cache in zip(
            reversed(self.layers), reversed(self._split(params)), reversed(cache), strict=True
        ):
            dy, own_grads = layer.pullback(own, own_cache, dy)
            grads = own_grads + grads
        return dy, grads
