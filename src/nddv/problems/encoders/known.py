"""The registry of encoders, ``encoders.yaml``, as it ships with the library. Loads no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml

from nddv.support.wording import pick

FILE = Path(__file__).with_name("encoders.yaml")

Kind = Literal["text", "picture"]
DATA: dict[str, str] = {"text": "text", "picture": "image"}
"""What an entry calls the items that it encodes."""
DEFAULTS: dict[str, str] = {"text": "minilm", "picture": "efficientnet-lite0"}
"""Quick on a CPU, and with weights from a package index."""
PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")


def known_encoders() -> dict[str, dict[str, Any]]:
    """The entries by name."""
    entries: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return entries["encoders"]


def kind_of(name: str) -> Kind:
    """What an encoder encodes; the error for an unknown one suggests the nearest."""
    data = pick(known_encoders(), name, "encoder")["data"]
    return "text" if data == DATA["text"] else "picture"
