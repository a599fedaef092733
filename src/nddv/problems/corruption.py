"""Corruptions: what is done to a part of the data, and to which of its points."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

# What can be true of a point; its code is the place in this list. A mixed corruption names its
# kinds in this order, so that a problem has one address.
KINDS = ("clean", "label", "feature", "gauss")

# Mean and spread of what is added to standardised features: as in the code that the authors of the
# paper released, and as in OpenDataVal.
NOISE = {"feature": (1.0, 0.1), "gauss": (0.0, 1.0)}

_KIND_AND_PERCENT = re.compile(rf"({'|'.join(KINDS[1:])})([1-9][0-9]?)")


def parse_corruption(name: str) -> dict[str, float]:
    """Read ``"label10+feature5"`` as ``{"label": 0.1, "feature": 0.05}``; ``"clean"`` is empty."""
    if name == "clean":
        return {}
    matches = [_KIND_AND_PERCENT.fullmatch(word) for word in name.split("+")]
    percents = {match[1]: int(match[2]) for match in matches if match}
    if len(percents) < len(matches):
        raise ValueError(
            f"unknown corruption {name!r}: use 'clean', or one of {', '.join(KINDS[1:])} with a "
            "percentage from 1 to 99, e.g. 'label10'; mixed, each kind once: 'label10+feature5'"
        )
    in_order = sorted(percents, key=KINDS.index)
    if list(percents) != in_order:
        canonical = "+".join(f"{kind}{percents[kind]}" for kind in in_order)
        raise ValueError(f"unknown corruption {name!r}: write it as {canonical!r}")
    if sum(percents.values()) >= 100:
        raise ValueError(f"corruption {name!r} leaves no point clean: lower its percentages")
    return {kind: percent / 100 for kind, percent in percents.items()}


def corrupt(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    rates: Mapping[str, float],
    varies: NDArray[np.bool_],
    n_classes: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int8]]:
    """Corrupt round(rate·n) points by each kind; no point is corrupted twice.

    ``label`` gives a point a wrong class, uniformly; ``feature`` adds N(1, 0.1²) and ``gauss``
    N(0, 1) to each of its features. Features that are constant on the training part are left
    alone: they are 0 everywhere, and anything else there would give the point away.

    Parameters
    ----------
    X : (n, d) standardised features.
    y : (n,) classes 0..C−1.
    rates : of each kind, as :func:`parse_corruption` gives them.
    varies : (d,) False where a feature is constant on the training part.

    Returns
    -------
    X and y after corruption, and the (n,) code of what was done to each point, its place in
    ``KINDS``.
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
            y[chosen] = _wrong_classes(y[chosen], n_classes, rng)
        else:
            noise = rng.normal(*NOISE[kind], size=(count, np.count_nonzero(varies)))
            X[np.ix_(chosen, varies)] += noise
    return X, y, kinds


def _wrong_classes(
    y: NDArray[np.int64], n_classes: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Shift classes by a uniform 1..C−1, modulo C."""
    if n_classes < 2:
        raise ValueError(f"label noise needs at least 2 classes, got {n_classes}")
    shifted: NDArray[np.int64] = (y + rng.integers(1, n_classes, size=len(y))) % n_classes
    return shifted
