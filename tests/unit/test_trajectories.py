"""The trajectories that are drawn are those that the values were read from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from nddv.anatomy.trajectories import (
    informative_features,
    principal_directions,
    scoring_path,
    significant,
    trace_run,
)
from nddv.methods.valuation import fit_nddv
from nddv.problems import make_problem

SETTINGS = {"epochs": 4, "width": 6, "steps": 3, "hidden": 5, "horizon": 1.5}
N, SEED = 80, 100


@pytest.fixture(scope="module")
def problem():
    return make_problem("2dplanes", N, "label20", SEED)


@pytest.fixture(scope="module")
def model(problem):
    return fit_nddv(problem[0], SEED, "terminal", SETTINGS)


@pytest.fixture(scope="module")
def traced(problem):
    return trace_run(*problem, SEED, SETTINGS)


def wide(frame, over, name):
    return frame.pivot(index=over, columns="point", values=name).to_numpy()


def test_values_are_those_of_the_same_run_without_a_trace(model, traced):
    np.testing.assert_array_equal(traced["points"]["path"], model.readout_values("path"))
    np.testing.assert_array_equal(traced["points"]["terminal"], model.values_)
    np.testing.assert_array_equal(traced["points"]["weight"], model.weights_)
    assert traced["run"]["epochs"].item() == 4


def test_the_path_pairs_to_the_terminal_sensitivities(model):
    with torch.no_grad():
        path = scoring_path(model.folds_[0].run)
    paired = (path.states[-1] * path.costates[-1]).sum(axis=1)
    np.testing.assert_allclose(
        paired, model.readout_sensitivities("terminal"), rtol=1e-4, atol=1e-5
    )


def test_means_are_those_that_drove_the_states_and_carry_the_weights(model):
    run = model.folds_[0].run
    with torch.no_grad():
        path, driven = scoring_path(run), run.score().aggregates
    np.testing.assert_allclose(path.means[:-1], torch.stack(driven), rtol=1e-4, atol=1e-6)
    last = model.weights_ @ path.states[-1] / N
    np.testing.assert_allclose(path.means[-1], last, rtol=1e-4, atol=1e-6)


def test_layers_and_epochs_meet_in_the_terminal_value(traced):
    layers, epochs = (
        wide(traced["layers"], "step", "value"),
        wide(traced["epochs"], "epoch", "value"),
    )
    assert layers.shape == (4, N)
    assert epochs.shape == (4, N)
    np.testing.assert_allclose(layers[-1], traced["points"]["terminal"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(epochs[-1], layers[-1])
    np.testing.assert_allclose(layers.sum(axis=1), 0, atol=1e-9)
    assert list(traced["epochs"]["epoch"].unique()) == [1, 2, 3, 4]
    assert np.abs(layers[0] - layers[-1]).max() > 1e-3


def test_states_and_means_are_told_along_the_same_directions_at_all_times(model, problem, traced):
    with torch.no_grad():
        path = scoring_path(model.folds_[0].run)
    axes, explained = principal_directions(path.states[-1], problem[0].y_train)
    for k in (1, 2):
        along = axes[:, k - 1]
        for name, array in (("state", path.states), ("costate", path.costates)):
            told = wide(traced["states"], "step", f"{name}_{k}")
            np.testing.assert_allclose(told, array @ along, atol=1e-9)
        np.testing.assert_allclose(traced["steps"][f"mean_{k}"], path.means @ along, atol=1e-9)
        assert traced["run"][f"explained_{k}"].item() == pytest.approx(explained[k - 1])
    for frame in (traced["states"], traced["layers"], traced["steps"]):
        np.testing.assert_allclose(frame["time"], 0.5 * frame["step"])


def test_directions_are_those_of_largest_variance_and_turned_towards_the_labels():
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, 2, 400)
    states = rng.normal(size=(400, 3)) * [0.1, 2.0, 0.5] + 7
    states[:, 1] -= 6 * labels
    vectors, explained = principal_directions(states, labels)
    np.testing.assert_allclose(np.abs(vectors), [[0, 0], [1, 0], [0, 1]], atol=0.05)
    assert vectors[1, 0] < 0
    shares = np.sort(states.var(axis=0))[::-1] / states.var(axis=0).sum()
    np.testing.assert_allclose(explained, shares[:2], rtol=1e-2)


def test_weights_of_the_points_lie_on_the_map(traced):
    points, grid = traced["points"], traced["weight_map"]
    assert grid["cost"].iloc[0] == 0
    assert grid["cost"].iloc[-1] == pytest.approx(points["cost"].max())
    on_map = np.interp(points["cost"], grid["cost"], grid["weight"])
    np.testing.assert_allclose(points["weight"], on_map, atol=1e-3)
    assert np.ptp(grid["weight"]) > 1e-3
    assert set(grid["seed"]) == {SEED}


def test_the_run_is_that_of_the_papers_configuration(problem):
    auto = trace_run(*problem, SEED, {**SETTINGS, "epochs": 1})
    said = trace_run(*problem, SEED, {**SETTINGS, "epochs": 1, "configuration": "paper"})
    pd.testing.assert_frame_equal(auto["points"], said["points"])
    with pytest.raises(ValueError, match="no one run to look at"):
        trace_run(*problem, SEED, {**SETTINGS, "epochs": 1, "members": 2})


@pytest.mark.parametrize("reweighting", ["none", "self"])
def test_where_weights_are_not_learned_the_map_is_one(problem, reweighting):
    found = trace_run(*problem, SEED, {**SETTINGS, "epochs": 1, "reweighting": reweighting})
    assert (found["weight_map"]["weight"] == 1).all()
    assert (found["points"]["weight"] == 1).all()  # one epoch gives no self-weights yet


def test_self_weights_do_not_move_the_mean(problem):
    settings = {**SETTINGS, "epochs": 6, "reweighting": "self"}
    run = fit_nddv(problem[0], SEED, "terminal", settings).folds_[0].run
    assert run.weights().min() < 1
    with torch.no_grad():
        path = scoring_path(run)
    np.testing.assert_allclose(path.means[-1], path.states[-1].mean(axis=0), atol=1e-6)


def test_points_tell_class_corruption_and_the_features_that_matter(problem, traced):
    given, truth = problem
    np.testing.assert_array_equal(traced["points"]["corrupted"], truth.mask)
    np.testing.assert_array_equal(traced["points"]["label"], given.y_train)
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=given.X_train.shape).astype(np.float32)
    X[:, 4] += 3 * given.y_train
    X[:, 2] -= 1.5 * given.y_train
    X[:, 0] = 1  # says nothing, and has no variance
    changed = replace(given, X_train=X)
    assert informative_features(changed) == (4, 2)
    column = int(traced["run"]["feature_1"].item()) - 1
    np.testing.assert_array_equal(traced["points"]["feature_1"], given.X_train[:, column])


def test_what_cannot_be_told_is_refused(problem):
    given, truth = problem
    with pytest.raises(ValueError, match="not of regression"):
        trace_run(replace(given, record={"task": "regression"}), truth, SEED, SETTINGS)
    short = replace(truth, **{k: getattr(truth, k)[:9] for k in ("kinds", "y_clean", "rows_train")})
    with pytest.raises(ValueError, match=f"about 9 points, the problem has {N}"):
        trace_run(given, short, SEED, SETTINGS)
    narrow = {f"X_{part}": getattr(given, f"X_{part}")[:, :1] for part in
              ("train", "valid", "test", "meta")}  # fmt: skip
    with pytest.raises(ValueError, match="one feature"):
        informative_features(replace(given, **narrow))


def test_rounding_keeps_significant_digits_and_leaves_other_columns():
    frame = pd.DataFrame({"x": [0.000123456, -98765.4321], "k": [123456, 2], "m": [True, False]})
    found = significant(frame, 3)
    assert found["x"].tolist() == [0.000123, -98800.0]
    pd.testing.assert_frame_equal(found[["k", "m"]], frame[["k", "m"]])
