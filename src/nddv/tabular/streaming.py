"""Features of a table that does not fit in memory: encoded chunk by chunk, stored as rows on disk.

    streamed = stream_table("large.csv", "label", "auto", Rules(ignore=("label",)), "work/")
    nddv.NDDV().fit(streamed.rows, streamed.y)

The file is read once to find the types of its columns, once to learn the encoding, and once to
encode. Types, encoding, notices and errors are those of a table that is read at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.support.stored import StoredRows, write_rows
from nddv.tabular.chunks import CHUNK_ROWS, FileStream, first_row, open_stream
from nddv.tabular.encoding import (
    Encoding,
    Rules,
    check_rules,
    decide_encoding,
    decide_target,
    summary_options,
)
from nddv.tabular.files import Dialect
from nddv.tabular.summaries import Summary

# float32 must tell apart 4096 steps between the smallest and the largest number of a column
STEPS = 4096
SPACING = 2.0**-23  # of numbers in float32, relative to their size
LEAST, MOST = 1e-34, float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Streamed:
    """A table whose features are on disk.

    Attributes
    ----------
    rows : (n, features) on disk, float32; float64 if a column needs it. `NDDV.fit` takes it as X.
    features : their names.
    y : (n,) the target.
    encoding : how columns became features; it encodes other tables alike.
    kept : (n, …) the columns that were asked for, as they are in the table.
    table : the file.
    """

    rows: StoredRows
    features: list[str]
    y: NDArray[np.generic]
    encoding: Encoding
    kept: pd.DataFrame
    table: FileStream

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.table.n

    def frame_of(self, indices: Sequence[int] | NDArray[np.intp]) -> pd.DataFrame:
        """Some rows of the table as they are in the file; reads it up to the last of them."""
        return self.table.rows(indices)


def stream_table(
    path: str | Path,
    target: str,
    task: str,
    rules: Rules,
    folder: str | Path,
    separator: str | None = None,
    encoding: str = "utf-8",
    missing: Sequence[str] = (),
    keep: Sequence[str] = (),
    chunk_rows: int = CHUNK_ROWS,
    progress: bool = False,
) -> Streamed:
    """Encode a table in chunks and write its features to ``folder/features.npy``.

    Parameters
    ----------
    path, separator, encoding, missing : the file, as for `read_table`.
    target, task : the column to learn, and what it is ("auto", "classification", "regression").
    rules : decisions about columns; the target is not a feature in any case.
    folder : for the features, and while reading for numbers whose median is needed.
    keep : columns to keep in memory as they are, such as identifiers.
    chunk_rows : rows that are read at a time.
    progress : whether bars show how far the reading is.
    """
    path, folder = Path(path), Path(folder)
    dialect = Dialect(separator, encoding, tuple(missing))
    # first of all, so that a misspelt name is not found out after minutes
    head = first_row(path, dialect)
    head.check_columns([target], "the target")
    check_rules(head, rules)
    head.check_columns(keep, "kept")
    table = open_stream(path, dialect, chunk_rows, progress)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".numbers.", dir=folder) as scratch:
        own = dict.fromkeys([target, *keep])
        frame, summaries = _learn(table, list(own), {target, *rules.ignore}, rules, Path(scratch))
        y = decide_target(table, frame[target], task)
        learnt = decide_encoding(table, summaries, rules)
    dtype = np.dtype(np.float32 if _fits_float32(learnt, summaries) else np.float64)
    frames = (learnt.encode(chunk) for chunk in table.chunks(f"encoding {path.name}"))
    first = next(frames)
    blocks = (part.to_numpy(dtype) for part in chain([first], frames))
    rows = write_rows(folder / "features.npy", (table.n, first.shape[1]), dtype, blocks)
    return Streamed(rows, list(first.columns), y, learnt, frame[list(keep)], table)


def _learn(
    table: FileStream, own: list[str], ignored: set[str], rules: Rules, scratch: Path
) -> tuple[pd.DataFrame, list[Summary]]:
    """Some columns as they are, and the summaries of those that may be features."""
    summaries = [
        Summary(
            name,
            table.dtypes[name],
            table.text,
            numbers_file=scratch / f"{number}.float64",
            **summary_options(name, rules),
        )
        for number, name in enumerate(table.names)
        if name not in ignored
    ]
    parts = []
    for chunk in table.chunks(f"reading {table.path.name}"):
        parts.append(chunk[own])
        for summary in summaries:
            summary.add(chunk[summary.name])
    return pd.concat(parts), summaries


def _fits_float32(encoding: Encoding, summaries: Sequence[Summary]) -> bool:
    """Whether float32 tells the numbers apart; times in seconds since 1970 it may not."""
    used = {column.name for column in encoding.columns if column.kind == "number"}
    for numbers in (summary.numbers for summary in summaries if summary.name in used):
        size, spread = max(-numbers.low, numbers.high), numbers.high - numbers.low
        if size > MOST or 0 < spread < max(size * SPACING * STEPS, LEAST):
            return False
    return True
