"""Pairwise and group-mean contraction (Theorem relative_state_contraction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.audit.stability.setting import PATHS, fitted_run, normal, populations
from nddv.dynamics.flow import Flow, rollout
from nddv.dynamics.population import encode
from nddv.replay.seeds import generator

BLOCK = 100  # copies simulated at once
FAR, NEAR, GROUP = "far pair", "near pair", "group mean"


def decay_and_noise(a: float, t: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """e^{−2at} and (1 − e^{−2at})/a of Eq. pairwise_state_contraction; 1 and 2t in the limit a = 0.

    E‖X_i − X_j‖² is decay·‖x_i − x_j‖² + noise·‖Σ‖²_F.
    """
    decay = np.exp(-2 * a * t)
    return decay, -np.expm1(-2 * a * t) / a if a else 2 * t


def euler_decay_and_noise(a: float, dt: float, steps: int) -> tuple[NDArray[np.float64], ...]:
    """The same for the Euler scheme at s = 0 … S, (S+1,) each, exact at every step size.

    The difference of two states obeys D_{s+1} = (1 − aΔt) D_s + ΣΔ(W_i − W_j), so the decay is
    r^s with r = (1 − aΔt)², and the noise 2Δt(1 + r + … + r^{s−1}).
    """
    r = (1 - a * dt) ** 2
    decay = r ** np.arange(steps + 1.0)
    return decay, 2 * dt * np.concatenate([[0.0], np.cumsum(decay[:-1])])


def contraction(
    seed: int = 100,
    interactions: Sequence[float] = (0.0, 1.0, 4.0),
    points: int = 100,
    steps: int = 20,
    diffusion: float = 0.5,
    copies: int = 1000,
) -> pd.DataFrame:
    """Simulated relative states against Eqs. pairwise_state_contraction, group_mean_….

    A flow is fitted by Algorithm 1. Its initial states, meta weights v and noise level are kept.
    Its control depends on the state, but the theorem wants one control for all points. So it is
    replaced by its mean over the population at each step ("shared"). The fitted control itself
    ("fitted") stands beside it, at the fitted flow's own a = 1; the theorem says nothing about it.

    Parameters
    ----------
    seed : of the points, the fit and the noise.
    interactions : values of a.
    points, steps, diffusion : N points; Euler steps on [0, 1]; σ of Σ = σI.
    copies : independent populations, over which expectations are taken.

    Returns
    -------
    One row per control, a, quantity and Euler time:
        control : "shared" or "fitted".
        interaction, time : a and t.
        quantity : squared distance, of the "far pair" and the "near pair" (initially the most and
            the least distant points), or of a "group mean" (smallest class) to the mean of all.
        measured, stderr : mean over the copies, and its standard error.
        euler : the expectation for the Euler scheme, exact; NaN for the fitted control.
        continuous : the expectation of the theorem, Δt → 0; NaN for the fitted control.
    """
    run = fitted_run(seed, points, steps=steps, diffusion=diffusion)
    params = run.flow.unpack(run.flat)
    x0, mass = encode(run.flow, params.encoder, run.data.rows), run.shares()
    sizes = torch.bincount(run.data.y)
    group = run.data.y == sizes.where(sizes > 0, len(x0)).argmin()
    pairs, noise = extreme_pairs(x0), normal(x0, generator(seed, PATHS), steps)
    outputs = rollout(run.flow, params.controls, x0, noise, mass=mass).outputs
    shared = [[u.mean(0)] for u in outputs]
    times = np.arange(steps + 1, dtype=np.float64) * run.flow.dt

    def simulate(
        control: str, flow: Flow, controls: Sequence[Sequence[Tensor]], address: int
    ) -> pd.DataFrame:
        draws = generator(seed, PATHS, address)
        simulated = populations(flow, controls, x0, mass, copies, BLOCK, draws)
        parts = [relative_squares(torch.stack(states), pairs, group) for states in simulated]
        squares = torch.cat(parts, dim=2)
        return pd.DataFrame(
            {
                "control": control,
                "interaction": flow.interaction,
                "quantity": np.repeat([FAR, NEAR, GROUP], steps + 1),
                "time": np.tile(times, 3),
                "measured": squares.mean(2).flatten().numpy(),
                "stderr": (squares.std(2) / copies**0.5).flatten().numpy(),
                "euler": np.nan,
                "continuous": np.nan,
            }
        )

    start = relative_squares(x0.view(1, 1, *x0.shape), pairs, group).flatten().numpy()
    # half of a pair's noise, times 1/n_g − 1/N (Eq. group_mean_state_contraction)
    share = np.array([1.0, 1.0, 0.5 * (1 / int(group.sum()) - 1 / len(x0))])
    frobenius = run.flow.diffusion**2 * run.flow.width
    frames = []
    for k, a in enumerate(interactions):
        flow = replace(run.flow, control="open_loop", interaction=a)
        frame = simulate("shared", flow, shared, k + 1)
        forms = euler_decay_and_noise(a, flow.dt, steps), decay_and_noise(a, times)
        for form, (decay, spread) in zip(("euler", "continuous"), forms, strict=True):
            frame[form] = (np.outer(start, decay) + np.outer(share, spread) * frobenius).ravel()
        frames.append(frame)
    frames.append(simulate("fitted", run.flow, params.controls, len(interactions) + 1))
    return pd.concat(frames, ignore_index=True)


def extreme_pairs(x0: Tensor) -> dict[str, tuple[int, int]]:
    """The most and the least distant pair of initial states (N, W)."""
    distances = torch.cdist(x0, x0)
    n = len(x0)
    far = int(distances.argmax())
    near = int((distances + torch.diag(torch.full((n,), torch.inf))).argmin())
    return {FAR: divmod(far, n), NEAR: divmod(near, n)}


def relative_squares(states: Tensor, pairs: dict[str, tuple[int, int]], group: Tensor) -> Tensor:
    """Squared relative distances (3, S+1, b), far pair, near pair and group mean.

    states: (S+1, b, N, W); group: (N,) whether a point is a member.
    """
    differences = [states[:, :, i] - states[:, :, j] for i, j in (pairs[FAR], pairs[NEAR])]
    differences.append(states[:, :, group].mean(2) - states.mean(2))
    return torch.stack(differences).square().sum(3)
