"""The entries of one column as numbers or as words, and what kinds of entries there are."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Kind = Literal["number", "flag", "date", "category"]
MISSING_LEVEL = "(missing)"
SECONDS_A_DAY = 86_400.0
# Sorts of Python objects. The first that all entries of a column are decides on its kind.
SORTS: dict[str, tuple[type, ...]] = {
    "flag": (bool, np.bool_),
    "word": (str,),
    "number": (Real, Decimal),
    "date": (date,),
    "word or number": (str, Real),
}


def kind_of_type(dtype: Any) -> Kind | None:
    """What a column of a type holds; None where the type says nothing."""
    types = pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if types.is_bool_dtype(dtype):
        return "flag"
    if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
        return "number"
    if types.is_datetime64_any_dtype(dtype):
        return "date"
    if types.is_timedelta64_dtype(dtype):
        return "number"
    return None


def are_dates(words: pd.Series) -> bool:
    """Whether all of some words are dates, year first."""
    return bool(words.str.match(r"\d{4}-\d{2}-\d{2}").all() and _dates(words).notna().all())


def are_numbers(words: pd.Series) -> NDArray[np.bool_]:
    """Which words could be read as numbers; (n,)."""
    return pd.to_numeric(words, errors="coerce").notna().to_numpy(dtype=bool)


def numbers_of(series: pd.Series, kind: Kind) -> NDArray[np.float64]:
    """The entries as numbers, NaN where missing; dates become days since 1970."""
    if kind == "date":
        stamps = _dates(series) - pd.Timestamp("1970-01-01", tz="UTC")
        return (stamps.dt.total_seconds() / SECONDS_A_DAY).to_numpy(dtype=np.float64)
    if pd.api.types.is_timedelta64_dtype(series):
        return (series.dt.total_seconds() / SECONDS_A_DAY).to_numpy(dtype=np.float64)
    if pd.api.types.is_numeric_dtype(series):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    entries = series.astype(object).where(series.notna(), np.nan)
    try:
        return entries.to_numpy().astype(np.float64)
    except OverflowError:  # a whole number of hundreds of digits
        return entries.map(_nearest_float).to_numpy(dtype=np.float64)


def _nearest_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def _dates(series: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(series):
        return pd.to_datetime(series, utc=True)
    entries = series.astype(object)
    dates = entries.where(entries.map(lambda x: isinstance(x, str | date)), None)  # no numbers
    return pd.to_datetime(dates, utc=True, format="ISO8601", errors="coerce")


def words_of(series: pd.Series) -> pd.Series:
    """The entries as words, the same whether 3 was read as a whole number or as 3.0."""

    def word(entry: object) -> str:
        whole = isinstance(entry, float | np.floating) and float(entry).is_integer()
        return str(int(entry)) if whole else str(entry)  # type: ignore[call-overload]

    if series.dtype == object:  # 1, 1.0 and True are equal, but not as words
        return series.map(word).where(series.notna(), MISSING_LEVEL)
    codes, different = pd.factorize(series)  # −1 where missing
    words = np.array([*map(word, different.astype(object)), MISSING_LEVEL], dtype=object)
    return pd.Series(words[codes], index=series.index, name=series.name, dtype=object)


def count(number: int, noun: str) -> str:
    """``"1 row"`` or ``"2 rows"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
