"""The game of the logistic regression, against fits one by one."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import make_problem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss

from nddv.baselines.leave_one_out import leave_one_out
from nddv.coalitions import FLOOR, LogisticGame, logistic, walk_prefixes
from nddv.support.settings import UTILITIES


def refit(problem, weights, utility, C=1.0):
    """Utility of one coalition of several classes, by scikit-learn."""
    X, y, X_valid, y_valid, n_classes = problem
    held = weights > 0
    model = LogisticRegression(C=C, tol=1e-10, max_iter=10_000)
    model.fit(X[held], y[held], sample_weight=weights[held])
    if utility == "accuracy":
        return accuracy_score(y_valid, model.predict(X_valid))
    assert len(model.classes_) == n_classes
    probabilities = model.predict_proba(X_valid)
    if utility == "probability":
        return probabilities[np.arange(len(y_valid)), y_valid].mean()
    return -log_loss(y_valid, probabilities)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("utility", UTILITIES)
def test_utilities_are_those_of_refits(utility, n_classes):
    problem = make_problem(n_classes=n_classes)
    weights = np.random.default_rng(101).integers(0, 3, size=(10, 40))
    game = LogisticGame(*problem, C=2.0, utility=utility)
    expected = [refit(problem, weight, utility, C=2.0) for weight in weights]
    np.testing.assert_allclose(game.utilities(weights), expected, atol=1e-5)


def test_empty_and_single_class_coalitions():
    _, y, _, y_valid, _ = problem = make_problem(n_classes=3)
    weights = np.stack([np.zeros(40), y == 1])
    share = np.bincount(y, minlength=3) / 40
    accuracy = LogisticGame(*problem).utilities(weights)
    np.testing.assert_allclose(
        accuracy, [np.mean(y_valid == share.argmax()), np.mean(y_valid == 1)]
    )
    ones = np.sum(y == 1)
    smoothed = np.where(y_valid == 1, (ones + 1) / (ones + 3), 1 / (ones + 3))
    likelihood = LogisticGame(*problem, utility="log_likelihood").utilities(weights)
    np.testing.assert_allclose(
        likelihood, [np.log(share[y_valid]).mean(), np.log(smoothed).mean()], rtol=1e-12
    )
    probability = LogisticGame(*problem, utility="probability").utilities(weights)
    np.testing.assert_allclose(probability, [share[y_valid].mean(), smoothed.mean()], rtol=1e-12)


def test_absent_class_has_the_floor():
    X, y, X_valid, y_valid, _ = problem = make_problem(n_classes=3)
    held = y != 2
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X[held], y[held])
    known = y_valid != 2
    found = model.predict_proba(X_valid[known])[np.arange(known.sum()), y_valid[known]]
    expected = (np.log(found).sum() + np.log(FLOOR) * np.sum(~known)) / len(y_valid)
    game = LogisticGame(*problem, utility="log_likelihood")
    assert game.utilities(held[None])[0] == pytest.approx(expected, abs=1e-6)
    game = LogisticGame(*problem, utility="probability")
    assert game.utilities(held[None])[0] == pytest.approx(found.sum() / len(y_valid), abs=1e-6)


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize(("n", "d", "n_classes"), [(20, 3, 2), (20, 3, 3), (20, 30, 2)])
def test_leave_one_out_is_a_refit_without_the_point(n, d, n_classes, utility):
    problem = make_problem(n, d, n_classes, m=50)
    expected = [refit(problem, weights, utility) for weights in 1 - np.eye(n)]
    found = LogisticGame(*problem, utility=utility).utilities(~np.eye(n, dtype=bool))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tolerance", [0.0, 0.05])
@pytest.mark.parametrize("stride", [1, 7, 128])
def test_walk_is_that_of_any_game(monkeypatch, stride, tolerance, n_classes):
    monkeypatch.setattr(logistic, "STRIDE", stride)
    game = LogisticGame(*make_problem(n_classes=n_classes), utility="log_likelihood")
    rng = np.random.default_rng(102)
    orders = np.array([rng.permutation(40) for _ in range(4)])
    walks, evaluated = game.walk(orders, tolerance)
    expected, expected_evaluated = walk_prefixes(game.utilities, orders, tolerance)
    np.testing.assert_allclose(walks, expected, atol=1e-4)
    np.testing.assert_array_equal(evaluated, expected_evaluated)
    assert (evaluated < 40).any() == (tolerance > 0)


def test_truncated_walks_fit_less(monkeypatch):
    monkeypatch.setattr(logistic, "STRIDE", 4)
    game = LogisticGame(*make_problem())
    fitted = []
    scores = game._scores
    monkeypatch.setattr(game, "_scores", lambda fits: fitted.append(len(fits)) or scores(fits))
    _, evaluated = game.walk(np.array([np.random.default_rng(103).permutation(40)]), tolerance=0.2)
    assert evaluated[0] < 30
    assert evaluated[0] <= sum(fitted) - 2 < evaluated[0] + 4  # 2: no point, and all points


def test_finite_on_awkward_data():
    X, y, X_valid, y_valid, _ = make_problem(n=60, d=80, n_classes=3)
    X[:, 0], X_valid[:, 0] = 5.0, 5.0
    X[30:] = X[:30]
    y[y == 2] = 0
    y[[3, 33]] = 2
    for utility in UTILITIES:
        game = LogisticGame(X, y, X_valid, y_valid, 3, C=10.0, utility=utility)
        orders = np.array([np.random.default_rng(104).permutation(60)])
        assert np.isfinite(game.walk(orders)[0]).all()
        assert np.isfinite(leave_one_out(game).values).all()


def test_ten_thousand_points():
    game = LogisticGame(*make_problem(n=10_000, d=4), utility="log_likelihood")
    rng = np.random.default_rng(105)
    assert np.isfinite(game.utilities(rng.random((10, 10_000)) < 0.5)).all()
    walks, evaluated = game.walk(rng.permutation(10_000)[None], tolerance=0.05)
    assert np.isfinite(walks).all()
    assert 0 < evaluated[0] < 10_000


def test_fits_that_do_not_converge_are_reported_and_not_stored(monkeypatch, tmp_path):
    from nddv.coalitions import solver

    coalitions = np.random.default_rng(106).random((5, 40)) < 0.2
    right = LogisticGame(*make_problem(), utility="log_likelihood").utilities(coalitions)
    for steps in (1, solver.MAX_STEPS):
        game = LogisticGame(*make_problem(), utility="log_likelihood", cache=tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(solver, "MAX_STEPS", steps)
            if steps == 1:
                with pytest.warns(UserWarning, match="did not converge"):
                    game.utilities(coalitions)
            else:
                np.testing.assert_allclose(game.utilities(coalitions), right, atol=1e-6)


def test_errors_say_what_is_wrong():
    X, y, X_valid, y_valid, _ = problem = make_problem()
    with pytest.raises(ValueError, match="unknown utility 'f1'; known: accuracy, log_likelihood"):
        LogisticGame(*problem, utility="f1")
    with pytest.raises(ValueError, match="the validation points have 2 features"):
        LogisticGame(X, y, X_valid[:, :2], y_valid, 2)
    with pytest.raises(ValueError, match="validation points have class 5"):
        LogisticGame(X, y, X_valid, y_valid + 5 * (y_valid == 1) - (y_valid == 1), 2)
