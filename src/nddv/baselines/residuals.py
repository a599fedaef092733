"""Residuals out of bag: how far trees that have not seen a point miss its real-valued target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

from nddv.support.settings import Count, checked
from nddv.values import Values


@checked
def forest_residual(
    X: NDArray[np.floating],
    y: NDArray[np.floating],
    rng: np.random.Generator,
    *,
    num_models: Count = 1000,
) -> Values:
    """Minus the distance of each target from the mean prediction of the trees without its point.

    Data-OOB (Kwon and Zou 2023, ICML) for regression, with the absolute error of the forest.

    Parameters
    ----------
    X, y : (n, d) features and (n,) real numbers.
    num_models : trees, each with its bootstrap sample.

    Returns
    -------
    Values of at most 0, in the unit of the targets.
    """
    forest = RandomForestRegressor(num_models, random_state=int(rng.integers(2**31))).fit(X, y)
    return Values(-np.abs(y - out_of_bag_prediction(forest, X)), record={"fits": num_models})


def out_of_bag_prediction(
    forest: RandomForestRegressor, X: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Of each point (n,), by the trees of a forest fitted to X whose sample lacks it."""
    points = np.asarray(X, dtype=np.float32)
    count, total = np.zeros((2, len(X)))
    for tree, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.ones(len(X), dtype=bool)
        out[sample] = False
        count += out
        total += np.where(out, tree.predict(points, check_input=False), 0.0)
    if count.min() < 1:
        raise ValueError(f"{np.sum(count < 1)} points are never out of bag; draw more (num_models)")
    return total / count
