"""The participation readout against what it claims: retraining with other weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nddv.dynamics.flow import Flow
from nddv.dynamics.participation import (
    checkpoint_interval,
    level_participation,
    participation,
    retrain,
    train_again,
)
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Data, Run
from nddv.dynamics.schedule import Training
from nddv.dynamics.training import train
from nddv.dynamics.utility import Goal, evaluate, utility_gradient
from nddv.estimator.settings import Settings, resolved

N = 40
OPTIMIZERS = {
    "adamw": {"learning_rate": 3e-3, "epsilon": 1e-2},
    "sgd": {"learning_rate": 0.1},
}


def small_run(
    optimizer: str = "sgd",
    task: str = "classification",
    checkpoint_every: int | None = 1,
    utility: str = "log_likelihood",
    **training,
) -> tuple[Run, Goal]:
    """The last member of a model, by default its only one, and validation data."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N + 30, 4))
    if task == "classification":
        y = torch.as_tensor((x[:, 0] * x[:, 1] > 0) + 1 * (x[:, 2] > 1), dtype=torch.int64)
        loss, outputs = "cross_entropy", 3
    else:
        y = torch.as_tensor(x[:, 0] + x[:, 1] ** 2)
        loss, outputs = "squared_error", 1
    rows = Rows.fit(x[:N], 4.0, torch.float64, torch.device("cpu"))
    meta = rows.like(x[N : N + 15])
    data = Data(rows, y[:N], meta, y[N : N + 15], loss)
    options = {"width": 5, "steps": 2, "hidden": 4, "centers": 4, "diffusion": 0.1}
    options |= {"epochs": 4, "batch_size": 16, "meta_every": 2, "weight_decay": 1.2}
    options |= {"optimizer": optimizer, "pairing": "exact", **OPTIMIZERS[optimizer], **training}
    settings = resolved(Settings(configuration="paper", **options))
    flow, how = Flow.of(settings, 4, outputs), Training.of(settings, N)
    *_, run = train(flow, how, data, seed=5, checkpoint_every=checkpoint_every)
    return run, Goal(rows.like(x[N + 15 :]), y[N + 15 :], utility)


OPTIONS = [
    {"clip": 1.0},
    {"clip": 0.2},
    {"pairing": "literal"},
    {"reweighting": "self", "epochs": 6},  # weights from the fifth epoch on
    {"members": 2},
]


@pytest.mark.parametrize("option", OPTIONS, ids=str)
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_equals_central_differences_of_retraining(optimizer: str, task: str, option: dict) -> None:
    """dU/dw_i = [U(w_i = 1+h) − U(w_i = 1−h)]/2h, retraining each time, to 1e-4 relative."""
    run, goal = small_run(optimizer, task, **option)
    weighed = torch.cat([v for v in run.visit_weights if v.min() < 1])
    assert len(weighed) > 0  # points do have weights
    found = participation(run, goal)
    scale, h = float(found.abs().max()), 1e-4
    for i in range(0, N, 5):
        up, down = torch.ones(N, dtype=torch.float64), torch.ones(N, dtype=torch.float64)
        up[i] += h
        down[i] -= h
        difference = retrain(run, up, goal) - retrain(run, down, goal)
        assert abs(float(found[i]) - difference / (2 * h)) < 1e-4 * scale


def test_retraining_with_unit_weights_is_the_run_itself() -> None:
    """The same bytes: recorded batches, noise and meta weights replay the run exactly."""
    run, goal = small_run()
    ones = torch.ones(N, dtype=torch.float64)
    assert retrain(run, ones, goal) == utility_gradient(run, run.flat, ones, goal).utility


@pytest.mark.parametrize("reweighting", ["lookahead", "self"])
def test_a_member_is_replayed_by_itself(reweighting: str) -> None:
    """To rounding: its training was stacked with that of the others."""
    run, _ = small_run(members=3, reweighting=reweighting, epochs=6)
    assert run.member == 2
    ones = torch.ones(N, dtype=torch.float64)
    assert torch.allclose(train_again(run, ones), run.flat, rtol=0, atol=1e-10)


def test_a_point_that_is_left_out_does_not_matter() -> None:
    """w_i = 0 removes its costs and its share in μ: its own label can be anything."""
    run, goal = small_run()
    weights = torch.ones(N, dtype=torch.float64)
    weights[3] = 0.0
    before = retrain(run, weights, goal)
    run.data.y[3] = (run.data.y[3] + 1) % 3
    assert retrain(run, weights, goal) == before
    weights[3] = 1.0
    assert retrain(run, weights, goal) != before


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("option", [{"clip": 0.2}, {"reweighting": "self", "epochs": 6}], ids=str)
@pytest.mark.parametrize("utility", ["log_likelihood", "probability"])
def test_levels_equal_central_differences(optimizer: str, option: dict, utility: str) -> None:
    """∂U/∂w_i where all weights are t, to 1e-4 relative."""
    run, goal = small_run(optimizer, utility=utility, **option)
    levels, h = [0.05, 0.4, 1.0], 1e-5
    found = level_participation(run, goal, levels)
    assert found.shape == (3, N)
    for t, derivatives in zip(levels, found, strict=True):
        for i in range(0, N, 13):
            up = torch.full((N,), t, dtype=torch.float64)
            down = up.clone()
            up[i] += h
            down[i] -= h
            difference = (retrain(run, up, goal) - retrain(run, down, goal)) / (2 * h)
            scale = float(derivatives.abs().max())
            assert float(derivatives[i]) == pytest.approx(difference, abs=1e-4 * scale)


def test_the_level_of_full_weights_is_the_participation_derivative() -> None:
    run, goal = small_run(checkpoint_every=5)
    (found,) = level_participation(run, goal, [1.0])
    assert torch.allclose(found, participation(run, goal), rtol=0, atol=1e-12)


def test_stacked_levels_are_those_of_levels_alone() -> None:
    run, goal = small_run(clip=0.2)  # which some levels meet and others do not
    levels = [0.01, 0.3, 1.0]
    alone = [level_participation(run, goal, [t])[0] for t in levels]
    assert torch.allclose(level_participation(run, goal, levels), torch.stack(alone), atol=1e-12)


def test_probability_is_that_of_the_labels() -> None:
    run, goal = small_run(utility="probability")
    ones = torch.ones(N, dtype=torch.float64)
    found = evaluate(run, run.flat, ones, goal)
    of_labels = torch.softmax(found.end.outputs, 1)[torch.arange(len(goal.y)), goal.y]
    assert float(found.utility) == pytest.approx(float(of_labels.mean()), abs=1e-12)


@pytest.mark.parametrize(
    ("task", "utility"),
    [
        ("classification", "log_likelihood"),
        ("classification", "probability"),
        ("regression", "log_likelihood"),
    ],
)
def test_derivatives_of_the_utility(
    task: str, utility: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By central differences; the streamed population in chunks of seven."""
    monkeypatch.setattr("nddv.dynamics.population.CHUNK", 7)
    run, goal = small_run(task=task, utility=utility)
    ones, h = torch.ones(N, dtype=torch.float64), 1e-5

    def u(flat: torch.Tensor, weights: torch.Tensor) -> float:
        return utility_gradient(run, flat, weights, goal).utility

    found = utility_gradient(run, run.flat, ones, goal)
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        along = torch.randn(len(run.flat), generator=generator, dtype=torch.float64)
        expected = (u(run.flat + h * along, ones) - u(run.flat - h * along, ones)) / (2 * h)
        assert float(found.flat @ along) == pytest.approx(expected, abs=1e-7)
        along = torch.randn(N, generator=generator, dtype=torch.float64)
        expected = (u(run.flat, ones + h * along) - u(run.flat, ones - h * along)) / (2 * h)
        assert float(found.weights @ along) == pytest.approx(expected, abs=1e-7)


def test_checkpoints_do_not_change_the_result() -> None:
    results = []
    for every in (1, 3, 5, None):
        run, goal = small_run(checkpoint_every=every)
        kept = 1 if every is None else -(-run.steps // every)
        assert len(run.checkpoints) == kept
        results.append(participation(run, goal))
    for other in results[1:]:
        assert torch.equal(results[0], other)


def test_checkpoint_interval() -> None:
    assert checkpoint_interval(400, 10, 4000) == 1
    assert checkpoint_interval(400, 10, 3999) == 20


def test_tick_is_called_once_a_step() -> None:
    run, goal = small_run()
    ticks: list[int] = []
    participation(run, goal, tick=ticks.append)
    assert sum(ticks) == run.steps == 12
    level_participation(run, goal, [0.5, 1.0], tick=ticks.append)
    assert sum(ticks) == 3 * run.steps
