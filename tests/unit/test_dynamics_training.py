"""What a run records, and how the readouts use it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nddv.dynamics.flow import Flow
from nddv.dynamics.population import Scores, score, score_layers
from nddv.dynamics.reading import PathIntegral, Trained
from nddv.dynamics.reading import path as read_path
from nddv.dynamics.rows import Rows
from nddv.dynamics.schedule import Schedule, Training
from nddv.dynamics.training import Data, Run, best_epoch, train
from nddv.estimator.settings import Settings

CPU = torch.device("cpu")


def small_run(**settings) -> Run:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 4))
    y = torch.as_tensor((x[:, 0] > 0).astype(int))
    rows = Rows.fit(x[:70], 4.0, torch.float64, CPU)
    data = Data(rows, y[:70], rows.like(x[70:]), y[70:], "cross_entropy")
    flow = Flow.of(Settings(width=5, hidden=4, centers=4), 4, 2)
    own = Settings(**{"epochs": 3, "batch_size": 16, "meta_every": 2, **settings})
    return train(flow, Training.of(own), data, seed=1)


def test_batches_of_an_epoch_cover_every_point_once() -> None:
    for n, size in ((70, 16), (10, 64), (64, 64), (65, 64)):
        schedule = Schedule(Training.of(Settings(batch_size=size, epochs=2)), n, seed=3)
        batches = schedule.batches(0)
        assert len(batches) == schedule.steps_per_epoch
        assert sorted(torch.cat(batches).tolist()) == list(range(n))
        sizes = [len(b) for b in batches]
        assert max(sizes) <= size
        assert max(sizes) - min(sizes) <= 1
        assert not torch.equal(torch.cat(batches), torch.cat(schedule.batches(1))) or n == 1


def test_signals_and_weights_follow_the_visits() -> None:
    run = small_run()
    assert run.steps == 15
    assert len(run.visit_weights) == 15
    assert all(v.max() == v.min() for v in run.visit_weights[:5])  # every signal is still log 2
    assert all(v.max() > v.min() for v in run.visit_weights[5:])  # now it is the point's own cost
    index, weights = run.visit(14)
    assert len(index) == len(weights)
    assert torch.equal(weights, run.visit_weights[14])


def test_meta_updates_move_the_weight_map() -> None:
    moved = {r: small_run(reweighting=r).theta for r in ("lookahead", "penalty", "none")}
    assert not torch.equal(moved["lookahead"], moved["none"])
    assert not torch.equal(moved["penalty"], moved["none"])


def history(accuracies: list[float], error: float = 0.02) -> list[dict[str, float]]:
    return [{"meta_accuracy": a, "meta_loss": 1.0, "meta_error": error} for a in accuracies]


def test_best_epoch_is_the_last_within_a_standard_error() -> None:
    assert best_epoch(history([0.5, 0.90, 0.92, 0.91, 0.80])) == 3
    assert best_epoch(history([0.5, 0.90, 0.92, 0.89, 0.80])) == 2
    assert best_epoch(history([0.9, 0.9, 0.9], error=0.0)) == 2
    assert best_epoch(history([0.95, 0.90, 0.80])) == 0
    losses = [{"meta_loss": loss, "meta_error": 0.05} for loss in (1.0, 0.5, 0.54, 0.7)]
    assert best_epoch(losses) == 2


def test_path_is_the_mean_of_standardised_scores_up_to_the_best_epoch() -> None:
    rng = np.random.default_rng(0)
    raw = [torch.as_tensor(rng.normal(size=30) * scale + 5) for scale in (1.0, 50.0, 7.0)]
    path = PathIntegral()
    run = SimpleNamespace(flat=torch.zeros(1, dtype=torch.float64), history=[])
    for s, accuracy in zip(raw, (0.8, 0.9, 0.5), strict=True):
        run.history.append(history([accuracy])[0])
        path(run, Scores(s, s, s, []))
    expected = sum(-(s - s.mean()) / s.std() for s in raw[:2]) / 2
    found = read_path(Trained(run, None, None, 1, path), lambda: None)
    assert torch.allclose(found[0], expected)


def layer_scores(run: Run):
    mass = run.weights()
    scores = score(run.flow, run.flat, run.data.rows, run.data.y, "cross_entropy", 9, mass=mass)
    layers = score_layers(
        run.flow, run.flat, run.data.rows, run.data.y, "cross_entropy", 9, scores.aggregates
    )
    return scores, layers


def test_layer_scores_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run()
    with torch.no_grad():
        scores, whole = layer_scores(run)
        monkeypatch.setattr("nddv.dynamics.population.CHUNK", 16)
        _, parts = layer_scores(run)
    assert torch.allclose(whole.sensitivities, parts.sensitivities, atol=1e-12)
    assert whole.adjoint_growth == pytest.approx(parts.adjoint_growth)
    assert torch.allclose(whole.sensitivities[-1], scores.sensitivities)


def test_adjoint_growth_of_a_flow_without_control() -> None:
    """Y_s = (1 − aΔt) Y_{s+1}: the growth over S steps is (1 − aΔt)^S."""
    run = small_run(epochs=1)
    settings = {"width": 5, "steps": 4, "interaction": 0.8, "running_cost": 3.0}
    flow = Flow.of(Settings(control="open_loop", **settings), 4, 2)
    run.flow = flow
    run.flat = flow.init(torch.Generator().manual_seed(0), torch.float64)
    with torch.no_grad():
        _, layers = layer_scores(run)
    assert layers.adjoint_growth == pytest.approx((1 - 0.8 / 4) ** 4)


def test_rows_are_centred_in_the_precision_of_the_data() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(50, 3))
    plain = Rows.fit(base, 3.0, torch.float32, CPU).take(slice(0, 50))
    for matrix in (base * 1e-9, base * 30 + 1.6e9, base * 1e100):
        moved = Rows.fit(matrix, 3.0, torch.float32, CPU).take(slice(0, 50))
        assert moved.dtype == torch.float32
        assert torch.allclose(moved, plain, atol=1e-4)


def test_constant_features_become_zero_everywhere() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(50, 2)), np.full(50, 0.1), np.full(50, 1e9)])
    rows = Rows.fit(x, 8.0, torch.float64, CPU)
    taken = rows.take(slice(0, 50))
    assert (taken[:, 2:] == 0).all()
    assert float(taken.square().sum(1).mean()) == pytest.approx(8.0)
    assert (rows.like(x + 5.0).take(torch.tensor([3]))[:, 2:] == 0).all()


def test_rows_of_a_subset() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    index = np.array([4, 8, 15, 16, 23, 42])
    view = Rows.fit(x, 3.0, torch.float64, CPU, index)
    copy = Rows.fit(x[index], 3.0, torch.float64, CPU)
    assert len(view) == 6
    for where in (slice(1, 4), torch.tensor([5, 0, 0])):
        assert torch.equal(view.take(where), copy.take(where))


def test_values_too_large_to_square_are_named() -> None:
    x = np.column_stack([np.arange(20.0), np.linspace(-1e200, 1e200, 20)])
    with pytest.raises(ValueError, match="column 1 are too large"):
        Rows.fit(x, 2.0, torch.float32, CPU)


def test_meta_updates_of_a_large_batch_see_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small_run(batch_size=40)
    monkeypatch.setattr("nddv.dynamics.training.LOOKED_AHEAD", 40)
    assert torch.equal(small_run(batch_size=40).theta, whole.theta)
    monkeypatch.setattr("nddv.dynamics.training.LOOKED_AHEAD", 10)
    assert not torch.equal(small_run(batch_size=40).theta, whole.theta)
