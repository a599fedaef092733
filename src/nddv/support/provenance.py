"""What results were made from: settings and sources, identified by their content.

Needs the standard library only: the Snakefile imports it inside Snakemake's own environment.
"""

from __future__ import annotations

import ast
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

HASH_LENGTH = 12


def config_hash(settings: Any) -> str:
    """Identify settings by content: 12 hexadecimal digits, whatever the order of the keys."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]


def source_hash(*names: str, root: Path | None = None) -> str:
    """Hash the sources of modules and packages of the library, and of all that they import of it.

    Parameters
    ----------
    names : below ``nddv``: packages (``"dynamics"``) or modules (``"estimator.nddv"``).
    root : folder of the library; that of this file unless given.
    """
    root = Path(__file__).parents[1] if root is None else Path(root)
    digest = hashlib.sha256()
    for source in sources(*names, root=root):
        digest.update(source.relative_to(root).as_posix().encode() + b"\0")
        digest.update(source.read_bytes() + b"\0")
    return digest.hexdigest()[:HASH_LENGTH]


def sources(*names: str, root: Path) -> list[Path]:
    """The files of modules and packages, and of all that they import of the library, in order.

    Nothing is imported: the sources are parsed. Imports inside functions are not followed, so that
    a registry can load its methods late without making every rule depend on every method.
    """
    waiting, asked, files = set(names), set[str](), set[Path]()
    while waiting:
        name = waiting.pop()
        asked.add(name)
        new = set(_sources_of(name, root)) - files
        files |= new
        for source in new:
            waiting |= _imported_from(root.name, source.read_bytes()) - asked
    return sorted(files)


def _sources_of(name: str, root: Path) -> list[Path]:
    """Files of a module, or of a package with all it contains; and of the packages around it."""
    parts = name.split(".")
    path = root.joinpath(*parts)
    files = sorted(path.rglob("*.py")) or [path.with_suffix(".py")]
    if not files[0].exists():
        raise ValueError(f"no module or package named {name!r} in {root.name}")
    around = [root.joinpath(*parts[:k], "__init__.py") for k in range(1, len(parts))]
    return files + [source for source in around if source.exists()]


@cache  # by the text: the rules of the workflow ask for the same sources again and again
def _imported_from(library: str, source: bytes) -> frozenset[str]:
    """What a source imports of the library when it is loaded, as names below the library."""
    modules = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom):
            modules += [node.module or ""]
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    prefix = f"{library}."
    return frozenset(name.removeprefix(prefix) for name in modules if name.startswith(prefix))
