"""Read the files of the catalogue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def read(name: str) -> dict[str, Any]:
    """What a file of this folder holds."""
    content = Path(__file__).with_name(name).read_text(encoding="utf-8")
    entries: dict[str, Any] = yaml.safe_load(content)
    return entries
