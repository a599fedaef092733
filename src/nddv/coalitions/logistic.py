"""The game of the downstream logistic regression."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nddv.coalitions.engine import Engine
from nddv.coalitions.fits import Fits
from nddv.coalitions.game import truncate, within
from nddv.coalitions.predict import MEASURES, scores

STRIDE = 128
"""How many fits are worked on together in a walk."""


class LogisticGame:
    """Utility of a coalition: how well a logistic regression fitted to it predicts other points.

    What the predictor of a coalition is, also of an empty one or of one class, is said in
    :class:`~nddv.coalitions.engine.Engine`.

    Parameters
    ----------
    X_train, y_train : (n, d) and (n,), the players.
    X_valid, y_valid : (m, d) and (m,), the points to predict.
    n_classes : number of classes.
    C : inverse strength of the penalty.
    utility : "accuracy" or "log_likelihood", the mean over the validation points.
    device, dtype : where and how precisely to compute.
    """

    def __init__(
        self,
        X_train: ArrayLike,
        y_train: ArrayLike,
        X_valid: ArrayLike,
        y_valid: ArrayLike,
        n_classes: int,
        C: float = 1.0,
        utility: str = "accuracy",
        device: str = "cpu",
        dtype: str = "float64",
    ) -> None:
        if utility not in MEASURES:
            raise ValueError(f"unknown utility {utility!r}; known: {', '.join(MEASURES)}")
        self.engine = Engine(X_train, y_train, n_classes, C, device, dtype)
        self.n = self.engine.n
        self.utility = utility
        self.device = device
        self.X_valid, self.y_valid = np.asarray(X_valid), np.asarray(y_valid)

    def utilities(self, weights: NDArray[np.generic]) -> NDArray[np.float64]:
        """Utilities (B,) of coalitions of weights (B, n)."""
        return self._utilities(self._fit(self.engine, weights))

    def walk(
        self, orders: NDArray[np.intp], tolerance: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Utilities of all beginnings of orders; see :func:`~nddv.coalitions.game.walk_prefixes`.

        An order is walked in strides. The fits of a stride begin where the last one ended, and know
        only the points that have come so far.
        """
        orders = np.asarray(orders)
        empty, everyone = self.utilities(np.stack([np.zeros(self.n), np.ones(self.n)]))
        walks = np.full((len(orders), self.n + 1), everyone)
        walks[:, 0] = empty
        for walk, order in zip(walks, orders, strict=True):
            last = self.engine.whole
            for first in range(1, self.n, STRIDE):
                stop = min(first + STRIDE, self.n)
                if within(walk[:first], everyone, tolerance).any():
                    break
                weights = np.tri(stop - first, stop - 1, first - 1, dtype=bool)
                fits = self._fit(self.engine.among(order[: stop - 1]), weights, last)
                walk[first:stop] = self._utilities(fits)
                last = fits[-1:]
        return truncate(walks, tolerance)

    def leave_one_out(self) -> NDArray[np.float64]:
        """Utilities (n,) of the coalitions of all points but one."""
        return self.utilities(~np.eye(self.n, dtype=bool))

    def _fit(self, engine: Engine, weights: NDArray[np.generic], start: Fits | None = None) -> Fits:
        fits = engine.fit(weights, start)
        failed = int(np.sum(~fits.converged))
        if failed:
            warnings.warn(
                f"{failed} of {len(fits)} coalitions did not converge; are the features scaled?",
                stacklevel=3,
            )
        return fits

    def _utilities(self, fits: Fits) -> NDArray[np.float64]:
        found = scores(fits, self.X_valid, self.y_valid, self.device)
        return found[:, MEASURES.index(self.utility)]
