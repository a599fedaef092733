"""Texts and pictures of rows, as a page can hold them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from nddv.cli.media import Media, items_of
from nddv.tabular.files import FileTable

Items = Mapping[str, Mapping[int, str | Path]]
"""Columns of texts, or of paths of pictures: entries by the position of their rows."""

SHORT, LONG = 280, 6000  # letters of a text that are shown at first, and at most
PIXELS = {"large": 192, "small": 96}  # longer side of a picture: of a row, of a similar row
QUALITY = 80  # of JPEG


def items_at(table: FileTable, media: Sequence[Media], positions: Sequence[int]) -> Items:
    """The texts and pictures of some rows."""
    part = replace(table, frame=table.frame.iloc[list(positions)])
    return {m.column: dict(zip(positions, items_of(part, m), strict=True)) for m in media}


def shown_media(items: Items, position: int, size: str = "large") -> list[dict[str, Any]]:
    """The texts and pictures of a row.

    Each has the name of its ``column``. A text has ``short`` and, if it is longer and the size is
    large, the ``whole`` of it. A picture has ``source``, a data address, or None if it cannot be
    read.
    """
    shown = []
    for column, entries in items.items():
        item = entries[position]
        if isinstance(item, Path):
            shown.append({"column": column, "source": thumbnail(item, PIXELS[size])})
        else:
            shown.append({"column": column, **_text(item, size == "large")})
    return shown


def _text(text: str, expands: bool) -> dict[str, Any]:
    letters = SHORT if expands else SHORT // 2
    if len(text) <= letters:
        return {"short": text, "whole": None}
    short = text[:letters].rsplit(maxsplit=1)[0] + " …"
    whole = text if len(text) <= LONG else f"{text[:LONG]} … ({len(text):,} letters in all)"
    return {"short": short, "whole": whole if expands else None}


@lru_cache(maxsize=2000)
def thumbnail(path: Path, pixels: int) -> str | None:
    """A small JPEG of a picture as a data address; None where the picture cannot be read."""
    from PIL import Image, ImageOps  # comes with the encoders of pictures

    try:
        with Image.open(path) as picture:
            picture.draft("RGB", (2 * pixels, 2 * pixels))  # JPEGs are read at a fraction at once
            upright = ImageOps.exif_transpose(picture)
            upright.thumbnail((pixels, pixels))
            layers = upright.convert("RGBA")
    # Pillow has many kinds of errors for damaged files, and the page shows the others all the same
    except Exception:
        return None
    small = Image.new("RGB", layers.size, "white")  # what is transparent is white
    small.paste(layers, mask=layers.getchannel("A"))
    file = BytesIO()
    small.save(file, "JPEG", quality=QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode("ascii")
