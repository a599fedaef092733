"""LossVal: its divergence against exact transport, its weights against gradients, published F1."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from nddv.baselines.lossval import SinkhornDivergence, lossval
from nddv.baselines.networks import perceptron
from nddv.evaluation.detection import f1_score, two_means
from nddv.problems import make_problem

SEED = 100


def clouds(n=12, m=12, d=2, dtype=torch.float64):
    rng = np.random.default_rng(SEED)
    x, targets = rng.normal(size=(n, d)), rng.normal(size=(m, d)) + 0.5
    return torch.as_tensor(x, dtype=dtype), torch.as_tensor(targets, dtype=dtype)


def converged(divergence):
    """The same divergence with many steps at the last strength."""
    divergence.steps += [divergence.steps[-1]] * 3000
    ones = divergence.log_targets
    same = divergence._potentials(divergence.targets, divergence.targets, ones, ones)[0]
    divergence.self_targets = same
    return divergence


def test_divergence_is_the_exact_cost_for_a_small_blur_and_zero_for_the_same_points():
    x, targets = clouds()
    divergence = SinkhornDivergence(x, targets, blur=0.05)
    cost = (torch.cdist(x, targets) ** 2 / 2).numpy()
    exact = cost[linear_sum_assignment(cost)].sum()
    ones = torch.ones(12, dtype=torch.float64)
    found = converged(divergence)(x, ones).item() / divergence.scale
    assert found == pytest.approx(exact, rel=0.01)
    assert divergence(targets.flip(0), ones).item() == pytest.approx(0, abs=1e-9)


def test_gradient_of_the_divergence_by_the_weights():
    x, targets = clouds()
    divergence = converged(SinkhornDivergence(x, targets, blur=0.5))
    rng = np.random.default_rng(SEED)
    weights = torch.as_tensor(1 + 0.3 * rng.random(12))
    weights = (weights * 12 / weights.sum()).requires_grad_()
    direction = torch.as_tensor(rng.normal(size=12))
    direction -= direction.mean()  # keeps the mass, without which there is no transport
    divergence(x, weights).backward()
    step = 1e-4 * direction
    with torch.no_grad():
        difference = divergence(x, weights + step) - divergence(x, weights - step)
    assert (weights.grad @ direction).item() == pytest.approx(difference.item() / 2e-4, rel=1e-4)


def test_weights_without_mass_move_nothing():
    x, targets = clouds()
    divergence = SinkhornDivergence(x, targets, blur=0.5)
    weights = torch.ones(12, dtype=torch.float64)
    weights[3] = 0
    keep = torch.arange(12) != 3
    expected = divergence(x[keep], weights[keep])
    torch.testing.assert_close(divergence(x, weights), expected)


def test_the_first_step_goes_down_the_gradient_of_the_loss():
    """Adam's first step is the learning rate times the sign of the gradient."""
    rng = np.random.default_rng(SEED)
    X, y, X_valid = rng.normal(size=(30, 3)), rng.integers(0, 2, 30), rng.normal(size=(30, 3))
    settings = {"epochs": 1, "batch_size": 30, "layers": 2, "learning_rate": 0.01}
    found = lossval(X, y, X_valid, np.random.default_rng(SEED), **settings).values

    x = torch.as_tensor(X, dtype=torch.float32)
    model = perceptron([3, 100, 2], np.random.default_rng(SEED))
    losses = torch.nn.functional.cross_entropy(model(x), torch.as_tensor(y), reduction="none")
    divergence = SinkhornDivergence(x, torch.as_tensor(X_valid, dtype=torch.float32), 0.05)
    weights = torch.ones(30, requires_grad=True)
    ((weights @ losses) * divergence(x, weights) ** 2).backward()
    sign = np.sign(weights.grad.numpy())
    assert len(np.unique(sign)) == 2
    np.testing.assert_allclose(found, 1 - 0.01 * sign, atol=1e-6)


def test_whole_batches_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(SEED)
    X, y, X_valid = rng.normal(size=(40, 3)), rng.integers(0, 2, 40), rng.normal(size=(9, 3))
    rows = rng.permutation(40)
    settings = {"epochs": 30, "batch_size": 40}
    values = lossval(X, y, X_valid, np.random.default_rng(1), **settings).values
    turned = lossval(X[rows], y[rows], X_valid[::-1], np.random.default_rng(1), **settings).values
    assert np.ptp(values) > 0.05
    np.testing.assert_allclose(turned, values[rows], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "ours", "published"),
    [("2dplanes", 0.51, 0.596), ("electricity", 0.33, 0.333), ("pol", 0.66, 0.738)],
)
def test_detection_is_what_it_was_and_near_that_of_its_authors(
    real_table, dataset, ours, published
):
    """F1 with 10 % wrong labels, two-means and 30 epochs, the mean of three seeds.

    The authors' figures are of single runs, with other rows and other wrong labels than ours. Two
    of our three fall short of them, by .07 to .09, and it is not known why.
    """
    table = real_table(dataset)
    found = []
    for seed in (SEED, SEED + 1, SEED + 2):
        problem, truth = make_problem(table, 1000, "label10", seed, corrupt_valid=True)
        rng = np.random.default_rng(seed)
        values = lossval(problem.X_train, problem.y_train, problem.X_valid, rng).values
        found.append(f1_score(two_means(values), truth.mask))
    assert np.mean(found) == pytest.approx(ours, abs=0.04)
    assert np.mean(found) == pytest.approx(published, abs=0.12)
