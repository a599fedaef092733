"""Confident learning: labels that are confidently of another class, out of fold.

A control for finding wrong labels, after Northcutt, Jiang and Chuang (2021), "Confident learning:
estimating uncertainty in dataset labels", JAIR 70. Written from the paper; cleanlab is not used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nddv.baselines.out_of_fold import OutOfFold
from nddv.values import Values

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

NONE = -1
"""In place of a class: a point that is confident of none."""


def confident_learning(found: OutOfFold) -> Values:
    """Values of labels by what models say of points that they have not seen.

    See :func:`confident_ranks` for the value of a point. The record has the confident joint:
    ``joint[i][j]`` counts the points labelled i, in the order of the classes, that are confidently
    of class j.

    Returns
    -------
    Values from −3 to 1, below −1 where the confident joint says that the label is wrong.
    """
    probabilities, labels, folds = found
    confident = confident_classes(probabilities, labels)
    joint = confident_joint(labels, confident, probabilities.shape[1])
    record = {"fits": folds, "joint": joint.tolist()}
    return Values(confident_ranks(probabilities, labels), record=record)


def confident_ranks(probabilities: Floats, labels: Codes) -> Floats:
    """Normalised margins (n,) of labels, lowered by 2 where the confident joint is off-diagonal.

    The margin p_y − max_{c ≠ y} p_c lies between −1 and 1. So every label that is confidently of
    another class comes below every other label, and margins order both groups: one order of all
    points, with the labels that the paper would prune first.

    Parameters
    ----------
    probabilities : (n, classes) of each point by a model that has not seen it.
    labels : (n,) classes 0..classes−1, each of them somewhere.
    """
    of_label = np.arange(len(labels)), labels
    others = probabilities.copy()
    others[of_label] = -np.inf
    margins = probabilities[of_label] - others.max(axis=1)
    confident = confident_classes(probabilities, labels)
    return np.where((confident != NONE) & (confident != labels), margins - 2.0, margins)


def confident_classes(probabilities: Floats, labels: Codes) -> Codes:
    """The class (n,) that each point is confidently of, or `NONE`.

    It is the likeliest class among those whose probability reaches the threshold of the class: its
    mean probability over the points that are labelled so. A class of which no model knows a point
    has no threshold to reach, and nothing is confidently of it.
    """
    own = np.eye(probabilities.shape[1])[labels]
    thresholds = (own * probabilities).sum(axis=0) / own.sum(axis=0)
    # a mean of equal numbers may be above them by rounding
    reached = (probabilities >= thresholds * (1 - 1e-12)) & (probabilities > 0)
    likeliest = np.where(reached, probabilities, -np.inf).argmax(axis=1)
    return np.where(reached.any(axis=1), likeliest, NONE)


def confident_joint(labels: Codes, confident: Codes, classes: int) -> Codes:
    """Counts (classes, classes) of points by label and by the class they are confidently of."""
    counts = np.zeros((classes, classes), dtype=np.int64)
    known = confident != NONE
    np.add.at(counts, (labels[known], confident[known]), 1)
    return counts
