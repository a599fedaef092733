"""DVRL: its gradient by enumeration of choices, what it learns, what it must not depend on."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from nddv.baselines.dvrl import Chooser, dvrl, excess, inside_span, policy_loss

SEED = 100


def blobs(n, seed, wrong=0):
    """Two blobs; the first labels are wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 3 * y[:, None] - 1.5
    y[:wrong] = 1 - y[:wrong]
    return X, y


def test_expected_gradient_is_that_of_the_expected_reward():
    rng = np.random.default_rng(SEED)
    logits = torch.as_tensor(rng.normal(size=3)).requires_grad_()
    rewards = torch.as_tensor(rng.normal(size=8))
    choices = torch.as_tensor(list(product([False, True], repeat=3)))
    p = torch.sigmoid(logits)
    likelihood = torch.where(choices, p, 1 - p).prod(dim=1)
    (exact,) = torch.autograd.grad((likelihood * rewards).sum(), logits)
    expected = torch.zeros(3, dtype=torch.float64)
    for weight, choice, reward in zip(likelihood.tolist(), choices, rewards.tolist(), strict=True):
        (gradient,) = torch.autograd.grad(policy_loss(logits, choice, reward), logits)
        expected += weight * gradient
    torch.testing.assert_close(expected, -exact)


@pytest.mark.parametrize(("mean", "expected"), [(0.5, 0), (0.9, 0), (0.95, 0.05), (0.02, 0.08)])
def test_excess_is_the_distance_from_the_allowed_probabilities(mean, expected):
    assert excess(torch.tensor(mean), 0.9).item() == pytest.approx(expected, abs=1e-6)


def test_the_network_has_the_layers_asked_for():
    rng = np.random.default_rng(SEED)
    chooser = Chooser(np.zeros((4, 7)), np.zeros((4, 2)), 20, 4, 5, rng)
    shapes = [tuple(one.shape) for one in chooser.parameters() if one.ndim == 2]
    assert shapes == [(20, 7), (20, 20), (20, 20), (5, 20), (5, 7), (1, 5)]
    assert chooser(np.arange(3)).shape == (3,)


class Relabelled(np.random.Generator):
    """A generator that draws the same points under their new numbers."""

    def __init__(self, seed, order):
        super().__init__(np.random.PCG64(seed))
        self.new_number = np.argsort(order)

    def choice(self, *arguments, **settings):
        return self.new_number[super().choice(*arguments, **settings)]


def test_relabelled_points_have_relabelled_values():
    (X, y), valid = blobs(40, SEED), blobs(30, SEED + 1)
    order = np.random.default_rng(SEED).permutation(40)
    values = dvrl(X, y, *valid, Relabelled(SEED, np.arange(40)), rl_epochs=50).values
    turned = dvrl(X[order], y[order], *valid, Relabelled(SEED, order), rl_epochs=50).values
    assert np.ptp(values) > 0.01
    np.testing.assert_allclose(turned, values[order], atol=1e-3)


def test_wrong_labels_come_out_low():
    areas = []
    for seed in (100, 101, 102):
        X, y = blobs(200, seed, wrong=40)
        found = dvrl(X, y, *blobs(50, seed + 1), np.random.default_rng(seed), rl_epochs=200)
        areas.append(roc_auc_score(np.arange(200) >= 40, found.values))
        assert ((found.values > 0) & (found.values < 1)).all()
        assert found.record["accuracy_all"] > 0.9
    assert np.mean(areas) > 0.7


def test_equal_points_have_equal_values_wherever_they_stand():
    X, y = blobs(60, SEED)
    X[41], y[41] = X[7], y[7]
    values = dvrl(X, y, *blobs(20, 101), np.random.default_rng(SEED), rl_epochs=30).values
    assert values[41] == pytest.approx(values[7], rel=1e-6)
    assert len(np.unique(values)) > 30


def test_a_fit_in_the_span_of_its_points_predicts_the_same():
    rng = np.random.default_rng(SEED)
    X, others = rng.normal(size=(12, 40)), rng.normal(size=(30, 40))
    y = np.arange(12) % 3
    inside, beside = inside_span(X, others)
    assert (inside.shape, beside.shape) == ((12, 12), (30, 12))
    whole, small = (LogisticRegression(tol=1e-9, max_iter=1000) for _ in range(2))
    expected = whole.fit(X, y).predict_proba(others)
    np.testing.assert_allclose(small.fit(inside, y).predict_proba(beside), expected, atol=1e-6)
    np.testing.assert_array_equal(inside_span(others.T, X.T)[1], X.T)  # no narrower: as they were
