"""Optimiser steps against torch's own, and their pullbacks against autograd."""

from __future__ import annotations

import pytest
import torch

from nddv.replay.choices import OPTIMIZERS
from nddv.replay.optimizers import Optimizer, clip_norm


def make(name: str, clip: float = 1.0, **options) -> Optimizer:
    return Optimizer(name, 0.05, 0.1, clip, total_steps=10, **options)


@pytest.mark.parametrize("clip", [1e9, 1.0], ids=["unclipped", "clipped"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_pullback_equals_autograd(name: str, clip: float) -> None:
    generator = torch.Generator().manual_seed(0)
    optimizer = make(name, clip, epsilon=1e-2)
    flat, gradient, dflat = (
        torch.randn(20, generator=generator, dtype=torch.float64) for _ in range(3)
    )
    moments = torch.rand(optimizer.init(flat).shape, generator=generator, dtype=torch.float64)
    dmoments = torch.randn(moments.shape, generator=generator, dtype=torch.float64)
    inputs = [t.clone().requires_grad_() for t in (flat, moments, gradient)]
    outputs = optimizer.step(3, *inputs)
    expected = torch.autograd.grad(outputs, inputs, (dflat, dmoments))
    found = optimizer.pullback(3, flat, moments, gradient, dflat, dmoments)
    for a, b in zip(found, expected, strict=True):
        assert torch.allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_gradient_that_is_always_zero_has_finite_derivatives(name: str) -> None:
    """A feature that never varies: √v̂ + ε would divide zero by zero here."""
    optimizer = make(name)
    zero = torch.zeros(4)
    moments = optimizer.init(zero)
    back = optimizer.pullback(0, zero, moments, zero, torch.ones(4), torch.zeros_like(moments))
    assert torch.isfinite(back[2]).all()


def test_steps_are_those_of_torch() -> None:
    """AdamW up to where ε stands; SGD with its weight decay decoupled."""
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(30, generator=generator, dtype=torch.float64)
    gradients = torch.randn(5, 30, generator=generator, dtype=torch.float64)
    cases = {
        "adamw": (torch.optim.AdamW, {"weight_decay": 0.1, "eps": 1e-12}),
        "sgd": (torch.optim.SGD, {"momentum": 0.9}),
    }
    for name, (kind, options) in cases.items():
        parameter = torch.nn.Parameter(start.clone())
        reference = kind([parameter], lr=0.05, **options)
        decay = 0.1 if name == "adamw" else 0.0
        ours = Optimizer(name, 0.05, decay, 1e9, 10, epsilon=1e-12)
        flat, moments = start, ours.init(start)
        for step, gradient in enumerate(gradients):
            parameter.grad = gradient.clone()
            reference.step()
            flat, moments = ours.step(step, flat, moments, gradient)
        assert torch.allclose(flat, parameter.detach(), atol=1e-10)


def test_clipping() -> None:
    gradient = torch.tensor([3.0, 4.0])
    assert torch.allclose(clip_norm(gradient, 1.0), torch.tensor([0.6, 0.8]))
    assert torch.equal(clip_norm(gradient, 5.5), gradient)
    assert torch.equal(clip_norm(torch.zeros(2), 1.0), torch.zeros(2))


def test_schedules_end_at_zero() -> None:
    for schedule in ("linear", "cosine"):
        optimizer = make("sgd", schedule=schedule)
        rates = [optimizer.rate(k) for k in range(11)]
        assert rates[0] == 0.05
        assert rates[-1] == pytest.approx(0.0)
        assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize(("name", "schedule"), [("lion", "linear"), ("sgd", "steps")])
def test_unknown_names(name: str, schedule: str) -> None:
    with pytest.raises(ValueError, match="unknown"):
        Optimizer(name, 0.1, 0.0, 1.0, 1, schedule)
