"""Rows with strange features: outliers, and noise in the features. Labels do not enter.

The score is that of the method ``features`` (:mod:`nddv.baselines.typicality`): minus how rare the
entries of a row are in their columns, or how remote the row is from others, whichever is stranger.

How many rows are so strange by chance? Both parts are 0 at their median and 1 at their upper
quartile, so of rows whose strangeness falls off exponentially a share of 2^−(1+z) lies beyond z;
with two parts, at most 2^−z. Normal features fall off faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.baselines.typicality import strangeness
from nddv.checks.rows import dense_rows
from nddv.methods.settings import defaults

MINIMUM_ROWS = 10
TAIL = 2.0**-7
"""Rows with a smaller tail are outliers: at most 0.8 % of a table whose tails are exponential."""

RARE, REMOTE = "rare", "remote"


@dataclass(frozen=True)
class FeatureCheck:
    """How strange the features of n rows are.

    Attributes
    ----------
    scores : (n,) higher is more typical; 0 is usual.
    tail : (n,) share of usual rows that are at least as strange, if strangeness falls off
        exponentially; 1 for rows that are not strange at all.
    outlier : (n,) bool, where the tail is below ``TAIL``.
    way : (n,) in which way a row is stranger: ``"rare"``, entries with values that their columns
        hardly have, or ``"remote"``, a combination of entries far from those of other rows.
    """

    scores: NDArray[np.float64]
    tail: NDArray[np.float64]
    outlier: NDArray[np.bool_]
    way: NDArray[np.str_]


def find_outliers(X: Any, seed: int = 0) -> FeatureCheck:
    """Score the features of every row, and say which rows are outliers.

    Parameters
    ----------
    X : (n, d) numbers without gaps: an array, a data frame, a sparse matrix or rows on disk.
    seed : of the rows that others are compared with, where there are more than 5000.
    """
    rows = dense_rows(X, MINIMUM_ROWS, "a check of features")
    references = defaults("features")["references"]
    rare, remote = strangeness(rows, np.random.default_rng(seed), references)
    scores = -np.maximum(rare, remote)
    tail = np.exp2(np.minimum(scores, 0.0))
    return FeatureCheck(scores, tail, tail < TAIL, np.where(rare >= remote, RARE, REMOTE))


def typicality(X: Any, seed: int = 0) -> NDArray[np.float64]:
    """The scores of :func:`find_outliers`, (n,)."""
    return find_outliers(X, seed).scores
