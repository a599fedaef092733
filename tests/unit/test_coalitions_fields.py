"""Fields that stand for coalitions of a share: marginals by fits, weights, and semi-values."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import make_problem
from sklearn.linear_model import LogisticRegression

from nddv.coalitions import LogisticGame, fields
from nddv.coalitions.design import Design
from nddv.coalitions.fields import Field, field_marginals
from nddv.coalitions.levels import level_derivatives, level_semivalues
from nddv.laws import LAWS


def utility(problem, weights, C=1.0):
    """Mean probability of the true label, by scikit-learn; an absent class has none."""
    X, y, X_valid, y_valid, n_classes = problem
    model = LogisticRegression(C=C, tol=1e-12, max_iter=100_000)
    model.fit(X, y, sample_weight=weights)
    probabilities = np.zeros((len(y_valid), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(X_valid)
    return probabilities[np.arange(len(y_valid)), y_valid].mean()


def field_at(game, weights):
    design = Design.of(game)
    return Field.at(design, design.models(game.engine.fit(weights[None]))[0], weights)


@pytest.mark.parametrize("shape", [(60, 3, 2), (60, 3, 4), (30, 40, 2), (30, 40, 3)])
@pytest.mark.parametrize("together", [2**22, 500])
def test_marginals_are_those_of_fits_with_and_without_the_point(monkeypatch, shape, together):
    monkeypatch.setattr(fields, "NUMBERS_TOGETHER", together)
    problem, rng = make_problem(*shape), np.random.default_rng(101)
    game = LogisticGame(*problem, C=0.3, utility="probability")
    weights = rng.uniform(0.3, 0.9, size=game.n)
    found = field_at(game, weights).marginals("probability")
    expected = []
    for i in range(game.n):
        own = np.arange(game.n) == i
        ends = [np.where(own, end, weights) for end in (1.0, 0.0)]
        expected.append(utility(problem, ends[0], 0.3) - utility(problem, ends[1], 0.3))
    away = np.abs(found - expected)
    assert np.median(away) < 0.03 * np.std(expected)
    assert np.corrcoef(found, expected)[0, 1] > 0.995


@pytest.mark.parametrize("name", ["probability", "log_likelihood"])
def test_short_changes_are_expanded(monkeypatch, name):
    game = LogisticGame(*make_problem(n=400), utility=name)
    field = field_at(game, np.full(400, 0.7))
    found = field.marginals(name)
    monkeypatch.setattr(fields, "SHORT", 0.0)
    exact = field.marginals(name)
    assert not np.array_equal(found, exact)
    np.testing.assert_allclose(found, exact, atol=2e-3 * exact.std())


def test_a_class_that_training_lacks_counts_as_never_right():
    X, y, X_valid, y_valid, _ = make_problem(n=60, n_classes=4)
    problem = X, np.where(y == 3, 0, y), X_valid, y_valid, 4
    weights = np.full(60, 0.5)
    found = field_at(LogisticGame(*problem), weights).marginals("probability")
    own = np.arange(60) == 7
    ends = [utility(problem, np.where(own, end, weights)) for end in (1.0, 0.0)]
    assert found[7] == pytest.approx(ends[0] - ends[1], rel=0.05)


def test_balanced_weights_are_a_fixed_point_of_the_leverages():
    """w = t/(1 + (1 − t) h) with the leverage h without the point, where curvature hardly moves."""
    problem, level = make_problem(n=80, d=6), 0.3
    game = LogisticGame(*problem, C=0.02, utility="probability")  # nearly quadratic losses
    weights = np.full(80, level)
    for _ in range(20):
        field = field_at(game, weights)
        weights = field.balanced(level)
    X = field.design.X.numpy()
    P = field.model.probabilities(field.design.X)[0].numpy()
    own = 0.02 * P * (1 - P) * np.einsum("np,pq,nq->n", X, field.inverse.numpy(), X)
    h = own / (1 - weights * own)
    np.testing.assert_allclose(weights, level / (1 + (1 - level) * h), rtol=0.03)
    assert weights.min() < 0.99 * level
    np.testing.assert_allclose(field_at(game, np.ones(80)).balanced(1.0), 1.0)


def test_a_mean_over_coalitions_of_least_squares_has_the_weights_of_the_field():
    """The deterministic equivalent: E[Σ_A of x xᵀ in ridge regression]⁻¹, by many coalitions."""
    rng, n, d, t = np.random.default_rng(100), 60, 20, 0.3
    X = rng.standard_normal((n, d)) * np.exp(rng.normal(size=(n, 1)))
    drawn = rng.random((4000, n)) < t
    inverses = [np.linalg.inv(np.eye(d) + X[a].T @ X[a]) for a in drawn]
    weights = np.full(n, t)
    for _ in range(100):
        G = np.einsum("np,pq,nq->n", X, np.linalg.inv(np.eye(d) + X.T @ (weights[:, None] * X)), X)
        weights = t / (1 + (1 - t) * G / (1 - weights * G))
    field = np.trace(np.linalg.inv(np.eye(d) + X.T @ (weights[:, None] * X)))
    level = np.trace(np.linalg.inv(np.eye(d) + t * X.T @ X))
    mean = np.mean([np.trace(inverse) for inverse in inverses])
    assert abs(field - mean) < 0.2 * abs(level - mean)


@pytest.mark.parametrize("name", ["shapley", "banzhaf"])
def test_fields_are_nearer_to_semivalues_than_derivatives(name):
    """Where points have leverage: few points for the features, and some far away."""
    X, y, *rest = make_problem(n=60, d=12, m=200)
    X[::6] *= 4
    game, law = LogisticGame(X, y, *rest, utility="probability"), LAWS[name]
    rng = np.random.default_rng(100)
    sizes = rng.choice(61, size=400, p=law.sizes(60))
    members = rng.random((400, 60)).argsort(axis=1).argsort(axis=1) < sizes[:, None]
    flipped = members[:, None] ^ np.eye(60, dtype=bool)
    gained = game.utilities(flipped.reshape(-1, 60)).reshape(400, 60)
    values = (np.where(members, -1, 1) * (gained - game.utilities(members)[:, None])).mean(axis=0)
    t, weights = law.levels(60)
    found = {
        "field": weights @ field_marginals(game, t),
        "derivative": weights @ level_derivatives(game, t),
    }
    away = {k: 1 - np.corrcoef(v, values)[0, 1] for k, v in found.items()}
    assert away["field"] < 0.7 * away["derivative"]
    assert away["field"] < 0.06


def test_large_fits_take_derivatives(monkeypatch):
    game = LogisticGame(*make_problem(), utility="probability")
    slope = level_derivatives(game, np.array([0.5]))[0]
    assert not np.allclose(level_semivalues(game, LAWS["banzhaf"]), slope, rtol=1e-3)
    monkeypatch.setattr(fields, "LARGEST", 3)
    np.testing.assert_allclose(level_semivalues(game, LAWS["banzhaf"]), slope)
    monkeypatch.undo()
    influence = level_derivatives(game, np.array([1.0]))[0]
    np.testing.assert_allclose(level_semivalues(game, LAWS["loo"]), influence)
