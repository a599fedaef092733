"""Predictions of fitted coalitions, and their utilities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nddv.coalitions.fits import Fits
from nddv.coalitions.measures import measure
from nddv.coalitions.threads import apply, workers
from nddv.support.settings import UTILITIES


def predict_proba_many(
    fits: Fits, X: ArrayLike, device: str = "cpu", memory_mb: float = 32.0
) -> Iterator[tuple[slice, NDArray[np.floating]]]:
    """Class probabilities of points X (m, d) under every fit, chunk by chunk.

    Yields
    ------
    A slice of b fits, and their probabilities (b, m, classes).
    """
    points = _points(fits, X, device)
    for rows in _chunks(fits, len(points), memory_mb):
        with workers(device):
            logits = _logits(fits[rows], points)
            if logits.shape[1] == 1:
                probabilities = torch.cat([-logits, logits], dim=1).sigmoid_()
            else:
                probabilities = torch.softmax(logits, dim=1)
        yield rows, probabilities.transpose(1, 2).cpu().numpy()


def scores(
    fits: Fits, X: ArrayLike, y: ArrayLike, device: str = "cpu", memory_mb: float = 32.0
) -> NDArray[np.float64]:
    """All ``UTILITIES`` (B, 3), in their order, of every fit on points X (m, d), y (m,).

    :func:`nddv.coalitions.measures.measure` defines them.
    """
    points = _points(fits, X, device)
    classes = torch.as_tensor(np.asarray(y), dtype=torch.long, device=device)

    def score(rows: slice) -> NDArray[np.float64]:
        return measure(_logits(fits[rows], points), classes).cpu().numpy()

    with workers(device) as threads:
        parts = apply(score, _chunks(fits, len(points), memory_mb / threads), threads)
    return np.concatenate([np.empty((0, len(UTILITIES))), *parts])


def _points(fits: Fits, X: ArrayLike, device: str) -> Tensor:
    return torch.as_tensor(np.asarray(X, dtype=fits.coefficients.dtype), device=device)


def _chunks(fits: Fits, m: int, memory_mb: float) -> Iterator[slice]:
    classes = max(2, fits.intercepts.shape[1])
    size = max(1, int(memory_mb * 2**20 / (8 * 3 * classes * m)))
    for first in range(0, len(fits), size):
        yield slice(first, min(first + size, len(fits)))


def _logits(fits: Fits, points: Tensor) -> Tensor:
    """Logits (B, K, m)."""
    coefficients = torch.as_tensor(fits.coefficients).to(points)
    return coefficients @ points.T + torch.as_tensor(fits.intercepts).to(points)[..., None]
