"""Compare the tables of two runs, number by number.

Rows are matched by what they are about: data set, size, method. A number agrees if it moved by no
more than the spread over seeds of either side. Told, and not counted as differences, are: means
over other seeds, or of a data set whose rows are others (``datasets`` says of which it has how
many); numbers without a spread that moved by more than one percent; words; and times and memory,
which depend on the machine, that moved tenfold. Scores seed by seed are in
:mod:`nddv.workflow.verify`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.reporting.numbers import ROUNDING, with_spread
from nddv.support.files import read_csv

TABLES = Path("reports/tables")
KEYS = (
    *("dataset", "n", "corruption", "method", "readout", "game", "utility", "semivalue", "scale"),
    *("budget", "module", "reads", "partition", "rule", "reweighting", "parameter", "setting"),
    *("features", "valid", "seed", "id", "claim", "score", "check", "case"),
)
TIMES = (
    *("seconds", "median_seconds", "lower_bound", "estimate", "ratio", "exponent", "to_target"),
    *("quicker", "extrapolated", "draws", "training", "replay", "times_training"),
    "peak_memory_mb",
)
WITHOUT_SPREAD = 0.01  # relative
SLOWER = 10.0
MOST = 20  # lines of a table that are shown
DATA = ("rows", "features", "classes", "minority", "encoder", "checksum")
"""The columns of the table ``datasets`` by which rows are told from other rows."""
DERIVED = ("claim_cases",)
"""Tables whose numbers stand in other tables too."""

Frames = Mapping[str, pd.DataFrame]


@dataclass
class Compared:
    """What came out of comparing one table."""

    name: str
    agree: int = 0
    differ: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    unspread: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    one_sided: int = 0
    words: list[str] = field(default_factory=list)
    only_kept: list[str] = field(default_factory=list)
    only_made: list[str] = field(default_factory=list)
    configurations: str = ""

    def lines(self) -> list[str]:
        """What is said of the table; nothing but its name if all agrees."""
        told = [f"{self.name}: {self.agree:,} numbers agree, {len(self.differ)} differ"]
        if self.configurations:
            told.append(f"  configurations: {self.configurations}")
        for what, found in (
            ("differs", self.differ),
            ("of other rows or seeds, not counted", self.others),
            ("no spread is known, not counted", self.unspread),
            ("other words, not counted", self.words),
            ("time of another order of magnitude, not counted", self.times),
            ("row only among the committed", self.only_kept),
            ("row only in the run", self.only_made),
        ):
            told += [f"  {what}: {text}" for text in found[:MOST]]
            if len(found) > MOST:
                told.append(f"  {what}: {len(found) - MOST} more")
        if self.one_sided:
            told.append(f"  {self.one_sided} numbers stand on one side only")
        return told


def compare_table(
    name: str, kept: pd.DataFrame, made: pd.DataFrame, redrawn: Sequence[str] = ()
) -> Compared:
    """Compare two frames of a table, as their CSV files have them.

    redrawn : the data sets whose rows are not the same on both sides.
    """
    result = Compared(name)
    hashes, seeds = (
        [
            ", ".join(sorted({str(x) for x in f[column]})) if column in f else ""
            for f in (kept, made)
        ]
        for column in ("config", "seeds")
    )
    if hashes[0] != hashes[1]:
        result.configurations = f"{hashes[0]} became {hashes[1]}"
    keys = [key for key in KEYS if key in kept and key in made]
    kept, made = (_by_key(frame, keys) for frame in (kept, made))
    result.only_kept = [_label(key) for key in kept.index.difference(made.index, sort=False)]
    result.only_made = [_label(key) for key in made.index.difference(kept.index, sort=False)]
    common = kept.index.intersection(made.index, sort=False)
    kept, made = kept.loc[common], made.loc[common]
    comparable = np.array(
        [seeds[0] == seeds[1] and not _names_any(key, redrawn) for key in common], dtype=bool
    )
    for column in (c for c in kept if c in made and not _aside(c, kept)):
        _compare_column(result, column, kept, made, comparable)
    return result


def read_folder(folder: str | Path) -> dict[str, pd.DataFrame]:
    """The tables of a folder, by name."""
    paths = sorted(Path(folder).glob("*.csv"))
    if not paths:
        raise FileNotFoundError(f"{folder} holds no tables (*.csv); has the run finished?")
    return {path.stem: read_csv(path) for path in paths}


def redrawn_datasets(kept: pd.DataFrame | None, made: pd.DataFrame | None) -> list[str]:
    """The data sets whose rows are not the same, by the two tables ``datasets``."""
    if kept is None or made is None:
        return []
    both = kept.merge(made, on="dataset", suffixes=("_kept", "_made"))
    redrawn = pd.Series(False, index=both.index)
    for before, after in ((both[f"{c}_kept"], both[f"{c}_made"]) for c in DATA):
        redrawn |= (before != after) & ~(before.isna() & after.isna())
    return list(both.loc[redrawn, "dataset"])


def _names_any(key: Sequence[str], datasets: Sequence[str]) -> bool:
    """Whether what a row is about names one of these data sets."""
    words = {word for cell in key for word in re.split(r"[\s·:/]+", cell)}
    return not words.isdisjoint(datasets)


def _aside(column: str, frame: pd.DataFrame) -> bool:
    """Whether a column says nothing of its own: spreads, titles, notes, the origin."""
    spread = column.endswith("_sd") and column.removesuffix("_sd") in frame
    return spread or column in ("config", "seeds", "title", "baseline_title", "note", "numbers")


def _by_key(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The frame by what its rows are about; rows about the same are counted."""
    texts = frame[list(keys)].astype(object).where(frame[list(keys)].notna(), "")
    texts = texts.map(lambda cell: f"{cell:g}" if isinstance(cell, float) else str(cell))
    count = texts.groupby(list(keys)).cumcount() if keys else pd.Series(range(len(frame)))
    labels = [
        (*(cell for cell in row if cell), *([f"row {i + 1}"] if i else []))
        for row, i in zip(texts.itertuples(index=False, name=None), count, strict=True)
    ]
    index = pd.Index(labels, tupleize_cols=False)
    return frame.drop(columns=list(keys)).set_axis(index, axis=0)


def _label(key: Sequence[str]) -> str:
    return ", ".join(key)


def _compare_column(
    result: Compared,
    column: str,
    kept: pd.DataFrame,
    made: pd.DataFrame,
    comparable: NDArray[np.bool_],
) -> None:
    """Add what a column shows to the result.

    comparable : of each row, whether both sides have the same rows of data and seeds.
    """
    if not all(pd.api.types.is_numeric_dtype(f[column]) for f in (kept, made)):
        before, after = (
            f[column].astype(object).where(f[column].notna(), "") for f in (kept, made)
        )
        for key, old, new in zip(kept.index, before, after, strict=True):
            if str(old) != str(new):
                result.words.append(f"{_label(key)}: {column} was {old or '—'}, is {new or '—'}")
        return
    old, new = (f[column].to_numpy(float) for f in (kept, made))
    spreads = [
        f.get(f"{column}_sd", pd.Series(np.nan, index=f.index)).to_numpy(float)
        for f in (kept, made)
    ]
    result.one_sided += int((np.isnan(old) ^ np.isnan(new)).sum())
    spread = np.fmax(*spreads)  # NaN where neither side has one
    known = ~np.isnan(spread)
    if column in TIMES:
        with np.errstate(divide="ignore", invalid="ignore"):
            wrong = np.abs(np.log(new / old)) > np.log(SLOWER)
    else:
        percent = WITHOUT_SPREAD * np.maximum(np.abs(old), np.abs(new))
        wrong = np.abs(new - old) > np.where(known, spread + ROUNDING, percent)
        result.agree += int((~wrong & ~np.isnan(old) & ~np.isnan(new)).sum())
    for i in np.flatnonzero(wrong):
        texts = [with_spread(x[i], sd[i]) for x, sd in zip((old, new), spreads, strict=True)]
        found = result.differ if known[i] else result.unspread
        found = found if comparable[i] else result.others
        found = result.times if column in TIMES else found
        found.append(f"{_label(kept.index[i])}: {column} was {texts[0]}, is {texts[1]}")


def compare(kept: Frames, made: Frames) -> tuple[list[str], bool]:
    """What is to be said of all tables, and whether no number differs by more than the spread."""
    names = [name for name in kept if name in made and name not in DERIVED]
    redrawn = redrawn_datasets(kept.get("datasets"), made.get("datasets"))
    results = [compare_table(name, kept[name], made[name], redrawn) for name in names]
    lines = [line for result in results for line in result.lines()]
    for what, names in (
        ("Tables only among the committed", [name for name in kept if name not in made]),
        ("Tables only in the run", [name for name in made if name not in kept]),
    ):
        if names:
            lines.append(f"{what}: {', '.join(names)}.")
    count = {
        name: sum(len(getattr(result, name)) for result in results)
        for name in ("differ", "others", "unspread", "words", "times", "only_kept", "only_made")
    }
    lines.append(
        f"{len(results)} tables: {sum(result.agree for result in results):,} numbers agree, "
        f"{count['differ']} differ by more than the spread. Rows only among the committed: "
        f"{count['only_kept']}, only in the run: {count['only_made']}. Not counted: "
        f"{count['others']} numbers of other rows or seeds, {count['unspread']} without a spread, "
        f"{count['words']} words and {count['times']} times that differ."
    )
    return lines, not count["differ"]
