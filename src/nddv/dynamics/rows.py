"""Rows of a data matrix, made inputs batch by batch: there is no second copy of the data.

The matrix may be larger than memory: rows on disk are read batch by batch as well.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from nddv.dynamics.inputs import Inputs, fit_inputs
from nddv.support.stored import StoredRows

Index = NDArray[np.intp]


SAMPLE = 2**24  # numbers that quantiles are taken of, in blocks of rows
BLOCK = 256


@dataclass(frozen=True)
class Rows:
    """Rows of an (N, d) matrix, dense, sparse or on disk, with the map that makes inputs of them.

    The map (`nddv.dynamics.inputs`) is fitted on training rows. Features that are constant there
    become 0 in every other set too (a tiny standard deviation would blow them up). The inputs have
    a mean squared norm of `energy`. The encoder learns at a speed proportional to this norm;
    without the scaling, the speed would grow with the number of features.

    matrix : torch tensor, scipy CSR or `StoredRows`, in its own precision.
    index : which rows of the matrix these are; None for all.
    inputs : the map; batches are centered before the cast.
    dtype : of the batches.
    """

    matrix: Any
    index: Index | None
    inputs: Inputs
    dtype: torch.dtype

    @classmethod
    def fit(
        cls,
        x: Any,
        energy: float,
        dtype: torch.dtype,
        device: torch.device,
        index: Index | None = None,
        encoded: bool = False,
    ) -> Rows:
        """Training rows, by a map fitted on themselves.

        encoded : whether the inputs are encoded, not plain; those of sparse features are plain.
        """
        mean, std = _moments(x, index)
        # a constant column may have a spread of a few units in the last place of its mean, and the
        # inverse of a number near the smallest would not be finite
        numbers = np.finfo(x.dtype)
        varies = std > np.maximum(8 * numbers.eps * np.abs(mean), 1e4 * numbers.tiny)
        if not varies.any():
            raise ValueError("no feature varies among the training rows")
        n = x.shape[0] if index is None else len(index)
        encode = _sample(x, index, n) if encoded and not sparse.issparse(x) else None
        inputs = fit_inputs(mean, std, varies, energy, encode, n, x.dtype, device)
        return cls(_matrix(x, device), index, inputs, dtype)

    def like(self, x: Any, index: Index | None = None) -> Rows:
        """Other rows, by the map of these."""
        return Rows(_matrix(x, self.device), index, self.inputs, self.dtype)

    def __len__(self) -> int:
        return int(self.matrix.shape[0]) if self.index is None else len(self.index)

    @property
    def device(self) -> torch.device:
        return self.inputs.mean.device

    def take(self, where: Tensor | slice) -> Tensor:
        """Inputs (B, count) of some rows, on the device."""
        chosen: Any = where
        if self.index is not None:
            chosen = self.index[where if isinstance(where, slice) else where.cpu().numpy()]
        if isinstance(self.matrix, Tensor):
            batch = self.matrix[chosen]
        else:
            part = self.matrix[chosen.cpu().numpy() if isinstance(chosen, Tensor) else chosen]
            part = part.toarray() if sparse.issparse(part) else part
            batch = torch.as_tensor(part, device=self.device)
        return self.inputs(batch, self.dtype)


def _matrix(x: Any, device: torch.device) -> Any:
    if sparse.issparse(x):
        return x.tocsr()
    if isinstance(x, StoredRows):
        return x
    with warnings.catch_warnings():  # a read-only array is only read
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.as_tensor(x, device=device)  # shares memory on the CPU


def _sample(x: Any, index: Index | None, n: int) -> NDArray[np.float64]:
    """All rows, or evenly spaced blocks of them."""
    starts = np.arange(0, n, BLOCK)
    most = max(1, SAMPLE // (BLOCK * x.shape[1]))
    if len(starts) > most:
        starts = starts[np.linspace(0, len(starts) - 1, most).astype(int)]
    where = (starts[:, None] + np.arange(BLOCK)).ravel()
    where = where[where < n]
    return np.asarray(x[where if index is None else index[where]], dtype=np.float64)


def _moments(
    x: Any, index: Index | None, chunk: int = 8192
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Column means and standard deviations (d,), float64, in one chunked pass (Chan's update)."""
    n = x.shape[0] if index is None else len(index)
    count, mean, squares = 0, np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for start in range(0, n, chunk):
        rows: Any = slice(start, min(start + chunk, n))
        part = x[rows if index is None else index[rows]]
        part = np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            part_mean = part.mean(axis=0)
            delta = part_mean - mean
            total = count + len(part)
            spread = ((part - part_mean) ** 2).sum(axis=0)
            squares += spread + delta**2 * (count * len(part) / total)
            mean += delta * (len(part) / total)
        count = total
    if not np.isfinite(squares).all():
        column = int((~np.isfinite(squares)).argmax())
        raise ValueError(f"the values of column {column} are too large to square: rescale it")
    return mean, np.sqrt(squares / max(count, 1))
