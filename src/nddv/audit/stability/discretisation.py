"""Error of the scores from time steps and from sampling (Corollary numerical_score_error)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from nddv.audit.stability.rates import with_slopes
from nddv.audit.stability.setting import PATHS, fitted_run, roll_copies, terminal_scores
from nddv.dynamics.flow import Flow
from nddv.dynamics.population import encode
from nddv.dynamics.seeds import generator

REFINED, SAMPLED = range(2)  # addresses of noise


def discretisation(
    seed: int = 100,
    refinements: Sequence[int] = (1, 2, 4, 8, 16, 32),
    reference: int = 512,
    trajectories: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128),
    points: int = 50,
    diffusion: float = 0.2,
    repetitions: int = 8,
    copies: int = 8,
    draws: int = 1024,
) -> pd.DataFrame:
    """Error of terminal scores against the time step Δt and the number of trajectories M_traj.

    A flow is fitted with the library's 3 Euler steps. Its control, one network for each third of
    [0, T], is then kept, and every step is divided into `refinements` parts, along one Brownian
    path: coarse increments are sums of fine ones. `reference` parts stand for Δt → 0. The noise is
    additive, so the strong order may be 1; the corollary's 1/2 is an upper bound.

    A trajectory is one of the whole population with its aggregate, as in the library's scores.

    Parameters
    ----------
    seed : of the points, the fit and the noise.
    refinements, reference : into how many parts each of the 3 steps is divided.
    trajectories : values of M_traj; each must divide `draws`.
    points, diffusion : N points; σ of Σ = σI.
    repetitions : independent repetitions of everything below.
    copies : Brownian paths per repetition, over which errors from Δt are averaged.
    draws : trajectories of the library's flow per repetition, for errors from M_traj.

    Returns
    -------
    One row per quantity, x and repetition:
        axis : "time step" or "trajectories": what x is.
        quantity : on the first axis "state", "score" (root mean square over points and paths of
            ‖X_T − X_S‖, |h(X_T) − h(X_S)|), "expected score" (root mean square over points of the
            mean over paths of h(X_T) − h(X_S)); on the second "sampling" (root mean square error
            of a mean over M trajectories, against the expectation at the same Δt = T/3), "total"
            (against the expectation for Δt → 0).
        x, repetition, error.
        theory : σ_h/√M for "sampling", NaN elsewhere.
        slope, slope_stderr : of log error against log x, one fit for each quantity; NaN for
            "total", which has no rate, because Δt leaves a floor.
    """
    if any(draws % m for m in trajectories):
        raise ValueError(f"choose draws as a multiple of every M_traj: {draws}, {trajectories}")
    if any(reference % r for r in refinements):
        raise ValueError(f"choose a reference that all refinements divide: {reference}")
    run = fitted_run(seed, points, diffusion=diffusion)
    params = run.flow.unpack(run.flat)
    x0 = encode(run.flow, params.encoder, run.data.rows)
    population = _Population(run.flow, params.controls, params.head, x0, run.weights(), run.data.y)
    rows: list[dict[str, object]] = []
    biases = []
    for k in range(repetitions):
        noise = population.noise(reference, copies, generator(seed, PATHS, REFINED, k))
        limit = population.end(reference, noise)
        for r in refinements:
            end = population.end(r, coarsen(noise, reference // r))
            gap = limit.scores - end.scores
            errors = {
                "state": (limit.states - end.states).square().sum(2).mean(),
                "score": gap.square().mean(),
                "expected score": gap.mean(0).square().mean(),
            }
            x = run.flow.dt / r
            rows += [_row("time step", name, x, k, square) for name, square in errors.items()]
        biases.append((limit.scores - population.end(1, coarsen(noise, reference)).scores).mean(0))
    rows += _sampling_rows(population, trajectories, draws, torch.stack(biases), seed)
    frame = pd.DataFrame(rows).sort_values(["axis", "quantity"], kind="stable", ignore_index=True)
    frame = with_slopes(frame, "quantity", "x", "error")
    frame.loc[frame["quantity"] == "total", ["slope", "slope_stderr"]] = np.nan
    return frame


def coarsen(noise: Tensor, parts: int) -> Tensor:
    """Standard normal increments (S/parts, …) of the same Brownian path as fine ones (S, …)."""
    return noise.unflatten(0, (-1, parts)).sum(1) / parts**0.5


@dataclass(frozen=True)
class _End:
    """Terminal states (b, N, W) and scores (b, N) of b paths."""

    states: Tensor
    scores: Tensor


@dataclass(frozen=True)
class _Population:
    """A fitted flow and the points that move by it."""

    flow: Flow
    controls: Sequence[Sequence[Tensor]]
    head: Sequence[Tensor]
    x0: Tensor
    mass: Tensor
    y: Tensor

    def noise(self, refinement: int, copies: int, draws: torch.Generator) -> Tensor:
        shape = (self.flow.steps * refinement, copies, *self.x0.shape)
        return torch.randn(shape, generator=draws, dtype=self.x0.dtype)

    def end(self, refinement: int, noise: Tensor) -> _End:
        """Move along this noise, with every step divided into `refinement` parts."""
        fine = replace(self.flow, steps=self.flow.steps * refinement)
        controls = [control for control in self.controls for _ in range(refinement)]
        x = roll_copies(fine, controls, self.x0, self.mass, noise)[-1]
        return _End(x, terminal_scores(self.head, x, self.y))


def _sampling_rows(
    population: _Population, trajectories: Sequence[int], draws: int, biases: Tensor, seed: int
) -> list[dict[str, object]]:
    """Errors of means over M trajectories, for every repetition in turn.

    biases: (repetitions, N), means of h(X_T) − h(X_S) along common Brownian paths. They turn the
    precise expectation at Δt = T/3 into one for Δt → 0, with far less noise than new fine paths.
    """
    repetitions = len(biases)
    scores = torch.stack(
        [
            population.end(1, population.noise(1, draws, generator(seed, PATHS, SAMPLED, k))).scores
            for k in range(repetitions)
        ]
    )
    expected = scores.mean((0, 1))
    spread = float((scores - expected).square().mean().sqrt())
    rows = []
    for m in trajectories:
        means = scores.unflatten(1, (-1, m)).mean(2)
        # the expectation is a mean that contains these draws
        apart = 1 - m / (draws * repetitions)
        for k in range(repetitions):
            square = (means[k] - expected).square().mean() / apart
            sampling = _row("trajectories", "sampling", m, k, square)
            rows.append({**sampling, "theory": spread / m**0.5})
            square = (means[k] - expected - biases.mean(0)).square().mean()
            rows.append(_row("trajectories", "total", m, k, square))
    return rows


def _row(axis: str, quantity: str, x: float, repetition: int, square: Tensor) -> dict[str, object]:
    return {
        "axis": axis,
        "quantity": quantity,
        "x": x,
        "repetition": repetition,
        "error": float(square) ** 0.5,
        "theory": np.nan,
    }
