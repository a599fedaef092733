"""The game of the downstream logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nddv.coalitions.cache import ScoreCache, content_key
from nddv.coalitions.engine import Engine, check_points
from nddv.coalitions.fits import Fits
from nddv.coalitions.game import truncate, within
from nddv.coalitions.predict import scores
from nddv.coalitions.threads import apply, free_threads, workers
from nddv.support.provenance import source_hash
from nddv.support.settings import UTILITIES

STRIDE = 128
"""Fits of a walk that are made together."""

STORED_TOGETHER = 1024
"""Coalitions that are fitted, and whose scores are stored, together."""


class LogisticGame:
    """Utility of a coalition: how well a logistic regression fitted to it predicts other points.

    :class:`~nddv.coalitions.engine.Engine` defines the predictor of a coalition, also for an empty
    coalition and for one that has a single class.

    Parameters
    ----------
    X_train, y_train : (n, d) and (n,), the players.
    X_valid, y_valid : (m, d) and (m,), the points to predict.
    n_classes : number of classes.
    C : inverse strength of the penalty.
    utility : one of ``nddv.support.settings.UTILITIES``, the mean over the validation points.
    device, dtype : where to compute, and in which precision.
    cache : folder in which utilities are stored (:mod:`nddv.coalitions.cache` names a default);
        None stores nothing.

    Attributes
    ----------
    n : number of players.
    fitted : number of coalitions fitted so far, without those from the cache.
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
        if utility not in UTILITIES:
            raise ValueError(f"unknown utility {utility!r}; known: {', '.join(UTILITIES)}")
        self.engine = Engine(X_train, y_train, n_classes, C, device, dtype)
        self.X_train, self.y_train = np.asarray(X_train), np.asarray(y_train)
        self.n_classes, self.C, self.utility = n_classes, C, utility
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
        self._column = UTILITIES.index(utility)
        self._cache: ScoreCache | None = None
        if cache is not None:
            arrays = (self.X_train, self.y_train, self.X_valid, self.y_valid)
            # The code decides what utilities mean, and their last digits.
            code = source_hash("coalitions")
            key = content_key(arrays, code, n_classes, float(C), dtype)
            self._cache = ScoreCache(Path(cache), key)

    def utilities(self, weights: NDArray[np.generic]) -> NDArray[np.float64]:
        """Utilities (B,) of coalitions of weights (B, n)."""
        weights = np.asarray(weights)
        blocks = range(0, len(weights), STORED_TOGETHER)
        parts = [self._block(weights[first : first + STORED_TOGETHER]) for first in blocks]
        return np.concatenate([np.empty((0, len(UTILITIES))), *parts])[:, self._column]

    def walk(
        self, orders: NDArray[np.intp], tolerance: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Utilities of all prefixes of orders; see :func:`~nddv.coalitions.game.walk_prefixes`.

        Each thread walks one order, in strides of consecutive fits. The fits of a stride start from
        the last fit of the stride before, and see only the points that have come so far. A batch
        across orders would have to carry all points.
        """
        ends = self._block(np.stack([np.zeros(self.n, bool), np.ones(self.n, bool)]))
        empty, everyone = ends[:, self._column]

        def enough(scores: NDArray[np.float64]) -> bool:
            """Whether these scores, of the first prefixes from one point on, are enough."""
            reached = np.append(empty, scores[:, self._column])
            return len(reached) >= self.n or bool(within(reached, everyone, tolerance).any())

        def walk(order: NDArray[np.intp]) -> NDArray[np.float64]:
            scores = self._walked(order, enough)
            utilities = np.full(self.n + 1, everyone)
            utilities[0] = empty
            utilities[1 : 1 + len(scores)] = scores[:, self._column]
            return utilities

        with workers(self.device) as threads:
            walks = apply(walk, np.asarray(orders), threads)
        return truncate(np.reshape(walks, (-1, self.n + 1)), tolerance)

    def _block(self, weights: NDArray[np.generic]) -> NDArray[np.float64]:
        """Scores (B, utilities) of coalitions (B, n) that are fitted together."""
        # The engine divides a block among the threads, and the division decides the last digits.
        key = self._key("block", weights, free_threads(self.device))
        scores = self._lookup(key)
        if scores is None:
            scores, converged = self._scores(self.engine.fit(weights))
            self._store(key, scores, converged)
        return scores

    def _walked(
        self, order: NDArray[np.intp], enough: Callable[[NDArray[np.float64]], bool]
    ) -> NDArray[np.float64]:
        """Scores (L, utilities) of the first 1, ..., L points of an order, L being enough."""
        key = self._key("walk", order.astype(np.int64))
        trail = self._lookup(key)
        if trail is not None and enough(trail):
            return trail
        # A walk that ended too early is fitted again from its start. Its last fit was not stored,
        # and another start would change the last digits.
        trail, converged, last = np.empty((0, len(UTILITIES))), True, self.engine.whole
        while not enough(trail):
            # the fits of the first len(trail) + 1, ... points
            known = len(trail)
            size = min(known + STRIDE, self.n - 1)
            weights = np.tri(size - known, size, known, dtype=bool)
            fits = self.engine.among(order[:size]).fit(weights, last)
            scores, done = self._scores(fits)
            trail, converged, last = np.concatenate([trail, scores]), converged and done, fits[-1:]
        self._store(key, trail, converged)
        return trail

    def _scores(self, fits: Fits) -> tuple[NDArray[np.float64], bool]:
        """Scores (B, utilities) of fits, and whether all have converged."""
        with self._counting:
            self.fitted += len(fits)
        measured = scores(fits, self.X_valid, self.y_valid, self.device)
        return measured, bool(fits.converged.all())

    def _key(self, kind: str, array: NDArray[np.generic], *settings: object) -> bytes:
        return content_key([array], kind, *settings) if self._cache else b""

    def _lookup(self, key: bytes) -> NDArray[np.float64] | None:
        return self._cache.lookup(key) if self._cache else None

    def _store(self, key: bytes, scores: NDArray[np.float64], converged: bool) -> None:
        # Fits that did not converge are not stored, so they warn every time.
        if self._cache and converged:
            self._cache.store(key, scores)
