"""A verdict on every claim of the paper, with the numbers that decide it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nddv.reporting.claims import PROBLEM, Check, Claim, Selection
from nddv.reporting.tables import write_table

Tables = Mapping[str, pd.DataFrame]

VERDICTS = ("reproduced", "partly", "not reproduced", "not run")
HOLDS, NEARLY, FAILS, NOT_RUN = "holds", "nearly", "fails", "not run"
MARKS = {HOLDS: "✓", NEARLY: "≈", FAILS: "✗"}

ANY_READOUT = "nddv"
PAPER_SCORE = "nddv-terminal"
PATH_SCORE = "nddv-path"

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

    def text(self) -> str:
        """Write ``0.712 ± 0.034 (knn-shapley)``."""
        spread = "" if math.isnan(self.sd) else f" ± {self.sd:.3g}"
        return f"{self.value:.4g}{spread}" + (f" ({self.whose})" if self.whose else "")


@dataclass(frozen=True)
class Case:
    """What came out of a check for one data set, or one of whatever it is ``per``."""

    label: str
    outcome: str
    numbers: str = ""
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


def evaluate(claims: Sequence[Claim], tables: Tables, score: str = PAPER_SCORE) -> pd.DataFrame:
    """Judge every claim.

    Parameters
    ----------
    claims : as :func:`read_claims` gives them.
    tables : those that are there, by name, as their CSV files have them.
    score : the readout of NDDV that ``nddv`` stands for.

    Returns
    -------
    A row per claim: id, claim (its words), where, verdict, the numbers of cases that hold, nearly
    hold, fail and were not run (holds, nearly, fails, not_run), numbers and note. *Reproduced*: all
    cases hold. *Partly*: some hold, or nearly; a case that was not run does not hold. *Not
    reproduced*: none holds of those that were run. *Not run*: none was.
    """
    return pd.DataFrame([_judge(claim, tables, score) for claim in claims])


def _judge(claim: Claim, tables: Tables, score: str) -> dict[str, Any]:
    cases = [case for check in claim.checks for case in _cases(check, tables, score)]
    count = {kind: sum(case.outcome == kind for case in cases) for kind in (*MARKS, NOT_RUN)}
    if count[NOT_RUN] == len(cases):
        verdict = "not run"
    elif count[HOLDS] == len(cases):
        verdict = "reproduced"
    else:
        verdict = "partly" if count[HOLDS] or count[NEARLY] else "not reproduced"
    told = [f"Read as: {claim.reading}" if claim.reading else "", claim.undefined]
    if verdict == "partly" and count[HOLDS] + count[NOT_RUN] == len(cases):
        told.append(f"holds in all {count[HOLDS]} cases that were run, of {len(cases)}")
    noted: dict[str, list[str]] = {}
    for case in cases:
        for note in case.notes:
            noted.setdefault(note, []).append(case.label)
    for note, labels in noted.items():
        named = ", ".join(dict.fromkeys(label for label in labels if label))
        told.append(f"{named}: {note}" if named else note)
    return {
        "id": claim.id,
        "claim": claim.quotation,
        "where": claim.where,
        "verdict": verdict,
        **{kind.replace(" ", "_"): number for kind, number in count.items()},
        "numbers": "; ".join(case.numbers for case in cases if case.numbers),
        "note": "; ".join(note for note in told if note),
    }


def _cases(check: Check, tables: Tables, score: str) -> Iterator[Case]:
    per = check.per or {}
    for values in itertools.product(*per.values()):
        fixed = dict(zip(per, values, strict=True))
        for named in _with_encoders(check, tables, fixed, score):
            yield _case(check, tables, named, score)


def _with_encoders(
    check: Check, tables: Tables, fixed: dict[str, Any], score: str
) -> list[dict[str, Any]]:
    """The case of a data set, once for every encoder it was run with."""
    table = tables.get(check.left.table)
    if "dataset" not in fixed or table is None or "dataset" not in table:
        return [fixed]
    rows = _matching(table, {**check.left.where, **fixed}, score)
    if check.left.column in rows:
        rows = rows[rows[check.left.column].notna()]
    names = list(rows["dataset"].unique()) or [fixed["dataset"]]
    return [{**fixed, "dataset": name} for name in names]


def _case(check: Check, tables: Tables, fixed: Mapping[str, Any], score: str) -> Case:
    label = ", ".join(str(value) for value in fixed.values())
    left = _number(check.left, tables, fixed, score)
    right: Number | str
    if isinstance(check.than, Selection):
        # What the right side says of a column that the case fixes is kept: it compares two of them.
        given = {key: value for key, value in fixed.items() if key not in check.than.where}
        right = _number(check.than, tables, given, score)
        if isinstance(right, Number):
            right = Number(
                check.times * right.value + check.plus,
                abs(check.times) * right.sd,
                right.runs,
                right.whose,
                right.absent,
            )
    else:
        right = Number(check.than)
    if isinstance(left, str) or isinstance(right, str):
        return Case(label, NOT_RUN, notes=(left if isinstance(left, str) else str(right),))
    outcome = compare(left, right, check.op, check.tolerance, check.within)
    margin = f", up to {check.tolerance:g}" if check.tolerance else ""
    numbers = f"{left.text()} {check.op} {right.text()}{margin} {MARKS[outcome]}"
    notes = []
    if absent := [*left.absent, *right.absent]:
        notes.append(f"no number of {', '.join(absent)}")
    if encoder := str(fixed.get("dataset", "")).partition("@")[2]:
        notes.append(f"our encoder is {encoder}")
    return Case(label, outcome, f"{label}: {numbers}" if label else numbers, tuple(notes))


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
    absent = _absent(rows, where, score)
    if selection.aggregate in ("mean", "median"):
        middle = getattr(rows[column].astype(float), selection.aggregate)()
        return Number(float(middle), whose=selection.aggregate, absent=absent)
    if selection.aggregate is None and len(rows) > 1:
        raise ValueError(
            f"{len(rows)} rows of table {selection.table} match {where}: name more columns in "
            "'where', or say how to aggregate them"
        )
    values = rows[column].astype(float)
    row = rows.loc[values.idxmin() if selection.aggregate == "min" else values.idxmax()]
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
    keep = pd.Series(True, index=table.index)
    for column, condition in where.items():
        if column in table:
            if isinstance(condition, Mapping):
                keep &= ~_any_of(table[column], condition["not"], score)
            else:
                keep &= _any_of(table[column], condition, score)
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


def _any_of(cells: pd.Series, condition: Any, score: str) -> pd.Series:
    """Cells that are a value, or one of a list."""
    found = pd.Series(False, index=cells.index)
    for one in _members(condition):
        found |= _equal(cells, one, score)
    return found


def _members(condition: Any) -> list[Any]:
    """The values of a condition; alternatives one by one."""
    if not isinstance(condition, list):
        return [condition]
    return [one for member in condition for one in _members(member)]


def _equal(cells: pd.Series, value: Any, score: str) -> pd.Series:
    """Cells that are a value: numbers as numbers, data sets with any encoder if none is named."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return pd.to_numeric(cells, errors="coerce") == value
    text = cells.astype(str)
    if cells.name == "dataset" and "@" not in str(value):
        text = text.str.split("@").str[0]  # partition fails where there are no cells
    if cells.name in ("method", "readout") and value == ANY_READOUT:
        value = score
    return text == str(value)


def _absent(rows: pd.DataFrame, where: Mapping[str, Any], score: str) -> tuple[str, ...]:
    """The members of lists in ``where`` that no row with a number belongs to."""
    return tuple(
        " or ".join(str(one) for one in _members(member))
        for column, condition in where.items()
        if isinstance(condition, list)
        for member in condition
        if not _any_of(rows[column], member, score).any()
    )


def counts(table: pd.DataFrame, column: str = "verdict") -> dict[str, int]:
    """How many claims have each verdict, the best verdict first; their sum is all claims."""
    return {verdict: int((table[column] == verdict).sum()) for verdict in VERDICTS}


HEADINGS = {
    "verdict": "Verdict",
    "verdict_path": "With the path-integrated score",
    "claim": "Claim",
    "where": "Where",
    "numbers": "Numbers",
    "note": "Note",
}

ABOUT = (
    "Every empirical claim of the paper, judged with its own score (nddv-terminal) and, beside it, "
    "with the path-integrated one. Reproduced: it holds in all cases it names. Partly: in some, or "
    "only within the spread (≈); a case that was not run does not count as one that holds. Not "
    "reproduced: it fails in all that were run. Cases are the data sets, noise rates or sizes the "
    "claim names; numbers are means ± standard deviation over seeds."
)


def claims_table(claims: Sequence[Claim], tables: Tables) -> pd.DataFrame:
    """:func:`evaluate` with the paper's score, and ``verdict_path`` with the path-integrated."""
    table = evaluate(claims, tables)
    again = evaluate(claims, tables, PATH_SCORE)["verdict"]
    table.insert(table.columns.get_loc("verdict") + 1, "verdict_path", again)
    return table


def write_claims(stem: str | Path, table: pd.DataFrame) -> list[Path]:
    """Write the verdicts as .csv, .md and .html, with their counts; give the paths."""
    text = table[list(HEADINGS)].rename(columns=HEADINGS)
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts(table).items())
    footnote = f"{len(table)} claims: {told}. {ABOUT}"
    return write_table(stem, table, text, "The claims of the paper", footnote)
