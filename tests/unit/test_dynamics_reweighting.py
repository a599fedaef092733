"""Meta weights: the literal hypergradient vanishes, the look-ahead one is the true derivative."""

from __future__ import annotations

import pytest
import torch

from nddv.dynamics.adjoint import Batch, backward
from nddv.dynamics.costs import running, terminal
from nddv.dynamics.flow import Flow, rollout
from nddv.dynamics.reweighting import MetaProblem, WeightMap, lookahead_gradient, penalty_gradient
from nddv.estimator.settings import Settings, resolved

LOSS = "cross_entropy"


def setting(rate: float = 0.5, pairing: str = "exact") -> tuple[MetaProblem, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)

    def randn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def batch(size: int) -> Batch:
        y = torch.randint(0, 3, (size,), generator=generator)
        return Batch(randn(size, 5), y, randn(2, size, 4))

    settings = Settings(width=4, steps=2, hidden=3, centers=4, running_cost=0.3)
    flow = Flow.of(resolved(settings), 5, 3)
    flat = flow.init(generator, torch.float64)
    weight_map = WeightMap(6)
    theta = weight_map.init(generator, torch.float64)
    theta = theta + randn(len(theta))
    train, signals, meta = batch(12), randn(12).abs(), batch(8)
    problem = MetaProblem(
        flow, weight_map, flat, train, signals, meta, rate, clip=100.0, loss=LOSS, pairing=pairing
    )
    return problem, theta


def test_the_literal_hypergradient_is_identically_zero() -> None:
    """With recorded states, ∇_ψH does not contain μ(θ): Algorithm 1, line 7, has no θ in it."""
    problem, theta = setting()
    flow, weight_map, train, signals = (
        problem.flow, problem.weight_map, problem.train, problem.signals
    )  # fmt: skip
    theta = theta.requires_grad_()
    params = flow.unpack(problem.flat)
    x0, _ = flow.encoder.forward(params.encoder, train.x)
    with torch.no_grad():
        recorded = rollout(flow, params.controls, x0, train.noise, mass=weight_map(theta, signals))
        end = terminal(params.head, recorded.states[-1], train.y, LOSS)
        costates = backward(flow, params.controls, recorded, -end.gradients).costates
    dependence = 0.0
    for s in range(flow.steps):
        mu = weight_map(theta, signals) @ recorded.states[s] / len(train.y)
        control = [p.detach().requires_grad_() for p in params.controls[s]]
        u, _ = flow.controller.forward(control, recorded.states[s])
        drift = flow.interaction * (mu - recorded.states[s]) + u
        hamiltonian = (drift * costates[s]).sum() - running([u], flow.running_cost, 1.0).sum()
        gradients = torch.autograd.grad(hamiltonian, control, create_graph=True)
        probe = sum((g * torch.randn_like(g)).sum() for g in gradients)
        (through,) = torch.autograd.grad(probe, theta, allow_unused=True)
        dependence += 0.0 if through is None else float(through.abs().max())
    assert dependence == 0.0


@pytest.mark.parametrize("pairing", ["exact", "literal"])
def test_the_lookahead_gradient_is_the_derivative_of_the_lookahead_loss(pairing: str) -> None:
    problem, theta = setting(pairing=pairing)
    with torch.no_grad():
        frozen = problem.inner(theta).path.aggregates

    def loss_after_step(t: torch.Tensor) -> float:
        return float(problem.meta_loss(problem.ahead(problem.inner(t).gradient), frozen))

    found = lookahead_gradient(problem, theta)
    h = 1e-5
    for k in range(len(theta)):
        step = torch.zeros_like(theta)
        step[k] = h
        expected = (loss_after_step(theta + step) - loss_after_step(theta - step)) / (2 * h)
        assert abs(float(found[k]) - expected) < 1e-9
    assert found.abs().max() > 1e-6  # and it is not the zero of the literal update


def test_the_penalty_surrogate_points_along_the_lookahead_gradient() -> None:
    """For small steps λ[g(θ, ψ) − g(θ, ψ̂)] is a difference form of the hypergradient."""
    problem, theta = setting(rate=0.05)
    exact = lookahead_gradient(problem, theta)
    surrogate = penalty_gradient(problem, theta, penalty=1e4)
    assert torch.cosine_similarity(exact, surrogate, dim=0) > 0.99


def test_weights_are_between_zero_and_one() -> None:
    problem, theta = setting()
    v = problem.weight_map(theta, torch.linspace(0, 50, 200, dtype=torch.float64))
    assert ((v >= 0) & (v <= 1)).all()
    assert v.std() > 0


def test_an_update_looks_at_the_first_points_of_a_large_batch() -> None:
    whole = Batch(torch.arange(12.0).view(2, 3, 2), torch.zeros(2, 3), torch.zeros(4, 2, 3, 5))
    few = whole.first(2)
    assert few.x.tolist() == [[[0, 1], [2, 3]], [[6, 7], [8, 9]]]
    assert few.y.shape == (2, 2)
    assert few.noise.shape == (4, 2, 2, 5)
    assert torch.equal(whole.first(9).x, whole.x)


def test_the_weight_map_starts_near_a_half_whatever_its_width() -> None:
    """Kinks from −1 to 3, of both signs; output weights of deviation .1/√h."""
    for hidden in (4, 400):
        theta = WeightMap(hidden).init(torch.Generator().manual_seed(100), torch.float64)
        slopes, biases, out, bias = theta.split([hidden] * 3 + [1])
        assert set(slopes.tolist()) == {-1.0, 1.0}
        kinks = torch.linspace(-1, 3, hidden, dtype=torch.float64)
        assert torch.allclose(-biases / slopes, kinks)
        assert float(out.norm()) == pytest.approx(0.1, rel=0.05 if hidden == 400 else 0.9)
        assert bias.item() == 0.0
