"""The backward adjoint recursion, and the gradients that follow from it.

With the aggregate frozen (Algorithm 1, line 6; Eq. adjoint_eq):

    Y_{i,S} = −∇_xΦ_i(X_{i,S}),   Y_{i,s} = Y_{i,s+1} + ∇_xH_i(X_{i,s}, μ_s, Y_{i,s+1}, 0, ψ_s)Δt

which equals −∇_x of the sampled tail objective (Theorem discrete_adjoint_identity). The Hamiltonian
is H_i = [a(μ − x) + ψ_s(x)]·Y − ρ/2 ‖ψ_s(x)‖² (Eq. mf_ham), so one pullback of the control with
cotangent Y − ρψ_s gives both ∇_xH_i and ∇_ψH_i.

Everything here consists of differentiable torch operations and never calls autograd. So a training
step is cheap, and its gradient can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nddv.dynamics.choices import PAIRINGS
from nddv.dynamics.costs import Terminal, terminal
from nddv.dynamics.flow import Flow, Path, flatten, rollout
from nddv.dynamics.layers import weight_cotangent


@dataclass(frozen=True)
class Adjoint:
    """Co-states Y_0 … Y_S, (B, W) each, and −Δt Σ_i ∇_{ψ_s}H_i for s = 0 … S−1."""

    costates: list[Tensor]
    control_gradients: list[list[Tensor]]


def backward(
    flow: Flow,
    controls: Sequence[Sequence[Tensor]],
    path: Path,
    terminal_costate: Tensor,
    weights: Tensor | None = None,
    pairing: str = "exact",
) -> Adjoint:
    """Run the adjoint recursion from Y_S = `terminal_costate` (B, W) down to Y_0.

    weights: (B,) scale each point's costs (the terminal co-state must carry them already).
    pairing: "exact" evaluates ∇_ψH at Y_{s+1}, which makes the control gradient equal to that of
        the batch objective; "literal" evaluates it at Y_s, as Algorithm 1 prints it.
    """
    if pairing not in PAIRINGS:
        raise ValueError(f"unknown pairing {pairing!r}: choose one of {PAIRINGS}")
    dt = flow.dt
    y = terminal_costate
    costates, gradients = [y], []
    for s in reversed(range(flow.steps)):
        brake = flow.running_cost * path.outputs[s]  # ∂R/∂ψ
        if weights is not None:
            brake = brake * weights.unsqueeze(-1)
        dx, dpsi = flow.controller.pullback(controls[s], path.caches[s], y - brake)
        y = (1 - flow.interaction * dt) * y + dt * dx
        if pairing == "literal":
            _, dpsi = flow.controller.pullback(controls[s], path.caches[s], y - brake)
        costates.append(y)
        gradients.append([-dt * g for g in dpsi])
    return Adjoint(costates[::-1], gradients[::-1])


@dataclass(frozen=True)
class Batch:
    """A mini-batch: x (B, d), y (B,), standard normal noise (S, B, W).

    Of K stacked models, each with its own: (K, B, d), (K, B), (S, K, B, W). Models that look at the
    same points share x (B, d).
    """

    x: Tensor
    y: Tensor
    noise: Tensor

    def first(self, count: int) -> Batch:
        """The first `count` points of the batch, or all if it has fewer."""
        return Batch(self.x[..., :count, :], self.y[..., :count], self.noise[..., :count, :])

    def shared_by(self, models: int) -> Batch:
        """The batch of stacked models that look at the same points with the same noise."""
        noise = self.noise.unsqueeze(1).expand(-1, models, -1, -1)
        return Batch(self.x, self.y.expand(models, -1), noise)


@dataclass(frozen=True)
class BatchGradient:
    """∇ of the batch objective (Eq. meta_objective), aggregate frozen, flat; and its parts."""

    gradient: Tensor
    path: Path
    terminal: Terminal


def batch_gradient(
    flow: Flow,
    flat: Tensor,
    batch: Batch,
    weights: Tensor,
    mass: Tensor,
    loss: str,
    pairing: str = "exact",
) -> BatchGradient:
    """Forward path, adjoint, and minus the Hamiltonian ascent direction of Algorithm 1, lines 4–9.

    weights: (B,) participation w_i, scaling point i's costs; mass: (B,) its share w_i v_i in μ.
    L = B⁻¹ Σ w_i [Σ_s R_i Δt + Φ_i]. With flat (K, P) there are K models, all else is stacked too.
    """
    params, x = flow.unpack(flat), batch.x
    x0, _ = flow.encoder.forward(params.encoder, x)
    path = rollout(flow, params.controls, x0, batch.noise, mass=mass)
    end = terminal(params.head, path.states[-1], batch.y, loss)
    share = weights / x.shape[-2]
    adjoint = backward(
        flow, params.controls, path, -share.unsqueeze(-1) * end.gradients, share, pairing
    )
    residuals = end.residuals * share.unsqueeze(-1)
    head = [path.states[-1].mT @ residuals, residuals.sum(-2)]
    costate = -adjoint.costates[0]
    encoder = [weight_cotangent(x, costate), costate.sum(-2)]
    controls = [g for step in adjoint.control_gradients for g in step]
    return BatchGradient(flatten([*encoder, *controls, *head], flat.ndim - 1), path, end)


@dataclass(frozen=True)
class Perturbation:
    """How a scalar ε enters (Eqs. general_perturbed_state, general_perturbed_objective).

    initial: (B, W) direction ξ_i of the initial state; drift, running: functions (s, x) of step and
    state giving h_{i,s} (B, W) and r_{i,s} (B,); terminal: function x ↦ q_i (B,). None is zero.
    """

    initial: Tensor | None = None
    drift: Callable[[int, Tensor], Tensor] | None = None
    running: Callable[[int, Tensor], Tensor] | None = None
    terminal: Callable[[Tensor], Tensor] | None = None


def adjoint_representation(
    flow: Flow, path: Path, costates: Sequence[Tensor], perturbation: Perturbation
) -> Tensor:
    """𝒥_i'(0), per point (B,), from one adjoint path (Theorem general_adjoint_perturbation).

    The Euler form of Eq. general_adjoint_representation. It pairs the drift direction at step s
    with Y_{s+1}, which makes it exact for the sampled Euler objective.
    """
    states = path.states
    total = torch.zeros(len(states[0]), dtype=states[0].dtype, device=states[0].device)
    if perturbation.terminal is not None:
        total = total + perturbation.terminal(states[-1])
    if perturbation.initial is not None:
        total = total - (costates[0] * perturbation.initial).sum(1)
    for s in range(flow.steps):
        if perturbation.running is not None:
            total = total + flow.dt * perturbation.running(s, states[s])
        if perturbation.drift is not None:
            h = perturbation.drift(s, states[s])
            total = total - flow.dt * (costates[s + 1] * h).sum(1)
    return total
