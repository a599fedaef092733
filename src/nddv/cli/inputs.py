"""What the command line reads: from files and options to features, targets and notices."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.cli.folders import PATH, TARGET, read_folder
from nddv.cli.media import Items, Media, MediaRows, chosen_media, encode_column, items_of
from nddv.problems.fetch.checksums import combined, file_sha256
from nddv.tabular.encoding import Encoding, Rules, describe, learn_encoding, read_target
from nddv.tabular.entries import count
from nddv.tabular.files import FileTable, TableError, read_table

SHOWN_ROWS = 3  # of those that are left out
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


@dataclass(frozen=True)
class _Part:
    """A table, its targets, the features from its columns, and the items still to be encoded."""

    table: FileTable
    y: NDArray[np.generic]
    features: pd.DataFrame
    items: list[Items]


def read_inputs(arguments: argparse.Namespace) -> Inputs:
    """Read what the arguments of the command line name.

    Texts and pictures are encoded last: they take long, and mistakes elsewhere are found at once.
    """
    folder = arguments.data.is_dir()
    _check_options(arguments, folder)
    target = TARGET if folder else arguments.target
    media = chosen_media(arguments, [PATH] if folder else arguments.picture)
    files = {"train": arguments.data, "meta": arguments.meta, "valid": arguments.valid}
    notices: list[str] = []
    parts: dict[str, _Part] = {}
    encoding: Encoding | None = None
    for name, path in files.items():
        if path is None:
            continue
        table = _read(arguments, path, folder, notices)
        y = read_target(table, target, arguments.task)
        items = [items_of(table, column) for column in media]
        encoding = encoding or learn_encoding(table, _rules(arguments, target, media), not media)
        parts[name] = _Part(table, y, encoding.apply(table), items)
    assert encoding is not None

    rows = {name: _encode(part, media, arguments, notices) for name, part in parts.items()}
    kept = {name: _kept(part.table, rows[name], notices) for name, part in parts.items()}
    X = {name: _join(part, media, rows[name], kept[name]) for name, part in parts.items()}
    train, positions = parts["train"], kept["train"]
    frame = train.table.frame
    reasons = _reasons(rows["train"])
    side = {f"X_{name}": X[name] for name in X if name != "train"}
    side |= {f"y_{name}": part.y[kept[name]] for name, part in parts.items() if name != "train"}
    return Inputs(
        table=replace(train.table, frame=frame.iloc[positions]),
        target=target,
        identifiers=list(
            dict.fromkeys([*arguments.id, *(m.column for m in media if m.kind == "picture")])
        ),
        X=X["train"],
        y=train.y[positions],
        side=side,
        encoding=encoding,
        media=media,
        notices=[*encoding.notices, *notices],
        excluded=pd.DataFrame(
            {"row": np.array([*reasons], dtype=np.int64) + 1, "reason": [*reasons.values()]}
        ),
        columns=_columns(encoding, media, rows["train"]),
        sha256=_sha256(train.table, rows["train"]),
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


def _encode(
    part: _Part, media: Sequence[Media], arguments: argparse.Namespace, notices: list[str]
) -> list[MediaRows]:
    return [
        encode_column(part.table, column, items, arguments, notices)
        for column, items in zip(media, part.items, strict=True)
    ]


def _reasons(rows: Sequence[MediaRows]) -> dict[int, str]:
    """Why rows cannot be used, by position, in order."""
    reasons: dict[int, list[str]] = {}
    for column in rows:
        for position, reason in column.reasons.items():
            reasons.setdefault(position, []).append(reason)
    return {position: "; ".join(reasons[position]) for position in sorted(reasons)}


def _kept(table: FileTable, rows: Sequence[MediaRows], notices: list[str]) -> NDArray[np.int64]:
    """Positions of the rows that can be used; the others are told of."""
    n, reasons = len(table.frame), _reasons(rows)
    shown = [f"row {i + 1} ({reason})" for i, reason in [*reasons.items()][:SHOWN_ROWS]]
    listed = ", ".join(shown) + (", …" if len(reasons) > len(shown) else "")
    if len(reasons) == n:
        raise TableError(f"no row of {table.path} can be used: {listed}")
    if reasons:
        notices.append(f"{count(len(reasons), 'row')} of {table.path} left out: {listed}")
    return np.setdiff1d(np.arange(n), [*reasons])


def _join(
    part: _Part, media: Sequence[Media], rows: Sequence[MediaRows], kept: NDArray[np.int64]
) -> pd.DataFrame:
    """The features of the rows that are kept: those from columns, then encoded texts, pictures."""
    frames = [part.features.iloc[kept]] if part.features.shape[1] else []
    for column, own in zip(media, rows, strict=True):
        names = [f"{column.column}[{i}]" for i in range(own.X.shape[1])]
        frames.append(pd.DataFrame(own.X[kept], columns=names, index=kept))
    whole = frames[0] if len(frames) == 1 else pd.concat(frames, axis=1)
    return whole.reset_index(drop=True)


def _columns(
    encoding: Encoding, media: Sequence[Media], rows: Sequence[MediaRows]
) -> list[dict[str, object]]:
    """One JSON-able entry per column that is used."""
    columns = describe(encoding.columns)
    for column, own in zip(media, rows, strict=True):
        entry = {"column": column.column, "as": column.kind, "encoder": column.encoder}
        sha256 = hashlib.sha256("\n".join(own.sha256).encode()).hexdigest()
        columns.append({**entry, "features": own.X.shape[1], "sha256": sha256})
    return columns


def _sha256(table: FileTable, rows: Sequence[MediaRows]) -> str:
    if table.path.is_file():
        return file_sha256(table.path)
    return combined(dict(zip(table.frame[PATH], rows[0].sha256, strict=True)))
