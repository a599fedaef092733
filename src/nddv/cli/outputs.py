"""The files that commands write: refused before any work, or written all together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from nddv.support.files import atomic_write
from nddv.tabular.files import TableError

# what is left out of the name of a table, but for a name that is nothing else
KNOWN_SUFFIXES = r"(?i)(?<=.)(\.(csv|tsv|parquet|pq|gz|bz2|xz|zip|brotli))+\Z"


def csv_output(out: Path | None, data: Path, kind: str) -> Path:
    """The CSV file to write: as asked for, or named after the data."""
    data = data.resolve() if data.is_dir() else data
    file = out or Path(f"{re.sub(KNOWN_SUFFIXES, '', data.name)}.{kind}.csv")
    if file.suffix.lower() != ".csv":
        raise TableError(
            f"--out {file}: the {kind} are written as CSV, so the name must end in .csv"
        )
    return file


def check_outputs(outputs: Mapping[str, Path], inputs: Iterable[Path | None], force: bool) -> None:
    """Raise for files that could not be written in the end."""
    given = {path.resolve() for path in inputs if path}
    if len({file.resolve() for file in outputs.values()}) < len(outputs):
        raise TableError("--out and --report name the same file")
    for file in outputs.values():
        if file.resolve() in given:
            raise TableError(f"{file} is an input; write the result to another file")
        if file.is_dir():
            raise TableError(f"{file} is a folder; name a file")
        if not file.parent.is_dir():
            raise TableError(f"the folder {file.parent} does not exist; make it first")
        if not os.access(file.parent, os.W_OK):
            raise TableError(
                f"{file} could not be written: make the folder {file.parent} writable, "
                "or name a file elsewhere"
            )
        if file.exists() and not force:
            raise TableError(f"{file} exists; give another name, or --force to replace it")


def write_outputs(outputs: Mapping[str, Path], texts: Mapping[str, str]) -> None:
    """Write all of the files, or none."""
    with ExitStack() as files:
        for name, text in texts.items():
            temporary = files.enter_context(atomic_write(outputs[name]))
            temporary.write_text(text, encoding="utf-8", newline="")
