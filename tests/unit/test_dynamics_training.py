"""What a run records, and how the readouts use it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nddv.dynamics.flow import Flow
from nddv.dynamics.population import adjoint_growth, score, score_layers
from nddv.dynamics.reweighting import MetaProblem
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Data, Run
from nddv.dynamics.schedule import FEWEST_EPOCHS, Schedule, Training
from nddv.dynamics.training import train
from nddv.estimator.settings import Settings, resolved

CPU = torch.device("cpu")


def small_run(meta: bool = True, **settings) -> Run:
    """One run of Algorithm 1 on 70 points."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 4))
    y = torch.as_tensor((x[:, 0] > 0).astype(int))
    rows = Rows.fit(x[:70], 4.0, torch.float64, CPU)
    side = (rows.like(x[70:]), y[70:]) if meta else (None, None)
    data = Data(rows, y[:70], *side, "cross_entropy")
    small = {"width": 5, "hidden": 4, "centers": 4, "batch_size": 16, "meta_every": 2, "epochs": 3}
    own = resolved(Settings(configuration="paper", **{**small, **settings}))
    (run,) = train(Flow.of(own, 4, 2), Training.of(own, 70), data, seed=1)
    return run


def training(n: int, **settings) -> Training:
    return Training.of(resolved(Settings(**settings)), n)


def test_batches_of_an_epoch_cover_every_point_once() -> None:
    for n, size in ((70, 16), (10, 64), (64, 64), (65, 64)):
        schedule = Schedule(training(n, batch_size=size, epochs=2), n, seed=3)
        batches = schedule.batches(0)
        assert len(batches) == schedule.steps_per_epoch
        assert sorted(torch.cat(batches).tolist()) == list(range(n))
        sizes = [len(b) for b in batches]
        assert max(sizes) <= size
        assert max(sizes) - min(sizes) <= 1
        assert not torch.equal(torch.cat(batches), torch.cat(schedule.batches(1))) or n == 1


@pytest.mark.parametrize(("every", "due"), [(1, 15), (2, 8), (4, 4)])
def test_weights_are_learned_as_often_as_asked(every, due, monkeypatch) -> None:
    asked = []

    def counted(problem: MetaProblem, theta: torch.Tensor) -> torch.Tensor:
        asked.append(theta)
        return torch.zeros_like(theta)

    monkeypatch.setattr("nddv.dynamics.training.lookahead_gradient", counted)
    assert small_run(meta_every=every, reweighting="lookahead").steps == 15
    assert len(asked) == due


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
    moved = {r: small_run(reweighting=r).theta for r in ("lookahead", "penalty", "none", "self")}
    assert not torch.equal(moved["lookahead"], moved["none"])
    assert not torch.equal(moved["penalty"], moved["none"])
    assert torch.equal(moved["self"], moved["none"])


def test_weights_that_are_learned_need_meta_data_and_others_do_not() -> None:
    with pytest.raises(ValueError, match="weights are learned on meta data: give X_meta"):
        small_run(meta=False)
    for reweighting in ("none", "self"):
        alone, beside = (small_run(meta=m, reweighting=reweighting) for m in (False, True))
        assert torch.equal(alone.flat, beside.flat)
        assert torch.equal(alone.path, beside.path)
        assert set(alone.history[-1]) == {"epoch", "train_loss"}
        assert set(beside.history[-1]) == {"epoch", "train_loss", "meta_loss", "meta_accuracy"}


def test_weight_decay_is_that_of_the_whole_run() -> None:
    for epochs in (1, 4):
        run = small_run(epochs=epochs, weight_decay=0.6)
        steps = run.schedule.total_steps
        assert steps == 5 * epochs
        assert run.optimizer.weight_decay * steps == pytest.approx(0.6)


def test_many_points_have_fewer_members_and_then_fewer_epochs() -> None:
    def shape(looks: int, **settings) -> tuple[int, int]:
        asked = {"members": 8, "epochs": 20, "max_visits": looks * 1000 + 999, **settings}
        found = training(1000, **asked)
        return found.members, found.epochs

    assert shape(20 * 8) == (8, 20)
    assert shape(20 * 8 - 1) == (7, 20)
    assert shape(20 * 3) == (3, 20)
    assert shape(21) == (2, 10)  # two of several stay, so that there is a spread
    assert shape(1) == (2, FEWEST_EPOCHS)
    assert shape(1, epochs=3) == (2, 3)
    assert shape(12, members=1) == (1, 12)
    assert shape(1, members=1) == (1, FEWEST_EPOCHS)


def layer_scores(run: Run) -> tuple:
    mass = run.shares()
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
    assert whole.shape == (run.flow.steps + 1, 70)
    assert torch.allclose(whole, parts, atol=1e-12)
    assert torch.allclose(whole[-1], scores.sensitivities)


def test_adjoint_growth_of_a_flow_without_control() -> None:
    """Y_s = (1 − aΔt) Y_{s+1}: the growth over S steps is (1 − aΔt)^S."""
    data = small_run(epochs=1).data
    settings = {"width": 5, "steps": 4, "interaction": 0.8, "running_cost": 3.0}
    flow = Flow.of(resolved(Settings(control="open_loop", **settings)), 4, 2)
    flat = flow.init(torch.Generator().manual_seed(0), torch.float64)
    found = adjoint_growth(flow, flat, data.rows, data.y, data.loss)
    assert found == pytest.approx((1 - 0.8 / 4) ** 4)


def test_adjoint_growth_looks_at_the_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run()
    rows, y, loss = run.data.rows, run.data.y, run.data.loss
    first = adjoint_growth(run.flow, run.flat, rows.like(rows.matrix[:16]), y[:16], loss)
    assert first != adjoint_growth(run.flow, run.flat, rows, y, loss)
    monkeypatch.setattr("nddv.dynamics.population.CHUNK", 16)
    assert adjoint_growth(run.flow, run.flat, rows, y, loss) == first


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
