"""Data-OOB: how often models that have not seen a point predict its label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nddv.coalitions import fit_coalitions, predict_proba_many
from nddv.support.settings import Count, Flag, Positive, Precision, checked
from nddv.values import NoValues, Values

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

Batch = tuple[NDArray[np.bool_], NDArray[np.floating]]
"""Of some models: which points are out of bag (b, n), and class probabilities (b, n, classes)."""


@checked
def data_oob(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    num_models: Count = 1000,
    soft: Flag = False,
    C: Positive = 1.0,
    dtype: Precision = "float64",
) -> Values:
    """Data-OOB values (Kwon and Zou 2023, ICML) from logistic regressions.

    The value of point i is the mean, over the bootstrap samples without it, of 1[prediction = y_i].

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes.
    num_models : bootstrap samples.
    soft : take the predicted probability of y_i instead of 0 or 1.
    C : inverse strength of the L2 penalty.
    dtype : precision of the fits; float32 gives coefficients to 1e-4 in half the time.

    Returns
    -------
    Values between 0 and 1 with standard errors over the bootstrap samples.
    """
    labels = _labels(y)
    n = len(X)
    draws = rng.integers(n, size=(num_models, n)) + n * np.arange(num_models)[:, None]
    counts = np.bincount(draws.ravel(), minlength=num_models * n).reshape(num_models, n)
    means = out_of_bag_means(logistic_predictions(X, labels, counts, C, dtype), labels, soft)
    return Values(*means, {"fits": num_models})


@checked
def data_oob_trees(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    num_models: Count = 1000,
    soft: Flag = False,
) -> Values:
    """Data-OOB values as in :func:`data_oob`, from the trees of a random forest.

    Parameters
    ----------
    num_models : trees, each with its bootstrap sample.
    soft : take the predicted probability of y_i instead of 0 or 1.
    """
    # Late: it takes two seconds, and logistic regressions do without.
    from sklearn.ensemble import RandomForestClassifier

    labels = _labels(y)
    forest = RandomForestClassifier(num_models, random_state=int(rng.integers(2**31)))
    means = out_of_bag_means(tree_predictions(forest.fit(X, labels), X), labels, soft)
    return Values(*means, {"fits": num_models})


def _labels(y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Classes as whole numbers from 0."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise NoValues("Data-OOB needs at least two classes")
    return labels


def logistic_predictions(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    counts: NDArray[np.int64],
    C: float,
    dtype: str = "float64",
) -> Iterator[Batch]:
    """Fit a logistic regression to every bootstrap sample; counts (B, n) say what it holds."""
    fits = fit_coalitions(X, y, counts, int(y.max()) + 1, C, dtype=dtype)
    for rows, probabilities in predict_proba_many(fits, X):
        yield counts[rows] == 0, probabilities


def tree_predictions(forest: RandomForestClassifier, X: NDArray[np.floating]) -> Iterator[Batch]:
    """Predictions of the trees of a forest that was fitted to X, one by one."""
    points = np.asarray(X, dtype=np.float32)
    for tree, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.ones((1, len(X)), dtype=bool)
        out[0, sample] = False
        yield out, tree.predict_proba(points, check_input=False)[None]


def out_of_bag_means(
    batches: Iterator[Batch], y: NDArray[np.int64], soft: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean score of each point out of bag, and its standard error, both (n,)."""
    points = np.arange(len(y))
    count, total, squares = np.zeros((3, len(y)))
    for out, probabilities in batches:
        hits = probabilities[:, points, y] if soft else probabilities.argmax(axis=2) == y
        score = hits.astype(np.float64)
        count += out.sum(axis=0)
        total += (score * out).sum(axis=0)
        squares += (score**2 * out).sum(axis=0)
    if count.min() < 2:
        raise ValueError(
            f"{np.sum(count < 2)} points are out of bag in fewer than two samples; draw more "
            "(num_models)"
        )
    mean = total / count
    variance = np.maximum(squares / count - mean**2, 0.0)
    return mean, np.sqrt(variance / (count - 1))
