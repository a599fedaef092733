"""Logistic regressions fitted to coalitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Fits:
    """Fitted logistic regressions, one per coalition.

    K is 1 for two classes (the logit of class 1) and the number of classes otherwise.

    Attributes
    ----------
    coefficients : (B, K, d).
    intercepts : (B, K); −inf for a class that is absent from a coalition of several classes.
    converged : (B,).
    iterations : (B,) steps of the method.
    """

    coefficients: NDArray[np.floating]
    intercepts: NDArray[np.floating]
    converged: NDArray[np.bool_]
    iterations: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.coefficients)

    def __getitem__(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Fits:
        """The fits of some coalitions."""
        return Fits(
            self.coefficients[rows],
            self.intercepts[rows],
            self.converged[rows],
            self.iterations[rows],
        )


def concatenate(parts: list[Fits]) -> Fits:
    """All fits in one."""
    return Fits(
        np.concatenate([part.coefficients for part in parts]),
        np.concatenate([part.intercepts for part in parts]),
        np.concatenate([part.converged for part in parts]),
        np.concatenate([part.iterations for part in parts]),
    )
