"""From a table to features: its columns, and its texts and pictures, as numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.cli.media import Items, Media, MediaRows, encode_column, items_of
from nddv.tabular.encoding import Encoding, describe
from nddv.tabular.entries import count
from nddv.tabular.files import FileTable, TableError

SHOWN_ROWS = 3  # of those that are left out


@dataclass(frozen=True)
class Features:
    """The rows of a table that can be used, as numbers.

    Attributes
    ----------
    table : these n rows; the index of its frame says which of the file's they are.
    X : (n, d).
    kept : their positions in the whole table; a slice if these are all.
    excluded : columns row (from 1) and reason: the other rows of the file.
    columns : one entry per column that is used, for a record; JSON-able.
    sha256 : of the content of every text or picture of the whole table, by column.
    """

    table: FileTable
    X: pd.DataFrame
    kept: NDArray[np.int64] | slice
    excluded: pd.DataFrame
    columns: list[dict[str, object]]
    sha256: dict[str, list[str]]


@dataclass(frozen=True)
class Prepared:
    """A table whose columns are numbers already, with texts and pictures still to be encoded.

    Attributes
    ----------
    table : all rows.
    encoding, media : how its columns become numbers.
    features : (rows, …) from its other columns.
    items : texts or paths for each of ``media``.
    """

    table: FileTable
    encoding: Encoding
    media: tuple[Media, ...]
    features: pd.DataFrame
    items: list[Items]


def prepare(table: FileTable, encoding: Encoding, media: tuple[Media, ...]) -> Prepared:
    """All that is quick: mistakes in a table are found before its texts and pictures take long."""
    items = [items_of(table, column) for column in media]
    return Prepared(table, encoding, media, encoding.apply(table), items)


def encode(prepared: Prepared, device: str, progress: bool, notices: list[str]) -> Features:
    """Encode texts and pictures, and leave out the rows for which this cannot be done.

    device : of the encoder. notices : gets sentences for the user.
    """
    table, media = prepared.table, prepared.media
    rows = [
        encode_column(table, column, items, device, progress, notices)
        for column, items in zip(media, prepared.items, strict=True)
    ]
    reasons = _reasons(rows)
    _tell(table, reasons, notices)
    kept = np.setdiff1d(np.arange(len(table.frame)), [*reasons]) if reasons else slice(None)
    frames = [prepared.features] if prepared.features.shape[1] else []
    for column, own in zip(media, rows, strict=True):
        names = [f"{column.column}[{i}]" for i in range(own.X.shape[1])]
        frames.append(pd.DataFrame(own.X, columns=names))
    whole = frames[0] if len(frames) == 1 else pd.concat(frames, axis=1)
    return Features(
        table=replace(table, frame=table.frame.iloc[kept]),
        X=whole.iloc[kept].reset_index(drop=True),
        kept=kept,
        excluded=pd.DataFrame(
            {"row": np.array([*reasons], dtype=np.int64) + 1, "reason": [*reasons.values()]}
        ),
        columns=_columns(prepared.encoding, media, rows),
        sha256={column.column: own.sha256 for column, own in zip(media, rows, strict=True)},
    )


def _reasons(rows: Sequence[MediaRows]) -> dict[int, str]:
    """Why rows cannot be used, by position, in order."""
    reasons: dict[int, list[str]] = {}
    for column in rows:
        for position, reason in column.reasons.items():
            reasons.setdefault(position, []).append(reason)
    return {position: "; ".join(reasons[position]) for position in sorted(reasons)}


def _tell(table: FileTable, reasons: dict[int, str], notices: list[str]) -> None:
    """Tell of the rows that cannot be used; raise if these are all."""
    shown = [f"row {i + 1} ({reason})" for i, reason in [*reasons.items()][:SHOWN_ROWS]]
    listed = ", ".join(shown) + (", …" if len(reasons) > len(shown) else "")
    if len(reasons) == len(table.frame):
        raise TableError(f"no row of {table.path} can be used: {listed}")
    if reasons:
        notices.append(f"{count(len(reasons), 'row')} of {table.path} left out: {listed}")


def _columns(
    encoding: Encoding, media: Sequence[Media], rows: Sequence[MediaRows]
) -> list[dict[str, object]]:
    columns = describe(encoding.columns)
    for column, own in zip(media, rows, strict=True):
        entry = {"column": column.column, "as": column.kind, "encoder": column.encoder}
        sha256 = hashlib.sha256("\n".join(own.sha256).encode()).hexdigest()
        columns.append({**entry, "features": own.X.shape[1], "sha256": sha256})
    return columns
