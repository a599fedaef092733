"""Data-OOB: how often models that have not seen a point predict its label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from nddv.values import NoValues, Values

Batch = tuple[NDArray[np.bool_], NDArray[np.floating]]
"""Of some models: which points are out of bag (b, n), and class probabilities (b, n, classes)."""


def data_oob(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    learner: str = "logistic",
    num_models: int = 1000,
    soft: bool = False,
    C: float = 1.0,
    max_features: str | float | int | None = "sqrt",
    n_jobs: int | None = None,
) -> Values:
    """Data-OOB values (Kwon and Zou 2023, ICML).

    The value of point i is the mean, over the bootstrap samples without it, of 1[prediction = y_i].

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes.
    learner : ``"logistic"``, or ``"trees"`` for those of a random forest.
    num_models : number of bootstrap samples.
    soft : take the predicted probability of y_i instead of 0 or 1.
    C : inverse penalty of the logistic regressions.
    max_features, n_jobs : of scikit-learn's ``RandomForestClassifier``.

    Returns
    -------
    Values between 0 and 1 with standard errors over the bootstrap samples.
    """
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise NoValues("Data-OOB needs at least two classes")
    if learner == "logistic":
        counts = bootstrap_counts(len(X), num_models, rng)
        batches = logistic_predictions(X, labels, counts, C)
    elif learner == "trees":
        forest = RandomForestClassifier(
            num_models,
            max_features=max_features,
            n_jobs=n_jobs,
            random_state=int(rng.integers(2**31)),
        )
        batches = tree_predictions(forest.fit(X, labels), X)
    else:
        raise ValueError(f"learner must be 'logistic' or 'trees', got {learner!r}")
    values, stderr = out_of_bag_means(batches, labels, soft)
    return Values(values, stderr, {"fits": num_models})


def data_oob_trees(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    num_models: int = 1000,
    soft: bool = False,
) -> Values:
    """Data-OOB values from the trees of a random forest; parameters as in :func:`data_oob`."""
    return data_oob(X, y, rng, "trees", num_models, soft)


def bootstrap_counts(n: int, num_models: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each of n points is in each of the bootstrap samples of size n, (num_models, n)."""
    draws = rng.integers(n, size=(num_models, n)) + n * np.arange(num_models)[:, None]
    return np.bincount(draws.ravel(), minlength=num_models * n).reshape(num_models, n)


def logistic_predictions(
    X: NDArray[np.floating], y: NDArray[np.int64], counts: NDArray[np.int64], C: float
) -> Iterator[Batch]:
    """Fit a logistic regression to every bootstrap sample; counts (B, n) say what it holds."""
    from nddv.coalitions import fit_coalitions, predict_proba_many

    fits = fit_coalitions(X, y, counts, int(y.max()) + 1, C)
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
        if soft:
            score = probabilities[:, points, y].astype(np.float64)
        else:
            score = (probabilities.argmax(axis=2) == y).astype(np.float64)
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
