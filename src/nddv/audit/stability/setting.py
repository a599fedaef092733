"""What the checks share: points from one law, a flow fitted to some, many paths, and rates.

The points are 2dplanes (any number can be drawn), with three classes of about 50, 30 and 20 %. The
flow is small, so thousands of paths take seconds. It has more noise than the library's default, so
the noise terms of the statements are visible. Everything is in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nddv.dynamics.costs import terminal
from nddv.dynamics.flow import Flow, euler_step
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Data, Run
from nddv.dynamics.schedule import Training
from nddv.dynamics.training import train
from nddv.estimator.settings import Settings, resolved
from nddv.problems.formulas import two_d_planes
from nddv.replay.seeds import derive

CLASS_BOUNDS = (0.0, 4.0)
SMALL_FLOW: dict[str, Any] = {"width": 8, "hidden": 8, "diffusion": 0.2}
META_POINTS = 100
LOSS = "cross_entropy"

# addresses of a check's random draws
TRAIN, META, PROBE, REFERENCE, PATHS, POPULATION = range(6)


def draw(count: int, seed: int) -> tuple[NDArray[np.float64], Tensor]:
    """Features (count, 10) and classes (count,)."""
    frame = two_d_planes(count, seed)
    classes = np.digitize(frame.pop("y"), CLASS_BOUNDS)
    return frame.to_numpy(), torch.as_tensor(classes)


def fitted_run(seed: int, points: int, **changes: Any) -> Run:
    """A flow fitted to `points` points by Algorithm 1; `changes` override `SMALL_FLOW`."""
    x, y = draw(points, derive(seed, TRAIN))
    x_meta, y_meta = draw(META_POINTS, derive(seed, META))
    settings = resolved(Settings(configuration="paper", **{**SMALL_FLOW, **changes}))
    flow = Flow.of(settings, x.shape[1], len(CLASS_BOUNDS) + 1)
    rows = Rows.fit(x, flow.input_energy, torch.float64, torch.device("cpu"))
    data = Data(rows, y, rows.like(x_meta), y_meta, LOSS)
    return train(flow, Training.of(settings, points), data, seed)[0]


def normal(x0: Tensor, draws: torch.Generator, *shape: int) -> Tensor:
    """Standard normal numbers (*shape, N, W) for points that start at x0 (N, W)."""
    return torch.randn((*shape, *x0.shape), generator=draws, dtype=x0.dtype)


def populations(
    flow: Flow,
    controls: Sequence[Sequence[Tensor]],
    x0: Tensor,
    mass: Tensor,
    copies: int,
    block: int,
    draws: torch.Generator,
) -> Iterator[list[Tensor]]:
    """States of `copies` independent populations (`roll_copies`), at most `block` at once."""
    for done in range(0, copies, block):
        noise = normal(x0, draws, flow.steps, min(block, copies - done))
        yield roll_copies(flow, controls, x0, mass, noise)


def roll_copies(
    flow: Flow, controls: Sequence[Sequence[Tensor]], x0: Tensor, mass: Tensor, noise: Tensor
) -> list[Tensor]:
    """Euler states X_0 … X_S, (b, N, W) each, of b copies of one population.

    The steps are those of `nddv.dynamics.flow.rollout`. Every copy has its own noise and its own
    aggregate μ_s = N⁻¹ Σ v_i X_{i,s}.

    x0: (N, W); mass: (N,) weights v_i; noise: (S, b, N, W) standard normal.
    """
    states = [x0.expand(noise.shape[1:])]
    for s in range(flow.steps):
        x = states[-1]
        mu = (mass.unsqueeze(1) * x).mean(1)
        control, _ = flow.controller.forward(controls[s], x.flatten(0, 1))
        states.append(euler_step(flow, x, mu, control.reshape(x.shape), noise[s]))
    return states


def terminal_scores(head: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """h_i(X_i) = X_i·∇_xΦ_i(X_i) (Eq. utility), (b, N), of states (b, N, W) with classes (N,)."""
    flat = x.flatten(0, 1)
    end = terminal(head, flat, y.repeat(len(x)), LOSS)
    return (flat * end.gradients).sum(1).view(x.shape[:2])


def fitted_slope(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Least-squares slope of log y against log x, and its standard error.

    x, y: (m,) positive numbers, m ≥ 3. Every repetition is a point. The standard error assumes that
    the scatter about the line is independent from point to point.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 3:
        raise ValueError(
            f"a slope needs at least 3 pairs: x has shape {x.shape} and y has shape {y.shape}"
        )
    if not (np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)).all():
        raise ValueError("a slope on logarithmic axes needs positive, finite x and y")
    u, v = np.log(x) - np.log(x).mean(), np.log(y) - np.log(y).mean()
    if np.allclose(u, 0):
        raise ValueError("all x are equal: a slope needs at least 2 different ones")
    slope = float(u @ v / (u @ u))
    residual = v - slope * u
    return slope, float(np.sqrt(residual @ residual / (len(x) - 2) / (u @ u)))


def with_slopes(frame: pd.DataFrame, by: str, x: str, y: str) -> pd.DataFrame:
    """Add `slope` and `slope_stderr` of y against x, fitted for each value of column `by`."""
    fits = {name: fitted_slope(part[x], part[y]) for name, part in frame.groupby(by, sort=False)}
    slopes, errors = zip(*frame[by].map(fits), strict=True)
    return frame.assign(slope=slopes, slope_stderr=errors)
