"""Rates: the slope of a straight line through points on logarithmic axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


class Slope(NamedTuple):
    """A fitted exponent and its standard error."""

    slope: float
    stderr: float


def fitted_slope(x: ArrayLike, y: ArrayLike) -> Slope:
    """Least-squares slope of log y against log x, with its standard error.

    x, y: (m,) positive numbers, m ≥ 3. Every repetition is a point. The standard error assumes that
    the scatter about the line is independent from point to point.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 3:
        raise ValueError(
            f"a slope needs at least 3 pairs: x has shape {x.shape} and y has shape {y.shape}"
        )
    if not (np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)).all():
        raise ValueError("a slope on logarithmic axes needs positive, finite x and y")
    u, v = np.log(x) - np.log(x).mean(), np.log(y) - np.log(y).mean()
    if np.allclose(u, 0):
        raise ValueError("all x are equal: a slope needs at least 2 different ones")
    slope = float(u @ v / (u @ u))
    residual = v - slope * u
    return Slope(slope, float(np.sqrt(residual @ residual / (len(x) - 2) / (u @ u))))


def with_slopes(frame: pd.DataFrame, by: str, x: str, y: str) -> pd.DataFrame:
    """Add `slope` and `slope_stderr` of y against x, fitted for each value of column `by`."""
    fits = {name: fitted_slope(part[x], part[y]) for name, part in frame.groupby(by, sort=False)}
    return frame.assign(
        slope=[fits[name].slope for name in frame[by]],
        slope_stderr=[fits[name].stderr for name in frame[by]],
    )
