"""Out of fold: how likely a label is to a model that has not seen its point.

Controls for finding wrong labels. The value of a point is the log of cleanlab's self-confidence
(Northcutt, Jiang and Chuang 2021, JAIR): the probability of its label, predicted by a model that
was fitted to the other folds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from nddv.support.settings import Count, Positive, checked, whole
from nddv.values import NoValues, Values

Model = Callable[[NDArray[np.int64]], Any]
"""A new classifier for the labels that it will be fitted to."""


class OutOfFold(NamedTuple):
    """What models say of points that they have not seen.

    probabilities : (n, classes), in the order of the classes.
    labels : (n,) places of the labels in that order.
    folds : models.
    """

    probabilities: NDArray[np.float64]
    labels: NDArray[np.int64]
    folds: int


@checked
def boosting(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    folds: Annotated[int, whole(2)] = 5,
    learning_rate: Positive = 0.1,
    max_leaf_nodes: Annotated[int, whole(2)] = 31,
    min_samples_leaf: Count = 20,
    max_iter: Count = 100,
) -> OutOfFold:
    """Class probabilities out of fold, by gradient boosting with scikit-learn's defaults.

    As by default there, a fit to more than 10,000 points stops early, by a tenth of them that it
    holds out.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes.
    folds : parts of the points, with all classes in each as far as possible.
    learning_rate : of scikit-learn's ``HistGradientBoostingClassifier``.
    max_leaf_nodes : leaves of a tree at most.
    min_samples_leaf : points of a leaf at least.
    max_iter : trees of each class at most.
    """
    state = int(rng.integers(2**31))

    def model(labels: NDArray[np.int64]) -> HistGradientBoostingClassifier:
        # points to stop by are drawn by class, which a class of one point makes impossible
        alone = (np.bincount(labels) == 1).any()
        return HistGradientBoostingClassifier(
            learning_rate=learning_rate,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf,
            max_iter=max_iter,
            early_stopping=False if alone else "auto",
            random_state=state,
        )

    return class_probabilities(X, y, rng, folds, model)


@checked
def boosting_slow(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    folds: Annotated[int, whole(2)] = 5,
    learning_rate: Positive = 0.05,
    max_leaf_nodes: Annotated[int, whole(2)] = 8,
    min_samples_leaf: Count = 20,
    max_iter: Count = 100,
) -> Values:
    """Log-probability of each label out of fold, by small trees in small steps.

    Such a model fits wrong labels of the other folds less. It never stops early.

    Parameters
    ----------
    folds : parts of the points, with all classes in each as far as possible.
    learning_rate : of scikit-learn's ``HistGradientBoostingClassifier``.
    max_leaf_nodes : leaves of a tree at most.
    min_samples_leaf : points of a leaf at least.
    max_iter : trees of each class.
    """

    def model(_: NDArray[np.int64]) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(
            learning_rate=learning_rate,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf,
            max_iter=max_iter,
            early_stopping=False,
            random_state=0,  # nothing is drawn, but for the bins of more than 200,000 points
        )

    return self_confidence(class_probabilities(X, y, rng, folds, model))


@checked
def logistic_out_of_fold(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    folds: Annotated[int, whole(2)] = 5,
    C: Positive = 0.01,
    max_iter: Count = 1000,
) -> Values:
    """Log-probability of each label out of fold, by logistic regression.

    Parameters
    ----------
    folds : parts of the points, with all classes in each as far as possible.
    C : inverse strength of the L2 penalty of scikit-learn's ``LogisticRegression``.
    max_iter : iteration limit of its solver.
    """
    return self_confidence(logistic_probabilities(X, y, rng, folds=folds, C=C, max_iter=max_iter))


def logistic_probabilities(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    folds: int,
    C: float,
    max_iter: int,
) -> OutOfFold:
    """Class probabilities out of fold, by scikit-learn's ``LogisticRegression``."""

    def model(_: NDArray[np.int64]) -> LogisticRegression:
        return LogisticRegression(C=C, max_iter=max_iter)

    return class_probabilities(X, y, rng, folds, model)


def self_confidence(found: OutOfFold) -> Values:
    """Log-probabilities of the labels out of fold, as far down as a float64 has probabilities."""
    own = found.probabilities[np.arange(len(found.labels)), found.labels]
    return Values(np.log(np.maximum(own, np.finfo(np.float64).tiny)), record={"fits": found.folds})


def class_probabilities(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    folds: int,
    model: Model,
) -> OutOfFold:
    """Class probabilities of each point by a model of the points of the other folds."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise NoValues("values out of fold need at least two classes")
    parts = stratified_folds(labels, folds, rng)
    return OutOfFold(
        out_of_fold(np.asarray(X, dtype=np.float64), labels, parts, model), labels, folds
    )


def stratified_folds(
    labels: NDArray[np.int64], folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The fold (n,) of each point: dealt out class by class, in a random order within a class.

    So the folds have n/folds points each, up to one, and of every class the same number, up to one.
    A class with fewer points than folds is in that many folds, and its points see each other.
    """
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    parts = np.empty(len(labels), dtype=np.int64)
    parts[by_class] = np.arange(len(labels)) % folds
    return parts


def out_of_fold(
    X: NDArray[np.floating], labels: NDArray[np.int64], parts: NDArray[np.int64], model: Model
) -> NDArray[np.float64]:
    """Class probabilities (n, classes) of each point by a model of the points of other folds.

    A class that a model has not seen has probability 0.
    """
    probabilities = np.zeros((len(labels), int(labels.max()) + 1))
    for part in np.unique(parts):
        out = parts == part
        seen = np.unique(labels[~out])
        if len(seen) == 1:  # which scikit-learn refuses to fit
            probabilities[out, seen[0]] = 1.0
            continue
        fitted = model(labels[~out]).fit(X[~out], labels[~out])
        probabilities[np.ix_(out, seen)] = fitted.predict_proba(X[out])
    return probabilities
