"""Long tables as a reader compares them: what varies goes across, what is zero everywhere is told.

The CSV file keeps every row and column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nddv.reporting.claims import SCORES
from nddv.reporting.frames import PROBLEM, words
from nddv.reporting.numbers import short
from nddv.reporting.registry import Result, Table
from nddv.reporting.verdicts import MARKS, in_words
from nddv.reporting.writing import text_cells

NO_BUDGET = "no budget"
ZERO = {"0.000 ± 0.000": "0"}
CERTIFIED = ["hoeffding", "bernstein", "hoeffding_union", "bernstein_union"]


def pivot(
    entry: Table, frame: pd.DataFrame, across: str, values: Sequence[str], *more: str
) -> Result:
    """A row for each problem and ``more`` keys, a column for each value of ``across``.

    Of several ``values`` each has columns of its own. Rows of gaps, which have nothing across, are
    told as notes, and so are the notes of other rows.
    """
    gaps = frame[frame[across].isna()]
    rows = frame[frame[across].notna()]
    keys = [key for key in PROBLEM if key == "dataset" or rows[key].nunique() > 1]
    keys += more
    cells = {value: text_cells(rows, value, entry.digits.get(value)) for value in values}
    names = sorted(dict.fromkeys(rows[across]), key=lambda name: name == NO_BUDGET)
    lines: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    places = zip(rows[keys].astype(str).itertuples(index=False), rows[across], strict=True)
    for i, (key, name) in enumerate(places):
        line = lines.setdefault(tuple(key), {})
        line |= {(value, name): ZERO.get(cells[value][i], cells[value][i]) for value in values}
    several = len(values) > 1
    heads = {
        (value, name): f"{name}: {entry.columns[value].lower()}" if several else str(name)
        for value in values
        for name in names
    }
    table = [[*key, *(line.get(place, "") for place in heads)] for key, line in lines.items()]
    columns = [*(entry.columns[key] for key in keys), *heads.values()]
    notes = [f"{_problem(row)}: {row['note']}." for row in gaps.to_dict("records")]
    return Result(pd.DataFrame(table, columns=columns), (*notes, *_told(rows, across, keys)))


def _problem(row: dict[str, object]) -> str:
    return ", ".join(str(row[name]) for name in ("dataset", "corruption") if name in row)


def _told(rows: pd.DataFrame, across: str, keys: Sequence[str]) -> list[str]:
    """The notes of rows, each once, with the rows that have it."""
    if "note" not in rows:
        return []
    noted = rows[words(rows["note"]) != ""]
    named = noted[[*keys, across]].astype(str).agg(" ".join, axis=1)
    return [
        f"{'; '.join(part)}: {note}." for note, part in named.groupby(noted["note"], sort=False)
    ]


def certificates(entry: Table, frame: pd.DataFrame) -> Result:
    """Shares certified one pair at a time: scores across; laws that certify nothing are a note."""
    found = frame.assign(found=frame[[c for c in CERTIFIED if c in frame]].gt(0).any(axis=1))
    laws = ["game", "utility", "semivalue"]
    some = found.groupby(laws, dropna=False)["found"].transform("any") | found["game"].isna()
    laid = pivot(entry, frame[some].assign(note=""), "title", ["bernstein"], *laws)
    gaps = frame[frame["game"].isna()]
    nothing = frame.loc[~some, laws].drop_duplicates().astype(str)
    notes = [f"{_problem(row)}: {row['note']}." for row in gaps.to_dict("records")]
    if len(nothing):
        listed = "; ".join(", ".join(law) for law in nothing.itertuples(index=False))
        notes.append(
            "No order was certified by any score, bound or control, on any data set, for: "
            f"{listed}."
        )
    notes.append(
        "Cells: Bernstein, one pair at a time. The CSV has the other bounds, how many orders are "
        "known, and how many agree."
    )
    return Result(laid.frame, tuple(notes))


def context_certificates(entry: Table, frame: pd.DataFrame) -> Result:
    """Shares of pairs, semi-values across."""
    values = ["certified_one", "certified_all", "reliability"]
    return pivot(entry, frame, "semivalue", values, "utility")


def semivalue_accuracy(entry: Table, frame: pd.DataFrame) -> Result:
    """Correlation with the exact values, seconds across."""
    return pivot(entry, by_budget(frame), "budget", ["disattenuated"], "semivalue", "title")


def certified_shares(entry: Table, frame: pd.DataFrame) -> Result:
    """Shares of pairs, seconds across."""
    values = ["certified_one", "certified_all"]
    return pivot(entry, by_budget(frame), "budget", values, "semivalue", "title")


def by_budget(frame: pd.DataFrame) -> pd.DataFrame:
    """Budgets as headings. A budget without a number is a dash, without a note."""
    gap = frame["method"].isna()
    texts = [NO_BUDGET if np.isnan(b) else f"{short(b)} s" for b in frame["budget"].astype(float)]
    named = frame.assign(budget=pd.Series(texts, index=frame.index, dtype=object).mask(gap))
    return named.assign(note=words(frame["note"]).where(gap, ""))


def claim_cases(entry: Table, frame: pd.DataFrame) -> Result:
    """A row for each case of a claim, its comparison with each score across."""
    texts = ["case", "left_whose", "right_whose", "method", "stands_for"]
    frame = frame.assign(**{name: words(frame[name]) for name in texts})
    lines: dict[tuple[str, int, str], dict[str, str]] = {}
    for row in frame.to_dict("records"):
        case = f"{row['case']} (for {row['stands_for']})" if row["stands_for"] else row["case"]
        outcome = row["outcome"]
        told = f"{in_words({**row, 'case': ''})} {MARKS[outcome]}" if outcome in MARKS else outcome
        lines.setdefault((row["claim"], row["check"], case), {})[row["score"]] = told
    columns = [*(entry.columns[name] for name in ("claim", "check", "case"))]
    columns += [score.title for score in SCORES]
    table = [
        [*map(str, key), *(line.get(score.name, "") for score in SCORES)]
        for key, line in lines.items()
    ]
    return Result(pd.DataFrame(table, columns=columns))
