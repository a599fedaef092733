"""Semi-values by participation level, as methods: a few fits a level, no sampling.

:mod:`nddv.coalitions.levels` has the mathematics and the credit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.coalitions.levels import level_semivalues
from nddv.coalitions.logistic import LogisticGame
from nddv.laws import LAWS, Law, beta_shapley_law
from nddv.support.settings import Count, Device, Positive, Precision, SmoothUtility, checked
from nddv.values import NoValues, Values

Array = NDArray[Any]


@checked
def shapley_level(
    X: Array, y: Array, X_valid: Array, y_valid: Array, *, nodes: Count = 8, **model: Any
) -> Values:
    """Data Shapley values as the mean marginal over all levels.

    Parameters
    ----------
    nodes : levels, where the marginals are taken.
    model : as in :func:`level_values`.
    """
    return level_values(X, y, X_valid, y_valid, LAWS["shapley"], nodes, **model)


def banzhaf_level(X: Array, y: Array, X_valid: Array, y_valid: Array, **model: Any) -> Values:
    """Data Banzhaf values as the marginals at the level ½."""
    return level_values(X, y, X_valid, y_valid, LAWS["banzhaf"], 1, **model)


@checked
def beta_level(
    X: Array,
    y: Array,
    X_valid: Array,
    y_valid: Array,
    *,
    alpha: Positive = 4.0,
    beta: Positive = 1.0,
    nodes: Count = 8,
    **model: Any,
) -> Values:
    """Beta(α, β)-Shapley values as a weighted mean marginal over all levels.

    Parameters
    ----------
    alpha : weight of small coalitions.
    beta : weight of large coalitions.
    nodes : levels, where the marginals are taken.
    model : as in :func:`level_values`.
    """
    return level_values(X, y, X_valid, y_valid, beta_shapley_law(alpha, beta), nodes, **model)


def influence_level(X: Array, y: Array, X_valid: Array, y_valid: Array, **model: Any) -> Values:
    """Leave-one-out values as the derivative at the full data: the classical influence function."""
    return level_values(X, y, X_valid, y_valid, LAWS["loo"], 1, **model)


@checked
def level_values(
    X: Array,
    y: Array,
    X_valid: Array,
    y_valid: Array,
    law: Law,
    nodes: int,
    *,
    utility: SmoothUtility = "probability",
    C: Positive = 1.0,
    device: Device = "cpu",
    dtype: Precision = "float64",
) -> Values:
    """Semi-values of the logistic regression by levels of a law.

    Parameters
    ----------
    utility : of the logistic regression on the validation part; one that has a derivative.
    C : inverse strength of the L2 penalty.
    device : where to compute.
    dtype : precision of the fits.
    """
    if len(np.unique(y)) < 2:
        raise NoValues("all training points are of one class: a level has no regression")
    classes = 1 + int(max(np.max(y), np.max(y_valid)))
    game = LogisticGame(X, y, X_valid, y_valid, classes, C, utility, device, dtype)
    t, _ = law.levels(game.n, nodes)
    values = level_semivalues(game, law, nodes)
    empty, every = game.utilities(np.stack([np.zeros(game.n, bool), np.ones(game.n, bool)]))
    # Shapley values sum to U(all) − U(none): what the levels miss is shared equally, and recorded
    missed = float(every - empty - values.sum()) if law.efficient else 0.0
    values = values + missed / game.n
    record = {
        "levels": [round(float(level), 6) for level in t],
        "sum": float(values.sum()),
        "missed": missed,
        "utility_empty": float(empty),
        "utility_all": float(every),
    }
    return Values(values, record=record)
