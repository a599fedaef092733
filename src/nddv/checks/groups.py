"""Classes and groups of rows that are valued worse than the rest.

Each group is compared with all other rows by the ranks of its values (Mann and Whitney). A test of
means would not do: values are skewed, and it then names small groups worse by chance. The p-values
are adjusted for the number of groups by Holm's rule: where no group differs, some group is named
worse with a probability of at most 2.5 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from nddv.support.wording import InputError

LEVEL = 0.05  # of all two-sided tests together
SMALLEST = 10  # rows of a group that is compared; the rows of smaller ones are pooled
MANY = 10  # different numbers, beyond which a column is cut at its quartiles

MISSING = "missing"

Floats = NDArray[np.float64]


def compare_groups(
    values: Any, groups: pd.DataFrame | Mapping[Any, Any], p_wrong: Any = None
) -> pd.DataFrame:
    """Compare the mean value of every group with that of the rest.

    Parameters
    ----------
    values : (n,) values of the rows; higher is better.
    groups : columns of n entries by name. Each different entry is a group; missing entries are one
        too. Numeric columns of more than ten different numbers are cut at their quartiles. Groups
        of fewer than ten rows are pooled.
    p_wrong : (n,) probability that the label of a row is wrong.

    Returns
    -------
    A row per group, the worst first: ``column``, ``group``, ``rows``, ``mean``, ``difference`` to
    the mean of the other rows, ``p`` adjusted for the number of groups, with ``p_wrong`` the
    ``share_wrong`` of the group, and ``worse``: lower than the rest, in the mean and by ranks, by
    more than chance. A group that cannot be compared, too small or nearly all of the rows, has no
    p.
    """
    scores = _numbers(values, "values")
    if len(scores) == 0:
        raise InputError("values is empty: there is nothing to compare")
    wrong = None if p_wrong is None else _numbers(p_wrong, "p_wrong", len(scores))
    if wrong is not None and not ((wrong >= 0) & (wrong <= 1)).all():
        row = int((~((wrong >= 0) & (wrong <= 1))).argmax())
        raise InputError(f"p_wrong is {wrong[row]:g} in row {row}: give probabilities, 0 to 1")
    columns = {str(name): groups[name] for name in groups}
    if not columns:
        raise InputError("groups has no columns: name at least one")
    ranks = rankdata(scores)
    ranks -= ranks.mean()
    tables = [_compare(scores, ranks, name, column, wrong) for name, column in columns.items()]
    compared = pd.concat(tables, ignore_index=True)
    compared["p"] = holm(compared["p"].to_numpy())
    low = (compared.pop("shift") < 0) & (compared["difference"] < 0)
    compared["worse"] = (compared["p"] < LEVEL) & low
    order = np.lexsort((compared["difference"], compared["p"].fillna(2.0), ~compared["worse"]))
    return compared.iloc[order].reset_index(drop=True)


def holm(p: Floats) -> Floats:
    """p-values (m,) adjusted for their number by Holm (1979); NaN stays and does not count."""
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def _compare(
    scores: Floats, ranks: Floats, name: str, column: Any, wrong: Floats | None
) -> pd.DataFrame:
    """The groups of one column; the ranks of the scores are centred."""
    codes, labels = _groups(name, column, len(scores))
    rows = np.bincount(codes, minlength=len(labels)).astype(np.float64)
    n, rest = len(scores), len(scores) - rows
    total, shift = (np.bincount(codes, of, len(labels)) for of in (scores, ranks))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / rows
        difference = mean - (scores.sum() - total) / rest
        # the spread of the sum of so many ranks, drawn without replacement; exact with ties
        spread = np.sqrt(rows * rest / n * ranks.var(ddof=1)) if n > 1 else np.zeros_like(rows)
        p = 2 * norm.sf(np.abs(shift) / spread)
    p[spread == 0] = 1.0  # all values are equal
    p[(rows < SMALLEST) | (rest < SMALLEST)] = np.nan
    table = pd.DataFrame(
        {
            "column": name,
            "group": labels,
            "rows": rows.astype(np.int64),
            "mean": mean,
            "difference": difference,
            "p": p,
            "shift": shift,
        }
    )
    if wrong is not None:
        table["share_wrong"] = np.bincount(codes, wrong, len(labels)) / rows
    return table


def _groups(name: str, column: Any, n: int) -> tuple[NDArray[np.int64], list[str]]:
    """Group (n,) of each row, and the names of the groups."""
    entries = column if isinstance(column, pd.Series) else _series(name, column)
    entries = entries.reset_index(drop=True)
    if len(entries) != n:
        raise InputError(f"groups[{name!r}] has {len(entries)} entries, but there are {n} values")
    missing = entries.isna().to_numpy()
    numeric = pd.api.types.is_numeric_dtype(entries) and not pd.api.types.is_bool_dtype(entries)
    if numeric and entries.nunique() > MANY:
        numbers = entries.to_numpy(dtype=np.float64, na_value=np.nan)
        cuts = np.unique(np.quantile(numbers[~missing], [0.25, 0.5, 0.75]))
        codes = np.searchsorted(cuts, numbers, side="left")
        labels = _intervals(cuts)
    else:
        codes, kinds = pd.factorize(entries, use_na_sentinel=True)
        labels = [str(kind) for kind in kinds]
    codes = np.where(missing, len(labels), codes)
    return _pooled(codes.astype(np.int64), [*labels, MISSING])


def _intervals(cuts: Floats) -> list[str]:
    """Names of the parts that cuts divide numbers into; a cut belongs to the part below."""
    ends = [f"{cut:.6g}" for cut in cuts]
    between = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [f"up to {ends[0]}", *between, f"above {ends[-1]}"]


def _pooled(codes: NDArray[np.int64], labels: list[str]) -> tuple[NDArray[np.int64], list[str]]:
    """The same groups without empty ones, and with the small ones as one, if there are several."""
    rows = np.bincount(codes, minlength=len(labels))
    kept = np.flatnonzero(rows >= SMALLEST)
    small = np.flatnonzero((rows > 0) & (rows < SMALLEST))
    place = np.zeros(len(labels), np.int64)
    place[kept] = np.arange(len(kept))
    place[small] = len(kept)
    names = [labels[k] for k in kept]
    if len(small) == 1:
        names.append(labels[small[0]])
    elif len(small):
        names.append(f"{len(small)} groups of fewer than {SMALLEST} rows")
    return place[codes], names


def _series(name: str, column: Any) -> pd.Series:
    """Entries as a column of pandas."""
    try:
        return pd.Series(column)
    except (TypeError, ValueError):
        raise InputError(f"groups[{name!r}] is not a list of entries: give one per row") from None


def _numbers(given: Any, name: str, n: int | None = None) -> Floats:
    """Finite numbers (n,)."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} are not numbers: give one number per row") from None
    if numbers.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {numbers.shape}")
    if n is not None and len(numbers) != n:
        raise InputError(f"{name} has {len(numbers)} entries, but there are {n} values")
    if not np.isfinite(numbers).all():
        row = int((~np.isfinite(numbers)).argmax())
        raise InputError(f"{name} is missing or infinite in row {row}: leave the row out")
    return numbers
