"""Many retrainings at once against one at a time, and the game that they make."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nddv import NDDV
from nddv.audit import retraining
from nddv.audit.retraining import (
    RetrainedGame,
    leave_one_out_retrained,
    map_many,
    retrain_many,
    sampled_shapley,
    single_fold,
)
from nddv.dynamics.participation import retrain, train_again
from nddv.dynamics.utility import evaluate

N = 40
SMALL = {"width": 6, "hidden": 5, "centers": 4, "steps": 2, "epochs": 4, "batch_size": 16}


def fitted(task: str = "classification", **settings) -> NDDV:
    rng = np.random.default_rng(100)
    X = rng.normal(size=(N + 50, 4))
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
    if task == "classification":
        y = (y > 0).astype(int) + (X[:, 3] > 1)
    meta, valid = slice(N, N + 20), slice(N + 20, None)
    how = {"readout": "terminal", "dtype": "float64", "random_state": 100}
    model = NDDV(**{**SMALL, **how, **settings})
    return model.fit(X[:N], y[:N], X[meta], y[meta], X[valid], y[valid])


def some_weights(count: int = 7) -> torch.Tensor:
    """Coalitions, fractions, nobody and everybody."""
    rng = np.random.default_rng(101)
    weights = rng.random((count, N))
    weights[::2] = weights[::2] < 0.5
    weights[-2], weights[-1] = 0.0, 1.0
    return torch.as_tensor(weights)


@torch.no_grad()
def train_many(run, weights: torch.Tensor) -> torch.Tensor:
    """Parameters (B, P) of training again with participation weights (B, n)."""
    (flat,) = map_many(run, lambda w: (train_again(run, w),), weights)
    return flat


OPTIONS = [
    {},
    {"clip": 0.05},
    {"optimizer": "adamw", "learning_rate": 3e-3, "epsilon": 1e-2},
    {"control": "mlp"},
    {"control": "open_loop"},
    {"pairing": "exact", "reweighting": "none"},
    {"reweighting": "self", "epochs": 6},
    {"task": "regression"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_many_at_once_equal_one_at_a_time(options: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retraining, "AT_ONCE", 3)  # three chunks, the last of one
    fold = single_fold(fitted(**options))
    weights = some_weights()
    many = retrain_many(fold.run, weights, fold.goal)
    one_by_one = [retrain(fold.run, w, fold.goal) for w in weights]
    assert many.numpy() == pytest.approx(one_by_one, rel=1e-10, abs=1e-12)
    assert len(np.unique(many.numpy().round(8))) == len(weights)  # the weights do matter


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-13)])
def test_unit_weights_repeat_the_run(dtype: str, tolerance: float) -> None:
    run = single_fold(fitted(dtype=dtype)).run
    ones = torch.ones((3, N), dtype=run.flat.dtype)
    flat = train_many(run, ones)
    assert flat.dtype == run.flat.dtype
    assert float((flat - run.flat).abs().max()) < tolerance


def test_the_participation_readout_is_the_slope_of_the_game() -> None:
    model = fitted(readout="participation")
    game, h = RetrainedGame(model), 1e-4
    up = np.ones((N, N)) + h * np.eye(N)
    slopes = (game.utilities(up) - game.utilities(2 - up)) / (2 * h)
    scale = np.abs(model.sensitivities_).max()
    assert np.abs(slopes - model.sensitivities_).max() < 1e-5 * scale


def test_leave_one_out_is_the_loss_of_utility() -> None:
    model = fitted()
    fold = single_fold(model)
    found = leave_one_out_retrained(model, [5, 2])
    ones = torch.ones(N, dtype=torch.float64)
    everyone = retrain(fold.run, ones, fold.goal)
    for i, value in zip((5, 2), found, strict=True):
        without = ones.clone()
        without[i] = 0.0
        expected = everyone - retrain(fold.run, without, fold.goal)
        assert value == pytest.approx(expected, abs=1e-12)


def test_nobody_leaves_the_first_parameters_to_weight_decay() -> None:
    model = fitted(weight_decay=32.0)
    fold = single_fold(model)
    run = fold.run
    rates = [run.optimizer.rate(step) for step in range(run.steps)]
    decay = np.prod([1 - rate * 32.0 / run.steps for rate in rates])
    nobody = torch.zeros((1, N), dtype=torch.float64)
    decayed = run.checkpoints[0].flat * float(decay)
    assert torch.allclose(train_many(run, nobody)[0], decayed, rtol=1e-12)
    expected = evaluate(run, decayed, nobody[0], fold.goal).utility
    assert RetrainedGame(model).utilities(nobody.numpy())[0] == pytest.approx(float(expected))


def test_walks_are_utilities_of_beginnings() -> None:
    game = RetrainedGame(fitted(epochs=1))
    orders = np.stack([np.random.default_rng(s).permutation(N) for s in (100, 101)])
    walks, evaluated = game.walk(orders)
    assert walks.shape == (2, N + 1)
    assert (evaluated == N).all()
    beginning = np.isin(np.arange(N), orders[1, :7])
    assert walks[1, 7] == pytest.approx(game.utilities(beginning[None])[0], abs=1e-12)


def test_no_coalition_is_no_utility() -> None:
    assert RetrainedGame(fitted(epochs=1)).utilities(np.empty((0, N))).shape == (0,)


def test_errors_say_what_to_do() -> None:
    with pytest.raises(ValueError, match="call fit first"):
        RetrainedGame(NDDV())
    model = fitted(epochs=1)
    with pytest.raises(ValueError, match=r"\(B, 40\), got \(40,\)"):
        RetrainedGame(model).utilities(np.ones(N))
    with pytest.raises(ValueError, match="not negative"):
        RetrainedGame(model).utilities(np.full((1, N), np.nan))


def test_two_folds_are_not_one_run() -> None:
    rng = np.random.default_rng(100)
    X = rng.normal(size=(N, 3))
    with pytest.warns(UserWarning, match="held out"):
        model = NDDV("terminal", **{**SMALL, "epochs": 1}).fit(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match="X_meta"):
        RetrainedGame(model)


def test_several_members_are_not_one_run() -> None:
    with pytest.raises(ValueError, match="the model has 2 members.*members=1"):
        RetrainedGame(fitted(members=2, epochs=1))


def test_a_game_needs_data_that_measure_its_utility() -> None:
    X = np.random.default_rng(100).normal(size=(N, 3))
    model = NDDV(members=1, **{**SMALL, "epochs": 1}).fit(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match="a utility is measured: give X_valid and y_valid"):
        RetrainedGame(model)


class Additive:
    """A game of four points whose Shapley values are known: a sum, and a bonus for both of two."""

    n = 4

    def utilities(self, weights):
        return weights @ np.array([1.0, 2.0, -1.0, 0.0]) + 3.0 * weights[:, 0] * weights[:, 3]


def test_sampled_shapley_values_are_unbiased_and_their_errors_honest():
    runs = [sampled_shapley(Additive(), [0, 2, 3], 8, np.random.default_rng(k)) for k in range(400)]
    values, stderr = np.moveaxis(np.array(runs), 1, 0)
    spread = values.std(axis=0) / np.sqrt(len(runs))
    np.testing.assert_allclose(values.mean(axis=0), [2.5, -1.0, 1.5], atol=4 * spread.max())
    assert (stderr.mean(axis=0) >= 0.95 * values.std(axis=0)).all()  # shares are stratified
    with pytest.raises(ValueError, match="at least two coalitions, got 1"):
        sampled_shapley(Additive(), [0], 1, np.random.default_rng(0))


def test_a_game_may_have_another_utility_than_its_model():
    game = RetrainedGame(fitted(), "probability")
    (everyone,) = game.utilities(np.ones((1, N)))
    assert 0 < everyone < 1
    (loss,) = RetrainedGame(fitted()).utilities(np.ones((1, N)))
    assert np.exp(loss) < everyone  # by Jensen's inequality


def test_the_curve_of_dropped_rows_is_that_of_retraining():
    model = fitted(readout="participation")
    curve = model.drop_curve(checks=3)
    game = RetrainedGame(model)
    weights = np.ones((len(curve.checked) + 1, N))
    for row, count in zip(weights[1:], curve.checked, strict=True):
        row[curve.order[:count]] = 0.0
    utilities = game.utilities(weights)
    assert curve.predicted[0] == pytest.approx(utilities[0])
    np.testing.assert_allclose(curve.measured, utilities[1:], atol=1e-10)
    first = -model.sensitivities_[curve.order[0]]
    assert curve.predicted[1] - curve.predicted[0] == pytest.approx(first)
    assert curve.best in {0, *curve.checked}
    assert len(model.drop_curve(checks=0).checked) == 0
