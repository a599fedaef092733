"""Coverage of intervals on real data: two independent estimates of the same values must agree.

The difference of two estimates of a gap has the mean zero and a standard error that both tell. All
gaps of one run share their coalitions, so the number of repetitions, not of pairs, says how well
the coverage is known: its standard error is that of the mean over repetitions.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student_law
from sklearn.datasets import load_breast_cancer, load_digits

from nddv.audit.context import all_gaps
from nddv.coalitions import LogisticGame
from nddv.coalitions.contexts import Contexts
from nddv.coalitions.sampling import Limits, corrected_cells, sample
from nddv.laws import LAWS

REPETITIONS = 12


def real_game(load, n, n_classes, m=60, seed=100):
    """Some points of a data set, a tenth with the next label."""
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.flatnonzero(y < n_classes))[: n + m]
    X, y = (X[rows] - X[rows].mean(axis=0)) / (X[rows].std(axis=0) + 1e-9), y[rows]
    y[: n // 10] = (y[: n // 10] + 1) % n_classes
    return LogisticGame(X[:n], y[:n], X[n:], y[n:], n_classes, utility="probability")


def coverage(contexts, law, coalitions):
    """Shares of pairs (REPETITIONS,) that two runs put apart by no more than their 95 % radius."""
    shares = []
    for seed in range(REPETITIONS):
        gap, variance, squares = 0.0, 0.0, 0.0
        for half, sign in enumerate((1, -1)):
            rng = np.random.default_rng([100, seed, half])
            cells = sample(corrected_cells(contexts, law), rng, Limits(coalitions)).cells
            _, found = all_gaps(cells)
            gap = gap + sign * found.gap
            variance = variance + found.stderr**2
            squares = squares + found.stderr**4 / found.freedom
        radius = student_law.isf(0.025, variance**2 / squares) * np.sqrt(variance)
        shares.append((np.abs(gap) <= radius).mean())
    return np.array(shares)


@pytest.mark.parametrize(
    ("load", "n", "n_classes", "law"),
    [
        (load_breast_cancer, 40, 2, "shapley"),
        (load_digits, 30, 3, "shapley"),
    ],
)
def test_two_runs_agree_as_their_intervals_say(load, n, n_classes, law):
    contexts = Contexts(real_game(load, n, n_classes))
    shares = coverage(contexts, LAWS[law], coalitions=60)
    error = shares.std(ddof=1) / np.sqrt(REPETITIONS)
    assert error < 0.05
    assert shares.mean() >= 0.95 - 2.5 * error - 0.005
    assert shares.mean() <= 0.99  # and not by being far too wide
