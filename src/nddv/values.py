"""The one result type of every valuation rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NoValues(ValueError):
    """A rule has no values for these data; the reason is shown in their place."""


@dataclass(frozen=True)
class Values:
    """One score per training point, higher is better for every method, always.

    Attributes
    ----------
    values : (n,) float64.
    stderr : (n,) float64 Monte-Carlo standard errors, or None for a rule without sampling.
    record : what was run: method, seed, parameters, seconds. JSON-able.
    """

    values: NDArray[np.float64]
    stderr: NDArray[np.float64] | None = None
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.values.ndim != 1:
            raise ValueError(f"values must be one-dimensional, got shape {self.values.shape}")
        if not np.isfinite(self.values).all():
            raise NoValues(f"{np.sum(~np.isfinite(self.values))} values are not finite")
        if self.stderr is not None and self.stderr.shape != self.values.shape:
            raise ValueError("stderr must have the shape of values")
