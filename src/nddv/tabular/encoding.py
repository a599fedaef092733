"""Turn the columns of a table into numbers.

The encoding is learnt from the table to be valued. Meta and validation tables then get the same
encoding:

============  =====================================================================
column        becomes
============  =====================================================================
numbers       themselves
true/false    0 or 1
dates         days since the earliest date
categories    a 0/1 column for each level (one column for two levels); rare levels
              beyond the cap are pooled
============  =====================================================================

Columns that do not vary are dropped, with a notice, unless ``keep_constant`` is set. Missing
entries are an error unless ``impute`` is set. Then a missing number becomes the column's median,
and an extra 0/1 column says where; missing categories become a separate level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.support.wording import Notice
from nddv.tabular.entries import MISSING_LEVEL, Kind, count, numbers_of, words_of
from nddv.tabular.files import FileTable, Source, TableError
from nddv.tabular.summaries import Places, Summary, check_finite, rows_where, summarise

POOLED_LEVEL = "(other)"


@dataclass(frozen=True)
class Rules:
    """The user's decisions about the columns.

    Attributes
    ----------
    ignore : columns that are not features.
    categorical : columns to take as categories, whatever they look like.
    impute : fill in missing entries instead of refusing them.
    max_categories : if a column has more levels than this, the rare ones are pooled.
    keep_constant : keep columns that do not vary, so that no feature of the table is lost.
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
    levels : categories that get their own 0/1 column.
    pooled : whether there are other categories, which share one column.
    start : the earliest date of a column of dates, in days since 1970.
    median : replaces missing numbers.
    indicator : whether an extra column says where numbers were missing.
    varies : whether the entries differ.
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
        numbers = numbers_of(series, self.kind) - self.start
        absent = np.isnan(numbers)
        yield self.name, np.where(absent, self.median, numbers)
        if self.indicator:
            yield f"{self.name} {MISSING_LEVEL}", absent.astype(np.float64)

    def _one_hot(self, series: pd.Series) -> Iterator[tuple[str, NDArray[np.float64]]]:
        codes = pd.Index(self.levels, dtype=object).get_indexer(words_of(series))  # −1: another
        first = 1 if len(self.levels) == 2 and not self.pooled else 0
        for code, level in enumerate(self.levels[first:], start=first):
            yield f"{self.name}={level}", (codes == code).astype(np.float64)
        if self.pooled:
            yield f"{self.name}={POOLED_LEVEL}", (codes == -1).astype(np.float64)


@dataclass(frozen=True)
class Encoding:
    """The columns in use, and notices about the others."""

    columns: tuple[Column, ...]
    rules: Rules
    notices: list[str] = field(default_factory=list)

    def apply(self, table: FileTable) -> pd.DataFrame:
        """Encode a table that has the same columns, or more; (n, features) float64."""
        table.check_columns([c.name for c in self.columns], "used as a feature")
        for column in self.columns:
            summary = summarise(table.frame[column.name], table.text, kind=column.kind)
            summary.check(table, column.kind, self.rules.impute)
            if column.kind == "category" and not column.pooled:
                self._note_new_levels(table, summary, column)
        return self.encode(table.frame)

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Encode rows that need no check, such as rows it was learnt from; (n, features)."""
        parts = [part for c in self.columns for part in c.encode(frame[c.name])]
        values = [column for _, column in parts] or [np.empty((len(frame), 0))]
        return pd.DataFrame(np.column_stack(values), columns=[name for name, _ in parts])

    def unknown_levels(self, table: FileTable) -> list[NDArray[np.object_]]:
        """For each category, what its rows (n,) have that was never seen; "" where it was."""
        table.check_columns([column.name for column in self.columns], "used as a feature")
        reasons = []
        for column in self.columns:
            if column.kind == "category" and not column.pooled:
                words = words_of(table.frame[column.name]).to_numpy(dtype=object)
                new = ~np.isin(words.astype(str), np.asarray(column.levels, dtype=str))
                said = [f"{column.name} is {word!r}, which the run does not know" for word in words]
                reasons.append(np.where(new, np.array(said, dtype=object), ""))
        return reasons

    def _note_new_levels(self, table: FileTable, summary: Summary, column: Column) -> None:
        new = sorted(set(_counts(summary)) - set(column.levels))
        if new:
            place = repr(column.levels[0]) if len(column.levels) == 2 else "no level at all"
            self.notices.append(
                f"column {column.name!r} of {table.path.name} has {count(len(new), 'level')} "
                f"that the valued table has not, such as {new[0]!r}: encoded as {place}"
            )


def learn_encoding(table: FileTable, rules: Rules, needed: bool = True) -> Encoding:
    """Decide for every column of a table how it becomes numbers.

    needed : raise if there is no such column; else there are features from elsewhere.
    """
    check_rules(table, rules)
    return decide_encoding(
        table,
        (
            summarise(table.frame[name], table.text, **summary_options(str(name), rules))
            for name in table.frame.columns
            if name not in rules.ignore
        ),
        rules,
        needed,
    )


def check_rules(source: Source, rules: Rules) -> None:
    """Raise for rules about columns that a table has not."""
    for use, names in (("a category", rules.categorical), ("not a feature", rules.ignore)):
        source.check_columns(names, use)


def summary_options(name: str, rules: Rules) -> dict[str, Any]:
    """What a summary must know of the rules."""
    return {"kind": "category" if name in rules.categorical else None, "medians": rules.impute}


def decide_encoding(
    source: Source, summaries: Iterable[Summary], rules: Rules, needed: bool = True
) -> Encoding:
    """Decide, from summaries of the columns that may be features, how each becomes numbers."""
    notices: list[str] = []
    columns: list[Column] = []
    constant: list[str] = []
    for summary in summaries:
        if summary.is_saved_index():
            notices.append(f"column {summary.name!r} is a row counter without a name: dropped")
            continue
        if rules.impute and summary.missing.count == summary.rows:
            notices.append(f"column {summary.name!r} is empty: dropped")
            continue
        column = _decide_column(source, summary, rules, notices)
        if column.varies or rules.keep_constant:
            columns.append(column)
        else:
            constant.append(summary.name)
    if constant:
        notices.append(f"{_columns(constant)} not vary: dropped")
    if needed and not columns:
        raise TableError(
            f"{source.path} has no column to value the rows by: besides the target, and what is "
            "dropped or does not vary, nothing is left"
        )
    return Encoding(tuple(columns), rules, notices)


def read_target(table: FileTable, name: str, task: str) -> NDArray[np.generic]:
    """The target column; (n,) numbers, truth values or strings."""
    table.check_columns([name], "the target")
    return decide_target(table, table.frame[name], task)


def decide_target(source: Source, series: pd.Series, task: str) -> NDArray[np.generic]:
    """The target from all its entries; (n,) numbers, truth values or strings."""
    name = series.name
    if series.isna().any():
        raise TableError(
            f"target {name!r} is missing at {rows_where(source, series.isna())}; "
            "a target cannot be imputed: complete or remove these rows"
        )
    if pd.api.types.is_bool_dtype(series):
        return series.to_numpy(dtype=bool)
    if pd.api.types.is_numeric_dtype(series):
        return _numeric_target(source, series)
    words = words_of(series)
    if task == "regression":
        raise TableError(
            f"target {name!r} is not numeric ({words.iloc[0]!r} at {source.where(0)}); "
            "regression needs numbers, classification takes words",
            task="classification",
        )
    if isinstance(series.dtype, pd.DatetimeTZDtype) or series.dtype.kind in "mM":
        raise TableError(f"target {name!r} holds dates; encode them as numbers or classes first")
    if words.nunique() > max(len(words) // 2, 2):
        raise TableError(
            f"target {name!r} has {words.nunique()} different words in {len(words)} rows: "
            "not classes; name the column that holds the label"
        )
    return words.to_numpy(dtype=str)


def _numeric_target(source: Source, series: pd.Series) -> NDArray[np.generic]:
    values = series.to_numpy(dtype=np.float64)
    infinite = Places()
    infinite.add(np.isinf(values))
    check_finite(source, infinite, f"target {series.name!r}")
    whole = bool((values == np.round(values)).all() and (np.abs(values) < 2**53).all())
    return values.astype(np.int64) if whole else values


def _decide_column(source: Source, summary: Summary, rules: Rules, notices: list[str]) -> Column:
    name, numbers = summary.name, summary.numbers
    kind = summary.kind(source)
    summary.check(source, kind, rules.impute)
    if kind == "category":
        return _decide_levels(source, summary, rules, notices)
    if kind == "number" and numbers.counting:
        said = f"column {name!r} looks like a row counter and is used as a number"
        notices.append(Notice(said, id=name, drop=name))
    start = numbers.low if kind == "date" else 0.0
    median = numbers.median() - start if rules.impute else 0.0
    indicator = summary.missing.count > 0
    varies = indicator or numbers.low < numbers.high
    return Column(name, kind, (), False, start, median, indicator, varies)


def _counts(summary: Summary) -> Counter[str]:
    """How often each level occurs; missing entries are a level."""
    absent = summary.missing.count
    return summary.words + Counter({MISSING_LEVEL: absent} if absent else {})


def _decide_levels(source: Source, summary: Summary, rules: Rules, notices: list[str]) -> Column:
    name, rows = summary.name, summary.rows
    counts = sorted(_counts(summary).items(), key=lambda level: (-level[1], level[0]))
    words = [word for word, _ in counts]
    cap = rules.max_categories
    if len(words) <= cap:
        return Column(name, "category", levels=tuple(sorted(words)), varies=len(words) > 1)
    if len(words) > rows / 2:
        raise TableError(
            f"column {name!r} of {source.path} has {len(words)} different words in {rows} "
            "rows, like an identifier or free text; keep it out",
            id=name,
            drop=name,
        )
    pooled = sum(times for _, times in counts[cap:])
    said = (
        f"column {name!r} has {len(words)} levels: the {cap} most frequent are kept, the others "
        f"({count(pooled, 'row')}) pooled"
    )
    notices.append(Notice(said, max_categories=None))
    return Column(name, "category", levels=tuple(sorted(words[:cap])), pooled=True)


def _columns(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"column {names[0]!r} does"
    shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return f"{len(names)} columns ({shown}) do"


def describe(columns: Sequence[Column]) -> list[dict[str, object]]:
    """One JSON-able entry per column, for the record."""
    return [
        {"column": c.name, "as": c.kind} | ({"levels": len(c.levels)} if c.levels else {})
        for c in columns
    ]
