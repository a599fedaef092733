"""Meta weights: the literal hypergradient vanishes, the look-ahead one is the true derivative."""

from __future__ import annotations

import torch

from nddv.dynamics.adjoint import backward, batch_gradient
from nddv.dynamics.costs import running, terminal
from nddv.dynamics.flow import Flow, rollout
from nddv.dynamics.reweighting import (
    Batch,
    WeightMap,
    lookahead_gradient,
    meta_loss,
    penalty_gradient,
)

LOSS, RATE, CLIP = "cross_entropy", 0.5, 100.0


def setting():
    generator = torch.Generator().manual_seed(0)

    def batch(size: int) -> Batch:
        def randn(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64)

        y = torch.randint(0, 3, (size,), generator=generator)
        return Batch(randn(size, 5), y, randn(2, size, 4), randn(size).abs())

    flow = Flow(5, 3, width=4, steps=2, hidden=3, centers=4, running_cost=0.3)
    flat = flow.init(generator, torch.float64)
    weight_map = WeightMap(6)
    theta = weight_map.init(generator, torch.float64)
    theta = theta + torch.randn(len(theta), generator=generator, dtype=torch.float64)
    return flow, flat, weight_map, theta, batch(12), batch(8)


def test_the_literal_hypergradient_is_identically_zero() -> None:
    """With recorded states, ∇_ψH does not contain μ(θ): Algorithm 1, line 7, has no θ in it."""
    flow, flat, weight_map, theta, train, _ = setting()
    theta = theta.requires_grad_()
    params = flow.unpack(flat)
    x0, _ = flow.encoder.forward(params.encoder, train.x)
    with torch.no_grad():
        recorded = rollout(flow, params.controls, x0, train.noise, mass=weight_map(theta, train.q))
        end = terminal(params.head, recorded.states[-1], train.y, LOSS)
        costates = backward(flow, params.controls, recorded, -end.gradients).costates
    dependence = 0.0
    for s in range(flow.steps):
        mu = weight_map(theta, train.q) @ recorded.states[s] / len(train.y)
        control = [p.detach().requires_grad_() for p in params.controls[s]]
        u, _ = flow.controller.forward(control, recorded.states[s])
        drift = flow.interaction * (mu - recorded.states[s]) + u
        hamiltonian = (drift * costates[s]).sum() - running([u], flow.running_cost, 1.0).sum()
        gradients = torch.autograd.grad(hamiltonian, control, create_graph=True)
        probe = sum((g * torch.randn_like(g)).sum() for g in gradients)
        (through,) = torch.autograd.grad(probe, theta, allow_unused=True)
        dependence += 0.0 if through is None else float(through.abs().max())
    assert dependence == 0.0


def test_the_lookahead_gradient_is_the_derivative_of_the_lookahead_loss() -> None:
    flow, flat, weight_map, theta, train, meta = setting()
    ones = torch.ones(len(train.y), dtype=torch.float64)
    with torch.no_grad():
        frozen = batch_gradient(
            flow, flat, train.x, train.y, train.noise, ones, weight_map(theta, train.q), LOSS
        ).path.aggregates

    def loss_after_step(t: torch.Tensor) -> float:
        mass = weight_map(t, train.q)
        inner = batch_gradient(flow, flat, train.x, train.y, train.noise, ones, mass, LOSS)
        return float(meta_loss(flow, flat - RATE * inner.gradient, meta, frozen, LOSS))

    found = lookahead_gradient(flow, weight_map, theta, flat, train, meta, RATE, CLIP, LOSS)
    h = 1e-5
    for k in range(len(theta)):
        step = torch.zeros_like(theta)
        step[k] = h
        expected = (loss_after_step(theta + step) - loss_after_step(theta - step)) / (2 * h)
        assert abs(float(found[k]) - expected) < 1e-9
    assert found.abs().max() > 1e-6  # and it is not the zero of the literal update


def test_the_penalty_surrogate_settles_as_its_weight_grows() -> None:
    """λ[g(θ, ψ) − g(θ, ψ̂)] is a difference form of a hypergradient: it settles as λ grows."""
    flow, flat, weight_map, theta, train, meta = setting()
    common = (flow, weight_map, theta, flat, train, meta, RATE, CLIP, LOSS)
    found = [penalty_gradient(*common, penalty=p) for p in (1e1, 1e3, 1e5)]
    assert (found[2] - found[1]).norm() < 0.05 * (found[1] - found[0]).norm()
    assert found[2].norm() > 1e-6


def test_weights_are_between_zero_and_one() -> None:
    _, _, weight_map, theta, _, _ = setting()
    v = weight_map(theta, torch.linspace(0, 50, 200, dtype=torch.float64))
    assert ((v >= 0) & (v <= 1)).all()
    assert v.std() > 0
