"""The methods that minimise: every step goes down, and the methods agree."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nddv.coalitions.axes import Axes
from nddv.coalitions.newton import Newton, Pairs
from nddv.coalitions.quasi_newton import QuasiNewton
from nddv.coalitions.regressions import Batch, Points, minimise, spread


def make_batch(n_classes, count=12, n=40, d=4, C=5.0, start=3.0):
    generator = torch.Generator().manual_seed(100)
    X = 3 * torch.randn(n, d, generator=generator, dtype=torch.float64)
    y = torch.randint(n_classes, (n,), generator=generator)
    y[:n_classes] = torch.arange(n_classes)
    points = Points.build(X, y, n_classes, C)
    weights = torch.randint(3, (count, n), generator=generator).double()
    weights[:, :n_classes] = 1
    logits = len(points.targets)
    theta = start * torch.randn(count, logits, d + 1, generator=generator, dtype=torch.float64)
    absent = torch.zeros(count, logits, dtype=torch.bool)
    penalty = torch.linspace(1, 2, count, dtype=torch.float64)
    return points, Batch.start(points, weights, penalty, theta, absent)


def make_method(name, points, batch):
    if name == "newton":
        return Newton(points, Pairs.build(points.X), batch)
    return QuasiNewton(points, batch)


def objectives(points, batch):
    """The objective of every regression, by definition."""
    logits = batch.theta @ points.X.T
    if logits.shape[1] == 1:
        logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
        targets = torch.cat([1 - points.targets, points.targets])
    else:
        targets = points.targets
    losses = -(torch.log_softmax(logits, dim=1) * targets).sum(dim=1)
    squares = batch.theta[..., :-1].square().sum(dim=(1, 2))
    return 0.5 * batch.penalty * squares + points.C * (batch.weights * losses).sum(dim=1)


@pytest.mark.parametrize("name", ["newton", "quasi-newton"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_step_goes_down_without_a_line_search(name, n_classes):
    points, batch = make_batch(n_classes)
    method = make_method(name, points, batch)
    before = objectives(points, batch)
    far = 0
    for _ in range(30):
        old = batch.logits.clone()
        method.step()
        after = objectives(points, batch)
        assert (after <= before * (1 + 1e-12)).all()
        far += int((spread(batch.logits - old) > 1.0).sum())
        before = after
    assert far > 10  # the bound was put to the test


@pytest.mark.parametrize("n_classes", [2, 4])
def test_gradient_is_that_of_the_objective(n_classes):
    points, batch = make_batch(n_classes, count=3)
    theta = batch.theta.clone().requires_grad_()
    moved = Batch(batch.weights, batch.penalty, theta, batch.logits, batch.work)
    (expected,) = torch.autograd.grad(objectives(points, moved).sum(), theta)
    torch.testing.assert_close(batch.gradient(points), expected)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_methods_agree_and_logits_follow_the_parameters(n_classes):
    found = []
    for name in ("newton", "quasi-newton"):
        points, batch = make_batch(n_classes, start=0.0)
        theta, done, steps = minimise(make_method(name, points, batch), 1000)
        assert done.all()
        assert (steps > 0).all()
        found.append(theta - theta.mean(dim=1, keepdim=True) * (n_classes > 2))
    torch.testing.assert_close(found[0], found[1], atol=1e-4, rtol=0)


class Countdown:
    """A method whose regressions are done, or lost, after known numbers of steps."""

    def __init__(self, done, lost):
        self.done, self.lost = torch.tensor(done), torch.tensor(lost)
        self.batch, self.made = SimpleNamespace(theta=torch.zeros(len(done), 1, 1)), 0

    def step(self):
        self.made += 1
        self.batch.theta += 1
        return self.done == self.made, self.lost == self.made

    def keep(self, rows):
        self.done, self.lost = self.done[rows], self.lost[rows]
        self.batch.theta = self.batch.theta[rows]


def test_steps_are_counted_from_one():
    theta, done, steps = minimise(Countdown([1, 9, 3, 9], [9, 2, 9, 9]), 5)
    assert done.tolist() == [True, False, True, False]
    assert steps.tolist() == [1, 2, 3, 5]
    assert theta.flatten().tolist() == [1, 2, 3, 5]


def test_a_limit_of_steps_is_reported():
    points, batch = make_batch(2)
    _, done, steps = minimise(make_method("quasi-newton", points, batch), 2)
    assert not done.any()
    assert (steps == 2).all()


@pytest.mark.parametrize("shape", [(30, 7), (7, 30)])
def test_axes_are_an_orthonormal_basis_of_the_span(shape):
    rng = np.random.default_rng(100)
    X = torch.as_tensor(rng.standard_normal(shape))
    basis = Axes.of(X, torch.as_tensor(rng.random(shape[0]))).basis
    assert basis.shape == (shape[1], min(shape))
    torch.testing.assert_close(basis.T @ basis, torch.eye(min(shape), dtype=X.dtype))


@pytest.mark.parametrize(("shape", "rotated"), [((30, 7), True), ((7, 30), True), ((30, 7), False)])
def test_axes_are_another_view_of_the_same_regression(shape, rotated):
    rng = np.random.default_rng(100)
    X = torch.as_tensor(rng.standard_normal(shape) + 2.0)
    axes = Axes.of(X, torch.as_tensor(rng.random(shape[0]))) if rotated else Axes.shift(X)
    inside = axes.points(X)
    assert inside.shape == (shape[0], min(shape))
    assert rotated or inside.mean(dim=0).abs().max() < 1e-12
    r = inside.shape[1]
    theta = torch.as_tensor(rng.standard_normal((3, 2, r + 1)))
    out = axes.outwards(theta)
    torch.testing.assert_close(axes.inwards(out), theta)
    torch.testing.assert_close(
        out[..., :-1] @ X.T + out[..., -1:], theta[..., :-1] @ inside.T + theta[..., -1:]
    )
    torch.testing.assert_close(out[..., :-1].norm(dim=-1), theta[..., :-1].norm(dim=-1))
