"""Derivatives at levels against finite differences, and semi-values by level against samples."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import make_problem
from sklearn.linear_model import LogisticRegression

from nddv.baselines.levels import banzhaf_level, level_values, shapley_level
from nddv.coalitions import FLOOR, LogisticGame, levels
from nddv.coalitions.levels import level_derivatives, level_semivalues
from nddv.laws import LAWS, find_law
from nddv.values import NoValues

UTILITIES = ("probability", "log_likelihood")


def utility(problem, weights, name, C=1.0):
    """Utility of one weighted fit, by scikit-learn; a class without a point has no probability."""
    X, y, X_valid, y_valid, n_classes = problem
    model = LogisticRegression(C=C, tol=1e-12, max_iter=100_000)
    model.fit(X, y, sample_weight=weights)
    probabilities = np.zeros((len(y_valid), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(X_valid)
    of_label = probabilities[np.arange(len(y_valid)), y_valid]
    return (of_label if name == "probability" else np.log(np.maximum(of_label, FLOOR))).mean()


def differences(problem, level, name, points, C=1.0, step=1e-3):
    weights = np.full(len(problem[1]), level)
    found = []
    for i in points:
        more, less = weights.copy(), weights.copy()
        more[i] += step
        less[i] -= step
        gap = utility(problem, more, name, C) - utility(problem, less, name, C)
        found.append(gap / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("shape", [(40, 3, 2), (40, 3, 4), (20, 30, 2), (24, 30, 3)])
@pytest.mark.parametrize("name", UTILITIES)
def test_derivatives_are_those_of_differences(monkeypatch, name, shape, direct):
    monkeypatch.setattr(levels, "DIRECT_SIZE", 1000 if direct else 0)
    problem = make_problem(*shape)
    game = LogisticGame(*problem, C=0.5, utility=name)
    at = np.array([1.0, 0.5, 0.05])
    found = level_derivatives(game, at)
    points = np.arange(0, shape[0], 7)
    for level, slopes in zip(at, found, strict=True):
        expected = differences(problem, level, name, points, C=0.5)
        np.testing.assert_allclose(slopes[points], expected, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("shape", [(40, 3, 2), (40, 3, 4)])
def test_conjugate_gradients_need_no_more_steps_than_there_are_parameters(monkeypatch, shape):
    game = LogisticGame(*make_problem(*shape), utility="probability")
    expected = level_derivatives(game, np.array([0.5]))
    monkeypatch.setattr(levels, "DIRECT_SIZE", 0)
    monkeypatch.setattr(levels, "MAX_STEPS", 4 * (1 if shape[2] == 2 else shape[2]))
    np.testing.assert_allclose(level_derivatives(game, np.array([0.5])), expected, rtol=1e-5)


@pytest.mark.parametrize("name", UTILITIES)
def test_a_class_that_training_lacks_counts_as_never_right(name):
    X, y, X_valid, y_valid, _ = make_problem(n_classes=4)
    for missing in ((3,), (2, 3)):
        labels = np.where(np.isin(y, missing), 0, y)
        problem = X, labels, X_valid, y_valid, 4
        found = level_derivatives(LogisticGame(*problem, utility=name), np.array([0.7]))[0]
        expected = differences(problem, 0.7, name, [0, 5, 11])
        np.testing.assert_allclose(found[[0, 5, 11]], expected, rtol=2e-3, atol=2e-5)


def test_features_far_from_the_origin_change_nothing():
    X, y, X_valid, y_valid, _ = problem = make_problem()
    near, far = LogisticGame(*problem, utility="probability"), None
    far = LogisticGame(X + 1e4, y, X_valid + 1e4, y_valid, 2, utility="probability")
    expected = level_semivalues(near, LAWS["shapley"])
    np.testing.assert_allclose(level_semivalues(far, LAWS["shapley"]), expected, rtol=1e-4)


@pytest.mark.parametrize("name", [*LAWS, "beta(1,4)"])
def test_levels_come_close_to_semivalues(name):
    """Drawn by the law: a share, then a coalition; both sides of one identity."""
    problem = make_problem(n=150, d=3, m=200)
    game, law = LogisticGame(*problem, utility="probability"), find_law(name)
    rng = np.random.default_rng(100)
    sizes = rng.choice(151, size=60, p=law.sizes(150))
    members = rng.random((60, 150)).argsort(axis=1).argsort(axis=1) < sizes[:, None]
    marginals = np.array([exact_marginals(game, one) for one in members])
    values = marginals.mean(axis=0)
    spread = marginals.std(axis=0, ddof=1).mean() / np.sqrt(60)
    found = level_semivalues(game, law)
    expected = np.sqrt(max(0.0, 1 - (spread / values.std()) ** 2))  # with a perfect score
    assert np.corrcoef(found, values)[0, 1] > 0.97 * expected
    assert found.std() == pytest.approx(values.std(), rel=0.35)


def exact_marginals(game, members):
    flipped = members ^ np.eye(game.n, dtype=bool)
    utilities = game.utilities(np.concatenate([members[None], flipped]))
    return np.where(members, -1, 1) * (utilities[1:] - utilities[0])


def test_shapley_values_are_efficient_and_the_record_tells_what_the_levels_missed():
    values = shapley_level(*make_problem()[:4])
    assert len(values.record["levels"]) == 8
    total = values.record["utility_all"] - values.record["utility_empty"]
    assert values.values.sum() == pytest.approx(total)
    assert values.record["sum"] == pytest.approx(total)
    assert abs(values.record["missed"]) < 2 * total
    assert banzhaf_level(*make_problem()[:4]).record["missed"] == 0


def test_what_has_no_derivative_is_refused():
    X, y, X_valid, y_valid, _ = problem = make_problem()
    with pytest.raises(ValueError, match="'accuracy' has no slopes: it changes in steps"):
        level_semivalues(LogisticGame(*problem), LAWS["loo"])
    with pytest.raises(ValueError, match="utility must be one of 'log_likelihood', 'probability'"):
        shapley_level(X, y, X_valid, y_valid, utility="accuracy")
    with pytest.raises(NoValues, match="one class"):
        level_values(X, np.zeros_like(y), X_valid, y_valid, LAWS["shapley"], 8)
    with pytest.raises(ValueError, match="nodes must be a positive integer"):
        shapley_level(X, y, X_valid, y_valid, nodes=0)
