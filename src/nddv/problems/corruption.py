"""Corruptions: noise in the labels, targets or features of some training points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.problems.addresses import KINDS

# Mean and spread of the noise that is added to standardised features: `feature` as in the code that
# the paper's authors released, `gauss` as in OpenDataVal.
NOISE = {"feature": (1.0, 0.1), "gauss": (0.0, 1.0)}


def corrupt(
    X: NDArray[np.float32],
    y: NDArray[Any],
    rates: Mapping[str, float],
    varies: NDArray[np.bool_],
    n_classes: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[np.int8]]:
    """Corrupt round(rate·n) points by each kind; no point is corrupted twice.

    ``label`` gives a point a wrong class, drawn uniformly; ``target`` gives it the real-valued
    target of another point; ``feature`` adds N(1, 0.1²) and ``gauss`` N(0, 1) to each of its
    features. Features that are constant on the training part stay 0: any noise there would give the
    point away.

    Parameters
    ----------
    X : (n, d) standardised features.
    y : (n,) classes 0..C−1, or real numbers.
    rates : of each kind, as :func:`~nddv.problems.addresses.parse_corruption` returns them.
    varies : (d,) False where a feature is constant on the training part.
    n_classes : C; 0 for real numbers.

    Returns
    -------
    X and y after corruption, and (n,) codes of the corruptions: positions in ``KINDS``.
    """
    X, y, kinds = X.copy(), y.copy(), np.zeros(len(y), dtype=np.int8)
    for kind, rate in rates.items():
        free = np.flatnonzero(kinds == KINDS.index("clean"))
        count = round(rate * len(y))
        if not 0 < count <= len(free):
            raise ValueError(
                f"{kind} noise at rate {rate:g} takes {count} of {len(y)} points, with "
                f"{len(free)} still clean: choose another rate or more points"
            )
        chosen = rng.choice(free, size=count, replace=False)
        kinds[chosen] = KINDS.index(kind)
        if kind == "label":
            if n_classes < 2:
                raise ValueError(f"label noise needs at least 2 classes, got {n_classes}")
            # a shift by a uniform 1..C−1, modulo C
            y[chosen] = (y[chosen] + rng.integers(1, n_classes, size=count)) % n_classes
        elif kind == "target":
            y[chosen] = _targets_of_others(y, chosen, rng)
        else:
            noise = rng.normal(*NOISE[kind], size=(count, np.count_nonzero(varies)))
            X[np.ix_(chosen, varies)] += noise
    return X, y, kinds


def _targets_of_others(
    y: NDArray[Any], chosen: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[Any]:
    """For each chosen point, the target of a point drawn uniformly from those with another."""
    if np.ptp(y) == 0:
        raise ValueError("target noise needs at least 2 different targets, got 1")
    return np.array([rng.choice(y[y != y[i]]) for i in chosen])
