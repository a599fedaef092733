"""CS-Shapley: class-wise Shapley values.

Schoch, Xu and Ji, "CS-Shapley: class-wise Shapley values for data valuation in classification",
NeurIPS 2022. A point is valued by what it does for its own class, discounted by what happens to the
others: a coalition of points of class c together with points of other classes is worth

    v_c = a_c · exp(a_¬c),

where a_c is the share of all validation points that are of class c and predicted rightly, a_¬c the
share that are of another class and predicted rightly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from nddv.baselines.semivalues import walk_contributions
from nddv.coalitions import Engine
from nddv.coalitions.predict import scores
from nddv.support.settings import Device, Flag, Positive, Precision, checked, whole
from nddv.values import NoValues, Values

ClassAccuracies = Callable[[NDArray[np.bool_]], NDArray[np.float64]]
"""Coalitions (B, n) -> (B, K): a_c of every class c. A row sums to the accuracy."""

CHUNK_ELEMENTS = 16_000_000


@checked
def class_wise_shapley(
    class_accuracies: ClassAccuracies,
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    num_samples: Annotated[int, whole(2)] = 100,
    normalise: Flag = True,
) -> Values:
    """Shapley values among the points of a class, averaged over random points of other classes.

    Each sample is a random subset of the other classes, each point in it with probability one half
    and no class without a point, and a random order in which the points of the class join it.

    Parameters
    ----------
    class_accuracies : of the predictor of a coalition, such as :func:`logistic_class_accuracies`.
    y : (n,) classes 0, …, K−1 of the points.
    num_samples : for each class; a sample costs about n fits for all classes together.
    normalise : scale the values of a class to sum to a_c of the predictor of all points, as in the
        paper. Their sum before, the mean of v_c over the samples, is never negative.

    Returns
    -------
    Values with standard errors over samples, those of the scale left aside.
    """
    classes = np.unique(y)
    if len(classes) < 2:
        raise NoValues("class-wise Shapley values need points of at least two classes")
    accuracy = class_accuracies(np.ones((1, len(y)), dtype=bool))[0]
    values, stderr = np.empty(len(y)), np.empty(len(y))
    for label in classes:
        own = y == label
        others = draw_others(y, label, num_samples, rng)
        ranks = np.broadcast_to(np.arange(own.sum()), (num_samples, own.sum()))
        orders = rng.permuted(ranks, axis=1)
        samples = class_contributions(class_accuracies, y, label, others, orders)
        values[own] = samples.mean(axis=0)
        stderr[own] = samples.std(axis=0, ddof=1) / np.sqrt(num_samples)
        if normalise and values[own].sum() > 0:
            scale = accuracy[label] / values[own].sum()
            values[own] *= scale
            stderr[own] *= scale
    return Values(values, stderr, {"fits": num_samples * (len(y) + len(classes)) + 1})


def draw_others(
    y: NDArray[np.int64], label: int, count: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Uniformly drawn sets (count, n) of points of other classes, with some of each class."""
    members = np.zeros((count, len(y)), dtype=bool)
    for other in np.setdiff1d(y, label):
        points = np.flatnonzero(y == other)
        missing = np.arange(count)
        while len(missing):
            members[np.ix_(missing, points)] = rng.random((len(missing), len(points))) < 0.5
            missing = missing[~members[np.ix_(missing, points)].any(axis=1)]
    return members


def class_contributions(
    class_accuracies: ClassAccuracies,
    y: NDArray[np.int64],
    label: int,
    others: NDArray[np.bool_],
    orders: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Marginal contributions of the points of a class to v_c as they join given other points.

    Parameters
    ----------
    others : (R, n) which points of other classes are there.
    orders : (R, n_c) permutations of the points of the class, numbered 0, …, n_c−1.

    Returns
    -------
    (R, n_c), the last axis by point of the class.
    """
    own = y == label
    length = orders.shape[1] + 1
    # The place at which each point joins: before the walk, along it, or never.
    place = np.where(others, -1, length)
    place[:, own] = np.argsort(orders, axis=1)
    utilities = np.empty(len(orders) * length)
    step = max(1, CHUNK_ELEMENTS // len(y))
    for start in range(0, len(utilities), step):
        rows = np.arange(start, min(start + step, len(utilities)))
        walk, size = np.divmod(rows, length)
        accuracies = class_accuracies(place[walk] < size[:, None])
        right = accuracies[:, label]
        utilities[rows] = right * np.exp(accuracies.sum(axis=1) - right)
    by_size = utilities.reshape(len(orders), length)
    return walk_contributions(by_size, orders, np.ones((1, length - 1)))[:, 0]


@checked
def logistic_class_accuracies(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_valid: NDArray[np.floating],
    y_valid: NDArray[np.int64],
    n_classes: int,
    *,
    C: Positive = 1.0,
    device: Device = "cpu",
    dtype: Precision = "float64",
) -> ClassAccuracies:
    """Class accuracies of the downstream logistic regression.

    Parameters
    ----------
    C : inverse strength of the L2 penalty.
    device : where to compute.
    dtype : precision of the fits; float32 gives coefficients to 1e-4 in half the time.
    """
    engine = Engine(X, y, n_classes, C, device, dtype)
    by_class = [(X_valid[y_valid == k], y_valid[y_valid == k]) for k in range(n_classes)]

    def class_accuracies(coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        fits = engine.fit(coalitions)
        accuracies = np.zeros((len(coalitions), n_classes))
        for k, (X_k, y_k) in enumerate(by_class):
            if len(y_k):
                accuracies[:, k] = scores(fits, X_k, y_k, device)[:, 0] * len(y_k) / len(y_valid)
        return accuracies

    return class_accuracies
