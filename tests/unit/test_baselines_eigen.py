"""Eigen-Value against removing points and computing all eigenvalues anew."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.baselines.eigen import eigen_value, singular_lava, singular_oob
from nddv.baselines.oob import data_oob
from nddv.baselines.transport import lava
from nddv.values import NoValues

SEED = 100


def some_points(n=60, d=4, seed=SEED):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def discrepancy(covariance):
    eigenvalues = np.linalg.eigvalsh(covariance)
    d = len(eigenvalues)
    scale = np.sqrt(d**2 - d)
    return (eigenvalues[-1] * np.sqrt(d) + scale) / (eigenvalues[0] * scale)


@pytest.mark.parametrize("n", [200, 2000])
def test_eigen_value_is_the_change_of_the_discrepancy_without_the_point(n):
    X = some_points(n)
    Z = standardised(X)
    covariance = Z.T @ Z / n
    without = [(n * covariance - np.outer(z, z)) / (n - 1) for z in Z]
    exact = np.array([discrepancy(one) for one in without]) - discrepancy(covariance)
    # The reference leaves a term out that is the same for all points.
    smallest, largest = np.linalg.eigvalsh(covariance)[[0, -1]]
    common = (largest * 2 + np.sqrt(12)) / (smallest * np.sqrt(12) * n)
    error = eigen_value(X).values - common - exact
    assert np.abs(error).max() < 30 / n * np.abs(exact).max()


def test_eigen_value_as_the_paper_writes_it():
    X = some_points()
    n, d = X.shape
    Z = standardised(X)
    vectors, singular, _ = np.linalg.svd(Z.T @ Z / n)
    s_max, s_min = singular[0], singular[-1]
    delta_max = (s_max - (Z @ vectors[:, 0]) ** 2) / n
    delta_min = -((Z @ vectors[:, -1]) ** 2) / n
    root = np.sqrt(d**2 - d)
    first = -(s_max * np.sqrt(d) + root) / s_min**2 * delta_min
    expected = (first + np.sqrt(d) / s_min * delta_max) / root
    np.testing.assert_allclose(eigen_value(X).values, expected, rtol=1e-9)


def test_eigen_value_depends_neither_on_order_nor_on_units_nor_on_constant_features():
    X = some_points()
    values = eigen_value(X).values
    rows = np.random.default_rng(SEED).permutation(60)
    np.testing.assert_allclose(eigen_value(X[rows]).values, values[rows], rtol=1e-9)
    np.testing.assert_allclose(eigen_value(X * [1, 10, 0.1, 7] - 3).values, values, rtol=1e-9)
    constant = np.insert(X, 2, 0.1, axis=1)
    np.testing.assert_allclose(eigen_value(constant).values, values, rtol=1e-9)


@pytest.mark.parametrize(
    ("X", "reason"),
    [
        (np.random.default_rng(0).normal(size=(5, 9)), "got 9 for 5 points"),
        (np.random.default_rng(0).normal(size=(5, 5)), "got 5 for 5 points"),
        (np.random.default_rng(0).normal(size=(9, 1)), "got 1 for 9 points"),
        (np.ones((9, 3)), "got 0 for 9 points"),
        (np.random.default_rng(0).normal(size=(50, 3))[:, [0, 1, 2, 0]], "linear combinations"),
        (np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 10, axis=0), "linear comb"),
    ],
)
def test_eigen_value_says_where_it_is_undefined(X, reason):
    with pytest.raises(NoValues, match=f"Eigen-Value is undefined.*{reason}"):
        eigen_value(X.astype(np.float32))


def test_mixtures_are_what_their_formulas_say():
    X = some_points()
    rng = np.random.default_rng(SEED)
    y, X_valid, y_valid = rng.integers(0, 2, 60), some_points(20, seed=101), rng.integers(0, 2, 20)
    eigen = eigen_value(X).values
    mixed = singular_lava(X, y, X_valid, y_valid, label_weight=1.0).values
    np.testing.assert_allclose(
        mixed, eigen + lava(X, y, X_valid, y_valid, label_weight=1.0).values, rtol=1e-12
    )
    oob = data_oob(X, y, np.random.default_rng(SEED), num_models=100, soft=True)
    mixed = singular_oob(X, y, np.random.default_rng(SEED), num_models=100, soft=True)
    factor = 1 + eigen / np.mean(np.abs(eigen))
    np.testing.assert_allclose(mixed.values, factor * oob.values, rtol=1e-12)
    np.testing.assert_allclose(mixed.stderr, np.abs(factor) * oob.stderr, rtol=1e-12)
