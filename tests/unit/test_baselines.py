"""Baselines against brute force and against what they must satisfy."""

from __future__ import annotations

from itertools import combinations, permutations
from math import factorial

import numpy as np
import pytest

from nddv.baselines.chance import random_values
from nddv.baselines.loss import small_loss
from nddv.baselines.neighbours import knn_shapley
from nddv.values import NoValues


def brute_force_shapley(n, utility):
    """Shapley values of a game on n players by enumerating every coalition."""
    values = np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for coalition in combinations(others, size):
                values[i] += weight * (utility({*coalition, i}) - utility(set(coalition)))
    return values


def knn_utility(distance, match, k):
    """The KNN utility at one validation point with the tied points in a random order.

    The nearest points that are certain count fully; of a tied group that does not fit, each member
    is drawn with the same probability.
    """

    def utility(coalition):
        total, room = 0.0, k
        for value in sorted({distance[i] for i in coalition}):
            group = [i for i in coalition if distance[i] == value]
            total += sum(match[i] for i in group) * min(1.0, room / len(group))
            room -= len(group)
            if room <= 0:
                break
        return total / k

    return utility


@pytest.mark.parametrize("k", [1, 2, 3, 12])
@pytest.mark.parametrize("ties", [False, True])
def test_knn_shapley_equals_brute_force(k, ties):
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 8):
        X = rng.integers(0, 3, (n, 1)).astype(float) if ties else rng.normal(size=(n, 2))
        X_valid = X[:1] + 0.0 if ties else rng.normal(size=(1, 2))
        y, y_valid = rng.integers(0, 2, n), np.array([1])
        distance = ((X - X_valid) ** 2).sum(axis=1)
        expected = brute_force_shapley(n, knn_utility(distance, y == 1, k))
        np.testing.assert_allclose(knn_shapley(X, y, X_valid, y_valid, k=k), expected, atol=1e-12)


def test_tied_values_are_the_mean_over_all_orders():
    """Breaking ties by an infinitesimal shift, in every order, averages to the tied value."""
    X = np.array([[0.0], [1.0], [1.0], [1.0], [2.0]])
    y = np.array([0, 1, 0, 1, 1])
    tied = knn_shapley(X, y, np.zeros((1, 1)), np.array([1]), k=2)
    shifted = [
        knn_shapley(
            X + np.array([0, *order, 0])[:, None] * 1e-3, y, np.zeros((1, 1)), np.array([1]), k=2
        )
        for order in permutations(range(3))
    ]
    np.testing.assert_allclose(tied, np.mean(shifted, axis=0), atol=1e-12)


def test_knn_shapley_averages_over_validation_points_and_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    X_valid, y_valid = rng.normal(size=(11, 3)), rng.integers(0, 3, 11)
    whole = knn_shapley(X, y, X_valid, y_valid, k=5)
    one_by_one = [knn_shapley(X, y, X_valid[[j]], y_valid[[j]], k=5) for j in range(11)]
    np.testing.assert_allclose(whole, np.mean(one_by_one, axis=0), atol=1e-14)
    monkeypatch.setattr("nddv.baselines.neighbours.CHUNK_ELEMENTS", 100)
    np.testing.assert_allclose(knn_shapley(X, y, X_valid, y_valid, k=5), whole, atol=1e-14)


def test_knn_shapley_does_not_depend_on_row_order_and_is_efficient():
    rng = np.random.default_rng(1)
    X, y = rng.integers(-1, 2, (60, 4)).astype(np.float32), rng.integers(0, 2, 60)
    X_valid, y_valid = rng.integers(-1, 2, (20, 4)).astype(np.float32), rng.integers(0, 2, 20)
    k = 7
    values = knn_shapley(X, y, X_valid, y_valid, k=k)
    order = rng.permutation(60)
    np.testing.assert_allclose(
        knn_shapley(X[order], y[order], X_valid, y_valid, k=k), values[order], atol=1e-13
    )
    distance = ((X[None] - X_valid[:, None]) ** 2).sum(axis=2)
    utility = np.mean(
        [knn_utility(distance[j], y == y_valid[j], k)(set(range(60))) for j in range(20)]
    )
    assert values.sum() == pytest.approx(utility, abs=1e-12)


def test_knn_shapley_refuses_nonsense():
    one = np.zeros((1, 1))
    with pytest.raises(ValueError, match="k must be a positive integer"):
        knn_shapley(one, np.zeros(1, int), one, np.zeros(1, int), k=0)
    with pytest.raises(NoValues, match="at least one training"):
        knn_shapley(one[:0], np.zeros(0, int), one, np.zeros(1, int), k=1)


def test_small_loss_is_the_log_likelihood_and_puts_a_flipped_point_last():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, 5, 2)
    extreme = int(np.argmax(X[:, 0]))
    y[extreme] = 2
    values = small_loss(X, y)
    assert np.argmin(values) == extreme
    assert (values <= 0).all()

    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    model = LogisticRegression(C=1.0, max_iter=1000).fit(X, y)
    assert -values.mean() == pytest.approx(log_loss(y, model.predict_proba(X)))


def test_small_loss_stays_finite_when_a_probability_underflows():
    X = np.concatenate([np.full(2000, -1.0), np.full(2000, 1.0), [1000.0]])[:, None]
    y = np.concatenate([np.zeros(2000, int), np.ones(2000, int), [0]])
    values = small_loss(X, y, C=1e3)
    assert np.isfinite(values).all()
    assert values[-1] < -700


def test_random_values_depend_on_the_seed_only():
    first, again = (random_values(50, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, random_values(50, np.random.default_rng(5)))
