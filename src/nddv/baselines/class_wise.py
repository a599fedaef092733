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
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from nddv.baselines.semivalues import walk_contributions
from nddv.coalitions import LogisticGame, predict_proba_many
from nddv.coalitions.threads import apply, workers
from nddv.coalitions.walks import Walks
from nddv.support.settings import Device, Flag, NotNegative, Positive, Precision, checked, whole
from nddv.values import NoValues, Values

ClassAccuracies = Callable[[NDArray[np.bool_]], NDArray[np.float64]]
"""Coalitions (B, n) -> (B, K): a_c of every class c. A row sums to the accuracy.

One with a method ``walks`` gives those of all prefixes of walks; see :class:`PredictedAccuracies`.
"""

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
    if isinstance(class_accuracies, PredictedAccuracies):
        joining = np.flatnonzero(own)[orders]
        accuracies = class_accuracies.walks(others, joining)
        worth = _worth(accuracies.reshape(-1, accuracies.shape[-1]), label)
        return walk_contributions(worth.reshape(-1, length), orders, np.ones((1, length - 1)))[:, 0]
    # The place at which each point joins: before the walk, along it, or never.
    place = np.where(others, -1, length)
    place[:, own] = np.argsort(orders, axis=1)
    utilities = np.empty(len(orders) * length)
    step = max(1, CHUNK_ELEMENTS // len(y))
    for start in range(0, len(utilities), step):
        rows = np.arange(start, min(start + step, len(utilities)))
        walk, size = np.divmod(rows, length)
        utilities[rows] = _worth(class_accuracies(place[walk] < size[:, None]), label)
    by_size = utilities.reshape(len(orders), length)
    return walk_contributions(by_size, orders, np.ones((1, length - 1)))[:, 0]


def _worth(accuracies: NDArray[np.float64], label: int) -> NDArray[np.float64]:
    """v_c (B,) of class accuracies (B, K)."""
    right = accuracies[:, label]
    return right * np.exp(accuracies.sum(axis=1) - right)


@checked
def logistic_class_accuracies(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_valid: NDArray[np.floating],
    y_valid: NDArray[np.int64],
    n_classes: int,
    *,
    C: Positive = 1.0,
    step: NotNegative = 0.0,
    device: Device = "cpu",
    dtype: Precision = "float64",
) -> ClassAccuracies:
    """Class accuracies of the downstream logistic regression.

    Parameters
    ----------
    C : inverse strength of the L2 penalty.
    step : as points join a coalition, fit it when it has grown by this share, and predict what the
        points between two fits do (:mod:`nddv.coalitions.walks`). 0: fit it with every point.
    device : where to compute.
    dtype : precision of the fits; float32 gives coefficients to 1e-4 in half the time.
    """
    game = LogisticGame(X, y, X_valid, y_valid, n_classes, C, device=device, dtype=dtype)
    return PredictedAccuracies(game, step) if step else FittedAccuracies(game)


class FittedAccuracies:
    """Class accuracies of coalitions of a game, each by a fit."""

    def __init__(self, game: LogisticGame) -> None:
        self.game = game
        classes = torch.as_tensor(game.y_valid, device=game.device).long()
        self.indicators = F.one_hot(classes, game.n_classes).double() / len(classes)

    def __call__(self, coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Class accuracies (B, K) of coalitions (B, n)."""
        fits = self.game.engine.fit(coalitions)
        parts = [np.empty((0, self.game.n_classes))]
        for _, probabilities in predict_proba_many(fits, self.game.X_valid, self.game.device):
            predicted = torch.as_tensor(probabilities).argmax(dim=2)
            parts.append(self._of_predictions(predicted).numpy(force=True))
        return np.concatenate(parts)

    def _of_predictions(self, predicted: Tensor) -> Tensor:
        """Class accuracies (B, K) of predicted classes (B, m)."""
        right = predicted == self.indicators.argmax(dim=1).to(predicted.device)
        return right.double() @ self.indicators


class PredictedAccuracies(FittedAccuracies):
    """The same, of walks too: fitted where a coalition has grown, and predicted between."""

    def __init__(self, game: LogisticGame, step: float) -> None:
        super().__init__(game)
        self._walks = Walks(game, self._of_logits, step)

    def walks(self, begin: NDArray[np.bool_], orders: NDArray[np.intp]) -> NDArray[np.float64]:
        """Class accuracies (R, L + 1, K) as points of orders (R, L) join coalitions (R, n)."""

        def walk(r: int) -> NDArray[np.float64]:
            return self._walks.along(np.flatnonzero(begin[r]), orders[r])

        with workers(self.game.device) as threads:
            return np.stack(apply(walk, range(len(orders)), threads))

    def _of_logits(self, logits: Tensor) -> Tensor:
        """Class accuracies (b, K) of logits (b, K, m), one logit for two classes."""
        two = logits.shape[1] == 1
        predicted = (logits[:, 0] > 0).long() if two else logits.argmax(dim=1)
        return self._of_predictions(predicted)
