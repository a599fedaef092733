"""What holds for every rule of the registry: order of points, many points, awkward data."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nddv.methods import METHODS
from nddv.problems import make_problem
from nddv.valuation import value

# Budgets that show whether a rule stands many points, not how good its values are.
SIDES = {"valid": 50, "test": 5, "meta": 5}
SETTINGS = {
    "data-shapley": {"max_permutations": 2, "tolerance": 0.05},
    "beta-shapley": {"max_permutations": 2, "tolerance": 0.05},
    "data-banzhaf": {"num_models": 40},
    "influence-function": {"num_models": 80},
    "ame": {"num_models": 20},
    "data-oob": {"num_models": 40},
    "data-oob-trees": {"num_models": 40},
    "du-shapley": {"num_pools": 2},
    "cs-shapley": {"num_samples": 2},
    "dvrl": {"rl_epochs": 2},
    "lossval": {"epochs": 1},
    "volume-shapley": {"max_permutations": 2},
    "singular-oob": {"num_models": 40},
}
BASELINES = [name for name in METHODS if not name.startswith("nddv-")]
DETERMINISTIC = ["loo", "knn-shapley", "lava", "eigen-value", "singular-lava", "small-loss"]
# DU- and CS-Shapley fit about n coalitions for each pool or sample, LossVal walks n·m pairs.
MINUTES_AT_TEN_THOUSAND = {"du-shapley", "cs-shapley", "lossval", "ame"}


@pytest.mark.parametrize("method", DETERMINISTIC)
def test_relabelled_points_have_relabelled_values(method):
    problem, _ = make_problem("digits", 120, "label10", 100, {"valid": 40, "test": 20, "meta": 20})
    if method in ("eigen-value", "singular-lava"):  # needs more points than features
        problem, _ = make_problem("2dplanes", 120, "label10", 100)
    order = np.random.default_rng(100).permutation(120)
    turned = dataclasses.replace(
        problem, X_train=problem.X_train[order], y_train=problem.y_train[order]
    )
    before, after = (value(method, one, 100).values for one in (problem, turned))
    assert np.ptp(before) > 0
    # scikit-learn's solver, of small loss, stops a little elsewhere for another order of rows
    tolerance = 5e-3 if method == "small-loss" else 1e-5
    np.testing.assert_allclose(after, before[order], atol=tolerance * np.abs(before).max())


@pytest.mark.parametrize("method", BASELINES)
def test_values_of_1100_points_are_finite(method):
    problem, _ = make_problem("2dplanes", 1100, "label10", 100, SIDES)
    values = value(method, problem, 100, **SETTINGS.get(method, {})).values
    assert values.shape == (1100,)
    assert np.isfinite(values).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [name for name in BASELINES if name not in MINUTES_AT_TEN_THOUSAND]
)
def test_values_of_10000_points_are_finite(method):
    problem, _ = make_problem(
        "2dplanes", 10_000, "label10", 100, {"valid": 50, "test": 5, "meta": 5}
    )
    values = value(method, problem, 100, **SETTINGS.get(method, {})).values
    assert values.shape == (10_000,)
    assert np.isfinite(values).all()
