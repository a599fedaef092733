"""How many points to drop: the utility that derivatives predict, for every number of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHECKS = 5
"""Numbers of points at which a curve is checked by retraining."""


@dataclass(frozen=True)
class DropCurve:
    """The utility when the points of lowest value are dropped.

    Attributes
    ----------
    order : (n,) points, the lowest first.
    predicted : (n + 1,) utilities with the first 0, 1, … n of them dropped.
    checked : (c,) numbers of dropped points at which the model was trained again.
    measured : (c,) utilities there.
    best : how many to drop: at most half, where the prediction is highest.
    """

    order: NDArray[np.intp]
    predicted: Array
    checked: NDArray[np.intp]
    measured: Array

    @property
    def best(self) -> int:
        return int(self.predicted[: len(self.order) // 2 + 1].argmax())


def drop_curve(
    values: Array, utility: float, retrained: Callable[[Array], Array], checks: int = CHECKS
) -> DropCurve:
    """The curve of values (n,) in units of a utility, which all points together have.

    retrained : utilities (c,) of training with weights (c, n).
    checks : how often to train again, at numbers up to twice the best, the best among them.
    """
    n = len(values)
    order = np.argsort(values, kind="stable")
    predicted = utility - np.concatenate([[0.0], np.cumsum(values[order])])
    bare = DropCurve(order, predicted, np.zeros(0, dtype=np.intp), np.zeros(0))
    if checks == 0:
        return bare
    far = min(n // 2, max(2 * bare.best, n // 10))
    spread = np.linspace(0, far, checks + 1)[1:]
    spread[np.abs(spread - bare.best).argmin()] = max(bare.best, 1)
    checked = np.unique(spread.round().astype(np.intp))
    weights = np.ones((len(checked), n))
    for row, count in zip(weights, checked, strict=True):
        row[order[:count]] = 0.0
    return DropCurve(order, predicted, checked, np.asarray(retrained(weights)))
