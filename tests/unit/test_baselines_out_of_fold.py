"""Controls for wrong labels: probabilities out of fold, and margins along training, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from torch import nn

from nddv.baselines.margins import area_under_margin, margins
from nddv.baselines.networks import perceptron
from nddv.baselines.out_of_fold import boosting as boosted_trees
from nddv.baselines.out_of_fold import (
    boosting_slow,
    logistic_out_of_fold,
    out_of_fold,
    self_confidence,
    stratified_folds,
)
from nddv.evaluation.detection import f1_score, flag_lowest
from nddv.values import NoValues

SEED = 100


def boosting(X, y, rng, **trees):
    return self_confidence(boosted_trees(X, y, rng, **trees))


OUT_OF_FOLD = [boosting, boosting_slow, logistic_out_of_fold]
LOWEST = np.log(np.finfo(np.float64).tiny)


def some_data(n=100, d=4, classes=2, seed=SEED):
    """Clouds of points, each class around a place of its own."""
    y = np.arange(n) % classes
    return 4 * np.eye(classes, d)[y] + np.random.default_rng(seed).normal(size=(n, d)), y


def rng_of(seed=SEED):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("rule", [*OUT_OF_FOLD, area_under_margin])
@pytest.mark.parametrize("classes", [2, 3])
def test_wrong_labels_are_found(rule, classes):
    X, y = some_data(n=300, classes=classes)
    wrong = np.zeros(300, dtype=bool)
    wrong[rng_of().choice(300, 30, replace=False)] = True
    values = rule(X, np.where(wrong, (y + 1) % classes, y), rng_of()).values
    # by chance it is 0.1
    assert f1_score(flag_lowest(values, 30, rng_of()), wrong) > 0.7


MODELS = {
    boosting: HistGradientBoostingClassifier,
    boosting_slow: lambda: HistGradientBoostingClassifier(
        learning_rate=0.05, max_leaf_nodes=8, max_iter=100, early_stopping=False
    ),
    logistic_out_of_fold: lambda: LogisticRegression(C=0.01, max_iter=1000),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", OUT_OF_FOLD)
def test_a_value_is_the_log_probability_by_a_model_of_the_other_folds(rule, classes):
    X, y = some_data(classes=classes)
    found = rule(X, y + 3, rng_of())  # any integers name the classes
    rng = rng_of()
    if rule is boosting:
        rng.integers(2**31)  # the state of its models comes first
    split = PredefinedSplit(stratified_folds(y, 5, rng))
    predicted = cross_val_predict(MODELS[rule](), X, y, cv=split, method="predict_proba")
    expected = np.log(predicted[np.arange(100), y])
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    assert found.record == {"fits": 5}


class Recorder:
    """A model that keeps the numbers of the points it was fitted to, and asked for."""

    def __init__(self, seen):
        self.seen = seen

    def fit(self, X, y):
        self.fitted, self.classes = set(X[:, 0]), len(np.unique(y))
        return self

    def predict_proba(self, X):
        self.seen.append((self.fitted, set(X[:, 0])))
        return np.full((len(X), self.classes), 1 / self.classes)


def test_no_model_sees_the_points_that_it_predicts():
    labels = np.arange(23) % 3
    numbers = np.arange(23.0)[:, None]
    seen = []
    out_of_fold(numbers, labels, stratified_folds(labels, 5, rng_of()), lambda _: Recorder(seen))
    assert len(seen) == 5
    for fitted, asked in seen:
        assert not fitted & asked
        assert fitted | asked == set(range(23))
    assert sorted(point for _, asked in seen for point in asked) == list(range(23))


def test_a_point_of_its_own_fold_does_not_change_its_value():
    """The label of a point decides which probability is read, and no model that is asked."""
    X, y = some_data()
    parts = stratified_folds(y, 5, rng_of())
    turned = y.copy()
    turned[7] = 1 - y[7]
    before, after = (
        out_of_fold(X, labels, parts, lambda _: LogisticRegression()) for labels in (y, turned)
    )
    own = parts == parts[7]
    np.testing.assert_array_equal(before[own], after[own])
    assert not np.array_equal(before[~own], after[~own])


@pytest.mark.parametrize("n", [23, 100, 101])
def test_folds_have_the_same_number_of_points_and_of_every_class(n):
    labels = np.sort(rng_of().integers(3, size=n))
    parts = stratified_folds(labels, 5, rng_of())
    for counted in (parts, *(parts[labels == label] for label in range(3))):
        assert np.ptp(np.bincount(counted, minlength=5)) <= 1
    other = stratified_folds(labels, 5, rng_of(SEED + 1))
    assert not np.array_equal(other, parts)


@pytest.mark.parametrize("rule", OUT_OF_FOLD)
def test_a_rare_class_costs_the_others_nothing(rule):
    X, y = some_data()
    y[:3] = 2  # fewer than folds
    y[3] = 5  # on its own: no model knows the class
    values = rule(X, y, rng_of()).values
    assert values[3] == LOWEST
    assert values.argmin() == 3
    assert np.isfinite(values).all()
    assert (values[:3] > LOWEST).all()  # of three points, each is known by the other two
    assert np.median(values[4:]) > np.log(0.5)


@pytest.mark.parametrize("rule", OUT_OF_FOLD)
def test_two_points_and_one_against_all(rule):
    # each of two points is predicted by a model of the other, which knows one class only
    found = rule(np.array([[0.0], [1.0]]), np.array([0, 1]), rng_of()).values
    np.testing.assert_array_equal(found, [LOWEST, LOWEST])
    y = np.zeros(12, dtype=int)
    y[4] = 1
    values = rule(np.arange(12.0)[:, None], y, rng_of(), folds=40).values
    assert values[4] == LOWEST
    assert (np.delete(values, 4) > np.log(0.5)).all()


def test_boosting_that_stops_early_bears_a_class_of_one_point():
    X, y = some_data(n=20_200, d=1)
    y[0] = 2
    values = boosting(X, y, rng_of(), folds=2, max_iter=2).values
    assert values[0] == LOWEST
    assert np.isfinite(values).all()


@pytest.mark.parametrize("rule", [*OUT_OF_FOLD, area_under_margin])
def test_the_same_seed_gives_the_same_bytes(rule):
    X, y = some_data(classes=3)
    first, again, other = (rule(X, y, rng_of(s)).values for s in (SEED, SEED, SEED + 1))
    assert first.tobytes() == again.tobytes()
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("rule", [*OUT_OF_FOLD, area_under_margin])
def test_single_precision_and_one_class(rule):
    X, y = some_data()
    values = rule(X.astype(np.float32), y, rng_of()).values
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, rule(X, y, rng_of()).values, atol=1e-3)
    with pytest.raises(NoValues, match="at least two classes"):
        rule(X, np.ones(100, dtype=int), rng_of())


def test_nonsense_is_refused():
    X, y = some_data()
    for rule in OUT_OF_FOLD:
        with pytest.raises(ValueError, match="folds must be an integer of at least 2"):
            rule(X, y, rng_of(), folds=1)
    with pytest.raises(ValueError, match="epochs must be a positive integer"):
        area_under_margin(X, y, rng_of(), epochs=0)


def test_margins_of_a_few_logits():
    logits = torch.tensor([[1.0, 4.0, 2.0], [1.0, 4.0, 2.0], [0.0, 0.0, -1.0]])
    labels = torch.tensor([1, 2, 0])
    assert margins(logits, labels).tolist() == [2.0, -2.0, 0.0]
    assert margins(logits[:, :2], torch.tensor([0, 1, 0])).tolist() == [-3.0, 3.0, 0.0]


@pytest.mark.parametrize("classes", [2, 4])
def test_aum_by_a_plain_loop(classes):
    X, y = some_data(n=20, d=3, classes=classes)
    epochs, size, rate = 3, 8, 0.1
    given = {"hidden": 5, "epochs": epochs, "batch_size": size, "learning_rate": rate}
    found = area_under_margin(X, y - 2, rng_of(), **given).values

    rng = rng_of()
    model = perceptron([3, 5, 5, classes], rng)
    velocities = [torch.zeros_like(p) for p in model.parameters()]
    seen = [[] for _ in y]
    for _ in range(epochs):
        order = rng.permutation(20)
        for start in range(0, 20, size):
            batch = order[start : start + size]
            logits = model(torch.as_tensor(X[batch], dtype=torch.float32))
            for i, row in zip(batch, logits.tolist(), strict=True):
                seen[i].append(row[y[i]] - max(row[: y[i]] + row[y[i] + 1 :]))
            loss = nn.functional.cross_entropy(logits, torch.as_tensor(y[batch]))
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for p, v, g in zip(model.parameters(), velocities, gradients, strict=True):
                    v.mul_(0.9).add_(g)
                    p.sub_(rate * v)
    assert all(len(one) == epochs for one in seen)
    np.testing.assert_allclose(found, [np.mean(one) for one in seen], atol=1e-5)


def test_aum_does_not_depend_on_the_order_of_points():
    """The same network and batches, by another order of rows."""

    class Turned:
        """A generator whose permutations are those of another, as rows in another order."""

        def __init__(self, places):
            self.rng, self.places = rng_of(), places

        def integers(self, *bounds):
            return self.rng.integers(*bounds)

        def permutation(self, n):
            return self.places[self.rng.permutation(n)]

    X, y = some_data(classes=3)
    order = rng_of(SEED + 1).permutation(100)
    turned = area_under_margin(X[order], y[order], Turned(np.argsort(order))).values
    np.testing.assert_allclose(turned, area_under_margin(X, y, rng_of()).values[order], atol=1e-6)
