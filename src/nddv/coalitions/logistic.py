"""The game of the downstream logistic regression."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nddv.coalitions.engine import Engine
from nddv.coalitions.fits import Fits
from nddv.coalitions.game import walk_blocks
from nddv.coalitions.predict import MEASURES, scores

BATCH = 256
"""About how many fits are worked on together in a walk."""


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
        return self._utilities(self._fit(weights))

    def walk(
        self, orders: NDArray[np.intp], tolerance: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Utilities of all beginnings of orders; see :func:`~nddv.coalitions.game.walk_prefixes`.

        A fit begins at that of the last beginning before its block.
        """
        orders = np.asarray(orders)
        ends = self.utilities(np.stack([np.zeros(self.n), np.ones(self.n)]))
        last = self.engine.whole[np.zeros(len(orders), dtype=np.intp)]

        def evaluate(walks: NDArray[np.intp], weights: NDArray[np.bool_]) -> NDArray[np.float64]:
            A, s, n = weights.shape
            fits = self._fit(weights.reshape(A * s, n), last[np.repeat(walks, s)])
            ending = fits[s - 1 :: s]
            last.coefficients[walks] = ending.coefficients
            last.intercepts[walks] = ending.intercepts
            return self._utilities(fits).reshape(A, s)

        stride = max(1, BATCH // max(1, len(orders)))
        return walk_blocks(evaluate, ends, orders, tolerance, stride)

    def leave_one_out(self) -> NDArray[np.float64]:
        """Utilities (n,) of the coalitions of all points but one."""
        return self.utilities(~np.eye(self.n, dtype=bool))

    def _fit(self, weights: NDArray[np.generic], start: Fits | None = None) -> Fits:
        fits = self.engine.fit(weights, start)
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
