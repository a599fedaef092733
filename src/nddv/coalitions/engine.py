"""Logistic regressions of many coalitions of the same training points, fitted together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nddv.coalitions.newton import Points, minimise

FLOOR = 1e-6
"""Smallest probability that counts in a log-likelihood."""

TOLERANCE = 1e-3
MAX_ITERATIONS = 100

CACHED_ELEMENTS = 2**17
"""Numbers in an array that several steps of a CPU should find in its cache."""


@dataclass(frozen=True)
class Fits:
    """Fitted logistic regressions, one per coalition.

    K is 1 for two classes (the logit of class 1) and the number of classes otherwise.

    Attributes
    ----------
    coefficients : (B, K, d).
    intercepts : (B, K); −inf for a class that is absent from a coalition of several classes.
    converged : (B,).
    iterations : (B,) Newton steps.
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


class Engine:
    """Fits the coalitions of one training set.

    A coalition is a vector of weights over the training points: 0 or 1, or how often a bootstrap
    sample holds them. Its predictor minimises what scikit-learn's ``LogisticRegression`` does,
    ½|coefficients|² + C·Σᵢ weightᵢ·lossᵢ with free intercepts, over the classes that it holds:
    one logit if these are two, a softmax if they are more. The rest is by definition:

    - An absent class has probability 0 (and a log-likelihood is at least log ``FLOOR``, always).
    - A coalition of one class only predicts that class: with size s, class k has the probability
      (s_k + 1)/(s + number of classes).
    - The empty coalition predicts the class frequencies of the whole training set.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes 0, 1, ..., n_classes − 1.
    n_classes : number of classes; some may have no point.
    C : inverse strength of the penalty.
    device, dtype : where and how precisely to compute ("float64" or "float32").
    memory_mb : about how much memory the work on one chunk of coalitions may take.
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
        features, classes = np.asarray(X), np.asarray(y)
        _check_points(features, classes, n_classes)
        if not C > 0:
            raise ValueError(f"C must be positive, got {C}")
        self.n, self.d = features.shape
        self.n_classes = n_classes
        self.n_logits = 1 if n_classes == 2 else n_classes
        self.memory_mb = memory_mb
        self.prior = np.bincount(classes, minlength=n_classes) / self.n
        self._indicators = torch.as_tensor(np.eye(n_classes)[classes], device=device)
        self._points = Points.build(
            torch.as_tensor(features, dtype=getattr(torch, dtype), device=device),
            torch.as_tensor(classes, dtype=torch.long, device=device),
            n_classes,
            C,
        )
        self._whole: Fits | None = None

    @property
    def whole(self) -> Fits:
        """The fit of the whole training set."""
        if self._whole is None:
            zero = np.zeros((1, self.n_logits, self.d))
            start = Fits(zero, zero[..., 0], np.ones(1, bool), np.zeros(1, np.int64))
            self._whole = self.fit(np.ones((1, self.n)), start)
        return self._whole

    def fit(self, weights: ArrayLike, start: Fits | None = None) -> Fits:
        """Fit coalitions of weights (B, n), beginning at B fits or at one; at ``whole`` if None."""
        weights = self._checked(weights)
        start = self.whole if start is None else start
        if len(start) not in (1, len(weights)):
            raise ValueError(f"{len(start)} starts for {len(weights)} coalitions")
        shared = len(start) == 1
        parts = [
            self._fit_chunk(weights[rows], start if shared else start[rows])
            for rows in self._chunks(len(weights))
        ]
        return Fits(
            np.concatenate([part.coefficients for part in parts]),
            np.concatenate([part.intercepts for part in parts]),
            np.concatenate([part.converged for part in parts]),
            np.concatenate([part.iterations for part in parts]),
        )

    def _chunks(self, count: int) -> Iterator[slice]:
        """Rows to work on together, one empty slice if there are none."""
        p = self.d + 1
        numbers = self.n_logits * (6 * self.n + 4 * p) + 3 * (self.n_logits * p) ** 2
        size = max(1, int(self.memory_mb * 2**20 / (8 * numbers)))
        if self._points.X.device.type == "cpu":
            size = min(size, max(64, CACHED_ELEMENTS // (self.n_logits * self.n)))
        for first in range(0, max(count, 1), size):
            yield slice(first, min(first + size, count))

    def _checked(self, weights: ArrayLike) -> NDArray[np.generic]:
        weights = np.asarray(weights)
        if weights.ndim != 2 or weights.shape[1] != self.n:
            raise ValueError(f"weights must have shape (B, {self.n}), got {weights.shape}")
        if weights.size and not (weights.min() >= 0 and weights.max() < np.inf):
            raise ValueError("weights of coalitions must be finite and not negative")
        return weights

    def _fit_chunk(self, weights: NDArray[np.generic], start: Fits) -> Fits:
        X = self._points.X
        w = torch.as_tensor(weights).to(X)
        sizes = w.to(self._indicators) @ self._indicators
        theta = _parameters(start, X).expand(len(w), -1, -1).clone()
        several = (sizes > 0).sum(dim=1) > 1
        converged = torch.ones(len(w), dtype=torch.bool, device=X.device)
        iterations = torch.zeros(len(w), dtype=torch.long, device=X.device)
        if several.any():
            fitted = self._fit_classes(w[several], sizes[several] > 0, theta[several])
            theta[several], converged[several], iterations[several] = fitted
        if not several.all():
            theta[~several] = self._constant(sizes[~several]).to(X)
        parameters = theta.cpu().numpy()
        return Fits(
            parameters[..., :-1],
            parameters[..., -1],
            converged.cpu().numpy(),
            iterations.cpu().numpy(),
        )

    def _fit_classes(
        self, weights: Tensor, present: Tensor, theta: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Fit coalitions that hold several classes, as ``minimise`` does."""
        if self.n_logits == 1:
            absent = torch.zeros_like(present[:, 1:])
            penalty = torch.ones_like(weights[:, 0])
        else:
            absent = ~present
            # Two opposite logits ±z/2 have half of the squared coefficients of one logit z.
            penalty = 1.0 + (present.sum(dim=1) == 2).to(weights)
            theta = theta * present[:, :, None]
        theta, converged, iterations = minimise(
            self._points, weights, penalty, theta, absent, TOLERANCE, MAX_ITERATIONS
        )
        if self.n_logits > 1:
            # Only differences of logits count; as in scikit-learn they are made to sum to zero.
            theta -= theta.sum(dim=1, keepdim=True) / present.sum(dim=1)[:, None, None]
            theta *= present[:, :, None]
            theta[..., -1].masked_fill_(absent, -torch.inf)
        return theta, converged, iterations

    def _constant(self, sizes: Tensor) -> Tensor:
        """Parameters (B, K, p) of coalitions of at most one class, by definition."""
        size = sizes.sum(dim=1, keepdim=True)
        smoothed = (sizes + 1) / (size + self.n_classes)
        prior = torch.as_tensor(self.prior).to(sizes)
        logits = torch.where(size > 0, smoothed, prior).clamp_min(FLOOR).log()
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


def _parameters(fits: Fits, like: Tensor) -> Tensor:
    """Coefficients and intercepts in one tensor (B, K, d + 1); an absent class begins at 0."""
    parameters = np.concatenate([fits.coefficients, fits.intercepts[..., None]], axis=2)
    return torch.as_tensor(np.where(np.isfinite(parameters), parameters, 0.0)).to(like)


def _check_points(X: NDArray[np.generic], y: NDArray[np.generic], n_classes: int) -> None:
    if X.ndim != 2 or y.shape != X.shape[:1] or len(X) == 0:
        raise ValueError(
            f"X must have shape (n, d) and y (n,) with n > 0, got {X.shape} and {y.shape}"
        )
    if n_classes < 2:
        raise ValueError(f"logistic regression needs two classes or more, got {n_classes}")
    if not np.issubdtype(y.dtype, np.integer) or y.min() < 0 or y.max() >= n_classes:
        raise ValueError(f"classes must be integers from 0 to {n_classes - 1}")
    if not np.isfinite(X).all():
        raise ValueError("the features of the training points must be finite")
