"""Walks that predict most of their prefixes, against walks that fit all of them."""

from __future__ import annotations

import drawn
import numpy as np
import pytest
import torch

from nddv.coalitions import LogisticGame
from nddv.coalitions.design import Design
from nddv.coalitions.walks import added_logits, fitted_sizes, predicted_walk

SEED = 100
SHAPES = [(80, 4, 2), (80, 4, 4), (60, 90, 2), (60, 90, 3)]


def game_of(n, d, n_classes, utility="probability"):
    return LogisticGame(*drawn.make_problem(n, d, n_classes, m=80), utility=utility)


def orders_of(n, count):
    ranks = np.broadcast_to(np.arange(n), (count, n))
    return np.random.default_rng(SEED).permuted(ranks, axis=1)


def test_blocks_grow_with_the_prefix_and_end_before_a_new_class():
    y = np.zeros(40, dtype=int)
    y[[3, 30]] = 1, 2
    expected = [0, 1, 2, 3, 4, 6, 9, 13, 19, 28, 30, 31, 40]
    np.testing.assert_array_equal(fitted_sizes(y, 0, 0.5), expected)
    np.testing.assert_array_equal(fitted_sizes(y, 0, 0.0), np.arange(41))
    np.testing.assert_array_equal(fitted_sizes(y, 20, 0.5), [20, 30, 31, 40])


def test_one_class_grows_point_by_point():
    np.testing.assert_array_equal(fitted_sizes(np.zeros(5, dtype=int), 2, 1.0), [2, 3, 4, 5])


@pytest.mark.parametrize("shape", SHAPES)
def test_predicted_logits_are_nearly_those_of_fits(shape):
    game = game_of(*shape)
    n, size = shape[0], shape[0] // 2
    fit = game.engine.fit(np.arange(n)[None] < size)
    design = Design.of(game)
    model = design.models(fit)[0]
    found = added_logits(design, model, size)
    before = (model.theta @ design.V.T)[None]
    with_one = game.engine.fit((np.arange(n) < size) | np.eye(n, dtype=bool)[size:])
    exact = torch.stack([m.theta @ design.V.T for m in design.models(with_one)])
    # Only differences of logits matter.
    changes = [logits - before for logits in (found, exact)]
    if shape[2] > 2:
        changes = [change - change.mean(dim=1, keepdim=True) for change in changes]
    near, true = (change.flatten().numpy() for change in changes)
    assert np.corrcoef(near, true)[0, 1] > 0.9
    assert np.linalg.norm(near - true) < 0.5 * np.linalg.norm(true)


@pytest.mark.parametrize("shape", SHAPES)
def test_predicted_walks_are_nearly_those_of_fits(shape):
    game, orders = game_of(*shape), orders_of(shape[0], 6)
    fitted, _ = game.walk(orders)
    found, evaluated = predicted_walk(game, orders, 0.0, 0.15)
    assert (evaluated == game.n).all()
    np.testing.assert_allclose(found[:, [0, -1]], fitted[:, [0, -1]], atol=1e-4)
    np.testing.assert_allclose(found, fitted, atol=0.06)
    steps = np.diff(found, axis=1).ravel(), np.diff(fitted, axis=1).ravel()
    assert np.corrcoef(*steps)[0, 1] > 0.9


@pytest.mark.parametrize("utility", ["accuracy", "probability"])
def test_without_blocks_all_is_fitted(utility):
    game, orders = game_of(40, 4, 3, utility), orders_of(40, 2)
    found, _ = predicted_walk(game, orders, 0.0, 1e-9)
    np.testing.assert_allclose(found, game.walk(orders)[0], atol=2e-3)


def test_walks_are_cut_where_they_are_near_the_end():
    game, orders = game_of(80, 4, 2, "accuracy"), orders_of(80, 4)
    whole, _ = predicted_walk(game, orders, 0.0, 0.2)
    cut, evaluated = predicted_walk(game, orders, 0.05, 0.2)
    assert (evaluated < game.n).any()
    for row, end in enumerate(evaluated):
        np.testing.assert_array_equal(cut[row, : end + 1], whole[row, : end + 1])
        np.testing.assert_array_equal(cut[row, end + 1 :], whole[row, -1])
        assert (np.abs(whole[row, :end] - whole[row, -1]) > 0.05).all()
