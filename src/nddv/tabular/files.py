"""Read a table from a file: CSV (also compressed) or Parquet.

Whatever is wrong with a file, the error is a :class:`TableError`: one sentence that says what is
wrong, where, and what to do about it.
"""

from __future__ import annotations

import csv
import difflib
import lzma
import warnings
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet

from nddv.support.wording import InputError, one_line

SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
# Entries of text that pandas takes for missing.
USUAL_MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
# Errors that pandas and the standard library raise for damaged, encrypted or unusual archives.
UNREADABLE = (
    *(OSError, EOFError, ValueError, RuntimeError, NotImplementedError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)


class TableError(InputError):
    """A table cannot be used as it is; one line for the person who supplied it says why."""

    def __init__(self, message: str, **remedies: object):
        super().__init__(one_line(message), **remedies)


class Source(ABC):
    """A file with a table in it: names its rows and columns in messages.

    Attributes
    ----------
    path : the file.
    text : whether the file is text (CSV), in which numbers and words look alike.
    """

    path: Path
    text: bool

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The columns."""

    @property
    @abstractmethod
    def spans_lines(self) -> bool:
        """Whether a quoted entry spans lines; then rows and lines are out of step."""

    def place(self, position: int) -> int:
        """Which row of the file is at a position of the table, from 0."""
        return position

    def where(self, position: int) -> str:
        """Name the row at a position of the table, as a reader finds it in the file."""
        place = self.place(position)
        row = f"row {place + 1}"
        if not self.text or self.spans_lines:
            return row
        return f"{row} (line {place + 2} of {self.path.name})"

    def check_columns(self, names: Sequence[str], use: str) -> None:
        """Raise if the table lacks a column that somebody named for some use."""
        known = self.names
        for name in names:
            if name in known:
                continue
            close = difflib.get_close_matches(name, known, n=1)
            remedies = {}
            if close:
                hint = f"did you mean {close[0]!r}?"
            elif self.text and len(known) == 1 and any(s in known[0] for s in ";\t|"):
                remedies = {"separator": None}
                hint = f"its only column is {known[0]!r}: name the separator"
            else:
                shown = ", ".join(map(repr, known[:12])) + (", …" if len(known) > 12 else "")
                hint = f"it has {shown}"
            raise TableError(f"{self.path} has no column {name!r} ({use}); {hint}", **remedies)


@dataclass(frozen=True)
class FileTable(Source):
    """A table in memory and where it came from.

    Attributes
    ----------
    frame : (n, columns). Its index says which rows of the file these are: i is row i+1, not
        counting the header. A table that was just read has all of them.
    """

    path: Path
    frame: pd.DataFrame
    text: bool

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.frame.columns)

    @property
    def spans_lines(self) -> bool:
        """Whether a quoted entry spans lines."""
        return spans_lines(self.frame)

    def place(self, position: int) -> int:
        """Which row of the file is at a position of the frame, from 0."""
        return int(self.frame.index[position])


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    separator : between the entries; None: the extension decides.
    encoding : of the text.
    missing : entries that mean missing, besides the usual ones (empty, NA, null …).
    """

    separator: str | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()


def spans_lines(frame: pd.DataFrame) -> bool:
    """Whether an entry of a frame has a line break."""
    words = frame.select_dtypes(include=["object", "string"])
    return any(
        series.str.contains("\n", regex=False, na=False).any()
        if isinstance(series.dtype, pd.StringDtype)
        else series.map(lambda x: isinstance(x, str) and "\n" in x).any()
        for _, series in words.items()
    )


def read_table(
    path: Path,
    separator: str | None = None,
    encoding: str = "utf-8",
    missing: Sequence[str] = (),
) -> FileTable:
    """Read a table.

    Parameters
    ----------
    path : a .csv, .tsv (both also .gz, .bz2, .xz, .zip) or .parquet file with a header.
    separator : between the entries of a text file; by default the extension decides.
    encoding : of a text file.
    missing : entries of a text file that mean missing, besides the usual ones (empty, NA, null …).
    """
    extension = extension_of(path)
    if extension in PARQUET:
        with parquet_errors(path):
            open_parquet(path).close()  # checks the header
            frame = tidy(pd.read_parquet(path))
    else:
        frame = read_text(path, Dialect(separator, encoding, tuple(missing)))
        frame = frame.iloc[: last_filled(frame) + 1]  # no blank rows at the end
    if frame.shape[0] == 0:
        raise TableError(f"{path} has a header but no rows")
    return FileTable(path, frame, text=extension not in PARQUET)


def extension_of(path: Path) -> str:
    """The extension that tells a file's format; raises for a file that cannot be a table."""
    suffixes = [s.lower() for s in path.suffixes]
    known = [s for s in suffixes if s in PARQUET] + [s for s in suffixes if s in SEPARATORS]
    if not path.exists():
        raise TableError(f"{path} does not exist")
    if path.is_dir():
        raise TableError(f"{path} is a folder; name one file")
    if not known:
        raise TableError(
            f"{path} is neither .csv, .tsv (also compressed, as in .csv.gz) nor .parquet; "
            "save it as one of these, or rename it if it is one"
        )
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty")
    return known[0]


def open_parquet(path: Path) -> parquet.ParquetFile:
    """A Parquet file, of which nothing but the header is read yet."""
    with parquet_errors(path):
        file = parquet.ParquetFile(path)
        _check_header(path, file.schema_arrow.names)
        return file


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn errors of reading a Parquet file into a `TableError`."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:  # pyarrow has many kinds of errors for a foreign or damaged file
        raise TableError(f"{path} cannot be read as Parquet: {one_line(error)}") from error


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """What was read of a Parquet file; an index with a name is a column."""
    frame = frame.reset_index(drop=frame.index.name is None)
    frame.columns = [str(c) for c in frame.columns]
    return frame


def read_text(path: Path, dialect: Dialect, **options: Any) -> Any:
    """Read a text file: a frame, or, with the option `chunksize`, a reader of frames.

    Such a reader raises `TableError` only inside :func:`text_errors`, and its frames need
    :func:`mark_gaps`.
    """
    extension = extension_of(path)
    # rows and lines stay in step if blank lines are rows
    how: dict[str, Any] = {
        "sep": dialect.separator or SEPARATORS[extension],
        "encoding": dialect.encoding,
        "skip_blank_lines": False,
    }
    with text_errors(path, dialect.encoding):
        # the header as it stands in the file: pandas renames repeated names
        head = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **how)
        _check_header(path, [str(name) for name in head.iloc[0]])
        how |= {"na_values": list(dialect.missing), "index_col": False, "low_memory": False}
        read = pd.read_csv(path, **how, **options)
    return mark_gaps(read, dialect) if isinstance(read, pd.DataFrame) else read


def mark_gaps(frame: pd.DataFrame, dialect: Dialect) -> pd.DataFrame:
    """Mark what pandas leaves as words in a column of whole numbers too large for it: gaps."""
    words = frame.select_dtypes(include="string")
    gaps = words.isin([*USUAL_MISSING, *dialect.missing])
    return frame.assign(
        **{name: words[name].mask(gaps[name]) for name in words if gaps[name].any()}
    )


@contextmanager
def text_errors(path: Path, encoding: str) -> Iterator[None]:
    """Turn errors of reading a text file into a `TableError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except TableError:
        raise
    except UnicodeError as error:
        raise TableError(
            f"{path} is not {encoding} text ({one_line(error)}); name its encoding",
            encoding="latin-1",
        ) from error
    except LookupError as error:
        raise TableError(f"{encoding!r} is no encoding", encoding="utf-8") from error
    except pd.errors.ParserWarning as error:
        raise TableError(
            f"{path} has rows with more entries than the header; mend the header, "
            "or quote entries that hold the separator"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise TableError(f"{path} is empty") from error
    except (pd.errors.ParserError, csv.Error) as error:
        raise TableError(f"{path} is not a well-formed table: {one_line(error)}") from error
    except UNREADABLE as error:
        raise TableError(f"{path} cannot be read: {one_line(error)}") from error


def last_filled(frame: pd.DataFrame) -> int:
    """The position of the last row that is not blank; −1 if all are."""
    filled = np.flatnonzero(frame.notna().to_numpy().any(axis=1))
    return int(filled[-1]) if filled.size else -1


def _check_header(path: Path, names: Sequence[str]) -> None:
    repeated = [n for n, count in Counter(names).items() if count > 1 and n != ""]
    if repeated:
        raise TableError(
            f"{path} has more than one column named {repeated[0]!r}; give every column its own name"
        )
