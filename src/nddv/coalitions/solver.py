"""The choice of the minimiser and of its coordinates for the regressions on some points."""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor

from nddv.coalitions.axes import Axes
from nddv.coalitions.newton import Newton, Pairs
from nddv.coalitions.quasi_newton import MEMORY, QuasiNewton
from nddv.coalitions.regressions import Batch, Method, Points, minimise

NEWTON_SIZE = 80
"""Up to this (logits + 1)·(features + 1) a Newton step costs less than the steps it saves."""

MAX_STEPS = 1000


class Solver:
    """Fits batches of regressions: by Newton's method if they have few parameters, else by L-BFGS.

    Parameters
    ----------
    X, y : (n, d) points, in double precision, and their classes (n,).
    n_classes, C : number of classes, and inverse strength of the penalty.
    dtype : precision of the computation.
    importance : (n,) weights of the points in the choice of coordinates, equal ones if None.
    """

    def __init__(
        self,
        X: Tensor,
        y: Tensor,
        n_classes: int,
        C: float,
        dtype: torch.dtype,
        importance: Tensor | None = None,
    ) -> None:
        n, d = X.shape
        logits = 1 if n_classes == 2 else n_classes
        self.few = (logits + 1) * (min(n, d) + 1) <= NEWTON_SIZE
        if d > n or not self.few:
            axes = Axes.of(X, X.new_ones(n) if importance is None else importance)
        else:
            # Far from the origin the intercept and the coefficients would nearly cancel each
            # other, and single precision would lose the result.
            axes = Axes.shift(X)
        self._axes = axes.to(dtype)
        self.points = Points.build(axes.points(X).to(dtype), y, n_classes, C)
        self._pairs = Pairs.build(self.points.X) if self.few else None

    def numbers_each(self) -> int:
        """About how many numbers one regression of a batch keeps in memory."""
        K, n = self.points.targets.shape
        parameters = K * self.points.X.shape[1]
        return 6 * K * n + (3 * parameters**2 if self.few else (2 * MEMORY + 8) * parameters)

    def among(self, rows: Tensor) -> Solver:
        """A solver of regressions in which only the points in these rows have a weight."""
        solver = copy(self)
        solver.points = self.points.take(rows)
        solver._pairs = self._pairs and self._pairs.take(rows)
        return solver

    def fit(
        self, weights: Tensor, penalty: Tensor, theta: Tensor, absent: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Minimise from parameters theta (B, K, d + 1), zero for the absent (B, K) classes.

        Returns
        -------
        Parameters (B, K, d + 1), whether converged (B,), and the number of steps (B,).
        """
        batch = Batch.start(self.points, weights, penalty, self._axes.inwards(theta), absent)
        method: Method
        if self._pairs:
            method = Newton(self.points, self._pairs, batch)
        else:
            method = QuasiNewton(self.points, batch)
        theta, converged, steps = minimise(method, MAX_STEPS)
        return self._axes.outwards(theta), converged, steps
