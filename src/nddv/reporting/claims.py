"""The empirical claims of the paper, each with a verdict and the numbers that decide it.

A claim is an entry of ``config/claims.yaml``: the paper's words, where they stand, and checks. A
check compares numbers of our tables::

    where: {n: 1000, corruption: label10, method: nddv}
    column: f1
    op: ">="
    than: {where: {method: [loo, data-oob]}, aggregate: max, times: 1, plus: 0}
    per: {dataset: [2dplanes, bbc]}
    tolerance: 0.01
    within: 1

- ``table``: may be left out where the claim ``needs`` one table only.
- ``where``: which rows: a column is equal to a value, or to one of a list, or, ``{not: ...}``, to
  none. A list within a list is of alternatives: one of them is enough. The value ``nddv`` stands
  for a readout of NDDV: the claim is judged with the paper's score, the terminal one, and can be
  judged again with another. A data set without encoder (``bbc``) stands for it with any encoder
  (``bbc@minilm``); the note names the encoder.
- ``aggregate``: max, min, mean or median of the rows; without it there must be one row.
- ``op``: ``>``, ``>=``, ``<``, ``<=``, or ``=`` for a difference of at most ``tolerance``.
- ``than``: a number, or another selection; what it leaves out (table, column, and every condition
  of ``where``) is as on the left, and it is multiplied by ``times`` before ``plus`` is added.
- ``per``: one case for every value, or every combination of values of several columns.
- ``within``: see :func:`compare`.

Nothing of a claim is run as a program.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import yaml

from nddv.names import pick
from nddv.reporting.tables import write_table

Tables = Mapping[str, pd.DataFrame]

VERDICTS = ("reproduced", "partly", "not reproduced", "not run")
HOLDS, NEARLY, FAILS, NOT_RUN = "holds", "nearly", "fails", "not run"
MARKS = {HOLDS: "✓", NEARLY: "≈", FAILS: "✗"}

ANY_READOUT = "nddv"
PAPER_SCORE = "nddv-terminal"
PATH_SCORE = "nddv-path"

AGGREGATES = ("max", "min", "mean", "median")
ROUNDING = 1e-12  # of a difference of two decimals, which must not decide

_PROBLEM = ("dataset", "n", "corruption")
_DETECTION = (*_PROBLEM, "method", "runs", "f1", "published", "area", "seconds")
_GAPS = (
    *("runs", "score_gap", "slope_tpr", "slope_fpr", "predicted_dtpr", "predicted_deo"),
    *("dtpr", "dtpr_floor", "deo", "deo_floor"),
)

COLUMNS: dict[str, tuple[str, ...]] = {
    "detection": (*_DETECTION, "two_means", "two_means_at_least"),
    "epsilon_delta": (
        *(*_PROBLEM, "utility", "readout", "scale", "runs", "epsilon_ref", "delta_ctx"),
        *("envelope", "published_epsilon_ref", "published_delta_ctx"),
    ),
    "value_gaps": (
        *(*_PROBLEM, "utility", "runs", "gap_50", "gap_75", "gap_90", "published_gap_50"),
        *("published_gap_75", "published_gap_90", "published_envelope", "envelope_terminal"),
        *("envelope_path", "envelope_participation"),
    ),
    "rank_correlations": (
        *(*_PROBLEM, "utility", "method", "runs", "loo", "shapley", "banzhaf"),
        *("published_loo", "published_shapley"),
    ),
    "certificates": (
        *(*_PROBLEM, "game", "utility", "semivalue", "readout", "runs", "hoeffding", "bernstein"),
        *("hoeffding_union", "bernstein_union", "agreement", "agreement_certified"),
    ),
    "retraining_fidelity": (*_PROBLEM, "method", "runs", "spearman", "smallest"),
    "datamodelling": (*_PROBLEM, "method", "runs", "lds_1", "lds_5", "lds_10"),
    "wallclock_scaling": ("n", "features", "method", "runs", "seconds", "published_seconds"),
    "runtime_scaling": ("n", "features", "method", "runs", "seconds"),
    "label_noise_rates": _DETECTION,
    "feature_noise_rates": _DETECTION,
    "structured_noise_rates": _DETECTION,
    "imagenet100_scaling": _DETECTION,
    "recent_methods": (*_PROBLEM, "method", "runs", "f1", "published"),
    "curation": (*_PROBLEM, "method", "runs", "remove_low", "remove_high", "add_high", "add_low"),
    "sensitivity": (*_PROBLEM, "method", "parameter", "setting", "runs", "f1"),
    "threshold_sensitivity": (*_PROBLEM, "partition", "method", "epsilon_u", *_GAPS),
    "adult_score_gaps": (
        *(*_PROBLEM, "method", "reweighting", "runs", "epsilon_u", "scaled_epsilon_u", "d_phi"),
        *("d_phi_sd_units", "weight_range"),
    ),
    "adult_detection_gaps": (*_PROBLEM, "method", "rule", *_GAPS),
    "adjoint_norms": (*_PROBLEM, "seed", "largest_ratio"),
}
"""The columns that claims may name, by table; beside a mean, ``<column>_sd`` is its spread."""


@dataclass(frozen=True)
class Selection:
    """Numbers of one column of a table."""

    table: str
    where: Mapping[str, Any]
    column: str
    aggregate: str | None = None


@dataclass(frozen=True)
class Check:
    """A comparison, as the module says; ``than`` is ``times`` · it + ``plus``."""

    left: Selection
    op: str
    than: float | Selection
    times: float = 1.0
    plus: float = 0.0
    per: Mapping[str, Sequence[Any]] | None = None
    tolerance: float = 0.0
    within: float = 0.0


@dataclass(frozen=True)
class Claim:
    """The paper's words, how we read them, and what must hold.

    Without checks, ``undefined`` says why nothing can be checked.
    """

    id: str
    quotation: str
    where: str
    needs: tuple[str, ...]
    checks: tuple[Check, ...]
    reading: str = ""
    undefined: str = ""


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


def read_claims(path: str | Path, schema_path: str | Path) -> tuple[Claim, ...]:
    """Read claims, validated by the schema and against :data:`COLUMNS`."""
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    schema = yaml.safe_load(Path(schema_path).read_text(encoding="utf-8"))
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(content)
    )
    if error is not None:
        raise ValueError(f"{path}: {_place(content, error.absolute_path)}: {error.message}")
    claims = tuple(_claim(entry) for entry in content["claims"])
    names = [claim.id for claim in claims]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: more than one claim has the id {', '.join(twice)}")
    return claims


def _place(content: Any, steps: Sequence[str | int]) -> str:
    """Where in the file an error is, with the id of the claim instead of its number."""
    words = [str(step) for step in steps]
    if len(words) > 1 and words[0] == "claims":
        entry = content["claims"][int(words[1])]
        words[:2] = [f"claim {entry.get('id', words[1]) if isinstance(entry, dict) else words[1]}"]
    return ", ".join(words) or "the file"


def _claim(entry: Mapping[str, Any]) -> Claim:
    needs = tuple(entry["needs"])
    try:
        for table in needs:
            pick(COLUMNS, table, "table")
        checks = tuple(_check(check, needs) for check in entry.get("checks", ()))
        if checks and (unused := set(needs) - {s.table for c in checks for s in _sides(c)}):
            raise ValueError(f"needs {', '.join(sorted(unused))}, which no check uses")
    except ValueError as error:
        raise ValueError(f"claim {entry['id']}: {error}") from None
    texts = {key: entry.get(key, "") for key in ("reading", "undefined")}
    return Claim(entry["id"], entry["quotation"], entry["where"], needs, checks, **texts)


def _check(entry: Mapping[str, Any], needs: tuple[str, ...]) -> Check:
    if "table" not in entry and len(needs) > 1:
        raise ValueError(f"a check must name its table, one of {', '.join(needs)}")
    where, per = dict(entry["where"]), dict(entry.get("per", {}))
    if isinstance(where.get("dataset"), str):  # a case, so that each of its encoders is one
        per["dataset"] = [where.pop("dataset")]
    left = Selection(entry.get("table", needs[0]), where, entry["column"], entry.get("aggregate"))
    than, factors = entry["than"], {}
    if isinstance(than, Mapping):
        factors = {key: float(than[key]) for key in ("times", "plus") if key in than}
        table = than.get("table", left.table)
        inherited = where if table == left.table else {}
        than = Selection(
            table,
            {**inherited, **than.get("where", {})},
            than.get("column", left.column),
            than.get("aggregate"),
        )
    margins = {key: float(entry[key]) for key in ("tolerance", "within") if key in entry}
    check = Check(left, entry["op"], than, per=per or None, **factors, **margins)
    for side in _sides(check):
        if side.table not in needs:
            raise ValueError(f"a check uses table {side.table!r}, which is not among its needs")
        for column in (side.column, *side.where):
            pick(dict.fromkeys(COLUMNS[side.table]), column, f"column of table {side.table}")
    for column in per:
        pick(dict.fromkeys(COLUMNS[left.table]), column, f"column of table {left.table}")
    return check


def _sides(check: Check) -> Iterator[Selection]:
    yield check.left
    if isinstance(check.than, Selection):
        yield check.than


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
        for name in _PROBLEM:
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
