"""Logistic regressions fitted to coalitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Fits:
    """Fitted logistic regressions, one per coalition.

    K is 1 for two classes (the logit of class 1) and the number of classes otherwise.
    An intercept is −inf for a class that is absent from a coalition of several classes.
    """

    coefficients: NDArray[np.floating]  # (B, K, d)
    intercepts: NDArray[np.floating]  # (B, K)
    converged: NDArray[np.bool_]  # (B,)
    iterations: NDArray[np.int64]  # (B,) steps of the method

    def __len__(self) -> int:
        return len(self.coefficients)

    def __getitem__(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Fits:
        """The fits of some coalitions."""
        return Fits(*(array[rows] for array in vars(self).values()))


def concatenate(parts: list[Fits]) -> Fits:
    """All fits in one."""
    return Fits(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))
