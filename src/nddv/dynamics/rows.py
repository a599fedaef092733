"""Rows of a data matrix, standardised batch by batch so that no second copy of the data is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """An (n, d) matrix, dense or sparse, with the affine map that standardises it.

    Standardisation is fitted on training rows; features that are constant there become 0 in every
    other set too (a tiny standard deviation would blow them up). The rows are then scaled to a
    mean squared norm of `energy`: the speed at which the encoder learns is proportional to it, and
    with plain standardised rows it would grow with the number of features.
    """

    matrix: Any  # torch.Tensor (n, d), or scipy CSR
    mean: Tensor
    inverse_scale: Tensor

    @classmethod
    def fit(cls, x: Any, energy: float, dtype: torch.dtype, device: torch.device) -> Rows:
        """Training rows, standardised by their own mean and standard deviation."""
        mean, std = _moments(x)
        # relative: a column of a million identical large floats has a tiny non-zero spread
        varies = std > 1e-7 * np.maximum(1.0, np.abs(mean))
        inverse = np.where(varies, 1.0 / np.where(varies, std, 1.0), 0.0)
        inverse *= np.sqrt(energy / max(int(varies.sum()), 1))
        moments = torch.as_tensor(np.stack([mean, inverse]), dtype=dtype, device=device)
        return cls(_matrix(x, dtype, device), moments[0], moments[1])

    def like(self, x: Any) -> Rows:
        """Other rows on the scale of these."""
        return Rows(_matrix(x, self.dtype, self.device), self.mean, self.inverse_scale)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> torch.dtype:
        return self.mean.dtype

    @property
    def device(self) -> torch.device:
        return self.mean.device

    def take(self, index: Tensor | slice) -> Tensor:
        """Standardised rows (B, d) on the device."""
        if sparse.issparse(self.matrix):
            where = index if isinstance(index, slice) else index.cpu().numpy()
            dense = self.matrix[where].toarray()
            batch = torch.as_tensor(dense, dtype=self.dtype, device=self.device)
        else:
            batch = self.matrix[index].to(self.dtype)
        return (batch - self.mean) * self.inverse_scale


def _matrix(x: Any, dtype: torch.dtype, device: torch.device) -> Any:
    if sparse.issparse(x):
        return x.tocsr()
    if device.type == "cpu" and x.dtype in (np.float32, np.float64):
        return torch.from_numpy(x)  # shares memory; batches are cast
    return torch.as_tensor(x, dtype=dtype, device=device)


def _moments(x: Any, chunk: int = 8192) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Column means and standard deviations (d,), float64, in one chunked pass (Chan's update)."""
    count, mean, squares = 0, np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for start in range(0, x.shape[0], chunk):
        part = x[start : start + chunk]
        part = np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
        part_mean = part.mean(axis=0)
        delta = part_mean - mean
        total = count + len(part)
        squares += ((part - part_mean) ** 2).sum(axis=0) + delta**2 * (count * len(part) / total)
        mean += delta * (len(part) / total)
        count = total
    return mean, np.sqrt(squares / max(count, 1))
