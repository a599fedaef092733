"""Data-OOB by hand, from its bootstrap samples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from nddv.baselines.oob import data_oob, data_oob_trees, logistic_predictions, out_of_bag_means
from nddv.values import NoValues

SEED = 100


def some_data(n=60, d=3, classes=2, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), np.linspace(-0.5, 0.5, classes - 1))
    return X, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("soft", [False, True])
def test_logistic_learners_by_hand(classes, soft):
    X, y = some_data(classes=classes)
    n, models = len(X), 25
    found = data_oob(X, y, np.random.default_rng(SEED), num_models=models, soft=soft)

    scores = [[] for _ in range(n)]
    for rows in np.random.default_rng(SEED).integers(n, size=(models, n)):
        model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X[rows], y[rows])
        probabilities = model.predict_proba(X)
        for i in set(range(n)) - set(rows):
            score = probabilities[i, y[i]] if soft else probabilities[i].argmax() == y[i]
            scores[i].append(float(score))
    np.testing.assert_allclose(found.values, [np.mean(one) for one in scores], atol=1e-3)
    expected = [np.std(one, ddof=1) / np.sqrt(len(one)) for one in scores]
    np.testing.assert_allclose(found.stderr, expected, atol=1e-3)


def test_trees_with_probabilities_are_the_forests_own_out_of_bag_prediction():
    X, y = some_data(classes=3)
    found = data_oob_trees(X, y, np.random.default_rng(SEED), num_models=200, soft=True)
    state = int(np.random.default_rng(SEED).integers(2**31))
    forest = RandomForestClassifier(200, oob_score=True, random_state=state).fit(X, y)
    expected = forest.oob_decision_function_[np.arange(len(y)), y]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_hits_of_trees_by_hand():
    X, y = some_data()
    y = y + 3  # any integers name the classes
    found = data_oob_trees(X, y, np.random.default_rng(SEED), num_models=50)
    state = int(np.random.default_rng(SEED).integers(2**31))
    forest = RandomForestClassifier(50, random_state=state).fit(X, y)
    hits = [[] for _ in y]
    for tree, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        predicted = forest.classes_[tree.predict(X).astype(int)]
        for i in set(range(len(y))) - set(sample):
            hits[i].append(predicted[i] == y[i])
    np.testing.assert_allclose(found.values, [np.mean(one) for one in hits], atol=1e-12)


def test_the_same_bootstrap_of_permuted_rows_gives_permuted_values():
    X, y = some_data()
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(60, np.full(60, 1 / 60), size=40)
    rows = rng.permutation(60)
    values, stderr = out_of_bag_means(logistic_predictions(X, y, counts, 1.0), y, soft=True)
    turned = logistic_predictions(X[rows], y[rows], counts[:, rows], 1.0)
    turned_values, turned_stderr = out_of_bag_means(turned, y[rows], soft=True)
    np.testing.assert_allclose(turned_values, values[rows], atol=1e-4)
    np.testing.assert_allclose(turned_stderr, stderr[rows], atol=1e-4)


def test_order_of_rows_changes_the_values_of_trees_only_by_chance():
    X, y = some_data()
    rows = np.random.default_rng(SEED).permutation(60)
    found = data_oob_trees(X, y, np.random.default_rng(101), num_models=300)
    turned = data_oob_trees(X[rows], y[rows], np.random.default_rng(102), num_models=300)
    spread = np.hypot(turned.stderr, found.stderr[rows]) + 1e-3
    assert np.abs((turned.values - found.values[rows]) / spread).max() < 5


@pytest.mark.parametrize("rule", [data_oob, data_oob_trees])
def test_standard_errors_are_calibrated(rule):
    X, y = some_data()
    seeds = map(np.random.default_rng, range(40))
    runs = [rule(X, y, rng, num_models=40, soft=True) for rng in seeds]
    spread = np.std([run.values for run in runs], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([run.stderr**2 for run in runs], axis=0))
    assert np.median(spread / np.maximum(claimed, 1e-12)) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("rule", [data_oob, data_oob_trees])
def test_a_wrong_label_is_seldom_predicted(rule):
    X, y = some_data()
    y[X[:, 0].argmax()] = 0
    values = rule(X, y, np.random.default_rng(SEED), num_models=100).values
    assert values[X[:, 0].argmax()] < 0.3
    assert values.mean() > 0.6


def test_data_oob_refuses_nonsense():
    X, y = some_data()
    rng = np.random.default_rng(SEED)
    with pytest.raises(ValueError, match="out of bag in fewer than two samples; draw more"):
        data_oob(X, y, rng, num_models=3)
    for rule in (data_oob, data_oob_trees):
        with pytest.raises(ValueError, match="num_models must be a positive integer"):
            rule(X, y, rng, num_models=0)
        with pytest.raises(NoValues, match="at least two classes"):
            rule(X, np.zeros(60, int), rng)


def test_single_precision_gives_nearly_the_same():
    X, y = some_data(classes=3)
    found = [
        data_oob(X, y, np.random.default_rng(SEED), num_models=40, soft=True, dtype=dtype).values
        for dtype in ("float64", "float32")
    ]
    assert (found[0] != found[1]).any()
    np.testing.assert_allclose(found[1], found[0], atol=1e-3)
