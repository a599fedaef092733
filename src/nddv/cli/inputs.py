"""What the command line reads: from files and options to features, targets and notices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.cli.features import Features, encode, prepare
from nddv.cli.folders import PATH, TARGET, read_folder
from nddv.cli.media import Media, chosen_media
from nddv.problems.fetch.checksums import combined, file_sha256
from nddv.support.measuring import available_memory
from nddv.tabular.encoding import Encoding, Rules, describe, learn_encoding, read_target
from nddv.tabular.files import SEPARATORS, FileTable, TableError, read_table
from nddv.tabular.streaming import stream_table

COLUMN_OPTIONS = ("id", "drop", "categorical", "group", "text", "picture")

# memory that a table takes when it is read, over the size of its file
TEXT_GROWTH, PACKED_GROWTH = 5, 20


@dataclass(frozen=True)
class Inputs:
    """What is to be valued.

    Attributes
    ----------
    table : the n rows that are valued, in order; the index of its frame says which of the file's
        these are. A folder of pictures is a table with the columns path and class. Of a table that
        is read in pieces, the frame has the target and the columns that are copied.
    target : the column to predict.
    identifiers : the columns to copy into the result, among them those of pictures.
    X : (n, d) features; on disk where the table is read in pieces.
    y : (n,) targets.
    side : X_meta, y_meta, X_valid and y_valid, as far as there are such data.
    encoding : how columns became numbers, except texts and pictures.
    media : the columns of texts and of pictures; a path is seen from the folder of the table.
    notices : sentences for the user.
    excluded : columns row (from 1) and reason: rows of the file that are not valued.
    columns : one entry per column that is used, for the record; JSON-able.
    sha256 : of the file; of a folder that of its pictures and their names.
    """

    table: FileTable
    target: str
    identifiers: list[str]
    X: Any
    y: NDArray[np.generic]
    side: dict[str, Any]
    encoding: Encoding
    media: tuple[Media, ...]
    notices: list[str]
    excluded: pd.DataFrame
    columns: list[dict[str, object]]
    sha256: str


def streams(arguments: argparse.Namespace) -> bool:
    """Whether a table is read in pieces: if asked for, or if it would fill the memory."""
    media = [option for option in ("text", "picture") if getattr(arguments, option)]
    if arguments.data.is_dir() or media:
        if arguments.stream == "always":
            raise TableError("--stream always: texts and pictures are not read in pieces")
        return False
    if arguments.stream != "auto" or not arguments.data.is_file():
        return bool(arguments.stream == "always")
    text = arguments.data.suffix.lower() in SEPARATORS
    needed = arguments.data.stat().st_size * (TEXT_GROWTH if text else PACKED_GROWTH)
    free = available_memory()
    return free is not None and needed > free / 2


def read_inputs(arguments: argparse.Namespace, scratch: Path | None = None) -> Inputs:
    """Read what the arguments of the command line name.

    scratch : a folder for the features of a table that is read in pieces.
    """
    folder = arguments.data.is_dir()
    _check_options(arguments, folder)
    if scratch is not None:
        return _streamed(arguments, scratch)
    target = TARGET if folder else arguments.target
    media = chosen_media(arguments, [PATH] if folder else arguments.picture)
    notices: list[str] = []
    table = _read(arguments, arguments.data, folder, notices)
    y = {"": read_target(table, target, arguments.task)}
    for column in media:
        table.check_columns([column.column], f"a {column.kind}")
    table.check_columns(arguments.group, "a group")
    encoding = learn_encoding(table, _rules(arguments, target, media), needed=not media)
    prepared = {"": prepare(table, encoding, media)}
    for name, path in (("_meta", arguments.meta), ("_valid", arguments.valid)):
        if path is not None:
            other = _read(arguments, path, folder, notices)
            y[name] = read_target(other, target, arguments.task)
            prepared[name] = prepare(other, encoding, media)

    how = {"device": arguments.device, "progress": sys.stderr.isatty() and not arguments.quiet}
    features = {name: encode(part, **how, notices=notices) for name, part in prepared.items()}
    X = {f"X{name}": part.X for name, part in features.items()}
    y = {f"y{name}": y[name][part.kept] for name, part in features.items()}
    main = features[""]
    pictures = [column.column for column in media if column.kind == "picture"]
    return Inputs(
        table=main.table,
        target=target,
        identifiers=list(dict.fromkeys([*arguments.id, *pictures])),
        X=X.pop("X"),
        y=y.pop("y"),
        side={**X, **y},
        encoding=encoding,
        media=media,
        notices=[*encoding.notices, *notices],
        excluded=main.excluded,
        columns=main.columns,
        sha256=_sha256(table, main),
    )


def _streamed(arguments: argparse.Namespace, scratch: Path) -> Inputs:
    """A table whose features are on disk; of its columns only some are in memory."""
    kept = list(dict.fromkeys([*arguments.id, *arguments.group]))
    streamed = stream_table(
        arguments.data,
        arguments.target,
        arguments.task,
        _rules(arguments, arguments.target, ()),
        scratch,
        arguments.separator,
        arguments.encoding,
        arguments.na,
        keep=kept,
        progress=sys.stderr.isatty() and not arguments.quiet,
    )
    side: dict[str, Any] = {}
    for name, path in (("meta", arguments.meta), ("valid", arguments.valid)):
        if path is not None:
            other = _read(arguments, path, False, [])
            side[f"y_{name}"] = read_target(other, arguments.target, arguments.task)
            side[f"X_{name}"] = streamed.encoding.apply(other).to_numpy()
    frame = streamed.kept.assign(**{arguments.target: streamed.y})
    return Inputs(
        table=FileTable(arguments.data, frame.reset_index(drop=True), text=streamed.table.text),
        target=arguments.target,
        identifiers=list(arguments.id),
        X=streamed.rows,
        y=streamed.y,
        side=side,
        encoding=streamed.encoding,
        media=(),
        notices=list(streamed.encoding.notices),
        excluded=pd.DataFrame({"row": [], "reason": []}),
        columns=describe(streamed.encoding.columns),
        sha256=file_sha256(arguments.data),
    )


def _check_options(arguments: argparse.Namespace, folder: bool) -> None:
    """Refuse options that do not fit the data, or each other."""
    data = arguments.data
    if not data.exists():
        raise TableError(f"{data} does not exist")
    if folder:
        for option in ("target", *COLUMN_OPTIONS):
            if getattr(arguments, option):
                raise TableError(
                    f"--{option} names a column of a table, but {data} is a folder: its pictures "
                    "are encoded, and the folders in it are the classes"
                )
        return
    if arguments.target is None:
        raise TableError(f"which column of {data} is to be predicted? (--target COLUMN)")
    uses: dict[str, str] = {}
    for option in COLUMN_OPTIONS:
        for name in getattr(arguments, option):
            if name == arguments.target:
                raise TableError(f"--{option} {name}: this column is the target")
            if option not in ("id", "group") and uses.setdefault(name, option) != option:
                raise TableError(f"--{option} {name}: this column is also --{uses[name]} {name}")


def _read(arguments: argparse.Namespace, path: Path, folder: bool, notices: list[str]) -> FileTable:
    if not folder:
        return read_table(path, arguments.separator, arguments.encoding, arguments.na)
    table, own = read_folder(path)
    notices += own
    return table


def _rules(arguments: argparse.Namespace, target: str, media: Sequence[Media]) -> Rules:
    encoded = (column.column for column in media)
    return Rules(
        ignore=(target, *arguments.id, *arguments.drop, *encoded),
        categorical=tuple(arguments.categorical),
        impute=arguments.missing == "impute",
        max_categories=arguments.max_categories,
    )


def _sha256(table: FileTable, features: Features) -> str:
    if table.path.is_file():
        return file_sha256(table.path)
    return combined(dict(zip(table.frame[PATH], features.sha256[PATH], strict=True)))
