"""Confident learning: thresholds, the joint and the order of points, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.baselines.confident import (
    NONE,
    confident_classes,
    confident_joint,
    confident_learning,
    confident_ranks,
)
from nddv.baselines.out_of_fold import boosting, self_confidence
from nddv.evaluation.detection import f1_score, flag_lowest

SEED = 100


def rng_of(seed=SEED):
    return np.random.default_rng(seed)


def some_data(n=300, classes=3):
    """Clouds of points, each class around a place of its own; a tenth has a wrong label."""
    y = np.arange(n) % classes
    X = 4 * np.eye(classes, 4)[y] + rng_of().normal(size=(n, 4))
    wrong = np.zeros(n, dtype=bool)
    wrong[rng_of().choice(n, n // 10, replace=False)] = True
    return X, np.where(wrong, (y + 1) % classes, y), wrong


# Thresholds are the means of p_0 over label 0, (.9 + .3)/2 = .6, and of p_1 over label 1,
# (.8 + .7 + .45)/3 = .65.
PROBABILITIES = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.3, 0.7], [0.55, 0.45]])
LABELS = np.array([0, 0, 1, 1, 1])


def test_thresholds_by_hand():
    confident = confident_classes(PROBABILITIES, LABELS)
    np.testing.assert_array_equal(confident, [0, 1, 1, 1, NONE])
    np.testing.assert_array_equal(confident_joint(LABELS, confident, 2), [[1, 1], [0, 2]])


def test_labels_of_another_class_come_first_and_margins_order_both_groups():
    found = confident_ranks(PROBABILITIES, LABELS)
    # only point 1 is off the diagonal; the margin of point 4 is negative, but it is not confident
    np.testing.assert_allclose(found, [0.8, -0.4 - 2, 0.6, 0.4, -0.1], atol=1e-12)
    assert found.argsort().tolist() == [1, 4, 3, 2, 0]


def test_of_several_classes_above_their_thresholds_the_likeliest_counts():
    # thresholds .3, .3, .4: the last point reaches all three
    probabilities = np.array([[0.3, 0.3, 0.4], [0.3, 0.3, 0.4], [0.3, 0.3, 0.4], [0.3, 0.3, 0.4]])
    confident = confident_classes(probabilities, np.array([0, 1, 2, 2]))
    np.testing.assert_array_equal(confident, [2, 2, 2, 2])


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_against_the_definition_point_by_point(classes):
    rng = rng_of()
    labels = rng.permutation(np.arange(60) % classes)
    probabilities = rng.dirichlet(np.full(classes, 0.5), size=60)
    thresholds = [np.mean(probabilities[labels == c, c]) for c in range(classes)]
    expected = []
    for p, label in zip(probabilities, labels, strict=True):
        above = [c for c in range(classes) if p[c] >= thresholds[c]]
        likeliest = max(above, key=lambda c: p[c]) if above else label
        margin = p[label] - max(p[c] for c in range(classes) if c != label)
        expected.append(margin - 2 * (likeliest != label))
    found = confident_ranks(probabilities, labels)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (found < -1).any()
    assert (found > -1).any()


def test_nothing_is_confidently_of_a_class_that_no_model_knows():
    probabilities = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0], [0.8, 0.2, 0.0]])
    confident = confident_classes(probabilities, np.array([0, 1, 2, 0]))
    assert 2 not in confident
    assert confident[1] == 1


def test_the_probabilities_are_those_of_self_confidence():
    """With two classes, the margin is 2p − 1."""
    X, y, _ = some_data(n=120, classes=2)
    fits = boosting(X, y, rng_of(), max_iter=20)
    own, found = np.exp(self_confidence(fits).values), confident_learning(fits)
    margins = found.values + 2 * (found.values < -1)
    np.testing.assert_allclose(margins, 2 * own - 1, atol=1e-9)
    assert found.record["fits"] == 5
    assert np.sum(found.record["joint"]) <= 120
    assert np.array(found.record["joint"])[[0, 1], [1, 0]].sum() == (found.values < -1).sum()


@pytest.mark.parametrize("classes", [2, 3])
def test_wrong_labels_are_found(classes):
    X, y, wrong = some_data(classes=classes)
    values = confident_learning(boosting(X, y, rng_of(), max_iter=20)).values
    # by chance it is 0.1
    assert f1_score(flag_lowest(values, 30, rng_of()), wrong) > 0.7


def test_classes_may_have_any_numbers():
    X, y, _ = some_data(n=90)
    fits = (boosting(X, of, rng_of(), max_iter=5) for of in (y * 10 - 3, y))
    named, plain = map(confident_learning, fits)
    np.testing.assert_array_equal(named.values, plain.values)
    assert named.record == plain.record
