"""Why Matérn bases: kernels, the functions that they make, what they learn, and a fitted control.

The parts of the paper's fig:terminal_map_interpretability that are measured: kernel smoothness,
the regression comparison, and the coordinate functions of a fitted control (Eq. kan_control).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, pi, prod
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.audit.retraining import single_fold
from nddv.dynamics.flow import flatten
from nddv.dynamics.kernels import KERNELS, kernel, matern
from nddv.dynamics.layers import Chain, DenseLayer, KANLayer, Shape
from nddv.dynamics.optimizers import Optimizer
from nddv.dynamics.population import population_path
from nddv.dynamics.seeds import derive, generator
from nddv.dynamics.training import SCORING, Run
from nddv.problems.problem import Problem
from nddv.valuation import fit_nddv

Floats = NDArray[np.float64]

NAMES = {0.5: "matern-1/2", 1.5: "matern-3/2", 2.5: "matern-5/2", inf: "gaussian"}
"""The bases compared, by smoothness ν: all that the layers offer."""

MLP, MLP_LONG = "mlp", "mlp-long"

PATIENCE = {MLP_LONG: 3}
"""How many times the steps of the others: an MLP's takes less than half the time of a KAN's."""

# The layers of the default control: what is compared is what is used.
CENTERS, REACH = 8, 2.0

UNCLIPPED = 1e6  # a norm that no gradient here comes near


# ------------------------------------------------------------------ kernels


def kernel_curves(seed: int, reach: float = 3.0, points: int = 301, draws: int = 1) -> pd.DataFrame:
    """Each kernel, its slope and curvature, and random functions that have it as covariance.

    The random functions of all kernels are made of the same normal draws. They stand for sums of
    very many randomly weighted bases: what a layer looks like before it has learned anything.

    Returns
    -------
    ``kind`` (``"kernel"``, ``"slope"``, ``"curvature"``, ``"sample"``), ``nu``, ``draw``, ``x`` in
    length scales, ``y``; NaN where a kernel has no slope, ν = 1/2 at its centre.
    """
    x = np.linspace(-reach, reach, points)
    normal = np.random.default_rng(seed).normal(size=(points, draws))
    frames = []
    for nu in KERNELS:
        slope, curvature = _derivatives(nu, x)
        curves = {("kernel", 0): matern(x, nu), ("slope", 0): slope, ("curvature", 0): curvature}
        samples = _samples(matern(x[:, None] - x, nu), normal)
        curves |= {("sample", k): sample for k, sample in enumerate(samples.T)}
        for (kind, draw), y in curves.items():
            frames.append(pd.DataFrame({"kind": kind, "nu": nu, "draw": draw, "x": x, "y": y}))
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

    The symmetric root, not Cholesky's: it is the same smoothing on both sides of every point, so
    that functions of different kernels made of the same draws resemble each other.
    """
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return np.asarray(root @ normal)


# ------------------------------------------------------------------ regression


@dataclass(frozen=True)
class Target:
    """A known function on [−2, 2]^inputs, of mean 0 and variance 1 there.

    function: (..., inputs) -> (...).
    """

    name: str
    inputs: int
    function: Callable[[Tensor], Tensor]


def _smooth(x: Tensor) -> Tensor:
    return torch.sin(1.5 * pi * x[..., 0] / REACH) / 0.5**0.5


def _kinked(x: Tensor) -> Tensor:
    return (x[..., 0].abs() - 1) * 3**0.5


def _step(x: Tensor) -> Tensor:
    return torch.sign(x[..., 0])


def _product(x: Tensor) -> Tensor:
    return x[..., 0] * x[..., 1] * 0.75


def _maximum(x: Tensor) -> Tensor:
    return (x.amax(-1) - 2 / 3) / (8 / 9) ** 0.5


TARGETS = (
    Target("smooth", 1, _smooth),
    Target("kinked", 1, _kinked),
    Target("step", 1, _step),
    Target("product", 2, _product),
    Target("maximum", 2, _maximum),
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
    """Networks of ``inputs`` inputs and one output, as near in number of parameters as may be.

    A KAN of two layers with 2d + 1 units (Eq. kan_control) for each kernel, and an MLP of one
    hidden layer, twice: it is also trained for longer (``PATIENCE``).
    """
    hidden = 2 * inputs + 1
    shapes = ((inputs, hidden), (hidden, 1))
    found = {
        name: Chain(tuple(KANLayer(*shape, CENTERS, REACH, nu) for shape in shapes))
        for nu, name in NAMES.items()
    }
    parameters = number_of_parameters(found[NAMES[inf]])
    width = round((parameters - 1) / (inputs + 2))
    mlp = Chain((DenseLayer(inputs, width, True), DenseLayer(width, 1, False)))
    return {**found, MLP: mlp, MLP_LONG: mlp}


def number_of_parameters(chain: Chain) -> int:
    """Of a network."""
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
            frame = data.index.assign(
                inputs=inputs,
                model=name,
                parameters=number_of_parameters(chain),
                steps=steps,
                rate=rates.numpy(),
                noise=settings.noise,
                rmse=errors.double().numpy(),
            )
            frames.append(frame)
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
    """Points uniform on the box, the same for all targets; and their noisy values."""
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
    """The learning rate (R,) that is best on the validation points, and the test error (R,)."""
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


# ------------------------------------------------------------------ a fitted control

BACKGROUND = 250  # points that an effect is the mean over


@dataclass(frozen=True)
class ScalarMap:
    """f(X) = Σ_q H_q(Σ_p h_{q,p}(X_p)) of P coordinates and Q units (Eq. kan_control).

    inner_weights: ((centers + 1) P, Q); outer_weights: ((centers + 1) Q, 1).
    """

    inner_layer: KANLayer
    outer_layer: KANLayer
    inner_weights: Tensor
    outer_weights: Tensor

    def inner(self, p: int, x: Tensor) -> Tensor:
        """h_{q,p}(x) of all units q: (m,) -> (m, Q)."""
        return _one_input(self.inner_layer, self.inner_weights, p, x)

    def outer(self, q: int, z: Tensor) -> Tensor:
        """H_q(z): (m,) -> (m,)."""
        return _one_input(self.outer_layer, self.outer_weights, q, z)[:, 0]

    def sums(self, states: Tensor) -> Tensor:
        """Σ_p h_{q,p}(X_p): (n, P) -> (n, Q)."""
        return self.inner_layer.forward([self.inner_weights], states)[0]

    def of_sums(self, z: Tensor) -> Tensor:
        """Σ_q H_q(z_q): (n, Q) -> (n,)."""
        return self.outer_layer.forward([self.outer_weights], z)[0][:, 0]


def _one_input(layer: KANLayer, weights: Tensor, k: int, x: Tensor) -> Tensor:
    """What input number k adds to the outputs of a layer."""
    own = weights.view(layer.centers + 1, layer.inputs, layer.outputs)[:, k]
    return replace(layer, inputs=1).forward([own], x.unsqueeze(1))[0]


def last_control(run: Run) -> ScalarMap:
    """What the last control adds to the margin of the last class: Δt·w·ψ_{S−1}, as f_ϑ.

    w is the terminal map's row of that class minus the mean of the others' (of the only output, in
    regression).
    """
    flow = run.flow
    if flow.control != "kan":
        raise ValueError(f"only a KAN control has coordinate functions, this one is {flow.control}")
    params = flow.unpack(run.flat)
    head = params.head[0]
    w = head[:, -1] - head[:, :-1].mean(1) if flow.outputs > 1 else head[:, 0]
    inner_layer, outer_layer = flow.controller.layers  # type: ignore[attr-defined]
    inner, outer = params.controls[-1]
    outer = flow.dt * (outer @ w).unsqueeze(1)
    return ScalarMap(inner_layer, replace(outer_layer, outputs=1), inner, outer)


def last_states(run: Run) -> Tensor:
    """States X_{S−1} (n, W) of the training points in the pass that scores them."""
    mass = run.weights()
    states, _ = population_path(
        run.flow,
        run.flow.unpack(run.flat),
        run.data.rows,
        derive(run.seed, SCORING, 0),
        lambda _, x: mass @ x / len(x),
    )
    return states[-2]


def coordinate_effects(scalar: ScalarMap, states: Tensor, grid: Tensor) -> tuple[Tensor, Tensor]:
    """How f changes when one coordinate of a state is moved and the others stay.

    states: (n, P); grid: (P, m). Mean and standard deviation over states, (P, m) each, of f with
    X_p = grid_p minus f with X_p at its median. Without interactions the deviation is zero.
    """
    medians = states.median(0).values
    states = states[:BACKGROUND]
    sums = scalar.sums(states)
    means, spreads = [], []
    for p, places in enumerate(grid):
        others = sums - scalar.inner(p, states[:, p])
        own = scalar.inner(p, torch.cat([places, medians[p : p + 1]]))
        moved = others.unsqueeze(1) + own  # (n, m + 1, Q)
        values = scalar.of_sums(moved.flatten(0, 1)).view(moved.shape[:2])
        changes = values[:, :-1] - values[:, -1:]
        means.append(changes.mean(0))
        spreads.append(changes.std(0, correction=0))
    return torch.stack(means), torch.stack(spreads)


@dataclass(frozen=True)
class CoordinateTables:
    """The last control of a fitted flow as sums of univariate functions.

    Every table begins with ``dataset``, ``n``, ``corruption`` and ``seed``.

    Attributes
    ----------
    functions : ``kind``, ``coordinate``, ``unit``, ``x``, ``y``, ``spread``. ``"inner"``: h_{q,p}
        of the strongest coordinates p and all units q. ``"outer"``: H_q of the strongest units.
        ``"effect"``: of the strongest coordinates, as ``coordinate_effects`` gives it. Coordinates
        and units are numbered from 1.
    states : ``kind`` (``"coordinate"`` or ``"unit"``), ``number``, ``point``, ``x``, ``label``:
        where the points are, for the strongest.
    strengths : ``kind``, ``number``, ``strength``, ``feature``, ``correlation``, ``additive``,
        ``target``; strongest first. Strength is the standard deviation, over the points, of a
        coordinate's effect or of a unit's H_q; feature the column of the data that a coordinate
        is most correlated with; additive the share of the variance of f that the effects of all
        coordinates add up to; target the class whose margin f is a part of.
    """

    functions: pd.DataFrame
    states: pd.DataFrame
    strengths: pd.DataFrame


@torch.no_grad()
def coordinate_functions(
    problem: Problem, seed: int, settings: Mapping[str, Any], top: int = 3, points: int = 81
) -> CoordinateTables:
    """Fit NDDV to a problem and take its last control apart.

    Parameters
    ----------
    settings : of ``nddv.NDDV``; the control must be a KAN.
    top : how many coordinates and units are told in full.
    points : of each function, over the range of the states.
    """
    run = single_fold(fit_nddv(problem, seed, "path", settings)).run
    scalar, states = last_control(run), last_states(run)
    sums = scalar.sums(states)
    grids = {"coordinate": _grid(states, points), "unit": _grid(sums, points)}
    effects, spreads = coordinate_effects(scalar, states, grids["coordinate"])
    curves = zip(states.T.numpy(), grids["coordinate"].numpy(), effects.numpy(), strict=True)
    at_states = np.stack([np.interp(x, places, effect) for x, places, effect in curves])
    of_units = torch.stack([scalar.outer(q, z) for q, z in enumerate(sums.T)]).numpy()
    whole = scalar.of_sums(sums).numpy()
    strengths = pd.concat(
        [
            _strengths("coordinate", at_states).join(_resembled(problem, states.numpy())),
            _strengths("unit", of_units),
        ]
    ).sort_values(["kind", "strength"], ascending=[True, False], ignore_index=True)
    strengths["additive"] = 1 - (whole - at_states.sum(0)).var() / whole.var()
    strengths["target"] = problem.record["classes"][-1]
    chosen = {
        kind: [number - 1 for number in part["number"].head(top)]
        for kind, part in strengths.groupby("kind")
    }

    functions = [
        _curve("inner", grids["coordinate"][p], y, coordinate=p + 1, unit=q + 1)
        for p in chosen["coordinate"]
        for q, y in enumerate(scalar.inner(p, grids["coordinate"][p]).T)
    ]
    for q in chosen["unit"]:
        z = grids["unit"][q]
        functions.append(_curve("outer", z, scalar.outer(q, z), unit=q + 1))
    for p in chosen["coordinate"]:
        one = _curve("effect", grids["coordinate"][p], effects[p], coordinate=p + 1)
        functions.append(one.assign(spread=spreads[p].numpy()))
    labels = np.asarray(problem.record["classes"])[problem.y_train]
    where = [
        pd.DataFrame({"kind": kind, "number": k + 1, "x": x[:, k].numpy(), "label": labels})
        for kind, x in (("coordinate", states), ("unit", sums))
        for k in chosen[kind]
    ]
    tables = [pd.concat(functions), pd.concat(where).rename_axis("point").reset_index(), strengths]
    address = {key: problem.record[key] for key in ("dataset", "n", "corruption")}
    return CoordinateTables(*(_headed({**address, "seed": seed}, table) for table in tables))


def _grid(x: Tensor, points: int) -> Tensor:
    """Evenly spaced places over the range of each column: (n, P) -> (P, points)."""
    low, high = x.amin(0).unsqueeze(1), x.amax(0).unsqueeze(1)
    return low + (high - low) * torch.linspace(0, 1, points, dtype=x.dtype)


def _curve(kind: str, x: Tensor, y: Tensor, **labels: int) -> pd.DataFrame:
    return pd.DataFrame({"kind": kind, **labels, "x": x.numpy(), "y": y.numpy()})


def _strengths(kind: str, at_states: NDArray[np.floating]) -> pd.DataFrame:
    """Standard deviations over points of what each coordinate or unit adds, (K, n)."""
    numbers = np.arange(1, len(at_states) + 1)
    return pd.DataFrame({"kind": kind, "number": numbers, "strength": at_states.std(1)})


def _resembled(problem: Problem, states: NDArray[np.floating]) -> pd.DataFrame:
    """The feature that each coordinate is most correlated with, over the training points."""
    X = problem.X_train
    with np.errstate(invalid="ignore", divide="ignore"):  # features that never vary
        both = np.corrcoef(states, X, rowvar=False)[: states.shape[1], states.shape[1] :]
    both = np.nan_to_num(both)
    best = np.abs(both).argmax(1)
    names = [column["column"] for column in problem.record.get("columns", [])]
    if len(names) != X.shape[1]:  # encoded columns have no names of their own
        names = [f"feature {k + 1}" for k in range(X.shape[1])]
    correlation = both[np.arange(len(best)), best]
    return pd.DataFrame({"feature": [names[k] for k in best], "correlation": correlation})


def _headed(columns: Mapping[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    """A table led by columns that have one value."""
    return table.reset_index(drop=True).assign(**columns)[[*columns, *table]]
