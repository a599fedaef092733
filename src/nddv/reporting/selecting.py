"""The numbers of our tables that a check of a claim selects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype, is_string_dtype

from nddv.reporting.claims import PAPER, SCORED, Selection
from nddv.reporting.frames import PROBLEM

Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Number:
    """A number with the spread over its runs, whose it is, and which named rows have none."""

    value: float
    sd: float = math.nan
    runs: float = math.nan
    whose: str = ""
    absent: tuple[str, ...] = ()

    @property
    def standard_error(self) -> float:
        """sd / √runs; 0 where no spread is known."""
        error = self.sd / math.sqrt(self.runs) if self.runs > 0 else math.nan
        return 0.0 if math.isnan(error) else error


def number_of(
    selection: Selection, tables: Tables, fixed: Mapping[str, Any], score: str
) -> Number | str:
    """The number of a selection in a case, or why there is none."""
    table, column = tables.get(selection.table), selection.column
    if table is None:
        return f"there is no table {selection.table}"
    where = {**selection.where, **fixed}
    unknown = [name for name in (column, *where) if name not in table]
    if unknown:
        return f"table {selection.table} has no column {', '.join(unknown)}"
    found = matching(table, where, score)
    rows = found[found[column].notna()]
    if rows.empty:
        reason = _reason(table, found, where, column)
        if not reason:  # that of the paper's score, whose rows stand for what it prints
            printed = matching(table, where, PAPER.method)
            reason = _reason(table, printed[printed[column].isna()], where, column)
        return reason or f"not in table {selection.table}"
    values, absent = rows[column].astype(float), _absent(rows, where, score)
    if selection.aggregate in ("mean", "median"):
        middle = float(getattr(values, selection.aggregate)())
        return Number(middle, whose=selection.aggregate, absent=absent)
    if selection.aggregate is None and len(rows) > 1:
        raise ValueError(
            f"{len(rows)} rows of table {selection.table} match {where}: name more columns in "
            "'where', or say how to aggregate them"
        )
    row = rows.loc[getattr(values, "idxmin" if selection.aggregate == "min" else "idxmax")()]
    of = next((name for name in SCORED if name in table), "")
    return Number(
        float(row[column]),
        float(row.get(f"{column}_sd", math.nan)),
        float(row.get("runs", math.nan)),
        str(row[of]) if of and selection.aggregate else "",
        absent,
    )


def matching(table: pd.DataFrame, where: Mapping[str, Any], score: str) -> pd.DataFrame:
    """The rows for which every condition holds; a column that is not there is no condition."""
    keep = np.ones(len(table), dtype=bool)
    for column in (name for name in where if name in table):
        excluded = isinstance(where[column], Mapping)
        condition = where[column]["not"] if excluded else where[column]
        keep &= excluded ^ _any_of(table[column], condition, score)
    return table[keep]


def _reason(table: pd.DataFrame, found: pd.DataFrame, where: Mapping[str, Any], column: str) -> str:
    """The note of a row without a number: of those selected, or the gap of their problem.

    A gap row has the data set, and no method or, of the paper's problems, no size.
    """
    if "note" not in table:
        return ""
    if found.empty:
        gaps = table[table[column].isna()]
        for name in PROBLEM:
            if name in where and name in table and not isinstance(where[name], Mapping):
                blank = gaps[name].isna() | (gaps[name].astype(str) == "")
                gaps = gaps[blank | _any_of(gaps[name], where[name], PAPER.method)]
        whole = [name for name in ("method", "readout", "utility") if name in gaps]
        everything = gaps[whole].isna() | gaps[whole].isin(["", "all"])
        found = gaps[everything.any(axis=1)] if whole else gaps
    notes = [str(note) for note in found["note"].dropna() if note]
    return notes[0] if notes else ""


def _any_of(cells: pd.Series, condition: Any, score: str) -> np.ndarray:
    """Whether each cell is a value, or one of a list.

    ``nddv`` is the score. A data set without encoder is that with any.
    """
    members = _members(condition)
    numbers = [v for v in members if isinstance(v, int | float) and not isinstance(v, bool)]
    words = {str(v) for v in members} - {str(v) for v in numbers}
    if cells.name in SCORED and "nddv" in words:
        words = words - {"nddv"} | {score}
    text = cells if is_object_dtype(cells) or is_string_dtype(cells) else cells.astype(str)
    equal: np.ndarray = text.isin(words).to_numpy()
    if numbers:
        equal = equal | np.isin(pd.to_numeric(cells, errors="coerce"), numbers)
    if cells.name == "dataset":
        plain = [word for word in words if "@" not in word]
        equal = equal | text.str.split("@").str[0].isin(plain).to_numpy()
    return equal


def _members(condition: Any) -> list[Any]:
    """The values of a condition; alternatives one by one."""
    if not isinstance(condition, list):
        return [condition]
    return [value for member in condition for value in _members(member)]


def _absent(rows: pd.DataFrame, where: Mapping[str, Any], score: str) -> tuple[str, ...]:
    """The members of lists in ``where`` that no row with a number belongs to."""
    return tuple(
        " or ".join(str(value) for value in _members(member))
        for column, condition in where.items()
        if isinstance(condition, list)
        for member in condition
        if not _any_of(rows[column], member, score).any()
    )
