"""Statements of the paper about the flow and its scores, checked on simulated flows."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
import torch

from nddv.dynamics.costs import terminal
from nddv.dynamics.flow import Flow, rollout
from nddv.dynamics.population import encode, score
from nddv.dynamics.reading import ORIENTATION
from nddv.dynamics.rows import Rows
from nddv.estimator.settings import Settings, resolved
from nddv.replay.seeds import NormalSource, normal
from nddv.values import center

N, W = 6, 3
CPU = torch.device("cpu")


def lq_paths(
    copies: int, steps: int, a: float, sigma: float
) -> tuple[np.ndarray, np.ndarray, Flow]:
    """Initial states (N, W) and terminal states (copies, N, W) of the linear–quadratic flow."""
    settings = Settings(width=W, steps=steps, interaction=a, diffusion=sigma, control="open_loop")
    flow = Flow.of(resolved(settings), W, 2)
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(N, W, generator=generator, dtype=torch.float64)
    controls = [[torch.randn(W, generator=generator, dtype=torch.float64)] for _ in range(steps)]
    weights = torch.rand(N, generator=generator, dtype=torch.float64)
    # every copy is a population of its own: the aggregates are simulated side by side
    x = start.expand(copies, N, W)
    noise = torch.randn(steps, copies, N, W, generator=generator, dtype=torch.float64)
    for s in range(steps):
        mu = (weights.unsqueeze(1) * x).mean(1, keepdim=True)
        x = x + (a * (mu - x) + controls[s][0]) * flow.dt + sigma * flow.dt**0.5 * noise[s]
    # the library's rollout makes the same path
    path = rollout(flow, controls, start, noise[:, 0], mass=weights)
    assert torch.allclose(path.states[-1], x[0])
    return start.numpy(), x.numpy(), flow


def test_pairwise_and_group_mean_contraction() -> None:
    """Theorem relative_state_contraction, within Monte-Carlo error (and an O(Δt) bias)."""
    a, sigma, copies, steps = 1.3, 0.7, 20_000, 200
    start, end, flow = lq_paths(copies, steps, a, sigma)
    decay = exp(-2 * a * flow.horizon)
    frobenius = sigma**2 * W
    difference = ((end[:, 0] - end[:, 1]) ** 2).sum(1)
    expected = decay * ((start[0] - start[1]) ** 2).sum() + (1 - decay) / a * frobenius
    error = difference.std() / np.sqrt(copies)
    assert abs(difference.mean() - expected) < 4 * error + 0.01 * expected
    group = [0, 2, 3]
    gap = ((end[:, group].mean(1) - end.mean(1)) ** 2).sum(1)
    expected = (
        decay * ((start[group].mean(0) - start.mean(0)) ** 2).sum()
        + (1 / len(group) - 1 / N) * (1 - decay) / (2 * a) * frobenius
    )
    error = gap.std() / np.sqrt(copies)
    assert abs(gap.mean() - expected) < 4 * error + 0.01 * expected


def small_problem(diffusion: float = 0.5):
    """A flow with random parameters and a population, float64."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 5))
    rows = Rows.fit(x, 5.0, torch.float64, CPU)
    y = torch.as_tensor(rng.integers(0, 3, 40))
    settings = Settings(width=4, steps=3, hidden=4, centers=4, diffusion=diffusion)
    flow = Flow.of(resolved(settings), 5, 3)
    flat = flow.init(torch.Generator().manual_seed(0), torch.float64)
    return flow, flat, rows, y


def test_values_sum_to_zero_and_keep_differences() -> None:
    """Lemma score_centering and the remark after Proposition mass_preserving_calibration."""
    s = torch.randn(50, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    phi = center(s)
    assert abs(float(phi.sum())) < 1e-12
    by_definition = s - (s.sum() - s) / 49
    assert torch.allclose(phi, by_definition)
    assert torch.allclose(phi[0] - phi[1], 50 / 49 * (s[0] - s[1]))


def test_score_is_the_mass_preserving_derivative() -> None:
    """Proposition mass_preserving_calibration: Dᴳ(1)[d_i] = φ_i, by central differences."""
    flow, flat, rows, y = small_problem()
    mass = torch.ones(40, dtype=torch.float64)
    found = score(flow, flat, rows, y, "cross_entropy", 7, mass=mass)
    phi = center(found.sensitivities)
    params = flow.unpack(flat)
    noise = torch.stack([normal(7, s, (40, 4), torch.float64, CPU) for s in range(flow.steps)])
    path = rollout(flow, params.controls, encode(flow, params.encoder, rows), noise, mass=mass)
    end = path.states[-1]

    def g(scale: torch.Tensor) -> float:
        return float(
            terminal(params.head, scale.unsqueeze(1) * end, y, "cross_entropy").costs.sum()
        )

    ones, h = torch.ones(40, dtype=torch.float64), 1e-5
    for i in (0, 17, 39):
        direction = torch.full_like(ones, -1 / 39)
        direction[i] = 1.0
        derivative = (g(ones + h * direction) - g(ones - h * direction)) / (2 * h)
        assert derivative == pytest.approx(float(phi[i]), abs=1e-7)


def test_addresses_of_noise_stay_the_same() -> None:
    """A stored run is replayed with the noise that it had: another version draws it again."""
    at = [NormalSource(7, k, torch.float64, CPU).source.initial_seed() for k in (0, 3)]
    assert at == [2177342782468422684, 8709371129873690715]


def test_a_badly_fitted_label_has_a_low_value() -> None:
    """The one global sign: moving along its own direction raises a mislabelled point's loss."""
    head = [torch.eye(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)]
    x = torch.tensor([[2.0, 0.0], [2.0, 0.0]], dtype=torch.float64)
    end = terminal(head, x, torch.tensor([0, 1]), "cross_entropy")
    values = ORIENTATION * (x * end.gradients).sum(1)
    assert values[0] > 0 > values[1]


def test_averaging_trajectories_shrinks_the_error_as_one_over_root_m() -> None:
    """Corollary numerical_score_error: the sampling term falls as M^-1/2."""
    flow, flat, rows, y = small_problem(diffusion=0.5)
    aggregates = [torch.zeros(4, dtype=torch.float64)] * flow.steps
    draws = torch.stack(
        [
            score(flow, flat, rows, y, "cross_entropy", seed, aggregates=aggregates).sensitivities
            for seed in range(4096)
        ]
    )
    truth = draws.mean(0)
    sizes = np.array([4, 16, 64, 256])
    errors = [
        float((draws[: 2048 // m * m].view(-1, m, 40).mean(1) - truth).square().mean().sqrt())
        for m in sizes
    ]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.06)


def test_chunks_do_not_change_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, flat, rows, y = small_problem()
    mass = torch.ones(40, dtype=torch.float64)
    whole = score(flow, flat, rows, y, "cross_entropy", 1, mass=mass).sensitivities
    monkeypatch.setattr("nddv.dynamics.population.CHUNK", 16)
    parts = score(flow, flat, rows, y, "cross_entropy", 1, mass=mass).sensitivities
    assert torch.allclose(whole, parts, atol=1e-12)
