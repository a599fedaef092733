"""Problems that tests of coalitions draw."""

from __future__ import annotations

import numpy as np


def make_problem(n=40, d=3, n_classes=2, m=60, seed=100):
    """Training and validation points of a noisy linear rule, and the number of classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + m, d))
    signal = X @ rng.standard_normal((d, n_classes)) + rng.gumbel(size=(n + m, n_classes))
    y = signal.argmax(axis=1)
    return X[:n], y[:n], X[n:], y[n:], n_classes
