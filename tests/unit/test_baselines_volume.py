"""Volumes and their Shapley values, written out from the definition."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from math import factorial

import numpy as np
import pytest

from nddv.baselines.volume import VolumeGame, volume_shapley
from nddv.coalitions import walk_prefixes

SEED = 100
OMEGA = 1.5


def robust_volume(X, members, omega):
    """The robust volume of some rows of X, on the grid that begins at the minimum of all rows."""
    cells = defaultdict(list)
    for i in members:
        cells[tuple(np.floor((X[i] - X.min(axis=0)) / omega))].append(X[i])
    if len(cells) < X.shape[1]:
        return 0.0
    means = np.array([np.mean(points, axis=0) for points in cells.values()])
    alpha = 1 / (10 * len(means))
    factors = [(1 - alpha ** (len(points) + 1)) / (1 - alpha) for points in cells.values()]
    return np.sqrt(max(np.linalg.det(means.T @ means), 0.0)) * np.prod(factors)


def some_points(n=12, d=3):
    """Points of which several share a cell of width OMEGA, with replicas."""
    X = np.random.default_rng(SEED).normal(size=(n, d))
    X[[n - 1, n - 2]] = X[0]
    return X


def test_utilities_are_relative_robust_volumes():
    X = some_points()
    game = VolumeGame(X, OMEGA)
    cells = np.unique(np.floor((X - X.min(axis=0)) / OMEGA), axis=0)
    assert 3 < len(cells) < 10
    counts = np.random.default_rng(SEED).integers(0, 3, (60, 12))
    expected = [robust_volume(X, np.repeat(np.arange(12), row), OMEGA) for row in counts]
    whole = robust_volume(X, range(12), OMEGA)
    np.testing.assert_allclose(game.utilities(counts), np.array(expected) / whole, atol=1e-12)


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
@pytest.mark.parametrize("chunk", [1, 40, 10**6])
def test_walks_are_those_of_any_game(monkeypatch, tolerance, chunk):
    monkeypatch.setattr("nddv.baselines.volume.CHUNK_ELEMENTS", chunk)
    game = VolumeGame(some_points(), OMEGA)
    orders = np.random.default_rng(SEED).permuted(np.tile(np.arange(12), (7, 1)), axis=1)
    found, evaluated = game.walk(orders, tolerance)
    expected, expected_evaluated = walk_prefixes(game.utilities, orders, tolerance)
    np.testing.assert_allclose(found, expected, atol=1e-7)  # the root of a rounded zero
    np.testing.assert_array_equal(evaluated, expected_evaluated)


def test_shapley_values_by_enumeration():
    n, X = 8, some_points(8, 2)
    expected = np.zeros(n)
    for i in range(n):
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for others in combinations(set(range(n)) - {i}, size):
                gain = robust_volume(X, [*others, i], OMEGA) - robust_volume(X, others, OMEGA)
                expected[i] += weight * gain
    expected /= robust_volume(X, range(n), OMEGA)
    found = volume_shapley(X, np.random.default_rng(SEED), omega=OMEGA, max_permutations=3000)
    assert found.values.sum() == pytest.approx(1, abs=1e-9)
    assert np.abs((found.values - expected) / found.stderr).max() < 4
    assert found.stderr.max() < 0.02


def test_a_saturated_cell_counts_as_the_definition_says():
    X = np.concatenate([np.tile([[1.0, 0.1]], (40, 1)), [[0.1, 1.0]], [[0.7, 0.6]]])
    game = VolumeGame(X, 0.05)
    counts = np.ones((3, 42), dtype=int)
    counts[0, :39], counts[1, :30], counts[2, :20] = 0, 0, 0
    expected = [robust_volume(X, np.repeat(np.arange(42), row), 0.05) for row in counts]
    expected = np.array(expected) / robust_volume(X, range(42), 0.05)
    np.testing.assert_allclose(game.utilities(counts), expected, rtol=1e-13)


def test_replicas_add_next_to_nothing():
    X = np.random.default_rng(SEED).normal(size=(20, 2))
    game = VolumeGame(np.concatenate([X, X]), 1e-6)
    once = np.concatenate([np.ones(20), np.zeros(20)])
    assert game.utilities(np.array([once]))[0] == pytest.approx(1, abs=0.01)


def test_relabelled_points_have_relabelled_volumes():
    X = some_points()
    rng = np.random.default_rng(SEED)
    rows, members = rng.permutation(12), rng.random((30, 12)) < 0.6
    np.testing.assert_allclose(
        VolumeGame(X[rows], OMEGA).utilities(members[:, rows]),
        VolumeGame(X, OMEGA).utilities(members),
        atol=1e-12,
    )


def test_a_constant_feature_or_one_that_repeats_others_changes_nothing():
    X = some_points()
    members = np.random.default_rng(SEED).random((30, 12)) < 0.6
    expected = VolumeGame(X, OMEGA).utilities(members)
    zero = np.column_stack([X, np.zeros(12)])
    twice = np.column_stack([X, X[:, 0]])
    for extended in (zero, twice):
        np.testing.assert_allclose(
            VolumeGame(extended, OMEGA).utilities(members), expected, atol=1e-9
        )


def test_more_features_than_points_leave_volume_to_all_points_only():
    game = VolumeGame(np.random.default_rng(SEED).normal(size=(5, 9)), 0.05)
    assert game.utilities(np.ones((1, 5)))[0] == pytest.approx(1)
    assert game.utilities(np.tril(np.ones((4, 5)), -1)).max() == 0
    values = volume_shapley(np.eye(5, 9), np.random.default_rng(SEED), max_permutations=400).values
    np.testing.assert_allclose(values, 0.2, atol=0.08)


def test_volumes_of_many_features_do_not_overflow():
    X = 100 * np.random.default_rng(SEED).normal(size=(330, 300))
    utilities, _ = VolumeGame(X, 0.05).walk(np.arange(330)[None])
    assert np.isfinite(utilities).all()
    assert utilities[0, -1] == pytest.approx(1)
    assert (np.diff(utilities[0]) > -1e-9).all()


def test_volume_refuses_cells_of_no_width():
    with pytest.raises(ValueError, match="omega must be a finite number > 0"):
        volume_shapley(np.eye(3), np.random.default_rng(SEED), omega=0.0)
