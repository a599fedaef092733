"""Meta-learned sample weights v_i = V_θ(q_i) and the updates of θ (Algorithm 1, lines 5–8).

q_i is the terminal cost of point i at its latest visit. It is frozen before the weight is
evaluated. (The paper takes it from the current forward pass, but that pass needs v_i first.) v_i
enters the dynamics only through μ_s(θ) = B⁻¹ Σ v_i X_{i,s}.

A trap in Algorithm 1: with the drift a(μ − X) + ψ_s(X) and *recorded* states, ∇_ψH does not contain
μ, so the printed hypergradient ∇_θ ℓ(ψ̂(θ)) is identically zero (test_dynamics_reweighting.py shows
it). Here the states are rolled forward again under μ(θ), and the Hamiltonian gradient is taken
along that path. So ψ̂ does depend on θ. The meta points are driven by the aggregate frozen at θ_k,
so their loss depends on θ through ψ̂ alone, as in Eq. bilevel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nddv.dynamics.adjoint import Batch, BatchGradient, batch_gradient
from nddv.dynamics.costs import running, terminal
from nddv.dynamics.flow import Flow, Path, rollout
from nddv.replay.optimizers import clip_norm


@dataclass(frozen=True)
class WeightMap:
    """The ReLU–sigmoid network V_θ: [0, ∞) → [0, 1], 1 → hidden → 1."""

    hidden: int

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
        slopes, biases, out, bias = theta.split([self.hidden] * 3 + [1], -1)
        hidden = torch.relu(q.unsqueeze(-1) * slopes.unsqueeze(-2) + biases.unsqueeze(-2))
        signal = hidden @ out if out.ndim == 1 else (hidden @ out.unsqueeze(-1)).squeeze(-1)
        return torch.sigmoid(signal + bias)


@dataclass(frozen=True)
class MetaProblem:
    """What one update of θ looks at: parameters ψ, a training batch, its signals, a meta batch.

    flat: ψ; signals: (B,) frozen terminal signals q of the training batch; rate: α of the
    look-ahead step, whose gradient is clipped like that of a training step. Stacked models have
    their own batches and share nothing. So the gradient of the sum of their losses consists of
    their own gradients.
    """

    flow: Flow
    weight_map: WeightMap
    flat: Tensor
    train: Batch
    signals: Tensor
    meta: Batch
    rate: float
    clip: float
    loss: str
    pairing: str

    def inner(self, theta: Tensor) -> BatchGradient:
        """The training gradient along the states rolled out under μ(θ)."""
        mass = self.weight_map(theta, self.signals)
        ones, how = torch.ones_like(mass), (self.loss, self.pairing)
        return batch_gradient(self.flow, self.flat, self.train, ones, mass, *how)

    def ahead(self, gradient: Tensor) -> Tensor:
        """ψ̂ = ψ − α × the clipped gradient."""
        return self.flat - self.rate * clip_norm(gradient, self.clip)

    def objective(self, theta: Tensor, flat: Tensor) -> Tensor:
        """g(θ, ψ) = L(ψ, θ) on the training batch (Eq. meta_objective)."""
        path, costs = self._roll(flat, self.train, mass=self.weight_map(theta, self.signals))
        return (costs + running(path.outputs, self.flow.running_cost, self.flow.dt)).mean(-1)

    def meta_loss(self, flat: Tensor, aggregates: Sequence[Tensor]) -> Tensor:
        """Mean terminal cost of the meta batch, driven by an aggregate path."""
        return self._roll(flat, self.meta, aggregates=aggregates)[1].mean(-1)

    def _roll(self, flat: Tensor, batch: Batch, **driver: Any) -> tuple[Path, Tensor]:
        params = self.flow.unpack(flat)
        x0, _ = self.flow.encoder.forward(params.encoder, batch.x)
        path = rollout(self.flow, params.controls, x0, batch.noise, **driver)
        return path, terminal(params.head, path.states[-1], batch.y, self.loss).costs


def lookahead_gradient(problem: MetaProblem, theta: Tensor) -> Tensor:
    """∇_θ ℓ_meta(ψ̂(θ)) with ψ̂(θ) = ψ − α ∇_ψL along the states rolled out under μ(θ)."""
    with torch.enable_grad():
        theta = theta.detach().requires_grad_()
        inner = problem.inner(theta)
        frozen = [mu.detach() for mu in inner.path.aggregates]
        outer = problem.meta_loss(problem.ahead(inner.gradient), frozen)
        (gradient,) = torch.autograd.grad(outer.sum(), theta)
    return gradient


def penalty_gradient(problem: MetaProblem, theta: Tensor, penalty: float) -> Tensor:
    """∇_θ of the first-order surrogate λ[g(θ, ψ) − g(θ, ψ̂)] (Eq. first_order_penalty).

    ψ̂ is one step along the inner objective g, ψ one step along the whole surrogate g + ℓ_meta/λ.
    Only first derivatives are used.
    """
    with torch.no_grad():
        inner = problem.inner(theta)
        hat = problem.ahead(inner.gradient)
    with torch.enable_grad():
        start = problem.flat.detach().requires_grad_()
        loss = problem.meta_loss(start, inner.path.aggregates)
        (outer,) = torch.autograd.grad(loss.sum(), start)
        both = hat - problem.rate * clip_norm(outer, problem.clip) / penalty
        theta = theta.detach().requires_grad_()
        gap = problem.objective(theta, both) - problem.objective(theta, hat)
        (gradient,) = torch.autograd.grad(penalty * gap.sum(), theta)
    return gradient
