"""CS-Shapley against enumeration, against pyDVL, and against what it must satisfy."""

from __future__ import annotations

from itertools import permutations, product

import drawn
import numpy as np
import pytest

from nddv.baselines.class_wise import (
    class_contributions,
    class_wise_shapley,
    draw_others,
    logistic_class_accuracies,
)
from nddv.values import NoValues

SEED = 100

# Seven points of three classes, twelve validation points, and the values that pyDVL 0.10.0 gives
# them: ClasswiseShapleyValuation with DeterministicPermutationSampler in the class,
# DeterministicUniformSampler outside of it, and scikit-learn's LogisticRegression(C=10).
X = np.array([[-0.9, 0.2], [0.6, 0.4], [-0.8, 0.9], [2.1, 0.6], [2.1, 0.9], [1.8, 1.0], [0.0, 2.9]])
Y = np.array([0, 0, 0, 1, 1, 2, 2])
X_VALID = np.column_stack(
    [
        [-1.1, -0.6, 0.4, -0.8, -0.2, 2.7, 2.9, 1.7, 1.5, 0.3, 0.2, -0.7],
        [0.3, 0.0, -1.5, -1.1, -0.6, -0.5, -0.3, 0.0, -0.9, 1.8, 2.0, 1.3],
    ]
)
Y_VALID = np.repeat([0, 1, 2], [5, 4, 3])
PYDVL = np.array(
    [
        0.2185485879,
        0.2162264900,
        0.1996660768,
        0.3142767041,
        0.2483584544,
        0.1498709061,
        0.1949021454,
    ]
)
PYDVL_NORMALISED = np.array(
    [
        0.1435309027,
        0.1420058742,
        0.1311298898,
        0.1861933080,
        0.1471400253,
        0.0724490625,
        0.0942176042,
    ]
)


@pytest.fixture(scope="module")
def logistic():
    """Class accuracies of logistic regression on the seven points, looked up in a table."""
    coalitions = (np.arange(2**7)[:, None] >> np.arange(7)) % 2 == 1
    table = logistic_class_accuracies(X, Y, X_VALID, Y_VALID, 3, C=10.0)(coalitions)
    return lambda members: table[members @ (1 << np.arange(7))]


def every_sample(y, label):
    """All sets of other points with some of each class, with all orders of the class."""
    others = np.flatnonzero(y != label)
    sets = np.zeros((2 ** len(others), len(y)), dtype=bool)
    sets[:, others] = list(product([False, True], repeat=len(others)))
    complete = np.all([sets[:, y == k].any(axis=1) for k in np.unique(y[others])], axis=0)
    orders = np.array(list(permutations(range(np.sum(y == label)))))
    sets = sets[complete]
    return np.repeat(sets, len(orders), axis=0), np.tile(orders, (len(sets), 1))


def exact_values(class_accuracies, y):
    values = np.empty(len(y))
    for label in np.unique(y):
        samples = class_contributions(class_accuracies, y, label, *every_sample(y, label))
        values[y == label] = samples.mean(axis=0)
    return values


def test_mean_over_all_samples_is_that_of_pydvl(logistic):
    np.testing.assert_allclose(exact_values(logistic, Y), PYDVL, atol=1e-9)


def test_single_precision_gives_the_same_values(logistic):
    coalitions = (np.arange(2**7)[:, None] >> np.arange(7)) % 2 == 1
    single = logistic_class_accuracies(X, Y, X_VALID, Y_VALID, 3, C=10.0, dtype="float32")
    np.testing.assert_array_equal(single(coalitions), logistic(coalitions))
    with pytest.raises(
        ValueError, match="dtype must be one of 'float32', 'float64', got 'float16'"
    ):
        logistic_class_accuracies(X, Y, X_VALID, Y_VALID, 3, dtype="float16")


def test_contributions_do_not_depend_on_chunks(logistic, monkeypatch):
    whole = exact_values(logistic, Y)
    monkeypatch.setattr("nddv.baselines.class_wise.CHUNK_ELEMENTS", 35)
    np.testing.assert_array_equal(exact_values(logistic, Y), whole)


def test_samples_estimate_the_mean_over_all(logistic):
    rng = np.random.default_rng(SEED)
    values = class_wise_shapley(logistic, Y, rng, num_samples=2000, normalise=False)
    assert (np.abs(values.values - PYDVL) < 4 * values.stderr).all()
    normalised = class_wise_shapley(logistic, Y, rng, num_samples=2000)
    np.testing.assert_allclose(normalised.values, PYDVL_NORMALISED, atol=0.01)


def test_standard_errors_are_calibrated(logistic):
    rng = np.random.default_rng(SEED)
    runs = [
        class_wise_shapley(logistic, Y, rng, num_samples=3, normalise=False) for _ in range(800)
    ]
    spread = np.std([run.values for run in runs], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([run.stderr**2 for run in runs], axis=0))
    np.testing.assert_allclose(claimed / spread, 1.0, atol=0.12)


def test_normalised_values_of_a_class_sum_to_its_accuracy(logistic):
    values, before = (
        class_wise_shapley(
            logistic, Y, np.random.default_rng(SEED), num_samples=3, normalise=normalise
        )
        for normalise in (True, False)
    )
    np.testing.assert_allclose(values.stderr * before.values, before.stderr * values.values)
    accuracy = logistic(np.ones((1, 7), dtype=bool))[0]
    np.testing.assert_allclose(np.bincount(Y, weights=values.values), accuracy, atol=1e-12)
    assert len(set(accuracy)) == 3


def test_points_join_the_others_one_by_one():
    """Utilities along one walk, written out: two points of class 1 join the second of class 0."""
    y = np.array([0, 1, 0, 1])
    accuracy = {
        (2,): (0.5, 0.0),
        (2, 3): (0.25, 0.25),
        (1, 2, 3): (0.25, 0.5),
    }

    def class_accuracies(members):
        return np.array([accuracy[tuple(np.flatnonzero(row))] for row in members])

    others = np.array([[False, False, True, False]])
    found = class_contributions(class_accuracies, y, 1, others, np.array([[1, 0]]))
    expected = [0.25 * np.exp(0.25), 0.25 * np.exp(0.25)]
    np.testing.assert_allclose(found, [expected])


def test_other_points_are_drawn_uniformly_with_some_of_each_class():
    y = np.array([0, 0, 1, 1, 2])
    members = draw_others(y, 0, 6000, np.random.default_rng(SEED))
    assert not members[:, :2].any()
    assert members[:, 4].all()
    _, counts = np.unique(members[:, 2:4], axis=0, return_counts=True)
    np.testing.assert_allclose(counts / 6000, 1 / 3, atol=0.03)
    assert len(counts) == 3


def test_relabelled_points_have_relabelled_values(logistic):
    order = np.random.default_rng(SEED).permutation(7)
    inverse = np.argsort(order)
    values = exact_values(lambda members: logistic(members[:, inverse]), Y[order])
    np.testing.assert_allclose(values, PYDVL[order], atol=1e-9)


def test_classes_of_one_and_two_points_and_a_class_without_validation_points():
    rng = np.random.default_rng(SEED)
    y = np.array([0] * 10 + [1] * 2 + [2])
    X, X_valid = rng.normal(size=(13, 20)), rng.normal(size=(9, 20))
    y_valid = np.array([0, 1] * 4 + [0])
    accuracies = logistic_class_accuracies(X, y, X_valid, y_valid, 3)
    values = class_wise_shapley(accuracies, y, rng, num_samples=10)
    assert np.isfinite(values.stderr).all()
    assert values.values[12] == 0.0
    assert values.values[:12].any()


def test_many_points():
    rng = np.random.default_rng(SEED)
    y = np.repeat([0, 1], 5000)

    def class_accuracies(members):
        own = members[:, :5000].mean(axis=1)
        return np.column_stack([own, 0.5 * (1 - own)])

    values = class_wise_shapley(class_accuracies, y, rng, num_samples=2)
    assert np.isfinite(values.values).all()
    assert values.values[:5000].sum() == pytest.approx(1.0)


def test_what_cannot_be_estimated_is_refused(logistic):
    rng = np.random.default_rng(SEED)
    with pytest.raises(NoValues, match="at least two classes"):
        class_wise_shapley(logistic, np.zeros(7, dtype=int), rng)
    with pytest.raises(ValueError, match="num_samples must be an integer of at least 2"):
        class_wise_shapley(logistic, Y, rng, num_samples=1)


def test_predicted_walks_are_nearly_those_of_fits():
    X_train, y, X_valid, y_valid, classes = drawn.make_problem(60, 4, 3, m=150)
    points = X_train, y, X_valid, y_valid, classes
    fitted = logistic_class_accuracies(*points)
    predicted = logistic_class_accuracies(*points, step=0.15)
    members = np.random.default_rng(SEED).random((5, 60)) < 0.5
    np.testing.assert_array_equal(predicted(members), fitted(members))
    values = [
        class_wise_shapley(of, y, np.random.default_rng(SEED), num_samples=30).values
        for of in (fitted, predicted)
    ]
    assert np.corrcoef(*values)[0, 1] > 0.9
    for label in range(classes):  # what a class is worth is fitted
        assert values[1][y == label].sum() == pytest.approx(values[0][y == label].sum(), abs=1e-6)
