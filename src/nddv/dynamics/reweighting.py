"""Meta-learned sample weights v_i = V_θ(q_i) and the updates of θ (Algorithm 1, lines 5–8).

q_i is the terminal cost of point i at its latest visit, a number that is frozen before the weight
is evaluated. v_i enters the dynamics through μ_s(θ) = B⁻¹ Σ v_i X_{i,s} only.

A trap in Algorithm 1: with the drift a(μ − X) + ψ_s(X) and *recorded* states, ∇_ψH does not contain
μ, so the printed hypergradient ∇_θ ℓ(ψ̂(θ)) is identically zero (tests/unit/test_reweighting.py
shows it). Here the look-ahead is real: the states are rolled forward again under μ(θ), and the
Hamiltonian gradient is taken along that path, so that ψ̂ depends on θ. The meta points are driven by
the aggregate frozen at θ_k: their loss depends on θ through ψ̂ alone, as in Eq. bilevel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nddv.dynamics.adjoint import batch_gradient
from nddv.dynamics.costs import running, terminal
from nddv.dynamics.flow import Flow, rollout
from nddv.dynamics.optimizers import clip_norm

REWEIGHTINGS = ("lookahead", "penalty", "none")


@dataclass(frozen=True)
class WeightMap:
    """The ReLU–sigmoid network V_θ: [0, ∞) → [0, 1], 1 → hidden → 1."""

    hidden: int

    @property
    def size(self) -> int:
        return 3 * self.hidden + 1

    def init(self, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """θ flat; kinks spread over q ∈ [−1, 3], small output weights, so v starts near ½."""
        h = self.hidden
        draws = torch.randn((2, h), generator=generator, dtype=torch.float64)
        kinks = torch.linspace(-1.0, 3.0, h, dtype=torch.float64)
        slopes = torch.where(draws[0] < 0, -1.0, 1.0)
        out = draws[1] * 0.1 / h**0.5
        bias = torch.zeros(1, dtype=torch.float64)
        return torch.cat([slopes, -slopes * kinks, out, bias]).to(dtype)

    def __call__(self, theta: Tensor, q: Tensor) -> Tensor:
        """Weights (B,) of terminal signals q (B,)."""
        h = self.hidden
        slopes, biases, out = theta[:h], theta[h : 2 * h], theta[2 * h : 3 * h]
        hidden = torch.relu(q.unsqueeze(1) * slopes + biases)
        return torch.sigmoid(hidden @ out + theta[-1])


@dataclass(frozen=True)
class Batch:
    """One mini-batch as the updates need it; q: (B,) frozen terminal signals."""

    x: Tensor
    y: Tensor
    noise: Tensor
    q: Tensor


def meta_loss(
    flow: Flow, flat: Tensor, batch: Batch, aggregates: Sequence[Tensor], loss: str
) -> Tensor:
    """Mean terminal cost of points that a given aggregate path drives."""
    params = flow.unpack(flat)
    x0, _ = flow.encoder.forward(params.encoder, batch.x)
    path = rollout(flow, params.controls, x0, batch.noise, aggregates=aggregates)
    return terminal(params.head, path.states[-1], batch.y, loss).costs.mean()


def lookahead_gradient(
    flow: Flow,
    weight_map: WeightMap,
    theta: Tensor,
    flat: Tensor,
    train: Batch,
    meta: Batch,
    rate: float,
    clip: float,
    loss: str,
) -> Tensor:
    """∇_θ ℓ_meta(ψ̂(θ)) with ψ̂(θ) = ψ − α ∇_ψL along the states rolled out under μ(θ)."""
    with torch.enable_grad():
        theta = theta.detach().requires_grad_()
        mass = weight_map(theta, train.q)
        ones = torch.ones_like(mass)
        inner = batch_gradient(flow, flat, train.x, train.y, train.noise, ones, mass, loss)
        ahead = flat - rate * clip_norm(inner.gradient, clip)
        frozen = [mu.detach() for mu in inner.path.aggregates]
        outer = meta_loss(flow, ahead, meta, frozen, loss)
        (gradient,) = torch.autograd.grad(outer, theta)
    return gradient


def penalty_gradient(
    flow: Flow,
    weight_map: WeightMap,
    theta: Tensor,
    flat: Tensor,
    train: Batch,
    meta: Batch,
    rate: float,
    clip: float,
    loss: str,
    penalty: float,
) -> Tensor:
    """∇_θ of the first-order surrogate λ[g(θ, ψ) − g(θ, ψ̂)] (Eq. first_order_penalty).

    ψ̂ follows the inner objective g by one step, ψ the whole surrogate g + ℓ_meta/λ by one step;
    first derivatives only.
    """
    mass = weight_map(theta, train.q)
    ones = torch.ones_like(mass)
    inner = batch_gradient(flow, flat, train.x, train.y, train.noise, ones, mass, loss)
    hat = flat - rate * clip_norm(inner.gradient, clip)
    frozen = inner.path.aggregates
    with torch.enable_grad():
        start = flat.detach().requires_grad_()
        (outer,) = torch.autograd.grad(meta_loss(flow, start, meta, frozen, loss), start)
        both = hat - rate * clip_norm(outer, clip) / penalty
        theta = theta.detach().requires_grad_()
        gap = _inner_objective(flow, weight_map, theta, both, train, loss) - _inner_objective(
            flow, weight_map, theta, hat, train, loss
        )
        (gradient,) = torch.autograd.grad(penalty * gap, theta)
    return gradient


def _inner_objective(
    flow: Flow, weight_map: WeightMap, theta: Tensor, flat: Tensor, train: Batch, loss: str
) -> Tensor:
    """g(θ, ψ) = L(ψ, θ) on the batch (Eq. meta_objective)."""
    params = flow.unpack(flat)
    x0, _ = flow.encoder.forward(params.encoder, train.x)
    path = rollout(flow, params.controls, x0, train.noise, mass=weight_map(theta, train.q))
    costs = terminal(params.head, path.states[-1], train.y, loss).costs
    return (costs + running(path.outputs, flow.running_cost, flow.dt)).mean()
