"""KAIROS: against a finite difference of its distance, and against loops over points."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.baselines import discrepancy
from nddv.baselines.discrepancy import bandwidth, conditional_means, kairos
from nddv.evaluation.detection import f1_score, flag_lowest
from nddv.values import NoValues

SEED = 100


def some_data(n=30, m=12, d=3, classes=3, seed=SEED):
    rng = np.random.default_rng(seed)
    y, y_valid = np.arange(n) % classes, np.arange(m) % classes
    return (
        3 * np.eye(classes, d)[y] + rng.normal(size=(n, d)),
        y,
        3 * np.eye(classes, d)[y_valid] + rng.normal(size=(m, d)),
        y_valid,
    )


def kernel(a, b, width):
    return np.exp(-np.sum((a - b) ** 2) / (2 * width**2))


def distance(weights, X, y, X_valid, y_valid, width, label_weight, ridge):
    """MMD² of weighted training points, and the mean squared residual of labels: by loops."""
    n, m = len(X), len(X_valid)
    train = sum(
        weights[i] * weights[j] * kernel(X[i], X[j], width) for i in range(n) for j in range(n)
    )
    both = sum(weights[i] * kernel(X[i], v, width) / m for i in range(n) for v in X_valid)
    valid = sum(kernel(u, v, width) for u in X_valid for v in X_valid) / m**2
    unit = np.eye(3)
    among = np.array([[kernel(u, v, width) for v in X_valid] for u in X_valid])
    inverse = np.linalg.inv(among + ridge * m * np.eye(m))
    residuals = []
    for i in range(n):
        own = np.array([kernel(X[i], v, width) for v in X_valid])
        residuals.append(np.sum((unit[y[i]] - own @ inverse @ unit[y_valid]) ** 2))
    return train - 2 * both + valid + label_weight * np.dot(weights, residuals)


@pytest.mark.parametrize("label_weight", [0.0, 1.0, 2.5])
def test_a_value_is_the_directional_derivative_of_the_distance(label_weight):
    data = some_data()
    found = kairos(*data, label_weight=label_weight, ridge=0.1).values
    width = bandwidth(data[0], data[2])
    n, step = len(data[0]), 1e-5
    uniform = np.full(n, 1 / n)
    for i in (0, 7, 29):
        towards = np.eye(n)[i] - uniform
        ends = [
            distance(uniform + sign * step * towards, *data, width, label_weight, 0.1)
            for sign in (1, -1)
        ]
        assert found[i] == pytest.approx(-(ends[0] - ends[1]) / (2 * step), abs=1e-8)


def test_a_small_step_of_weight_up_the_values_lowers_the_distance():
    data = some_data()
    values = kairos(*data, ridge=0.1).values
    width = bandwidth(data[0], data[2])
    uniform = np.full(30, 1 / 30)
    weights = uniform * (1 + 0.01 * values / np.abs(values).max())
    before, after = (distance(w / w.sum(), *data, width, 1.0, 0.1) for w in (uniform, weights))
    assert after < before


def test_the_bandwidth_is_the_median_of_medians():
    X, _, X_valid, _ = some_data()
    distances = np.linalg.norm(X[:, None] - X_valid, axis=2)
    expected = np.sqrt(np.median(np.median(distances**2, axis=1)))
    assert bandwidth(X, X_valid) == pytest.approx(expected)


def test_points_in_one_place_have_a_bandwidth():
    place = np.full((5, 3), 0.1)
    assert bandwidth(place, place) == 1.0


def test_the_conditional_mean_of_far_places_is_the_share_of_labels():
    """Where validation points have the same place, the embedding is their shares, shrunk."""
    targets = np.array([[0.0], [0.0], [0.0], [100.0]])
    labels = np.eye(2)[[0, 0, 1, 1]]
    found = conditional_means(np.array([[0.0], [100.0], [50.0]]), targets, labels, 1.0, 0.01)
    # three equal points: sum/(3 + 0.01·4); one on its own: 1/(1 + 0.01·4); far from all: nothing
    np.testing.assert_allclose(found, [[2 / 3.04, 1 / 3.04], [0, 1 / 1.04], [0, 0]], atol=1e-12)


def test_blocks_do_not_change_the_values(monkeypatch):
    data = some_data()
    whole = kairos(*data).values
    monkeypatch.setattr(discrepancy, "CHUNK_ELEMENTS", 50)
    np.testing.assert_allclose(kairos(*data).values, whole, atol=1e-12)


def test_values_sum_to_zero_and_do_not_depend_on_the_place_of_the_origin():
    X, y, X_valid, y_valid = some_data()
    found = kairos(X, y, X_valid, y_valid).values
    assert found.sum() == pytest.approx(0, abs=1e-12)
    moved = kairos(X + 5, y, X_valid + 5, y_valid).values
    np.testing.assert_allclose(moved, found, atol=1e-9)
    scaled = kairos(X * 8, y, X_valid * 8, y_valid).values
    np.testing.assert_allclose(scaled, found, atol=1e-9)


def test_wrong_labels_and_strange_features_are_low():
    X, y, X_valid, y_valid = some_data(n=200, m=60)
    wrong = np.zeros(200, dtype=bool)
    wrong[np.random.default_rng(SEED).choice(200, 20, replace=False)] = True
    values = kairos(X, np.where(wrong, (y + 1) % 3, y), X_valid, y_valid).values
    rng = np.random.default_rng(SEED)
    assert f1_score(flag_lowest(values, 20, rng), wrong) > 0.7
    # twenty points that crowd where no validation point is
    crowd = np.where(wrong[:, None], -6.0, X)
    values = kairos(crowd, y, X_valid, y_valid, label_weight=0.0).values
    assert f1_score(flag_lowest(values, 20, rng), wrong) == 1.0


def test_without_validation_points_there_are_no_values():
    X, y, X_valid, y_valid = some_data()
    with pytest.raises(NoValues, match="training and validation points, got 30 and 0"):
        kairos(X, y, X_valid[:0], y_valid[:0])
