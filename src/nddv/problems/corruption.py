"""Corruptions: what is done to the training data, and to which points."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAME = re.compile(r"clean|label(?P<percent>[1-9][0-9]?)")


@dataclass(frozen=True)
class Corruption:
    """The truth about a corrupted problem, kept in a file of its own, away from every method.

    Attributes
    ----------
    mask : (n,) bool, True where the training point was corrupted.
    y_clean : (n,) int64, the labels before corruption.
    record : kind, rate and number of corrupted points. JSON-able.
    """

    mask: NDArray[np.bool_]
    y_clean: NDArray[np.int64]
    record: dict[str, Any] = field(default_factory=dict)


def parse_corruption(name: str) -> tuple[str, float]:
    """Split ``"label10"`` into its kind and rate: ``("label", 0.1)``; ``"clean"`` has rate 0."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(
            f"unknown corruption {name!r}: use 'clean' or 'label' with a percentage from 1 to 99, "
            "e.g. 'label10'"
        )
    percent = match["percent"]
    return ("clean", 0.0) if percent is None else ("label", int(percent) / 100)


def corrupt_labels(
    y: NDArray[np.int64], rate: float, n_classes: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Give round(rate·n) points a wrong class, shifted by a uniform 1..C−1.

    Parameters
    ----------
    y : (n,) classes 0..C−1.

    Returns
    -------
    The labels after corruption, (n,), and the mask of corrupted points, (n,).
    """
    if n_classes < 2:
        raise ValueError(f"label noise needs at least 2 classes, got {n_classes}")
    n = len(y)
    chosen = rng.choice(n, size=round(rate * n), replace=False)
    shift = rng.integers(1, n_classes, size=len(chosen))
    noisy = y.copy()
    noisy[chosen] = (y[chosen] + shift) % n_classes
    mask = np.zeros(n, dtype=bool)
    mask[chosen] = True
    return noisy, mask
