"""What fits predict, against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss

from nddv.coalitions import FLOOR, Fits, fit_coalitions, predict_proba_many
from nddv.coalitions.predict import _chunks, scores


@pytest.fixture(params=[2, 3])
def case(request):
    n_classes = request.param
    rng = np.random.default_rng(100)
    X, y = rng.standard_normal((80, 4)), rng.integers(n_classes, size=80)
    weights = rng.random((9, 50)) < 0.5
    models = [
        LogisticRegression(tol=1e-10, max_iter=5000).fit(X[:50][w], y[:50][w]) for w in weights
    ]
    return fit_coalitions(X[:50], y[:50], weights, n_classes), models, X[50:], y[50:]


@pytest.mark.parametrize("memory_mb", [256.0, 0.005])
def test_probabilities_are_those_of_scikit_learn(case, memory_mb):
    fits, models, X, _ = case
    seen = []
    for rows, probabilities in predict_proba_many(fits, X, memory_mb=memory_mb):
        for b, found in zip(range(*rows.indices(len(fits))), probabilities, strict=True):
            np.testing.assert_allclose(found, models[b].predict_proba(X), atol=1e-5)
            seen.append(b)
    assert seen == list(range(len(fits)))


@pytest.mark.parametrize("memory_mb", [256.0, 0.005])
def test_scores_are_those_of_scikit_learn(case, memory_mb):
    fits, models, X, y = case
    expected = [
        (
            accuracy_score(y, model.predict(X)),
            -log_loss(y, model.predict_proba(X)),
            model.predict_proba(X)[np.arange(len(y)), y].mean(),
        )
        for model in models
    ]
    np.testing.assert_allclose(scores(fits, X, y, memory_mb=memory_mb), expected, atol=1e-5)


def constant_fits(intercepts):
    intercepts = np.atleast_2d(np.asarray(intercepts, dtype=float))
    count, logits = intercepts.shape
    return Fits(
        np.zeros((count, logits, 1)), intercepts, np.ones(count, bool), np.zeros(count, int)
    )


def test_a_tie_goes_to_the_first_class():
    X, y = np.zeros((4, 1)), np.array([0, 0, 0, 1])
    assert scores(constant_fits([0.0]), X, y)[0, 0] == 0.75
    assert scores(constant_fits([0.0, 0.0, 0.0]), X, y)[0, 0] == 0.75


def test_an_absent_class_costs_the_floor():
    X, y = np.zeros((2, 1)), np.array([0, 2])
    ((_, probabilities),) = predict_proba_many(constant_fits([0.0, 0.0, -np.inf]), X)
    np.testing.assert_allclose(probabilities[0], [[0.5, 0.5, 0.0]] * 2)
    accuracy, likelihood, probability = scores(constant_fits([0.0, 0.0, -np.inf]), X, y)[0]
    assert accuracy == 0.5
    assert probability == pytest.approx(0.25)
    assert likelihood == pytest.approx((np.log(0.5) + np.log(FLOOR)) / 2)
    assert scores(constant_fits([100.0]), X[:1], y[:1])[0, 1] == pytest.approx(np.log(FLOOR))


@pytest.mark.parametrize("logits", [1, 3])
def test_as_many_fits_at_a_time_as_the_memory_holds(logits):
    fits = constant_fits(np.zeros((10, logits)))
    each = 3 * 8 * max(2, logits) * 50  # three arrays of numbers for 50 points
    pieces = list(_chunks(fits, 50, 4.5 * each / 2**20))
    assert [piece.stop - piece.start for piece in pieces] == [4, 4, 2]
