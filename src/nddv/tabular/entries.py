"""The entries of one column: their kind, their numbers or words, and errors in them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nddv.tabular.files import FileTable, TableError

Kind = Literal["number", "flag", "date", "category"]
MISSING_LEVEL = "(missing)"
SECONDS_A_DAY = 86_400.0


def kind_of(table: FileTable, series: pd.Series) -> Kind:
    """What a column holds. Its type decides; where that says nothing, its entries do."""
    types = pd.api.types
    if isinstance(series.dtype, pd.CategoricalDtype):
        return "category"
    if types.is_bool_dtype(series):
        return "flag"
    if types.is_numeric_dtype(series) and not types.is_complex_dtype(series):
        return "number"
    if types.is_datetime64_any_dtype(series):
        return "date"
    if types.is_timedelta64_dtype(series):
        return "number"
    entries = series.dropna()
    if entries.map(lambda x: isinstance(x, bool | np.bool_)).all():
        return "flag"
    if entries.map(lambda x: isinstance(x, str)).all():
        return _kind_of_words(table, series)
    if entries.map(lambda x: isinstance(x, Real | Decimal)).all():
        return "number"
    if entries.map(lambda x: isinstance(x, date)).all():
        return "date"
    if entries.map(lambda x: isinstance(x, str | Real)).all():
        return "category"
    strange = next(x for x in entries if not isinstance(x, str | Real))
    raise TableError(
        f"column {series.name!r} of {table.path} holds entries of type {type(strange).__name__}; "
        "turn them into numbers or words, or keep the column out",
        drop=series.name,
    )


def _kind_of_words(table: FileTable, series: pd.Series) -> Kind:
    words = series.dropna()
    if words.str.match(r"\d{4}-\d{2}-\d{2}").all() and _dates(words).notna().all():
        return "date"
    if table.text:
        numeric = pd.to_numeric(words, errors="coerce").notna()
        if 0.5 < numeric.mean() < 1.0:
            word = words[~numeric]
            where = rows_where(table, series.index.isin(word.index))
            raise TableError(
                f"column {series.name!r} holds numbers, but {word.iloc[0]!r} at {where}; "
                "correct it, declare it as missing, or take the column as categories",
                na=word.iloc[0],
                categorical=series.name,
            )
    return "category"


def check_entries(table: FileTable, series: pd.Series, kind: Kind, impute: bool) -> None:
    """Raise for entries that are missing (unless imputed), of another kind, or not finite."""
    if not impute:
        if series.isna().all():
            raise TableError(
                f"column {series.name!r} of {table.path} is empty; keep it out", drop=series.name
            )
        if series.isna().any():
            raise TableError(
                f"column {series.name!r} has no entry at {rows_where(table, series.isna())}; "
                "complete or remove these rows, keep the column out, or have missing entries "
                "imputed",
                drop=series.name,
                missing="impute",
            )
    if kind == "category":
        return
    try:
        numbers = numbers_of(series, kind)
        if (np.isnan(numbers) & series.notna().to_numpy()).any():
            raise ValueError("an entry is no date")
    except (TypeError, ValueError) as error:
        raise TableError(
            f"column {series.name!r} of {table.path} does not hold {kind}s as in the valued table"
        ) from error
    check_finite(table, numbers, f"column {series.name!r}")


def check_finite(table: FileTable, numbers: NDArray[np.float64], what: str) -> None:
    """Raise for infinite numbers; missing ones pass."""
    if np.isinf(numbers).any():
        where = rows_where(table, np.isinf(numbers))
        raise TableError(f"{what} is infinite at {where}; correct or remove these rows")


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

    present = series.notna()
    return series.astype(object).map(word).where(present, MISSING_LEVEL)


def is_counter(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers go up or down by one from row to row."""
    return numbers.size > 2 and bool((np.abs(np.diff(numbers)) == 1).all())


def is_saved_index(name: str, series: pd.Series) -> bool:
    """Whether this is the index that pandas writes into a CSV file under an empty name."""
    return (
        name.startswith("Unnamed: ")
        and pd.api.types.is_integer_dtype(series)
        and is_counter(series.to_numpy(dtype=np.float64))
    )


def count(number: int, noun: str) -> str:
    """``"1 row"`` or ``"2 rows"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def rows_where(table: FileTable, condition: ArrayLike) -> str:
    """Name the first row where a condition holds, and say how many others there are."""
    rows = np.flatnonzero(np.asarray(condition))
    more = f" and {count(rows.size - 1, 'other row')}" if rows.size > 1 else ""
    return table.where(int(rows[0])) + more
