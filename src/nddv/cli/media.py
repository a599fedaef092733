"""Columns of texts and of pictures: which they are, their items, and rows of numbers from them."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nddv.problems.encoders.known import DEFAULTS, Kind, kind_of
from nddv.support.wording import one_line
from nddv.tabular.entries import words_of
from nddv.tabular.files import FileTable, TableError

Items = list[str] | list[Path]


@dataclass(frozen=True)
class Media:
    """A column of texts, or of paths of pictures.

    Attributes
    ----------
    column : its name.
    kind : "text" or "picture".
    encoder : name of the encoder that turns an entry into a row of numbers.
    """

    column: str
    kind: Kind
    encoder: str


@dataclass(frozen=True)
class MediaRows:
    """The entries of such a column as rows of numbers.

    Attributes
    ----------
    X : (n, dimension) float32; NaN where there is a reason.
    reasons : why an entry cannot be used, by position.
    sha256 : (n,) of the content of each entry.
    """

    X: NDArray[np.float32]
    reasons: dict[int, str]
    sha256: list[str]


def chosen_media(arguments: argparse.Namespace, pictures: list[str]) -> tuple[Media, ...]:
    """The columns of texts that options name, and those of pictures, each with its encoder."""
    columns: dict[str, Kind] = dict.fromkeys(arguments.text, "text")
    for name in pictures:
        if name in columns:
            raise TableError(f"column {name!r} is named both as --text and as --picture")
        columns[name] = "picture"
    encoders: dict[Kind, str] = {}
    for name in arguments.encoder:
        kind = kind_of(name)
        if kind not in columns.values():
            raise TableError(
                f"--encoder {name} encodes a {kind}, but no column is a {kind} (--{kind} COLUMN)"
            )
        if encoders.setdefault(kind, name) != name:
            raise TableError(f"--encoder names two encoders of a {kind}: {encoders[kind]}, {name}")
    usual = DEFAULTS | {str(kind): name for kind, name in encoders.items()}
    return tuple(Media(column, kind, usual[kind]) for column, kind in columns.items())


def items_of(table: FileTable, media: Media) -> Items:
    """The texts of a column, or the paths of its pictures, which lie in the folder of the table.

    A missing text is empty, and a missing path is that of the folder.
    """
    table.check_columns([media.column], f"a {media.kind}")
    series = table.frame[media.column]
    entries = words_of(series).where(series.notna(), "").tolist()
    if media.kind == "text":
        return entries
    folder = table.path if table.path.is_dir() else table.path.parent
    root = folder.resolve()
    return [_inside(root, entry, table, position) for position, entry in enumerate(entries)]


def _inside(root: Path, entry: str, table: FileTable, position: int) -> Path:
    try:
        path = (root / entry).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, impossible letters
        raise TableError(f"{table.where(position)}: the path {entry!r}: {error}") from error
    if not path.is_relative_to(root):
        raise TableError(
            f"{table.where(position)}: the path {entry!r} leads to {path}, out of the folder {root}"
            "; copy the pictures into that folder"
        )
    return path


def encode_column(
    table: FileTable,
    media: Media,
    items: Items,
    device: str,
    progress: bool,
    notices: list[str],
) -> MediaRows:
    """Encode the items of a column; ``notices`` gets what the encoder warns of."""
    from nddv.problems.encoders.items import encode_items  # torch

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        encoded = encode_items(
            items,
            media.encoder,
            media.kind,
            device=device,
            progress=progress,
            label=f"{table.path.name}, {media.column}",
        )
    notices += dict.fromkeys(one_line(warning.message) for warning in caught)
    series = table.frame[media.column]
    reasons = {}
    for position, reason in sorted(encoded.refused.items()):
        if media.kind == "text":
            reasons[position] = f"{media.column}: {reason}"
        elif series.isna().iloc[position]:
            reasons[position] = f"{media.column}: there is no path"
        else:
            reasons[position] = f"{series.iloc[position]}: {reason}"
    return MediaRows(encoded.X, reasons, encoded.sha256)
