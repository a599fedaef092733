"""Logistic regressions of many coalitions of the same training points, fitted together."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import copy

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nddv.coalitions.fits import Fits, concatenate
from nddv.coalitions.measures import FLOOR
from nddv.coalitions.predict import predict_proba_many
from nddv.coalitions.solver import Solver
from nddv.coalitions.threads import apply, workers

CACHED_ELEMENTS = 2**18
"""Size of an array, in numbers, that stays in the processor cache between two operations."""


class Engine:
    """Fits the coalitions of one training set.

    A coalition is a vector of weights over the training points: 0 or 1, or how often a bootstrap
    sample holds them. Its predictor minimises the objective of scikit-learn's
    ``LogisticRegression``, ½|coefficients|² + C·Σᵢ weightᵢ·lossᵢ with free intercepts, over the
    classes in the coalition: one logit for two classes, a softmax for more. Three cases are set by
    definition:

    - An absent class has probability 0. (A log-likelihood is never below log ``FLOOR``.)
    - A coalition of one class only predicts that class: with size s, class k has the probability
      (s_k + 1)/(s + number of classes).
    - The empty coalition predicts the class frequencies of the whole training set.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes 0, 1, ..., n_classes − 1.
    n_classes : number of classes; some may have no point.
    C : inverse strength of the penalty.
    device, dtype : where to compute, and in which precision ("float64" or "float32").
    memory_mb : about how much memory the work may take, besides data and results.

    Attributes
    ----------
    whole : the fit of the whole training set.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        n_classes: int,
        C: float = 1.0,
        device: str = "cpu",
        dtype: str = "float64",
        memory_mb: float = 256.0,
    ) -> None:
        if n_classes < 2:
            raise ValueError(f"logistic regression needs two classes or more, got {n_classes}")
        features, classes = check_points("training", X, y, n_classes)
        if not C > 0:
            raise ValueError(f"C must be positive, got {C}")
        if dtype not in ("float32", "float64"):
            raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
        self.n, self.d = features.shape
        self.n_classes = n_classes
        self.n_logits = 1 if n_classes == 2 else n_classes
        self.memory_mb = memory_mb
        self.device = device
        points = torch.as_tensor(features, dtype=torch.float64, device=device)
        labels = torch.as_tensor(classes, dtype=torch.long, device=device)
        self._indicators = torch.nn.functional.one_hot(labels, n_classes).double()
        self._prior = self._indicators.mean(dim=0)
        problem = points, labels, n_classes, C, getattr(torch, dtype)
        zero = np.zeros((1, self.n_logits, self.d))
        begin = Fits(zero, zero[..., 0], np.ones(1, bool), np.zeros(1, np.int64))
        with workers(device):
            self._solver = Solver(*problem)
            self.whole = self.fit(np.ones((1, self.n), bool), begin)
            if not self._solver.few:
                # Coordinates in which the Hessian of a large coalition is nearly diagonal.
                ((_, probabilities),) = predict_proba_many(self.whole, points.cpu(), device)
                curvature = 1.0 - np.square(probabilities[0], dtype=np.float64).sum(axis=1)
                importance = torch.as_tensor(np.sqrt(np.maximum(curvature, 1e-12))).to(points)
                self._solver = Solver(*problem, importance)

    def fit(self, weights: ArrayLike, start: Fits | None = None) -> Fits:
        """Fit coalitions of weights (B, n), starting from B fits, from one, or from ``whole``."""
        weights = np.asarray(weights)
        if weights.ndim != 2 or weights.shape[1] != self.n:
            raise ValueError(f"weights must have shape (B, {self.n}), got {weights.shape}")
        if weights.size and not (weights.min() >= 0 and weights.max() < np.inf):
            raise ValueError("weights of coalitions must be finite and not negative")
        start = self.whole if start is None else start
        if len(start) not in (1, len(weights)):
            raise ValueError(f"{len(start)} starts for {len(weights)} coalitions")

        def fit_rows(rows: slice) -> Fits:
            return self._fit_chunk(weights[rows], start if len(start) == 1 else start[rows])

        with workers(self.device) as threads:
            fits = concatenate(apply(fit_rows, self._chunks(len(weights), threads), threads))
        failed = int(np.sum(~fits.converged))
        if failed:
            warnings.warn(
                f"{failed} of {len(fits)} coalitions did not converge; scale the features,"
                " or compute in float64",
                stacklevel=2,
            )
        return fits

    def among(self, rows: NDArray[np.intp]) -> Engine:
        """The same engine for coalitions of k rows only; weights are (B, k), in this order."""
        engine = copy(self)
        engine.n = len(rows)
        index = torch.as_tensor(rows, device=self._indicators.device)
        engine._indicators = self._indicators[index]
        engine._solver = self._solver.among(index)
        return engine

    def _chunks(self, count: int, threads: int) -> Iterator[slice]:
        """Rows to work on together; one empty slice if there are none."""
        numbers = self._solver.numbers_each() + 4 * self.n_logits * self.d
        size = int(self.memory_mb * 2**20 / (8 * numbers * threads))
        if self._indicators.device.type == "cpu":
            size = min(size, max(64, CACHED_ELEMENTS // (self.n_logits * self.n)))
            size = min(size, -(-count // threads))
        for first in range(0, max(count, 1), max(size, 1)):
            yield slice(first, min(first + max(size, 1), count))

    def _fit_chunk(self, weights: NDArray[np.generic], start: Fits) -> Fits:
        X = self._solver.points.X
        w = torch.as_tensor(weights).to(X)
        sizes = w.to(self._indicators) @ self._indicators
        several = (sizes > 0).sum(dim=1) > 1
        begin = np.concatenate([start.coefficients, start.intercepts[..., None]], axis=2)
        begin[~np.isfinite(begin)] = 0.0  # an absent class
        theta = torch.as_tensor(begin).to(X).expand(len(w), -1, -1).clone()
        converged = torch.ones(len(w), dtype=torch.bool, device=X.device)
        iterations = torch.zeros(len(w), dtype=torch.long, device=X.device)
        if several.all():
            theta, converged, iterations = self._fit_classes(w, sizes > 0, theta)
        elif several.any():
            fitted = self._fit_classes(w[several], sizes[several] > 0, theta[several])
            theta[several], converged[several], iterations[several] = fitted
        if not several.all():
            theta[~several] = self._constant(sizes[~several]).to(X)
        parameters, done, steps = (a.cpu().numpy() for a in (theta, converged, iterations))
        return Fits(parameters[..., :-1], parameters[..., -1], done, steps)

    def _fit_classes(
        self, weights: Tensor, present: Tensor, theta: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Fit coalitions that hold several classes: parameters, whether converged, and steps."""
        penalty = torch.ones_like(weights[:, 0])
        if self.n_logits == 1:
            return self._solver.fit(weights, penalty, theta, torch.zeros_like(present[:, 1:]))
        # Two opposite logits ±z/2 have half of the squared coefficients of one logit z.
        penalty[present.sum(dim=1) == 2] = 2.0
        theta, converged, steps = self._solver.fit(
            weights, penalty, theta * present[:, :, None], ~present
        )
        # Only differences of logits matter; as in scikit-learn, the logits sum to zero.
        theta -= theta.sum(dim=1, keepdim=True) / present.sum(dim=1)[:, None, None]
        theta *= present[:, :, None]
        theta[..., -1].masked_fill_(~present, -torch.inf)
        return theta, converged, steps

    def _constant(self, sizes: Tensor) -> Tensor:
        """Parameters (B, K, d + 1) of coalitions of at most one class, by definition."""
        size = sizes.sum(dim=1, keepdim=True)
        smoothed = (sizes + 1) / (size + self.n_classes)
        logits = torch.where(size > 0, smoothed, self._prior).clamp_min(FLOOR).log()
        if self.n_logits == 1:
            logits = logits[:, 1:] - logits[:, :1]
        theta = sizes.new_zeros(len(sizes), self.n_logits, self.d + 1)
        theta[..., -1] = logits
        return theta


def fit_coalitions(
    X: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike,
    n_classes: int,
    C: float = 1.0,
    start: Fits | None = None,
    device: str = "cpu",
    dtype: str = "float64",
    memory_mb: float = 256.0,
) -> Fits:
    """Fit a logistic regression to every coalition, as :class:`Engine` describes.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes 0, 1, ..., n_classes − 1.
    weights : (B, n), a row per coalition.
    start : fits to begin at, one or B; the fit of the whole training set if None.
    """
    return Engine(X, y, n_classes, C, device, dtype, memory_mb).fit(weights, start)


def check_points(
    name: str, X: ArrayLike, y: ArrayLike, n_classes: int
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """Check points (n, d) and their classes (n,), and return them as arrays."""
    points, classes = np.asarray(X), np.asarray(y)
    if points.ndim != 2 or classes.shape != points.shape[:1] or len(points) == 0:
        raise ValueError(
            f"{name} points must have shapes (n, d) and (n,) with n > 0,"
            f" got {points.shape} and {classes.shape}"
        )
    if not np.issubdtype(classes.dtype, np.integer) or classes.min() < 0:
        raise ValueError(f"the classes of the {name} points must be integers from 0 on")
    if classes.max() >= n_classes:
        raise ValueError(
            f"the {name} points have class {classes.max()}, but there are {n_classes} classes"
        )
    if not np.isfinite(points).all():
        raise ValueError(f"the features of the {name} points must be finite")
    return points, classes
