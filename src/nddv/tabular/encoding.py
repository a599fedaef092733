"""Turn the columns of a table into numbers, and back into words where something is wrong.

The encoding is learnt from the table to be valued and then applied, unchanged, to meta or
validation tables:

============  =====================================================================
column        becomes
============  =====================================================================
numbers       themselves
true/false    0 or 1
dates         days since the earliest date
categories    a 0/1 column for each level (one column for two levels); rare levels
              beyond the cap are pooled
============  =====================================================================

Columns that do not vary are dropped, with a notice, unless they are to be kept. Missing entries are
an error unless they are to be imputed: then numbers take the column's median and an extra 0/1
column says where, and categories get a level of their own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.tabular.files import FileTable, TableError

Kind = Literal["number", "flag", "date", "category"]
MISSING_LEVEL = "(missing)"
POOLED_LEVEL = "(other)"
SECONDS_A_DAY = 86_400.0


@dataclass(frozen=True)
class Rules:
    """What the user decided about the columns.

    Attributes
    ----------
    ignore : columns that are not features.
    categorical : columns to take as categories, whatever they look like.
    impute : fill in missing entries instead of refusing them.
    max_categories : levels of a column beyond which rare ones are pooled.
    keep_constant : keep columns that do not vary, so that the number of features is the table's.
    """

    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    impute: bool = False
    max_categories: int = 50
    keep_constant: bool = False


@dataclass(frozen=True)
class Column:
    """How one column becomes numbers.

    Attributes
    ----------
    name, kind : of the column in the table.
    levels : of categories, those with a column of their own; `pooled`: there are others.
    start : of a column of dates, the earliest, in days since 1970.
    median : what takes the place of a missing number; `indicator`: and a column says where.
    varies : whether its entries differ.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    pooled: bool = False
    start: float = 0.0
    median: float = 0.0
    indicator: bool = False
    varies: bool = True

    def encode(self, series: pd.Series) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Yield (name, (n,) numbers) for every feature that the column makes."""
        if self.kind == "category":
            yield from self._one_hot(series)
            return
        numbers = _numbers(series, self.kind) - self.start
        absent = np.isnan(numbers)
        yield self.name, np.where(absent, self.median, numbers)
        if self.indicator:
            yield f"{self.name} {MISSING_LEVEL}", absent.astype(np.float64)

    def _one_hot(self, series: pd.Series) -> Iterator[tuple[str, NDArray[np.float64]]]:
        words = _words(series).to_numpy(dtype=object)
        levels = self.levels[1:] if len(self.levels) == 2 and not self.pooled else self.levels
        for level in levels:
            yield f"{self.name}={level}", (words == level).astype(np.float64)
        if self.pooled:
            rest = ~np.isin(words.astype(str), np.asarray(self.levels, dtype=str))
            yield f"{self.name}={POOLED_LEVEL}", rest.astype(np.float64)


@dataclass(frozen=True)
class Encoding:
    """The columns in use, and what should be said about the others."""

    columns: tuple[Column, ...]
    rules: Rules
    notices: list[str] = field(default_factory=list)

    def apply(self, table: FileTable) -> pd.DataFrame:
        """Encode a table with at least the columns this was learnt from; (n, features) float64."""
        table.check_columns([c.name for c in self.columns], "used as a feature")
        parts: list[tuple[str, NDArray[np.float64]]] = []
        for column in self.columns:
            series = table.frame[column.name]
            _check_entries(table, series, self.rules, column.kind)
            if column.kind == "category" and not column.pooled:
                self._note_new_levels(table, series, column)
            parts.extend(column.encode(series))
        features = pd.DataFrame(np.column_stack([values for _, values in parts]))
        features.columns = [name for name, _ in parts]
        return features

    def _note_new_levels(self, table: FileTable, series: pd.Series, column: Column) -> None:
        new = sorted(set(_words(series)) - set(column.levels))
        if new:
            place = repr(column.levels[0]) if len(column.levels) == 2 else "no level at all"
            self.notices.append(
                f"column {column.name!r} of {table.path.name} has {_count(len(new), 'level')} "
                f"that the valued table has not, such as {new[0]!r}: encoded as {place}"
            )


def learn_encoding(table: FileTable, rules: Rules) -> Encoding:
    """Decide for every column of a table how it becomes numbers."""
    for option, names in (("--categorical", rules.categorical), ("--drop, --id", rules.ignore)):
        table.check_columns(names, option)
    notices: list[str] = []
    columns: list[Column] = []
    constant: list[str] = []
    for name in table.frame.columns:
        if name in rules.ignore:
            continue
        series = table.frame[name]
        if _is_saved_index(str(name), series):
            notices.append(f"column {name!r} is a row counter without a name: dropped")
            continue
        if rules.impute and series.isna().all():
            notices.append(f"column {name!r} is empty: dropped")
            continue
        column = _learn_column(table, series, rules, notices)
        if column.varies or rules.keep_constant:
            columns.append(column)
        else:
            constant.append(str(name))
    if constant:
        notices.append(f"{_columns(constant)} not vary: dropped")
    if not columns:
        raise TableError(
            f"{table.path} has no column to value the rows by: besides the target, and what is "
            "dropped or does not vary, nothing is left"
        )
    return Encoding(tuple(columns), rules, notices)


def read_target(table: FileTable, name: str, task: str) -> NDArray[np.generic]:
    """The target column; (n,) numbers, truth values or strings."""
    table.check_columns([name], "--target")
    series = table.frame[name]
    absent = np.flatnonzero(series.isna())
    if absent.size:
        raise TableError(
            f"target {name!r} is missing at {table.where(int(absent[0]))}{_and_more(absent.size)}; "
            "a target cannot be imputed: complete or remove these rows"
        )
    if pd.api.types.is_bool_dtype(series):
        return series.to_numpy(dtype=bool)
    if pd.api.types.is_numeric_dtype(series):
        return _numeric_target(table, series)
    words = _words(series)
    if task == "regression":
        raise TableError(
            f"target {name!r} is not numeric ({words.iloc[0]!r} at {table.where(0)}); "
            "regression needs numbers, --task classification takes words"
        )
    if isinstance(series.dtype, pd.DatetimeTZDtype) or series.dtype.kind in "mM":
        raise TableError(f"target {name!r} holds dates; encode them as numbers or classes first")
    if words.nunique() > max(len(words) // 2, 2):
        raise TableError(
            f"target {name!r} has {words.nunique()} different words in {len(words)} rows: "
            "not classes; name the column that holds the label"
        )
    return words.to_numpy(dtype=str)


def _numeric_target(table: FileTable, series: pd.Series) -> NDArray[np.generic]:
    values = series.to_numpy(dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise TableError(
            f"target {series.name!r} is infinite at {table.where(int(infinite[0]))}"
            f"{_and_more(infinite.size)}; correct or remove these rows"
        )
    whole = bool((values == np.round(values)).all() and (np.abs(values) < 2**53).all())
    return values.astype(np.int64) if whole else values


def _learn_column(table: FileTable, series: pd.Series, rules: Rules, notices: list[str]) -> Column:
    name = str(series.name)
    kind: Kind = "category" if name in rules.categorical else _kind(table, series)
    _check_entries(table, series, rules, kind)
    if kind == "category":
        return _learn_levels(table, series, rules, notices)
    numbers = _numbers(series, kind)
    start = float(np.nanmin(numbers)) if kind == "date" else 0.0
    if kind == "number" and _is_counter(numbers):
        notices.append(
            f"column {name!r} looks like a row counter and is used as a number; "
            f"keep it out with --id {_word(name)} or --drop {_word(name)}"
        )
    indicator = bool(np.isnan(numbers).any())
    return Column(
        name,
        kind,
        start=start,
        median=float(np.nanmedian(numbers)) - start,
        indicator=indicator,
        varies=indicator or bool(np.nanmin(numbers) < np.nanmax(numbers)),
    )


def _learn_levels(table: FileTable, series: pd.Series, rules: Rules, notices: list[str]) -> Column:
    name = str(series.name)
    counts = _words(series).value_counts()
    counts = counts.sort_index().sort_values(ascending=False, kind="stable")
    cap = rules.max_categories
    if len(counts) <= cap:
        levels = tuple(sorted(counts.index))
        return Column(name, "category", levels=levels, varies=len(levels) > 1)
    if len(counts) > len(series) / 2:
        raise TableError(
            f"column {name!r} of {table.path} has {len(counts)} different words in {len(series)} "
            "rows, like an identifier or free text; keep it out with "
            f"--id {_word(name)} or --drop {_word(name)}"
        )
    pooled = int(counts.iloc[cap:].sum())
    notices.append(
        f"column {name!r} has {len(counts)} levels: the {cap} most frequent are kept, the others "
        f"({_count(pooled, 'row')}) pooled; change with --max-categories"
    )
    return Column(name, "category", levels=tuple(sorted(counts.index[:cap])), pooled=True)


def _kind(table: FileTable, series: pd.Series) -> Kind:
    """What a column holds, from its type and, where that says nothing, from its entries."""
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
        f"turn them into numbers or words, or keep the column out with --drop {_word(series.name)}"
    )


def _kind_of_words(table: FileTable, series: pd.Series) -> Kind:
    words = series.dropna()
    if words.str.match(r"\d{4}-\d{2}-\d{2}").all() and _dates(words).notna().all():
        return "date"
    if table.text:
        numeric = pd.to_numeric(words, errors="coerce").notna()
        if 0.5 < numeric.mean() < 1.0:
            word = words[~numeric]
            raise TableError(
                f"column {series.name!r} holds numbers, but {word.iloc[0]!r} at "
                f"{table.where(int(word.index[0]))}{_and_more(len(word))}; correct it, declare it "
                f"as missing with --na {_word(word.iloc[0])}, or take the column as categories "
                f"with --categorical {_word(series.name)}"
            )
    return "category"


def _check_entries(table: FileTable, series: pd.Series, rules: Rules, kind: Kind) -> None:
    """Raise for missing entries, unless imputed, and for those of another kind or not finite."""
    if not rules.impute:
        absent = np.flatnonzero(series.isna())
        if absent.size == len(series):
            raise TableError(
                f"column {series.name!r} of {table.path} is empty; "
                f"keep it out with --drop {_word(series.name)}"
            )
        if absent.size:
            raise TableError(
                f"column {series.name!r} has no entry at {table.where(int(absent[0]))}"
                f"{_and_more(absent.size)}; complete or remove these rows, keep the column out "
                f"with --drop {_word(series.name)}, or let --missing impute fill them in"
            )
    if kind == "category":
        return
    try:
        numbers = _numbers(series, kind)
        if (np.isnan(numbers) & series.notna().to_numpy()).any():
            raise ValueError("an entry is no date")
    except (TypeError, ValueError) as error:
        raise TableError(
            f"column {series.name!r} of {table.path} does not hold {kind}s as in the valued table"
        ) from error
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise TableError(
            f"column {series.name!r} is infinite at {table.where(int(infinite[0]))}"
            f"{_and_more(infinite.size)}; correct or remove these rows"
        )


def _numbers(series: pd.Series, kind: Kind) -> NDArray[np.float64]:
    """The entries of a column other than categories, NaN where missing; dates in days from 1970."""
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


def _words(series: pd.Series) -> pd.Series:
    """The entries as words, the same whether 3 was read as a whole number or as 3.0."""

    def word(entry: object) -> str:
        whole = isinstance(entry, float | np.floating) and float(entry).is_integer()
        return str(int(entry)) if whole else str(entry)  # type: ignore[call-overload]

    present = series.notna()
    return series.astype(object).map(word).where(present, MISSING_LEVEL)


def _is_counter(numbers: NDArray[np.float64]) -> bool:
    return numbers.size > 2 and bool((np.abs(np.diff(numbers)) == 1).all())


def _is_saved_index(name: str, series: pd.Series) -> bool:
    """Whether this is the index that pandas writes into a CSV file under an empty name."""
    return (
        name.startswith("Unnamed: ")
        and pd.api.types.is_integer_dtype(series)
        and _is_counter(series.to_numpy(dtype=np.float64))
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _columns(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"column {names[0]!r} does"
    shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return f"{len(names)} columns ({shown}) do"


def _word(name: object) -> str:
    """A name as it is typed on the command line."""
    return shlex.quote(str(name))


def _and_more(number: int) -> str:
    return f" and {_count(number - 1, 'other row')}" if number > 1 else ""


def describe(columns: Sequence[Column]) -> list[dict[str, object]]:
    """One JSON-able line a column, for the record."""
    return [
        {"column": c.name, "as": c.kind} | ({"levels": len(c.levels)} if c.levels else {})
        for c in columns
    ]
