"""A verdict on every claim of the paper, with the cases that decide it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nddv.reporting.claims import SCORES, Check, Claim, Selection
from nddv.reporting.frames import PROBLEM
from nddv.reporting.numbers import short, with_spread

Tables = Mapping[str, pd.DataFrame]

VERDICTS = ("reproduced", "partly", "not reproduced", "not run")
HOLDS, NEARLY, FAILS, NOT_RUN = "holds", "nearly", "fails", "not run"
MARKS = {HOLDS: "✓", NEARLY: "≈", FAILS: "✗"}
SIGNS = {">=": "≥", "<=": "≤"}

PAPER_SCORE = SCORES[0].method

ROUNDING = 1e-12  # of a difference of two decimals, which must not decide


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


@dataclass(frozen=True)
class Case:
    """What came out of a check for one data set, or one of whatever it is ``per``.

    A row of the table of cases; of a case that was not run the numbers are missing.

    Attributes
    ----------
    score : the method that ``nddv`` stands for.
    check : which of the claim's checks, counted from 1.
    case : data set, corruption or size; empty if the check has one case only.
    left_whose, right_whose : the method with the largest or smallest number; or how several rows
        were averaged.
    notes : which named rows have no number, and the encoder; or why the case was not run.
    """

    claim: str
    score: str
    check: int
    case: str
    outcome: str
    left: float = math.nan
    left_sd: float = math.nan
    left_whose: str = ""
    operator: str = ""
    right: float = math.nan
    right_sd: float = math.nan
    right_whose: str = ""
    tolerance: float = 0.0
    notes: tuple[str, ...] = ()


def compare(left: Number, right: Number, op: str, tolerance: float, within: float) -> str:
    """Whether a comparison of means holds, nearly holds or fails.

    It *holds* if it is true of the means, up to ``tolerance``. If it is not, it *nearly* holds
    where no more than ``within`` standard errors of the difference are missing, these being
    √(sd²/runs + sd²/runs) over the seeds; with ``within`` 0 the spread plays no part. What holds
    only because rows that the check names have no numbers *nearly* holds too: the best of the
    baselines may be among those that were not run.
    """
    difference = left.value - right.value
    ahead = {"<": -difference, "<=": -difference, "=": -abs(difference)}.get(op, difference)
    ahead += tolerance
    holds = ahead > ROUNDING if op in ("<", ">") else ahead >= -ROUNDING
    if holds:
        return NEARLY if left.absent or right.absent else HOLDS
    error = math.hypot(left.standard_error, right.standard_error)
    return NEARLY if within * error > 0 and ahead >= -within * error else FAILS


def evaluate(
    claims: Sequence[Claim], tables: Tables, score: str = PAPER_SCORE
) -> dict[str, list[Case]]:
    """The cases of every claim, by its id; a claim without checks has none.

    tables : those that were made, by name, as their CSV files have them.
    score : the method that ``nddv`` stands for.
    """
    return {
        claim.id: [
            _case(claim.id, k, check, tables, fixed, score)
            for k, check in enumerate(claim.checks, start=1)
            for fixed in _fixed(check, tables, score)
        ]
        for claim in claims
    }


def verdict(outcomes: Sequence[str]) -> str:
    """The verdict on a claim whose cases came out so.

    *Reproduced*: all cases hold. *Partly*: some hold, or nearly; a case that was not run does not
    hold. *Not reproduced*: none holds of those that were run. *Not run*: none was.
    """
    if set(outcomes) <= {NOT_RUN}:
        return "not run"
    if set(outcomes) == {HOLDS}:
        return "reproduced"
    return "partly" if HOLDS in outcomes or NEARLY in outcomes else "not reproduced"


def counts(verdicts: pd.Series) -> dict[str, int]:
    """How many claims have each verdict, the best verdict first; their sum is all claims."""
    return {name: int((verdicts == name).sum()) for name in VERDICTS}


def in_words(case: Mapping[str, Any]) -> str:
    """A row of the table of cases as a sentence: ``bbc: 0.712 ± 0.034 ≥ 0.7``."""
    sides = []
    for side in ("left", "right"):
        value, sd, whose = case[side], case[f"{side}_sd"], case[f"{side}_whose"]
        text = short(value) if math.isnan(sd) else with_spread(value, sd)
        sides.append(f"{text} ({whose})" if whose else text)
    label = f"{case['case']}: " if case["case"] else ""
    margin = f", up to {case['tolerance']:g}" if case["tolerance"] else ""
    return label + f" {SIGNS.get(case['operator'], case['operator'])} ".join(sides) + margin


def _fixed(check: Check, tables: Tables, score: str) -> Iterator[dict[str, Any]]:
    """What each case of a check fixes; a data set once for every encoder it was run with."""
    per, table = check.per or {}, tables.get(check.left.table)
    for values in itertools.product(*per.values()):
        fixed = dict(zip(per, values, strict=True))
        if "dataset" not in fixed or table is None or "dataset" not in table:
            yield fixed
            continue
        rows = _matching(table, {**check.left.where, **fixed}, score)
        if check.left.column in rows:
            rows = rows[rows[check.left.column].notna()]
        for name in list(rows["dataset"].unique()) or [fixed["dataset"]]:
            yield {**fixed, "dataset": name}


def _case(
    claim: str, k: int, check: Check, tables: Tables, fixed: Mapping[str, Any], score: str
) -> Case:
    label = ", ".join(map(str, fixed.values()))
    left = _number(check.left, tables, fixed, score)
    right: Number | str
    if isinstance(check.than, Selection):
        # What the right side says of a column that the case fixes is kept: it compares two of them.
        kept = {key: value for key, value in fixed.items() if key not in check.than.where}
        right = _number(check.than, tables, kept, score)
        if isinstance(right, Number):
            value = check.times * right.value + check.plus
            right = replace(right, value=value, sd=abs(check.times) * right.sd)
    else:
        right = Number(check.than)
    if isinstance(left, str) or isinstance(right, str):
        reason = left if isinstance(left, str) else str(right)
        return Case(claim, score, k, label, NOT_RUN, notes=(reason,))
    notes = []
    if absent := [*left.absent, *right.absent]:
        notes.append(f"no number of {', '.join(absent)}")
    if encoder := str(fixed.get("dataset", "")).partition("@")[2]:
        notes.append(f"our encoder is {encoder}")
    outcome = compare(left, right, check.op, check.tolerance, check.within)
    return Case(
        *(claim, score, k, label, outcome, left.value, left.sd, left.whose),
        *(check.op, right.value, right.sd, right.whose, check.tolerance, tuple(notes)),
    )


def _number(
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
    matching = _matching(table, where, score)
    rows = matching[matching[column].notna()]
    if rows.empty:
        return _reason(table, matching, where, column) or f"not in table {selection.table}"
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
    of = next((name for name in ("method", "readout") if name in table), "")
    return Number(
        float(row[column]),
        float(row.get(f"{column}_sd", math.nan)),
        float(row.get("runs", math.nan)),
        str(row[of]) if of and selection.aggregate else "",
        absent,
    )


def _matching(table: pd.DataFrame, where: Mapping[str, Any], score: str) -> pd.DataFrame:
    """The rows for which every condition holds; a column that is not there is no condition."""
    keep = np.ones(len(table), dtype=bool)
    for column in (name for name in where if name in table):
        excluded = isinstance(where[column], Mapping)
        condition = where[column]["not"] if excluded else where[column]
        keep &= excluded ^ _any_of(table[column], condition, score)
    return table[keep]


def _reason(
    table: pd.DataFrame, matching: pd.DataFrame, where: Mapping[str, Any], column: str
) -> str:
    """The note of a row without a number: of those selected, or the gap of their problem.

    A gap row has the data set, and no method or, of the paper's problems, no size.
    """
    if "note" not in table:
        return ""
    if matching.empty:
        gaps = table[table[column].isna()]
        for name in PROBLEM:
            if name in where and name in table and not isinstance(where[name], Mapping):
                blank = gaps[name].isna() | (gaps[name].astype(str) == "")
                gaps = gaps[blank | _any_of(gaps[name], where[name], PAPER_SCORE)]
        whole = [name for name in ("method", "readout", "utility") if name in gaps]
        everything = gaps[whole].isna() | gaps[whole].isin(["", "all"])
        matching = gaps[everything.any(axis=1)] if whole else gaps
    notes = [str(note) for note in matching["note"].dropna() if note]
    return notes[0] if notes else ""


def _any_of(cells: pd.Series, condition: Any, score: str) -> np.ndarray:
    """Whether each cell is a value, or one of a list."""
    equal = [_equal(cells, value, score) for value in _members(condition)]
    return np.any([np.zeros(len(cells), dtype=bool), *equal], axis=0)


def _members(condition: Any) -> list[Any]:
    """The values of a condition; alternatives one by one."""
    if not isinstance(condition, list):
        return [condition]
    return [value for member in condition for value in _members(member)]


def _equal(cells: pd.Series, value: Any, score: str) -> np.ndarray:
    """Whether each cell is a value; a data set without encoder is that with any."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return pd.to_numeric(cells, errors="coerce").to_numpy() == value
    text = cells.astype(str)
    if cells.name == "dataset" and "@" not in str(value):
        text = text.str.split("@").str[0]  # partition fails where there are no cells
    if cells.name in ("method", "readout") and value == "nddv":
        value = score
    return text.to_numpy() == str(value)


def _absent(rows: pd.DataFrame, where: Mapping[str, Any], score: str) -> tuple[str, ...]:
    """The members of lists in ``where`` that no row with a number belongs to."""
    return tuple(
        " or ".join(str(value) for value in _members(member))
        for column, condition in where.items()
        if isinstance(condition, list)
        for member in condition
        if not _any_of(rows[column], member, score).any()
    )
