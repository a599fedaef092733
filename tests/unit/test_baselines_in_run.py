"""In-run Shapley values against enumeration, automatic differentiation and the loss itself."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest
import torch
from torch.autograd.functional import hessian as hessian_of
from torch.autograd.functional import jacobian

from nddv.baselines.in_run import in_run_shapley

SEED = 100


def some_data(n, m, d=3, classes=3, seed=SEED):
    rng = np.random.default_rng(seed)
    X, X_valid = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    return X, rng.permutation(np.arange(n) % classes), X_valid, np.arange(m) % classes


def tensors(X, y, classes):
    inputs = torch.as_tensor(np.column_stack([X, np.ones(len(X))]))
    return inputs, torch.as_tensor(np.eye(classes)[y])


def loss_function(loss):
    def logistic(theta, inputs, wanted):
        return -(wanted * torch.log_softmax(inputs @ theta, dim=1)).sum(dim=1)

    def squared(theta, inputs, wanted):
        return ((inputs @ theta - wanted) ** 2).sum(dim=1) / 2

    return {"logistic": logistic, "squared": squared}[loss]


def point_losses(losses, inputs, wanted):
    """The losses as a function of flat parameters."""
    return lambda flat: losses(flat.reshape(inputs.shape[1], -1), inputs, wanted)


@pytest.mark.parametrize("batch_size", [7, 100])
def test_second_order_adds_up_to_the_decrease_of_a_quadratic_loss(batch_size):
    data = some_data(40, 11)
    found = in_run_shapley(
        *data, np.random.default_rng(SEED), order=2, batch_size=batch_size, loss="squared"
    )
    decrease = found.record["loss_start"] - found.record["loss_end"]
    assert decrease > 0.05
    assert found.values.sum() == pytest.approx(decrease, abs=1e-13)


def test_one_step_on_a_quadratic_loss_is_its_shapley_value():
    X, y, X_valid, y_valid = some_data(6, 8)
    found = in_run_shapley(
        X, y, X_valid, y_valid, np.random.default_rng(SEED), epochs=1, batch_size=6, loss="squared"
    )
    inputs, wanted = (one.numpy() for one in tensors(X, y, 3))
    queries, wanted_valid = (one.numpy() for one in tensors(X_valid, y_valid, 3))
    eta = 1 / np.mean((inputs**2).sum(axis=1)) / 6

    def utility(coalition):
        members = sorted(coalition)
        theta = eta * inputs[members].T @ wanted[members]  # one step from zero
        return -((queries @ theta - wanted_valid) ** 2).sum(axis=1).mean() / 2

    expected = np.zeros(6)
    for i in range(6):
        for size in range(6):
            weight = factorial(size) * factorial(5 - size) / factorial(6)
            for others in combinations(set(range(6)) - {i}, size):
                expected[i] += weight * (utility({*others, i}) - utility(others))
    np.testing.assert_allclose(found.values, expected, atol=1e-14)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("order", [1, 2])
def test_a_run_by_automatic_differentiation(loss, order):
    X, y, X_valid, y_valid = some_data(13, 9)
    settings = {"epochs": 2, "batch_size": 5, "learning_rate": 2.0, "loss": loss}
    found = in_run_shapley(
        X, y, X_valid, y_valid, np.random.default_rng(SEED), order=order, **settings
    )

    inputs, wanted = tensors(X, y, 3)
    queries, wanted_valid = tensors(X_valid, y_valid, 3)
    losses = loss_function(loss)
    valid_losses = point_losses(losses, queries, wanted_valid)
    theta = torch.zeros(4, 3, dtype=torch.float64)
    expected = np.zeros(13)
    rng = np.random.default_rng(SEED)
    for _ in range(2):
        shuffled = rng.permutation(13)
        for batch in (shuffled[:5], shuffled[5:10], shuffled[10:]):
            eta = 2.0 / (inputs**2).sum(dim=1).mean() / len(batch)
            flat = theta.flatten()
            point_gradients = jacobian(point_losses(losses, inputs[batch], wanted[batch]), flat)
            gradient = jacobian(valid_losses, flat).mean(dim=0)
            hessian = hessian_of(lambda flat: valid_losses(flat).mean(), flat)
            gain = eta * point_gradients @ gradient
            if order == 2:
                gain -= eta**2 / 2 * point_gradients @ hessian @ point_gradients.sum(dim=0)
            expected[batch] += gain.numpy()
            theta = theta - eta * point_gradients.sum(dim=0).reshape(4, 3)
    np.testing.assert_allclose(found.values, expected, atol=1e-13)
    assert found.record["loss_end"] == pytest.approx(
        losses(theta, queries, wanted_valid).mean().item()
    )


def test_second_order_is_closer_to_the_decrease_of_the_logistic_loss():
    data = some_data(60, 30)
    gap = []
    for order in (1, 2):
        found = in_run_shapley(*data, np.random.default_rng(SEED), order=order)
        record = found.record
        gap.append(abs(found.values.sum() - (record["loss_start"] - record["loss_end"])))
    assert gap[1] < 0.2 * gap[0]


def test_whole_batches_do_not_depend_on_the_order_of_rows():
    X, y, X_valid, y_valid = some_data(50, 20)
    rows = np.random.default_rng(SEED).permutation(50)
    settings = {"batch_size": 50, "epochs": 5}
    values = in_run_shapley(X, y, X_valid, y_valid, np.random.default_rng(1), **settings).values
    turned = in_run_shapley(
        X[rows], y[rows], X_valid[::-1], y_valid[::-1], np.random.default_rng(2), **settings
    )
    np.testing.assert_allclose(turned.values, values[rows], atol=1e-13)


def test_the_scale_of_the_features_does_not_matter_to_the_stability_of_the_run():
    X, y, X_valid, y_valid = some_data(200, 50, d=40, classes=2)
    for scale in (0.01, 1.0, 100.0):
        found = in_run_shapley(scale * X, y, scale * X_valid, y_valid, np.random.default_rng(SEED))
        assert found.record["loss_end"] < 1.5


def test_wrong_labels_come_out_low():
    rng = np.random.default_rng(SEED)
    y, y_valid = rng.integers(0, 2, 300), rng.integers(0, 2, 60)
    X, X_valid = (rng.normal(size=(len(one), 4)) + 3 * one[:, None] - 1.5 for one in (y, y_valid))
    y[:30] = 1 - y[:30]
    values = in_run_shapley(X, y, X_valid, y_valid, rng).values
    assert np.isin(np.argsort(values)[:30], np.arange(30)).mean() > 0.9


def test_in_run_shapley_refuses_nonsense():
    data = some_data(6, 6)
    rng = np.random.default_rng(SEED)
    with pytest.raises(ValueError, match="order must be one of 1, 2, got 3"):
        in_run_shapley(*data, rng, order=3)
    with pytest.raises(ValueError, match="one of 'logistic', 'squared', got 'hinge'"):
        in_run_shapley(*data, rng, loss="hinge")
