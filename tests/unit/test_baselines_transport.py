"""LAVA and its Sinkhorn steps against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from nddv.baselines.transport import annealing, half_squared_distances, lava, sinkhorn
from nddv.values import NoValues

SEED = 100


def exact_transport(cost):
    """Cost and potential of the rows of the transport between uniform weights: the dual program."""
    n, m = cost.shape
    weights = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    pairs = np.concatenate(
        [np.repeat(np.eye(n), m, axis=0), np.tile(np.eye(m), (n, 1))], axis=1
    )  # f_i + g_j ≤ cost_ij
    solution = linprog(-weights, A_ub=pairs, b_ub=cost.ravel(), bounds=(None, None))
    assert solution.success
    return -solution.fun, solution.x[:n]


def some_data(n, m, d=2, seed=SEED):
    rng = np.random.default_rng(seed)
    X, X_valid = rng.normal(size=(n, d)), rng.normal(size=(m, d)) + 0.3
    return X, np.arange(n) % 2, X_valid, np.arange(m) % 2


def test_lava_is_the_calibrated_gradient_of_the_exact_transport():
    # With 7 and 5 points no partial sums of weights agree, so that the potential is unique.
    X, y, X_valid, y_valid = some_data(7, 5)
    cost = ((X[:, None] - X_valid[None]) ** 2).sum(axis=2) / 2
    between = [
        [exact_transport(cost[np.ix_(y == k, y_valid == l)])[0] for l in (0, 1)] for k in (0, 1)
    ]
    for label_weight in (0.5, 1.0):
        total = cost + label_weight * np.array(between)[np.ix_(y, y_valid)]
        f = exact_transport(total)[1]
        expected = [-(f[i] - np.delete(f, i).sum() / 6) for i in range(7)]
        settings = {"entropy": 1e-4, "label_weight": label_weight, "scaling": 0.999}
        values = lava(X, y, X_valid, y_valid, **settings).values
        np.testing.assert_allclose(values, expected, atol=2e-3)


def test_converged_potentials_have_the_right_marginals():
    rng = np.random.default_rng(SEED)
    cost = torch.as_tensor(rng.random((9, 6)))
    a, b = (torch.as_tensor(rng.dirichlet(np.ones(size))) for size in (9, 6))
    f, g = sinkhorn(cost, a.log(), b.log(), [0.05] * 2000)
    plan = torch.exp((f[:, None] + g - cost) / 0.05) * a[:, None] * b
    torch.testing.assert_close(plan.sum(dim=1), a, atol=1e-10, rtol=0)
    torch.testing.assert_close(plan.sum(dim=0), b, atol=1e-10, rtol=0)


def test_annealing_goes_down_to_the_end():
    assert annealing(16.0, 1.0, 0.5) == [16.0, 4.0, 1.0]
    assert annealing(10.0, 1.0, 0.5) == [10.0, 2.5, 1.0]
    assert annealing(1.0, 1.0, 0.5) == [1.0]
    for wrong in [(1.0, 2.0, 0.5), (1.0, 0.0, 0.5), (1.0, 0.5, 1.0)]:
        with pytest.raises(ValueError, match="cannot anneal"):
            annealing(*wrong)


def test_half_squared_distances():
    A, B = torch.tensor([[0.0, 0.0], [3.0, 4.0]]), torch.tensor([[0.0, 2.0]])
    torch.testing.assert_close(half_squared_distances(A, B), torch.tensor([[2.0], [6.5]]))


def test_lava_depends_neither_on_the_order_of_rows_nor_on_the_names_of_classes():
    X, y, X_valid, y_valid = some_data(60, 25)
    values = lava(X, y, X_valid, y_valid).values
    assert values.sum() == pytest.approx(0, abs=1e-10)
    rng = np.random.default_rng(SEED)
    rows, valid_rows = rng.permutation(60), rng.permutation(25)
    turned = lava(X[rows], 7 - 2 * y[rows], X_valid[valid_rows], 7 - 2 * y_valid[valid_rows])
    np.testing.assert_allclose(turned.values, values[rows], atol=1e-10)


def test_a_point_far_from_all_validation_points_is_worst():
    X, y, X_valid, y_valid = some_data(50, 30)
    X[17] += 6
    assert lava(X, y, X_valid, y_valid).values.argmin() == 17


def test_a_label_among_the_wrong_class_lowers_the_value():
    rng = np.random.default_rng(SEED)
    y, y_valid = np.arange(100) % 2, np.arange(40) % 2
    X, X_valid = (
        rng.normal(size=(len(labels), 2)) + 4 * labels[:, None] for labels in (y, y_valid)
    )
    wrong = y.copy()
    wrong[:5] = 1 - wrong[:5]
    change = lava(X, wrong, X_valid, y_valid).values - lava(X, y, X_valid, y_valid).values
    assert change[:5].max() < change[5:].min()


def test_lava_refuses_what_has_no_value():
    X, y, X_valid, y_valid = some_data(3, 3)
    with pytest.raises(NoValues, match="two training points and a validation point"):
        lava(X[:1], y[:1], X_valid, y_valid)
    with pytest.raises(NoValues, match="two training points and a validation point"):
        lava(X, y, X_valid[:0], y_valid[:0])
