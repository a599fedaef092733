"""Error of the scores from time steps and from sampling (Corollary numerical_score_error)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan

import pandas as pd
import torch
from torch import Tensor

from nddv.audit.stability.setting import (
    PATHS,
    fitted_run,
    normal,
    roll_copies,
    terminal_scores,
    with_slopes,
)
from nddv.dynamics.population import encode
from nddv.replay.seeds import generator

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
    x0, mass = encode(run.flow, params.encoder, run.data.rows), run.shares()
    rows: list[tuple[str, str, float, int, float, float]] = []
    biases, sampled = [], []

    def noise(parts: int, count: int, *address: int) -> Tensor:
        return normal(x0, generator(seed, PATHS, *address), run.flow.steps * parts, count)

    def end(parts: int, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Terminal states (b, N, W) and scores (b, N), with every step divided into parts."""
        fine = replace(run.flow, steps=run.flow.steps * parts)
        controls = [control for control in params.controls for _ in range(parts)]
        x = roll_copies(fine, controls, x0, mass, noise)[-1]
        return x, terminal_scores(params.head, x, run.data.y)

    for k in range(repetitions):
        fine = noise(reference, copies, REFINED, k)
        limit, limit_scores = end(reference, fine)
        for r in refinements:
            states, scores = end(r, coarsen(fine, reference // r))
            gap = limit_scores - scores
            errors = {
                "state": (limit - states).square().sum(2).mean(),
                "score": gap.square().mean(),
                "expected score": gap.mean(0).square().mean(),
            }
            x = run.flow.dt / r
            rows += [("time step", name, x, k, float(e) ** 0.5, nan) for name, e in errors.items()]
        biases.append((limit_scores - end(1, coarsen(fine, reference))[1]).mean(0))
        sampled.append(end(1, noise(1, draws, SAMPLED, k))[1])
    # Means of h(X_T) − h(X_S) along common Brownian paths turn the precise expectation at Δt = T/3
    # into one for Δt → 0, with far less noise than new fine paths.
    bias, scores = torch.stack(biases).mean(0), torch.stack(sampled)
    expected = scores.mean((0, 1))
    spread = float((scores - expected).square().mean().sqrt())
    for m in trajectories:
        gaps = scores.unflatten(1, (-1, m)).mean(2) - expected
        # the expectation is a mean that contains these draws
        apart = 1 - m / (draws * repetitions)
        for k, gap in enumerate(gaps):
            error = float(gap.square().mean() / apart) ** 0.5
            rows.append(("trajectories", "sampling", m, k, error, spread / m**0.5))
            error = float((gap - bias).square().mean()) ** 0.5
            rows.append(("trajectories", "total", m, k, error, nan))
    frame = pd.DataFrame(rows, columns=["axis", "quantity", "x", "repetition", "error", "theory"])
    frame = frame.sort_values(["axis", "quantity"], kind="stable", ignore_index=True)
    frame = with_slopes(frame, "quantity", "x", "error")
    frame.loc[frame["quantity"] == "total", ["slope", "slope_stderr"]] = nan
    return frame


def coarsen(noise: Tensor, parts: int) -> Tensor:
    """Standard normal increments (S/parts, …) of the same Brownian path as fine ones (S, …)."""
    return noise.unflatten(0, (-1, parts)).sum(1) / parts**0.5
