"""Matérn kernels, the radial bases of the KAN layers (Eqs. matern_kernel, matern_three_halves)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, kve
from torch import Tensor

from nddv.dynamics.choices import SMOOTHNESS


def matern(distance: ArrayLike, nu: float, length_scale: float = 1.0) -> NDArray[np.float64]:
    """Matérn kernel of any smoothness through the Bessel form (Eq. matern_kernel).

    `nu=inf` is the Gaussian limit. For evaluation and plots; training uses `KERNELS`,
    whose closed forms have cheap derivatives.
    """
    if not nu > 0:
        raise ValueError(f"nu must be positive, got {nu}")
    r = np.abs(np.asarray(distance, dtype=float)) / length_scale
    if nu == inf:
        return np.asarray(np.exp(-0.5 * r**2))
    z = np.sqrt(2 * nu) * np.maximum(r, 1e-300)
    with np.errstate(invalid="ignore", over="ignore"):
        log_factor = (1 - nu) * np.log(2) - gammaln(nu) + nu * np.log(z) - z
        k = np.exp(log_factor) * kve(nu, z)  # kve carries e^z: neither factor overflows early
    return np.where(z < 1e-12, 1.0, np.nan_to_num(k, nan=0.0))


@dataclass(frozen=True)
class Kernel:
    """A kernel k(x, c) in terms of u = scale·(x − c)/ℓ.

    bases(u) gives k and its envelope e, from which minus_slope(u, e) makes −dk/du. Every
    function is made of few differentiable torch operations: they are most of the cost of a
    training step, and the participation replay differentiates through both.
    """

    scale: float
    bases: Callable[[Tensor], tuple[Tensor, Tensor]]
    minus_slope: Callable[[Tensor, Tensor], Tensor]


def _exponential(u: Tensor) -> tuple[Tensor, Tensor]:
    e = torch.exp(u.abs().neg_())
    return e, e


def _three_halves(u: Tensor) -> tuple[Tensor, Tensor]:
    minus_r = u.abs().neg_()
    e = torch.exp(minus_r)
    return torch.addcmul(e, minus_r, e, value=-1), e


def _five_halves(u: Tensor) -> tuple[Tensor, Tensor]:
    r = u.abs()
    e = torch.exp(-r)
    return (1 + r + u * u / 3) * e, e


def _gaussian(u: Tensor) -> tuple[Tensor, Tensor]:
    e = torch.exp(-0.5 * u * u)
    return e, e


_CLOSED_FORMS = (
    Kernel(1.0, _exponential, lambda u, e: torch.sign(u) * e),
    Kernel(sqrt(3.0), _three_halves, lambda u, e: u * e),
    Kernel(sqrt(5.0), _five_halves, lambda u, e: u * (1 + u.abs()) * e / 3),
    Kernel(1.0, _gaussian, lambda u, e: u * e),
)
KERNELS = dict(zip(SMOOTHNESS, _CLOSED_FORMS, strict=True))
"""Closed forms by smoothness ν; ν = inf is the Gaussian limit."""


def kernel(nu: float) -> Kernel:
    """The closed-form kernel of smoothness `nu`."""
    if nu not in KERNELS:
        raise ValueError(
            f"no closed form for a Matérn control with nu={nu}: choose one of "
            f"{', '.join(str(k) for k in KERNELS)} (nddv.dynamics.kernels.matern evaluates any nu)"
        )
    return KERNELS[nu]
