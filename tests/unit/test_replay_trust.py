"""How far to trust a replay: the numbers by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nddv.replay.trust import ADVICE, LEAST_RANK, LEAST_SMOOTHNESS, Trust, random_groups, smoothness


def trust(predicted, actual, smoothness=1.0):
    return Trust(np.array(predicted, float), np.array(actual, float), smoothness)


@pytest.mark.parametrize(("n", "size"), [(4, 1), (30, 2), (200, 10)])
def test_a_group_is_a_twentieth_and_never_empty(n, size):
    groups = random_groups(n, 5, np.random.default_rng(100))
    assert groups.shape == (5, n)
    assert (groups.sum(axis=1) == size).all()


def test_smoothness_looks_at_runs_where_points_take_part_less():
    seen = []

    def outputs(weights):
        seen.append(weights)
        return np.array([len(seen) ** 2.0, -len(seen)])  # goes on in both

    assert smoothness(outputs, 30, np.random.default_rng(100)) == 1.0
    whole, first, second = seen
    assert (whole == 1.0).all()
    np.testing.assert_allclose(whole - first, first - second)
    assert ((second >= 0) & (second < first) & (first < 1)).all()


def test_smoothness_of_a_run_that_turns_back():
    back = iter([np.array([0.0, 0.0]), np.array([3.0, 1.0]), np.array([1.0, 2.0])])
    assert smoothness(lambda weights: next(back), 5, np.random.default_rng(100)) == -0.5


def test_numbers_by_hand():
    found = trust([0.2, 0.1, 0.5], [0.1, 0.2, 0.4])
    assert found.spearman == pytest.approx(0.5)
    assert found.ratio == pytest.approx((0.02 + 0.02 + 0.2) / 0.21)
    assert found.spread == pytest.approx(math.sqrt(0.03 / 0.21))


@pytest.mark.parametrize(
    ("predicted", "actual", "defined"),
    [
        ([0.1, 0.2, 0.3], [0.0, 0.5, 1.0], True),
        ([0.0, 0.5, 1.0], [0.1, 0.2, 0.3], True),
        ([0.1, 0.2], [0.1, 0.2], False),  # two groups always agree, or always do not
        ([0.2, 0.2, 0.2], [0.1, 0.2, 0.3], False),
        ([0.1, 0.2, 0.3], [0.2, 0.2, 0.2], False),
    ],
)
def test_ranks_need_three_groups_that_differ(predicted, actual, defined):
    assert np.isfinite(trust(predicted, actual).spearman) == defined


def test_without_any_change_nothing_can_be_said():
    found = trust([0.1, 0.2, 0.3], [0, 0, 0])
    assert math.isnan(found.ratio)
    assert math.isnan(found.spread)
    assert not found.good


def test_good_is_of_ranks_and_of_smoothness():
    same = [0.1, 0.2, 0.3]
    assert trust(same, same, LEAST_SMOOTHNESS).good
    assert not trust(same, same, LEAST_SMOOTHNESS - 0.01).good
    assert not trust(same, same[::-1]).good
    assert 0 < LEAST_RANK <= 1
    assert str(trust(same, same)) == (
        "retrained without 3 groups of points: Spearman 1.00, predicted/actual 1.00 ± 0.00; "
        "smoothness 1.00"
    )
    assert str(trust(same, same[::-1])).endswith(f". Trust these values little: {ADVICE}")
