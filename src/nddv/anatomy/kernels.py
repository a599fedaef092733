"""Why Matérn bases: the kernels, random functions with these kernels, and regressions.

For two panels of the paper's fig:terminal_map_interpretability, kernel smoothness and the
regression comparison. :mod:`nddv.anatomy.controls` makes the third, the coordinate functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, pi, prod
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.dynamics.flow import flatten
from nddv.dynamics.kernels import KERNELS, kernel, matern
from nddv.dynamics.layers import Chain, DenseLayer, KANLayer, Shape
from nddv.replay.optimizers import Optimizer
from nddv.replay.seeds import generator

Floats = NDArray[np.float64]

NAMES = {0.5: "matern-1/2", 1.5: "matern-3/2", 2.5: "matern-5/2", inf: "gaussian"}
"""The bases that are compared, by smoothness ν: all bases of the layers."""

MLP, MLP_LONG = "mlp", "mlp-long"

PATIENCE = {MLP_LONG: 3}
"""Factor on the number of steps: a step of an MLP takes less than half the time of a KAN's."""

# The layers of the default control, so that the comparison is about what is used.
CENTERS, REACH = 8, 2.0

UNCLIPPED = 1e6  # far above the norm of any gradient here


# ------------------------------------------------------------------ kernels


def kernel_curves(seed: int, points: int = 301) -> pd.DataFrame:
    """Each kernel, its slope and curvature, and a random function with this kernel as covariance.

    All kernels use the same normal draws. The random functions stand for sums of very many randomly
    weighted bases: for a layer before it has learned anything.

    Returns
    -------
    ``kind`` (``"kernel"``, ``"slope"``, ``"curvature"``, ``"sample"``), ``nu``, ``draw`` (0), ``x``
    in length scales, ``y``. The kernel of ν = 1/2 has no slope at its center: NaN.
    """
    x = np.linspace(-3.0, 3.0, points)
    normal = np.random.default_rng(seed).normal(size=(points, 1))
    frames = []
    for nu in KERNELS:
        slope, curvature = _derivatives(nu, x)
        curves = {"kernel": matern(x, nu), "slope": slope, "curvature": curvature}
        curves["sample"] = _samples(matern(x[:, None] - x, nu), normal)[:, 0]
        for kind, y in curves.items():
            frames.append(pd.DataFrame({"kind": kind, "nu": nu, "draw": 0, "x": x, "y": y}))
    return pd.concat(frames, ignore_index=True)


def _derivatives(nu: float, x: Floats) -> tuple[Floats, Floats]:
    """dk/dx and d²k/dx² (m,) of the closed form, length scale 1."""
    scale = kernel(nu).scale
    u = (scale * torch.as_tensor(x)).requires_grad_()
    _, envelope = kernel(nu).bases(u)
    slope = -scale * kernel(nu).minus_slope(u, envelope)
    (curvature,) = torch.autograd.grad(slope.sum(), u)
    both = torch.stack([slope.detach(), scale * curvature]).numpy()
    if nu == 0.5:
        both[:, np.abs(x) < 1e-12] = np.nan  # a corner
    return both[0], both[1]


def _samples(covariance: Floats, normal: Floats) -> Floats:
    """Draws (points, draws) with this covariance, by its symmetric root.

    The symmetric root smooths equally on both sides of every point; Cholesky's root does not. So
    functions of different kernels resemble each other if they use the same draws.
    """
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return np.asarray(root @ normal)


# ------------------------------------------------------------------ regression


class Target(NamedTuple):
    """A known function (..., inputs) -> (...) on [−2, 2]^inputs, of mean 0 and variance 1 there."""

    name: str
    inputs: int
    function: Callable[[Tensor], Tensor]


TARGETS = (
    Target("smooth", 1, lambda x: torch.sin(1.5 * pi * x[..., 0] / REACH) / 0.5**0.5),
    Target("kinked", 1, lambda x: (x[..., 0].abs() - 1) * 3**0.5),
    Target("step", 1, lambda x: torch.sign(x[..., 0])),
    Target("product", 2, lambda x: x[..., 0] * x[..., 1] * 0.75),
    Target("maximum", 2, lambda x: (x.amax(-1) - 2 / 3) / (8 / 9) ** 0.5),
)


@dataclass(frozen=True)
class Comparison:
    """How the regressions are compared.

    Attributes
    ----------
    sizes : numbers of training points; each set holds the smaller ones.
    repetitions : independent data sets and initialisations.
    steps : full-batch steps of Adam, whose rate falls to zero along a cosine.
    rates : learning rates; the best on ``valid`` further points is taken, for each fit.
    noise : standard deviation of the noise of training and validation targets, whose own is 1.
    test : noiseless points that the error is measured on.
    """

    sizes: Sequence[int] = (16, 32, 64, 128)
    repetitions: int = 8
    steps: int = 400
    rates: Sequence[float] = (0.01, 0.05, 0.25)
    noise: float = 0.1
    valid: int = 64
    test: int = 1000


def models(inputs: int) -> dict[str, Chain]:
    """Networks with ``inputs`` inputs, one output and nearly the same number of parameters.

    For each kernel there is a KAN of two layers with 2d + 1 units (Eq. kan_control). An MLP with
    one hidden layer appears twice: the second is trained for longer (``PATIENCE``).
    """
    hidden = 2 * inputs + 1
    shapes = ((inputs, hidden), (hidden, 1))
    kans = {
        name: Chain(tuple(KANLayer(*shape, CENTERS, REACH, nu) for shape in shapes))
        for nu, name in NAMES.items()
    }
    parameters = number_of_parameters(kans[NAMES[inf]])
    width = round((parameters - 1) / (inputs + 2))
    mlp = Chain((DenseLayer(inputs, width, True), DenseLayer(width, 1, False)))
    return {**kans, MLP: mlp, MLP_LONG: mlp}


def number_of_parameters(chain: Chain) -> int:
    """The number of parameters of a network."""
    return sum(prod(shape) for shape in chain.shapes())


def compare_regressions(
    seed: int, targets: Sequence[Target] = TARGETS, settings: Comparison | None = None
) -> pd.DataFrame:
    """Test error of KANs and an MLP fitted to known functions, against the number of points.

    Returns
    -------
    ``target``, ``inputs``, ``model`` (of ``NAMES``, ``"mlp"`` or ``"mlp-long"``), ``parameters``,
    ``points``, ``repetition``, ``steps``, ``rate`` (chosen), ``noise``, ``rmse`` (in standard
    deviations of the target).
    """
    settings = settings or Comparison()
    frames = []
    for inputs in sorted({target.inputs for target in targets}):
        alike = [target for target in targets if target.inputs == inputs]
        data = _draw(alike, inputs, seed, settings)
        for name, chain in models(inputs).items():
            steps = settings.steps * PATIENCE.get(name, 1)
            rates, errors = _best_of_rates(chain, data, seed, replace(settings, steps=steps))
            frame = data.index.assign(inputs=inputs, model=name, steps=steps, noise=settings.noise)
            measured = {"rate": rates.numpy(), "rmse": errors.double().numpy()}
            frames.append(frame.assign(parameters=number_of_parameters(chain), **measured))
    columns = ["target", "inputs", "model", "parameters", "points", "repetition"]
    return pd.concat(frames, ignore_index=True)[[*columns, "steps", "rate", "noise", "rmse"]]


@dataclass(frozen=True)
class _Data:
    """R = targets × sizes × repetitions regressions, padded to the largest size.

    index: (R,) rows with ``target``, ``points``, ``repetition``; x: (R, n, d) and y: (R, n) for
    training, valid_x, valid_y, test_x, test_y likewise; weights: (R, n), 1/points or 0.
    """

    index: pd.DataFrame
    x: Tensor
    y: Tensor
    weights: Tensor
    valid_x: Tensor
    valid_y: Tensor
    test_x: Tensor
    test_y: Tensor


def _draw(targets: Sequence[Target], inputs: int, seed: int, settings: Comparison) -> _Data:
    """Points drawn uniformly from the box, the same for all targets, and their noisy values."""
    n, valid = max(settings.sizes), settings.valid
    shape = (settings.repetitions, n + valid + settings.test)
    draws = generator(seed, inputs)
    x = REACH * (2 * torch.rand((*shape, inputs), generator=draws) - 1)
    noise = settings.noise * torch.randn(shape, generator=draws)
    noise[:, n + valid :] = 0.0
    index = pd.MultiIndex.from_product(
        [[t.name for t in targets], settings.sizes, range(settings.repetitions)],
        names=["target", "points", "repetition"],
    ).to_frame(index=False)
    points = torch.tensor(index["points"].tolist()).unsqueeze(1)
    y = torch.cat([(t.function(x) + noise).repeat(len(settings.sizes), 1) for t in targets])
    x = x[index["repetition"].tolist()]
    (tx, vx, ex), (ty, vy, ey) = (a.split([n, valid, settings.test], dim=1) for a in (x, y))
    weights = (torch.arange(n) < points) / points
    return _Data(index, tx, ty, weights, vx, vy, ex, ey)


def _best_of_rates(
    chain: Chain, data: _Data, seed: int, settings: Comparison
) -> tuple[Tensor, Tensor]:
    """The learning rate (R,) with the lowest validation error, and its test error (R,)."""
    inputs = data.x.shape[2]
    starts = [
        flatten(chain.init(generator(seed, inputs, k), torch.float32))
        for k in range(settings.repetitions)
    ]
    start = torch.stack(starts)[data.index["repetition"].tolist()]
    valid, test = [], []
    for rate in settings.rates:
        adam = Optimizer("adamw", rate, 0.0, UNCLIPPED, settings.steps, "cosine")
        fitted = _fit(chain, start, data, adam)
        valid.append(_rmse(chain, fitted, data.valid_x, data.valid_y))
        test.append(_rmse(chain, fitted, data.test_x, data.test_y))
    best = torch.stack(valid).nan_to_num(inf).argmin(0)
    chosen = torch.stack(test).gather(0, best.unsqueeze(0))[0]
    return torch.tensor(settings.rates, dtype=torch.float64)[best], chosen


@torch.no_grad()
def _fit(chain: Chain, start: Tensor, data: _Data, adam: Optimizer) -> Tensor:
    """Parameters (R, P) after all steps of least squares from ``start``."""
    moments = torch.vmap(adam.init)(start)
    flat = start
    for k in range(adam.total_steps):

        def step(
            flat: Tensor, moments: Tensor, x: Tensor, y: Tensor, w: Tensor, k: int = k
        ) -> tuple[Tensor, Tensor]:
            params = _unflatten(flat, chain.shapes())
            out, cache = chain.forward(params, x)
            pull = 2 * w.unsqueeze(1) * (out - y.unsqueeze(1))
            return adam.step(k, flat, moments, flatten(chain.pullback(params, cache, pull)[1]))

        flat, moments = torch.vmap(step)(flat, moments, data.x, data.y, data.weights)
    return flat


@torch.no_grad()
def _rmse(chain: Chain, flat: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Root mean square errors (R,)."""

    def predict(flat: Tensor, x: Tensor) -> Tensor:
        return chain.forward(_unflatten(flat, chain.shapes()), x)[0][:, 0]

    return (torch.vmap(predict)(flat, x) - y).square().mean(1).sqrt()


def _unflatten(flat: Tensor, shapes: Sequence[Shape]) -> list[Tensor]:
    sizes = [prod(shape) for shape in shapes]
    return [part.view(shape) for part, shape in zip(flat.split(sizes), shapes, strict=True)]
