"""Curves of dropped points, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.replay.curves import drop_curve


def left(weights):
    """Instead of training again: how many points are left."""
    return weights.sum(axis=1)


def test_without_harmful_points_a_tenth_is_dropped_at_most():
    values = np.arange(1.0, 41.0)[::-1]
    curve = drop_curve(values, 900.0, left, checks=2)
    assert curve.best == 0
    assert curve.checked.tolist() == [1, 4]  # not 2: the nearest to the best, which is none
    assert curve.measured.tolist() == [39, 36]
    assert curve.order[:3].tolist() == [39, 38, 37]
    assert curve.predicted[:4].tolist() == [900, 899, 897, 894]


def test_twice_as_many_as_are_best_are_dropped_at_most():
    values = np.r_[-np.ones(6), np.ones(34)]
    curve = drop_curve(values, 10.0, left, checks=3)
    assert curve.best == 6
    assert curve.checked.tolist() == [6, 8, 12]  # the best instead of 4
    assert curve.predicted[6] == 16


@pytest.mark.parametrize("n", [10, 11])
def test_at_most_half_is_dropped(n):
    curve = drop_curve(-np.ones(n), 0.0, left, checks=5)
    assert curve.best == 5
    assert curve.checked.tolist() == [1, 2, 3, 4, 5]
    assert drop_curve(-np.ones(n), 0.0, left, checks=2).checked.tolist() == [2, 5]


def test_a_tenth_is_of_whole_points():
    assert drop_curve(np.ones(19), 0.0, left, checks=2).checked.tolist() == [1]


def test_nothing_is_trained_where_nothing_is_to_be_checked():
    curve = drop_curve(np.ones(10), 1.0, lambda weights: 1 / 0, checks=0)
    assert len(curve.checked) == len(curve.measured) == 0
