"""The best that a detector of wrong labels can expect, where P(y|x) is known.

Two data sets are formulas with normal noise, split at their mean: the class of a row is known up to
P(y|x) and no further. Who knows P(y|x) ranks the labels ỹ by the probability that they are wrong,

    r·(1 − P(ỹ|x))/(C−1) / (r·(1 − P(ỹ|x))/(C−1) + (1−r)·P(ỹ|x)),

with a share r of wrong labels, each one of the C − 1 others. No ranking by x and ỹ finds more of
them among the first k on average.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nddv.problems.formulas import planes_mean
from nddv.problems.problem import Problem, Truth
from nddv.problems.tables import Table

CEILING = "ceiling"
"""In place of a method."""
BELOW = "P"
"""The class of targets below their mean, as in the data sets of OpenML."""

Floats = NDArray[np.float64]


def friedman_mean(X: Floats) -> Floats:
    """The mean target (rows,) of ``fire`` at X1..X10, (rows, 10); the noise is N(0, 1)."""
    wave = 10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return np.asarray(wave + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4])


MEANS: dict[str, Callable[[Floats], Floats]] = {"2dplanes": planes_mean, "fire": friedman_mean}


def class_probabilities(table: Table) -> Floats:
    """P(y|x), (rows, 2), of a data set of `MEANS`.

    The mean at which its target was split is taken to be that of P(target|x) over all rows, which
    leaves out the mean of their noise.
    """
    from scipy.special import ndtr

    means = MEANS[table.name](np.asarray(table.X, dtype=np.float64))
    below = ndtr(means.mean() - means)
    return np.stack([below if name == BELOW else 1 - below for name in table.classes], axis=1)


def probability_wrong(own: Floats, rate: float, classes: int) -> Floats:
    """Probability (n,) that a label is wrong, from the P(ỹ|x) of the labels (n,).

    rate : share of wrong labels, between 0 and 1.
    """
    wrong = rate * (1 - own) / (classes - 1)
    return wrong / (wrong + (1 - rate) * own)


def expected_f1(scores: Floats, mask: NDArray[np.bool_]) -> float:
    """Budget-matched F1 of flagging the highest scores (n,), expected over the order of ties."""
    k = int(mask.sum())
    last = np.sort(scores)[-k]
    surely, perhaps = scores > last, scores == last
    share = (k - int(surely.sum())) / int(perhaps.sum())
    return float((mask[surely].sum() + share * mask[perhaps].sum()) / k)


def ceiling(probabilities: Floats, problem: Problem, truth: Truth) -> float:
    """Budget-matched F1 of who knows P(y|x), (rows, C) of the data set, on one problem."""
    own = probabilities[truth.rows_train, problem.y_train]
    scores = probability_wrong(own, float(truth.mask.mean()), probabilities.shape[1])
    return expected_f1(scores, truth.mask)
