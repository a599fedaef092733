"""From the columns of a table to the inputs of a flow, by a map that is fitted on training rows.

Plain inputs are standardised columns, all of the same energy (mean square). Encoded inputs are made
for tables of mixed columns:

- Columns are cut at ±3 standard deviations: a far value weighs no more than that.
- A column of two values, a category mostly, has the energy 4p(1 − p), where p is the share of one
  of them. So a rare category does not shout, and all categories of a variable weigh as a number
  does. The same holds for a column in which one value has a share p of more than one half.
- A column of more values has a piecewise-linear encoding beside it (Gorishniy et al. 2022, arXiv
  2203.05556), with half of its energy: one input per bin between quantiles, 0 below the bin, 1
  above it and linear inside. A smooth network then finds thresholds as easily as a tree does. A
  frequent value, such as 0 in a column of gains, fills one bin at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]

FEWEST_BINS = 4  # with fewer, a column stays linear
LIMIT = 3.0  # standard deviations
ROWS_PER_INPUT = 5  # the encodings have together at most one input for so many rows ...
MOST_INPUTS = 1024  # ... and at most so many


def bins_for(n: int, columns: int) -> int:
    """Bins of each of some columns for n rows: √n/4 where rows and columns allow; 0: none."""
    most = min(n // ROWS_PER_INPUT, MOST_INPUTS) // max(columns, 1)
    count = min(round(sqrt(n) / 4), most)
    return count if count >= FEWEST_BINS else 0


def has_several(sample: Floats) -> NDArray[np.bool_]:
    """Which columns of (m, d) have more than two values: the others are linear anyway."""
    low, high = sample.min(0), sample.max(0)
    return np.asarray(((sample != low) & (sample != high)).any(0))


@dataclass(frozen=True)
class Bins:
    """Bins of some columns, T in all, one after the other.

    column: (T,) position among the columns; start, inverse_width: (T,) where it begins, and one
    over its width; mean, gain: (T,) what is subtracted and multiplied afterwards.
    """

    column: Tensor
    start: Tensor
    inverse_width: Tensor
    mean: Tensor
    gain: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Encodings (B, T) of rows (B, d)."""
        inside = (x[:, self.column] - self.start).mul_(self.inverse_width).clamp_(0.0, 1.0)
        return inside.sub_(self.mean).mul_(self.gain)


@dataclass(frozen=True)
class Inputs:
    """The map: (x − mean)·inverse_scale, cut at ±limit; and the bins.

    All are (d,), in the precision of the table. inverse_scale has the root of a column's energy,
    and so has the limit.
    """

    mean: Tensor
    inverse_scale: Tensor
    limit: Tensor
    bins: Bins | None

    @property
    def columns(self) -> int:
        """Number of columns that vary."""
        return int((self.inverse_scale != 0).sum())

    @property
    def count(self) -> int:
        """Number of inputs."""
        return len(self.mean) + (0 if self.bins is None else len(self.bins.column))

    def __call__(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Inputs (B, count) of rows (B, d)."""
        z = (x - self.mean).mul_(self.inverse_scale)
        z = z.clamp_(-self.limit, self.limit).to(dtype)
        return z if self.bins is None else torch.cat([z, self.bins(x).to(dtype)], 1)


def fit_inputs(
    mean: Floats,
    std: Floats,
    varies: NDArray[np.bool_],
    energy: float,
    encode: Floats | None,
    n: int,
    dtype: np.dtype[Any],
    device: torch.device,
) -> Inputs:
    """The map of n training rows with these moments, (d,).

    varies: (d,) False for columns that are constant, which become 0; energy: mean squared norm of
    the inputs of a row; encode: (m, d) of the rows, to learn the encoding from; None: plain inputs.
    """

    def tensor(values: Floats) -> Tensor:
        return torch.as_tensor(values.astype(dtype), device=device)

    own = varies.astype(float)  # the energy of a column
    several, bins = varies, 0
    if encode is not None:
        several = varies & has_several(encode)
        share = _largest_share(encode)
        rare = varies & (share > 0.5) & (share < 1)  # a column may be constant in the sample alone
        own = np.where(rare, 4 * share * (1 - share), own)
        bins = bins_for(n, int(several.sum()))
    root = np.sqrt(energy * own / own.sum())
    binned = _fit_bins(encode, several, bins) if encode is not None and bins else {}
    root[list(binned)] *= sqrt(0.5)
    limit = np.inf if encode is None else LIMIT
    most = np.multiply(limit, root, where=varies, out=np.zeros_like(root))
    made = None
    if binned:
        columns = np.repeat(list(binned), [len(part[0]) for part in binned.values()])
        parts = [np.concatenate(part) for part in zip(*binned.values(), strict=True)]
        parts[-1] *= root[columns]
        made = Bins(torch.as_tensor(columns, device=device), *map(tensor, parts))
    inverse = root / np.where(varies, std, 1.0)
    return Inputs(tensor(mean), tensor(inverse), tensor(most), made)


def _largest_share(sample: Floats) -> Floats:
    """Of every column of (m, d), the share of its most frequent value, if it is one half or more.

    Such a value is the median, so no other one needs to be counted.
    """
    return np.asarray((sample == np.quantile(sample, 0.5, axis=0, method="lower")).mean(0))


def _fit_bins(
    sample: Floats, several: NDArray[np.bool_], count: int
) -> dict[int, tuple[Floats, ...]]:
    """Of every column that has bins: their start, inverse width, mean and gain to energy 1."""
    binned: dict[int, tuple[Floats, ...]] = {}
    for column in np.flatnonzero(several):
        edges = bin_edges(sample[:, column], count)
        start, inverse = edges[:-1], 1.0 / np.diff(edges)
        inside = np.clip((sample[:, column, None] - start) * inverse, 0.0, 1.0)
        mean = inside.mean(0)
        gain = 1.0 / np.sqrt(((inside - mean) ** 2).sum(1).mean())
        binned[int(column)] = (start, inverse, mean, np.full(len(start), gain))
    return binned


def bin_edges(values: Floats, count: int) -> Floats:
    """Ascending edges of at most `count` bins of a column (m,): quantiles of its values.

    A frequent value, such as the 0 of a column that is mostly 0, counts no more than one bin does:
    the other bins are where the other values are.
    """
    distinct, times = np.unique(values, return_counts=True)
    if len(distinct) <= count + 1:
        return distinct
    # if the k most frequent values fill a bin each, the others fill count − k
    frequent = np.sort(times)[::-1][:count]
    others = len(values) - np.concatenate([[0], np.cumsum(frequent[:-1])])
    full = others / np.arange(count, 0, -1)
    counted = np.minimum(times, full[np.argmax(frequent <= full)])
    place = np.cumsum(counted) - counted[0]
    edges = np.interp(np.linspace(0.0, place[-1], count + 1), place, distinct)
    # neighbours in floating point may leave no room for an edge between them
    return np.unique(edges)
