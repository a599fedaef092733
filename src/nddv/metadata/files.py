"""The files that describe the project, and how the text of each is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nddv.metadata.checklist import checklist
from nddv.metadata.citation import codemeta, zenodo
from nddv.metadata.configuration import configuration_page
from nddv.metadata.crate import PICTURE, workflow_metadata
from nddv.metadata.croissant import croissants
from nddv.metadata.rulegraph import draw, read_graph
from nddv.support.files import as_json

CROISSANTS = "metadata/croissant"


def _json(content: Callable[[Path], Any]) -> Callable[[Path], str]:
    return lambda root: as_json(content(root))


TEXTS: dict[str, Callable[[Path], str]] = {
    "codemeta.json": _json(codemeta),
    ".zenodo.json": _json(zenodo),
    "config/README.md": configuration_page,
    "docs/reproducibility.md": checklist,
    PICTURE: lambda root: draw(read_graph(root)),
    "ro-crate-metadata.json": _json(workflow_metadata),
}
"""A file -> its text, from the folder of the project; data sets have a file each besides."""


def texts(root: Path) -> Iterator[tuple[str, str]]:
    """All files with their texts, one after the other: a later one may name an earlier one."""
    for path, text in TEXTS.items():
        yield path, text(root)
    for name, content in croissants(root).items():
        yield f"{CROISSANTS}/{name}.json", as_json(content)
