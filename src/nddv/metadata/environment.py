"""What a report was made with, as the rule of its page writes it down."""

from __future__ import annotations

from pathlib import Path

from nddv.support.files import read_json

ENVIRONMENT = "reports/environment.json"


def read_environment(folder: Path) -> dict[str, str]:
    """Configuration, seeds, versions and machine of a run; nothing of an older one."""
    path = folder / ENVIRONMENT
    content: dict[str, str] = read_json(path) if path.exists() else {}
    return content
