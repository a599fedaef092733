"""Predictions of fitted coalitions, and their utilities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nddv.coalitions.fits import Fits
from nddv.coalitions.threads import apply, workers
from nddv.support.settings import UTILITIES

FLOOR = 1e-6
"""Smallest probability that counts in a log-likelihood."""


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

    Each is a mean over the points. Accuracy: the predicted class has the largest probability; on a
    tie it is the first such class. Log-likelihood: that of a point is at least log ``FLOOR``.
    Probability: the one that the fit gives to the true class, 0 for a class that is absent.
    """
    points = _points(fits, X, device)
    classes = torch.as_tensor(np.asarray(y), dtype=torch.long, device=device)

    def score(rows: slice) -> NDArray[np.float64]:
        logits = _logits(fits[rows], points)
        predicted = logits[:, 0] > 0 if logits.shape[1] == 1 else logits.argmax(dim=1)
        hits = (predicted == classes).double().mean(dim=1)
        if logits.shape[1] == 1:
            logs = torch.cat([F.logsigmoid(-logits), F.logsigmoid(logits)], dim=1)
        else:
            logs = F.log_softmax(logits, dim=1)
        of_label = logs.gather(1, classes.expand(len(logs), 1, -1))[:, 0].double()
        likelihood = of_label.clamp_min(float(np.log(FLOOR))).mean(dim=1)
        probability = of_label.exp().mean(dim=1)
        return torch.stack([hits, likelihood, probability], dim=1).cpu().numpy()

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
