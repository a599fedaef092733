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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet

from nddv.support.wording import InputError, one_line

SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
# Errors that pandas and the standard library raise for damaged, encrypted or unusual archives.
UNREADABLE = (
    *(OSError, EOFError, ValueError, RuntimeError, NotImplementedError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)


class TableError(InputError):
    """A table cannot be used as it is; one line for the person who supplied it says why."""

    def __init__(self, message: str, **remedies: object):
        super().__init__(one_line(message), **remedies)


@dataclass(frozen=True)
class FileTable:
    """A table and where it came from.

    Attributes
    ----------
    path : the file.
    frame : (n, columns). Its index says which rows of the file these are: i is row i+1, not
        counting the header. A table that was just read has all of them.
    text : whether the file is text (CSV), in which numbers and words look alike.
    """

    path: Path
    frame: pd.DataFrame
    text: bool

    def where(self, position: int) -> str:
        """Name the row at a position of the frame, as a reader finds it in the file."""
        place = int(self.frame.index[position])
        row = f"row {place + 1}"
        words = self.frame.select_dtypes(include=["object", "string"])
        # where a quoted entry spans lines, rows and lines are out of step
        if not self.text or words.map(lambda x: isinstance(x, str) and "\n" in x).any(axis=None):
            return row
        return f"{row} (line {place + 2} of {self.path.name})"

    def check_columns(self, names: Sequence[str], use: str) -> None:
        """Raise if the table lacks a column that somebody named for some use."""
        known = list(self.frame.columns)
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
    suffixes = [s.lower() for s in path.suffixes]
    is_parquet = any(s in PARQUET for s in suffixes)
    extension = next((s for s in suffixes if s in SEPARATORS), None)
    if not path.exists():
        raise TableError(f"{path} does not exist")
    if path.is_dir():
        raise TableError(f"{path} is a folder; name one file")
    if not is_parquet and extension is None:
        raise TableError(
            f"{path} is neither .csv, .tsv (also compressed, as in .csv.gz) nor .parquet; "
            "save it as one of these, or rename it if it is one"
        )
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty")
    if extension is None or is_parquet:
        frame = _read_parquet(path)
    else:
        frame = _read_text(path, separator or SEPARATORS[extension], encoding, missing)
    if frame.shape[0] == 0:
        raise TableError(f"{path} has a header but no rows")
    return FileTable(path, frame, text=not is_parquet)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        _check_header(path, parquet.ParquetFile(path).schema_arrow.names)
        frame = pd.read_parquet(path)
    except TableError:
        raise
    except Exception as error:  # pyarrow has many kinds of errors for a foreign or damaged file
        raise TableError(f"{path} cannot be read as Parquet: {one_line(error)}") from error
    frame = frame.reset_index(drop=frame.index.name is None)
    frame.columns = [str(c) for c in frame.columns]
    return frame


def _read_text(path: Path, separator: str, encoding: str, missing: Sequence[str]) -> pd.DataFrame:
    try:
        # rows and lines stay in step if blank lines are rows
        how = {"sep": separator, "encoding": encoding, "skip_blank_lines": False}
        # the header as it stands in the file: pandas renames repeated names
        head = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **how)
        _check_header(path, [str(name) for name in head.iloc[0]])
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            na = list(missing)
            frame = pd.read_csv(path, na_values=na, index_col=False, low_memory=False, **how)
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
    filled = np.flatnonzero(frame.notna().to_numpy().any(axis=1))
    return frame.iloc[: int(filled[-1]) + 1 if filled.size else 0]  # no blank rows at the end


def _check_header(path: Path, names: Sequence[str]) -> None:
    repeated = [n for n, count in Counter(names).items() if count > 1 and n != ""]
    if repeated:
        raise TableError(
            f"{path} has more than one column named {repeated[0]!r}; give every column its own name"
        )
