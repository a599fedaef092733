"""The game of the downstream logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nddv.coalitions.cache import ScoreCache, coalition_keys, game_key
from nddv.coalitions.engine import Engine, check_points
from nddv.coalitions.fits import Fits
from nddv.coalitions.game import truncate, within
from nddv.coalitions.predict import MEASURES, scores
from nddv.coalitions.threads import apply, workers
from nddv.files import source_hash

STRIDE = 128
"""How many fits are worked on together in a walk."""

STORED_TOGETHER = 1024
"""How many coalitions are fitted before their scores are stored."""

Scored = tuple[NDArray[np.float64], NDArray[np.bool_]]
"""Scores (B, measures) of coalitions, and whether their fits converged (B,)."""


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
    cache : folder in which utilities are kept and looked up (:mod:`nddv.coalitions.cache` names a
        default); None keeps nothing.

    Attributes
    ----------
    n : number of players.
    fitted : coalitions fitted so far, those found in the cache not among them.
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
        cache: str | Path | None = None,
    ) -> None:
        if utility not in MEASURES:
            raise ValueError(f"unknown utility {utility!r}; known: {', '.join(MEASURES)}")
        self.engine = Engine(X_train, y_train, n_classes, C, device, dtype)
        self.X_valid, self.y_valid = check_points("validation", X_valid, y_valid, n_classes)
        if self.X_valid.shape[1] != self.engine.d:
            raise ValueError(
                f"the validation points have {self.X_valid.shape[1]} features,"
                f" the training points {self.engine.d}"
            )
        self.n = self.engine.n
        self.device = device
        self.fitted = 0
        self._counting = Lock()
        self._measure = MEASURES.index(utility)
        self._cache: ScoreCache | None = None
        if cache is not None:
            arrays = (np.asarray(X_train), np.asarray(y_train), self.X_valid, self.y_valid)
            # What utilities mean, and how exactly they are found, is in the code.
            code = source_hash("coalitions")
            key = game_key(arrays, code, n_classes, float(C), dtype)
            self._cache = ScoreCache(Path(cache), key)

    def utilities(self, weights: NDArray[np.generic]) -> NDArray[np.float64]:
        """Utilities (B,) of coalitions of weights (B, n)."""
        weights = np.asarray(weights)
        found = np.empty(len(weights))
        for first in range(0, len(weights), STORED_TOGETHER):
            block = weights[first : first + STORED_TOGETHER]

            def score(rows: NDArray[np.bool_], block: NDArray[np.generic] = block) -> Scored:
                return self._scores(self.engine.fit(block[rows]))

            found[first : first + len(block)] = self._stored(block, score)
        return found

    def walk(
        self, orders: NDArray[np.intp], tolerance: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Utilities of all beginnings of orders; see :func:`~nddv.coalitions.game.walk_prefixes`.

        The orders are walked side by side, one on each thread, in strides of consecutive fits. The
        fits of a stride begin where the last one ended, and know only the points that have come so
        far: batches across orders would have to carry them all.
        """
        empty, everyone = self.utilities(np.stack([np.zeros(self.n), np.ones(self.n)]))

        def walk(order: NDArray[np.intp]) -> NDArray[np.float64]:
            found = np.full(self.n + 1, everyone)
            found[0] = empty
            last = self.engine.whole
            for first in range(1, self.n, STRIDE):
                if within(found[:first], everyone, tolerance).any():
                    break
                stop = min(first + STRIDE, self.n)
                found[first:stop], last = self._stride(order, first, stop, last)
            return found

        with workers(self.device) as threads:
            walks = apply(walk, np.asarray(orders), threads)
        return truncate(np.reshape(walks, (-1, self.n + 1)), tolerance)

    def _stride(
        self, order: NDArray[np.intp], first: int, stop: int, last: Fits
    ) -> tuple[NDArray[np.float64], Fits]:
        """Utilities of the first ``first``, ..., ``stop - 1`` points, and the last new fit."""
        come = order[: stop - 1]
        weights = np.tri(stop - first, stop - 1, first - 1, dtype=bool)
        members = np.zeros((stop - first, self.n), dtype=bool)
        members[:, come] = weights

        def score(rows: NDArray[np.bool_]) -> Scored:
            nonlocal last
            fits = self.engine.among(come).fit(weights[rows], last)
            last = fits[-1:]
            return self._scores(fits)

        return self._stored(members, score), last

    def _stored(
        self,
        weights: NDArray[np.generic],
        score: Callable[[NDArray[np.bool_]], Scored],
    ) -> NDArray[np.float64]:
        """Utilities (B,) of coalitions (B, n), for which only unknown rows are scored anew."""
        if self._cache is None:
            return score(np.ones(len(weights), dtype=bool))[0][:, self._measure]
        keys = coalition_keys(weights)
        found = self._cache.lookup(keys)
        new = np.isnan(found[:, 0])
        if new.any():
            found[new], converged = score(new)
            kept = np.flatnonzero(new)[converged]  # others are for a better fit to find
            self._cache.store([keys[row] for row in kept], found[kept])
        return found[:, self._measure]

    def _scores(self, fits: Fits) -> Scored:
        with self._counting:
            self.fitted += len(fits)
        return scores(fits, self.X_valid, self.y_valid, self.device), fits.converged
