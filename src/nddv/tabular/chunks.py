"""Read a table in chunks of rows, each with the types that the columns have as a whole.

pandas decides on the type of a column from the entries that it reads. In one chunk ``007`` may look
like a number, though the column holds words further down. So the file is read once to find the
types, and then again with these types. The chunks together are the frame that `read_table` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
from numpy.typing import NDArray
from tqdm import tqdm

from nddv.tabular.entries import are_numbers
from nddv.tabular.files import (
    PARQUET,
    Dialect,
    FileTable,
    Source,
    TableError,
    extension_of,
    last_filled,
    mark_gaps,
    open_parquet,
    parquet_errors,
    read_text,
    spans_lines,
    text_errors,
    tidy,
)

CHUNK_ROWS = 50_000


@dataclass(frozen=True)
class FileStream(Source):
    """A table that is read in chunks.

    Attributes
    ----------
    path, text : the file, and whether it is text.
    dialect : of a text file.
    dtypes : the type of every column as a whole.
    forced : types that pandas is told, because it would choose others for some chunks.
    n : the number of rows.
    multiline : whether a quoted entry spans lines.
    chunk_rows : rows that are read at a time.
    progress : whether a bar shows how far the reading is.
    """

    path: Path
    text: bool
    dialect: Dialect
    dtypes: dict[str, Any]
    forced: dict[str, Any]
    n: int
    multiline: bool
    chunk_rows: int
    progress: bool

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.dtypes)

    @property
    def spans_lines(self) -> bool:
        """Whether a quoted entry spans lines."""
        return self.multiline

    def chunks(self, doing: str) -> Iterator[pd.DataFrame]:
        """The rows, a chunk at a time; ``doing`` says in the progress bar what it is for."""
        done = 0
        with tqdm(total=self.n, desc=doing, unit=" rows", disable=not self.progress) as bar:
            for frame in _frames(self.path, self.text, self.dialect, self.chunk_rows, self.forced):
                part = frame.iloc[: self.n - done]  # no blank rows at the end
                rows = pd.RangeIndex(done, done + len(part))
                yield part.astype(self._casts(part)).set_axis(rows)
                done += len(part)
                bar.update(len(part))
                if done == self.n:
                    return
        raise TableError(f"{self.path} has become shorter while it was read")

    def rows(self, indices: Sequence[int] | NDArray[np.intp]) -> pd.DataFrame:
        """Some rows of the table, in this order; reads the file up to the last of them."""
        wanted = np.asarray(indices, dtype=np.intp)
        if wanted.size and not 0 <= wanted.min() <= wanted.max() < self.n:
            raise IndexError(f"row numbers must be from 0 to {self.n - 1}")
        last = int(wanted.max(initial=0))
        parts = []
        for frame in self.chunks(f"looking up rows of {self.path.name}"):
            parts.append(frame.loc[frame.index.isin(wanted)])
            if frame.index[-1] >= last:
                break
        return pd.concat(parts).loc[wanted]

    def _casts(self, frame: pd.DataFrame) -> dict[str, Any]:
        return {
            name: dtype
            for name, dtype in self.dtypes.items()
            if frame[name].dtype != dtype and not isinstance(dtype, pd.CategoricalDtype)
        }


def open_stream(
    path: Path, dialect: Dialect, chunk_rows: int = CHUNK_ROWS, progress: bool = False
) -> FileStream:
    """Read a table once, to learn its length and the types of its columns."""
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, not {chunk_rows}")
    text = extension_of(path) not in PARQUET
    types: dict[str, _Types] = {}
    rows, n, multiline = 0, 0, False
    with tqdm(desc=f"scanning {path.name}", unit=" rows", disable=not progress) as bar:
        for frame in _frames(path, text, dialect, chunk_rows):
            for name, series in frame.items():
                types.setdefault(str(name), _Types()).add(series)
            filled = last_filled(frame) if text else len(frame) - 1
            n = rows + filled + 1 if filled >= 0 else n
            multiline = multiline or (text and spans_lines(frame))
            rows += len(frame)
            bar.update(len(frame))
    if n == 0:
        raise TableError(f"{path} has a header but no rows")
    if not text:
        dtypes = {name: seen.in_parquet() for name, seen in types.items()}
        return FileStream(path, text, dialect, dtypes, {}, n, multiline, chunk_rows, progress)
    for name, seen in types.items():
        if seen.depend_on_order:
            types[name] = _Types()
            types[name].add(read_text(path, dialect, usecols=[name])[name])
    dtypes = {name: seen.in_text() for name, seen in types.items()}
    forced: dict[str, Any] = {
        name: np.float64 for name, dtype in dtypes.items() if dtype == np.float64
    }
    forced |= {name: str for name, seen in types.items() if seen.are_words}
    return FileStream(path, text, dialect, dtypes, forced, n, multiline, chunk_rows, progress)


def first_row(path: Path, dialect: Dialect) -> FileTable:
    """The first row of a table, of which no more is read."""
    text = extension_of(path) not in PARQUET
    frame = next(_frames(path, text, dialect, 1), None)
    if frame is None:
        raise TableError(f"{path} has a header but no rows")
    return FileTable(path, frame, text)


class _Types:
    """The types of a column in chunks, and what pandas makes of all chunks together."""

    def __init__(self) -> None:
        self._seen: dict[str, Any] = {}

    def add(self, series: pd.Series) -> None:
        if "words" not in self._seen:  # once there are words, the column is one of words
            self._seen[_sort(series)] = series.dtype

    @property
    def are_words(self) -> bool:
        """Whether the whole column of a text file is read as words."""
        sorts = set(self._seen) - {"missing"}
        flags, numbers = sorts & {"bool", "flags"}, sorts & {"int64", "uint64", "float64"}
        return bool(sorts & {"words", "digits"} or (flags and numbers))

    @property
    def depend_on_order(self) -> bool:
        """Whether numbers are so large that the order of the entries decides on the type."""
        large = {"digits", "objects", "uint64"} & set(self._seen)
        return bool(large) and len(self._seen) > 1 and "words" not in self._seen

    def in_text(self) -> Any:
        if self.are_words:
            return self._seen.get("words", pd.Series(["word"]).dtype)
        sorts = set(self._seen)
        if sorts & {"flags", "objects"} or sorts == {"bool", "missing"}:
            return np.dtype(object)
        return next(iter(self._seen.values())) if len(sorts) == 1 else np.dtype(np.float64)

    def in_parquet(self) -> Any:
        """All chunks have one type, but for missing entries among whole numbers or flags."""
        seen = list(self._seen.values())
        if all(dtype == seen[0] or isinstance(dtype, pd.CategoricalDtype) for dtype in seen):
            return seen[0]
        return np.dtype(object if object in seen else np.float64)


def _sort(series: pd.Series) -> str:
    """What a chunk of a column says of its type."""
    entries = series.dropna()
    if entries.empty and series.dtype == np.float64:
        return "missing"
    if series.dtype != object and not isinstance(series.dtype, pd.StringDtype):
        return str(series.dtype)
    if series.dtype == object and not entries.map(lambda entry: isinstance(entry, str)).all():
        return "flags" if entries.map(lambda entry: isinstance(entry, bool)).all() else "objects"
    return "words" if not are_numbers(entries).all() else "digits"


def _frames(
    path: Path,
    text: bool,
    dialect: Dialect,
    chunk_rows: int,
    dtypes: dict[str, Any] | None = None,
) -> Iterator[pd.DataFrame]:
    """The rows of a file as they are read, a chunk at a time."""
    if not text:
        with parquet_errors(path), open_parquet(path) as file:
            for batch in file.iter_batches(chunk_rows):
                yield tidy(pyarrow.Table.from_batches([batch]).to_pandas())
        return
    with read_text(path, dialect, chunksize=chunk_rows, dtype=dtypes) as reader:
        while True:
            with text_errors(path, dialect.encoding):
                frame = next(reader, None)
            if frame is None:
                return
            yield mark_gaps(frame, dialect)
