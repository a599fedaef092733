"""Residuals of a forest out of bag."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from nddv.baselines.residuals import forest_residual
from nddv.evaluation.detection import detection_scores
from nddv.methods.valuation import value
from nddv.problems import make_problem

SEED = 100


def some_data(n=80):
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.abs(X[:, 1])


def test_they_are_those_of_the_forests_own_out_of_bag_prediction():
    X, y = some_data()
    found = forest_residual(X, y, np.random.default_rng(SEED), num_models=200)
    state = int(np.random.default_rng(SEED).integers(2**31))
    forest = RandomForestRegressor(200, oob_score=True, random_state=state).fit(X, y)
    np.testing.assert_allclose(found.values, -np.abs(y - forest.oob_prediction_), atol=1e-12)
    assert found.values.max() <= 0
    assert found.record == {"fits": 200}


def test_a_planted_target_has_the_lowest_value():
    X, y = some_data()
    y[7] += 20
    assert forest_residual(X, y, np.random.default_rng(SEED), num_models=100).values.argmin() == 7


def test_too_few_trees_is_said():
    X, y = some_data()
    with pytest.raises(ValueError, match="are never out of bag; draw more"):
        forest_residual(X, y, np.random.default_rng(SEED), num_models=1)


@pytest.mark.parametrize("name", ["fire_target", "houses"])
def test_wrong_targets_are_found_well_above_chance(name):
    problem, truth = make_problem(name, 400, "target10", SEED)
    values = value("forest-residual", problem, SEED, num_models=100).values
    scores, _ = detection_scores(values, truth.mask, 0.1, np.random.default_rng(SEED))
    assert scores["f1_budget"] > 0.4  # chance: .1
    assert scores["auroc"] > 0.7  # a wrong target may lie close to the right one
