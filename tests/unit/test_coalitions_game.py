"""Walks along orders of the players, against utilities one by one."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.coalitions import walk_prefixes
from nddv.coalitions.game import truncate, within


def concave(weights):
    """A game whose utility depends on the weights, not on the size alone."""
    return np.sqrt(weights @ np.arange(1.0, weights.shape[1] + 1))


def one_by_one(utilities, order, tolerance):
    """The rule of truncation, step by step."""
    n = len(order)
    member = np.zeros(n)
    everyone = utilities(np.ones((1, n)))[0]
    walk = [utilities(member[None])[0]]
    evaluated = 0
    for player in order:
        if tolerance > 0 and abs(everyone - walk[-1]) <= tolerance:
            break
        member[player] = 1
        walk.append(utilities(member[None])[0])
        evaluated += 1
    return np.array(walk + [everyone] * (n + 1 - len(walk))), evaluated


@pytest.mark.parametrize("stride", [0, 1, 3, 50])
@pytest.mark.parametrize("tolerance", [0.0, 0.4, 2.0, 100.0])
def test_walks_are_those_of_one_step_at_a_time(tolerance, stride):
    rng = np.random.default_rng(100)
    orders = np.array([rng.permutation(12) for _ in range(20)])
    found, evaluated = walk_prefixes(concave, orders, tolerance, stride)
    expected = [one_by_one(concave, order, tolerance) for order in orders]
    np.testing.assert_allclose(found, [walk for walk, _ in expected])
    np.testing.assert_array_equal(evaluated, [count for _, count in expected])


def test_no_truncation_even_where_utilities_are_equal():
    orders = np.array([[0, 1, 2], [2, 1, 0]])
    found, evaluated = walk_prefixes(lambda weights: np.full(len(weights), 0.5), orders)
    assert (evaluated == 3).all()
    assert (found == 0.5).all()


def test_rounding_does_not_decide_what_is_truncated():
    k = np.arange(101)
    difference = np.abs(k - k[:, None])
    for steps in (1, 3):
        found = within(k / 100, k[:, None] / 100, steps / 100)
        np.testing.assert_array_equal(found, difference <= steps)
    assert not within(k / 100, k[:, None] / 100, 0.0).any()


def test_truncation_gives_the_next_player_what_is_left():
    walks = np.array([[0.5, 0.7, 0.85, 0.8, 0.9, 0.86]])
    found, evaluated = truncate(walks, 0.01)
    np.testing.assert_array_equal(found, [[0.5, 0.7, 0.85, 0.86, 0.86, 0.86]])
    assert evaluated == [2]


def test_truncated_walks_cost_less():
    rng = np.random.default_rng(100)
    orders = np.array([rng.permutation(50) for _ in range(10)])
    asked = []

    def counting(weights):
        asked.append(len(weights))
        return np.minimum(weights.sum(axis=1), 5.0)

    found, evaluated = walk_prefixes(counting, orders, tolerance=0.5, stride=1)
    assert (evaluated == 5).all()
    np.testing.assert_array_equal(found, np.minimum(np.arange(51), 5.0)[None].repeat(10, axis=0))
    assert sum(asked) == 2 + 5 * 10


def test_utilities_are_asked_for_in_bounded_pieces(monkeypatch):
    from nddv.coalitions import game

    monkeypatch.setattr(game, "CHUNK_ELEMENTS", 1000)
    sizes = []

    def additive(weights):
        sizes.append(weights.size)
        return weights.sum(axis=1, dtype=float)

    orders = np.array([np.arange(20)] * 5)
    found, _ = walk_prefixes(additive, orders)
    np.testing.assert_array_equal(found, np.arange(21.0)[None].repeat(5, axis=0))
    assert max(sizes) <= 1000


def test_one_player():
    found, evaluated = walk_prefixes(
        lambda weights: weights.sum(axis=1, dtype=float), np.zeros((3, 1), int)
    )
    np.testing.assert_array_equal(found, [[0.0, 1.0]] * 3)
    assert (evaluated == 1).all()
