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
from nddv.tabular.encoding import Encoding, Rules, learn_encoding, read_target
from nddv.tabular.files import FileTable, TableError, read_table

COLUMN_OPTIONS = ("id", "drop", "categorical", "text", "picture")


@dataclass(frozen=True)
class Inputs:
    """What is to be valued.

    Attributes
    ----------
    table : the n rows that are valued, in order; the index of its frame says which of the file's
        these are. A folder of pictures is a table with the columns path and class.
    target : the column to predict.
    identifiers : the columns to copy into the result, among them those of pictures.
    X : (n, d) features.
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
    X: pd.DataFrame
    y: NDArray[np.generic]
    side: dict[str, Any]
    encoding: Encoding
    media: tuple[Media, ...]
    notices: list[str]
    excluded: pd.DataFrame
    columns: list[dict[str, object]]
    sha256: str


def read_inputs(arguments: argparse.Namespace) -> Inputs:
    """Read what the arguments of the command line name."""
    folder = arguments.data.is_dir()
    _check_options(arguments, folder)
    target = TARGET if folder else arguments.target
    media = chosen_media(arguments, [PATH] if folder else arguments.picture)
    notices: list[str] = []
    table = _read(arguments, arguments.data, folder, notices)
    y = {"": read_target(table, target, arguments.task)}
    for column in media:
        table.check_columns([column.column], f"a {column.kind}")
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
            if option != "id" and uses.setdefault(name, option) != option:
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
