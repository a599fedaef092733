"""Kernels against the Bessel form, layers and their pullbacks against autograd."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import torch

from nddv.dynamics.kernels import KERNELS, kernel, matern
from nddv.dynamics.layers import (
    Chain,
    ConstantLayer,
    DenseLayer,
    KANLayer,
    affine,
    weight_cotangent,
)


def closed_form(nu: float, distance: np.ndarray, length_scale: float) -> np.ndarray:
    basis = kernel(nu)
    u = torch.as_tensor(distance * basis.scale / length_scale)
    return basis.bases(u)[0].numpy()


@pytest.mark.parametrize("nu", list(KERNELS))
def test_closed_forms_equal_the_bessel_form(nu: float) -> None:
    distance = np.linspace(-4, 4, 201)
    expected = matern(distance, nu, length_scale=0.7)
    assert np.allclose(closed_form(nu, distance, 0.7), expected, atol=1e-12)


def test_three_halves_is_the_printed_formula() -> None:
    d = np.linspace(0, 5, 50)
    printed = (1 + np.sqrt(3) * d / 1.3) * np.exp(-np.sqrt(3) * d / 1.3)
    assert np.allclose(matern(d, 1.5, 1.3), printed)


def test_general_nu_tends_to_the_gaussian() -> None:
    d = np.linspace(0, 3, 30)
    errors = [np.abs(matern(d, nu) - matern(d, inf)).max() for nu in (2.0, 8.0, 32.0, 128.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 5e-3
    assert matern(0.0, 0.8) == 1.0
    assert matern(1e6, 3.7) == 0.0


@pytest.mark.parametrize("nu", list(KERNELS))
def test_slope_is_the_derivative(nu: float) -> None:
    u = torch.tensor([-2.0, -0.3, 0.4, 1.7], dtype=torch.float64, requires_grad=True)
    basis = kernel(nu)
    k, e = basis.bases(u)
    (expected,) = torch.autograd.grad(k.sum(), u)
    assert torch.allclose(-basis.minus_slope(u, e), expected, atol=1e-12)


def test_unknown_smoothness_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no closed form .* nu=0.7: choose one of 0.5, 1.5, 2.5"):
        kernel(0.7)
    with pytest.raises(ValueError, match="nu must be positive"):
        matern(1.0, 0.0)


LAYERS = [
    *[KANLayer(3, 4, 5, 2.0, nu) for nu in KERNELS],
    DenseLayer(3, 4, activation=True),
    DenseLayer(3, 4, activation=False),
    ConstantLayer(3),
    Chain((KANLayer(3, 5, 4, 2.0, 1.5), DenseLayer(5, 3, activation=True))),
]


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_pullback_equals_autograd(layer) -> None:
    generator = torch.Generator().manual_seed(1)
    params = [p.requires_grad_() for p in layer.init(generator, torch.float64)]
    assert [tuple(p.shape) for p in params] == layer.shapes()
    x = torch.randn(7, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    y, cache = layer.forward(params, x)
    dy = torch.randn(y.shape, dtype=torch.float64, generator=generator)
    expected = torch.autograd.grad(y, [x, *params], dy, allow_unused=True)
    dx, dparams = layer.pullback(params, cache, dy)
    for found, want in zip([dx, *dparams], expected, strict=True):
        assert torch.allclose(found, torch.zeros_like(found) if want is None else want, atol=1e-12)


def test_kan_starts_at_xavier_scale() -> None:
    layer = KANLayer(40, 60, 8, 2.0, 1.5)
    (weight,) = layer.init(torch.Generator().manual_seed(0), torch.float64)
    assert weight.std() == pytest.approx(np.sqrt(2 / (40 * 9 + 60)), rel=0.02)


def test_models_that_share_their_inputs_compute_what_each_would_alone() -> None:
    generator = torch.Generator().manual_seed(2)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    x, weight, bias, dy = normal(7, 3), normal(4, 3, 5), normal(4, 5), normal(4, 7, 5)
    found, pulled = affine(x, weight, bias), weight_cotangent(x, dy)
    each = x.expand(4, -1, -1)
    assert torch.allclose(found, affine(each, weight, bias), atol=1e-12)
    assert torch.allclose(pulled, weight_cotangent(each, dy), atol=1e-12)
    for k in range(4):
        assert torch.allclose(found[k], x @ weight[k] + bias[k], atol=1e-12)
        assert torch.allclose(pulled[k], x.T @ dy[k], atol=1e-12)
