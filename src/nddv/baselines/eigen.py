"""Eigen-Value: what a point does to the extreme eigenvalues of the features, and two mixtures.

Choi et al., "Eigen-Value: efficient domain-robust data valuation via eigenvalue-based approach",
arXiv 2510.23409.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.baselines.oob import data_oob
from nddv.baselines.transport import lava
from nddv.values import NoValues, Values

SMALLEST_RATIO = 1e-10
"""Below this ratio of extreme eigenvalues the rounding of float32 features decides the smallest."""


def eigen_value(X: NDArray[np.floating]) -> Values:
    """Eigen-Value: by how much the domain discrepancy would grow without the point.

    With the extreme eigenvalues σ_M, σ_m of the covariance of the standardised features and their
    vectors u_M, u_m, the discrepancy is bounded by D = (σ_M·√d + √(d²−d)) / (σ_m·√(d²−d)). Removing
    point i changes the eigenvalues, to first order, by δ_M = (σ_M − (x_i·u_M)²)/n and
    δ_m = −(x_i·u_m)²/n (the paper's code leaves out σ_m/n, which all points have in common). The
    value is the change of D, EV_i = (∂D/∂σ_M)·δ_M + (∂D/∂σ_m)·δ_m. Labels do not enter.

    Parameters
    ----------
    X : (n, d) features. Constant ones, which cannot be standardised, are left out and not counted
        by d. The others must be at least two, fewer than the points and linearly independent:
        Eigen-Value is undefined otherwise.
    """
    features = np.asarray(X, dtype=np.float64)
    spread = features.std(axis=0)
    varies = spread > np.finfo(np.float32).eps * np.abs(features).max(axis=0)
    standard = (features[:, varies] - features[:, varies].mean(axis=0)) / spread[varies]
    n, d = standard.shape
    if not 2 <= d < n:
        raise NoValues(
            "Eigen-Value is undefined: it needs at least two features that vary and more points "
            f"than these, got {d} for {n} points"
        )
    eigenvalues, vectors = np.linalg.eigh(standard.T @ standard / n)
    smallest, largest = eigenvalues[0], eigenvalues[-1]
    if smallest <= SMALLEST_RATIO * largest:
        raise NoValues(
            "Eigen-Value is undefined: the smallest eigenvalue of the features' covariance is 0, "
            "since some features are linear combinations of others; remove them"
        )
    low, high = (standard @ vectors[:, k] for k in (0, -1))
    change_smallest, change_largest = -(low**2) / n, (largest - high**2) / n
    root, scale = np.sqrt(d), np.sqrt(d * d - d)
    by_largest = root / (smallest * scale)
    by_smallest = -(largest * root + scale) / (smallest**2 * scale)
    return Values(by_largest * change_largest + by_smallest * change_smallest)


def singular_lava(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_valid: NDArray[np.floating],
    y_valid: NDArray[np.int64],
    **parameters: Any,
) -> Values:
    """SingularLAVA (Choi et al.): LAVA + Eigen-Value; ``parameters`` of :func:`lava`."""
    transport = lava(X, y, X_valid, y_valid, **parameters)
    return Values(eigen_value(X).values + transport.values, record=transport.record)


def singular_oob(
    X: NDArray[np.floating], y: NDArray[np.int64], rng: np.random.Generator, **parameters: Any
) -> Values:
    """SingularOOB (Choi et al.): OOB_i·(1 + EV_i / mean|EV|), ``parameters`` of :func:`data_oob`.

    This is the sum that their code takes of OOB_i and EV_i, the latter on the scale of the former.
    """
    eigen = eigen_value(X).values
    factor = 1 + eigen / np.abs(eigen).mean()
    oob = data_oob(X, y, rng, **parameters)
    assert oob.stderr is not None
    return Values(factor * oob.values, np.abs(factor) * oob.stderr, oob.record)
