"""The cache of fetched files: one folder per entry, made whole or not at all, verified on use.

``files/0123456789ab``
    a finished entry: ``manifest.json``, and the files in ``content``.
``files/0123456789ab.work``
    an unfinished entry: the next run uses the ``downloads`` of a killed run, not its ``content``.
``files/0123456789ab.lock``
    held by the process that makes or verifies the entry.
"""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from nddv.problems.fetch.checksums import checksums, combined, compare
from nddv.problems.fetch.errors import ChecksumError, DownloadError
from nddv.support.files import cache_folder, read_json, write_json
from nddv.support.provenance import config_hash

ABANDONED_SECONDS = 7 * 24 * 3600

# Called with a folder for downloads, which may hold files of an earlier run, and an empty folder
# for the content.
Build = Callable[[Path, Path], None]


def cached(
    identity: Mapping[str, Any],
    build: Build,
    sha256: str | None = None,
    waiting: Callable[[], None] = lambda: None,
) -> tuple[Path, dict[str, str]]:
    """The folder of an entry and the checksums of its files; the entry is built if it is absent.

    Parameters
    ----------
    identity : decides the content and names the entry; JSON-able.
    build : fills a new entry. One process builds at a time; the others wait and share the result.
    sha256 : checksum that the content must have, if it is known.
    waiting : called if another process holds the entry.
    """
    entry = cache_folder() / "files" / config_hash(identity)
    entry.parent.mkdir(parents=True, exist_ok=True)
    with _locked(entry, waiting):
        if entry.exists():
            try:
                return entry / "content", _verified(entry, sha256)
            except (OSError, ValueError, ChecksumError) as damage:
                warnings.warn(
                    f"the cached files in {entry} are refused and fetched again: {damage}",
                    stacklevel=2,
                )
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:  # something else lies in its place
                    entry.unlink()
        sums = _make(entry, identity, build, sha256)
        _sweep(entry.parent)
        return entry / "content", sums


def _locked(entry: Path, waiting: Callable[[], None]) -> AbstractContextManager[object]:
    lock = FileLock(entry.with_suffix(".lock"))
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        waiting()
        return lock.acquire()


def _verified(entry: Path, sha256: str | None) -> dict[str, str]:
    """Compare the files with the manifest that was written with them, and with ``sha256``."""
    manifest = read_json(entry / "manifest.json")
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ValueError("manifest.json does not list the files")
    kept: dict[str, str] = manifest["files"]
    for name, sha256_now in checksums(entry / "content", kept).items():
        compare(name, sha256_now, kept[name])
    compare("the content", combined(kept), sha256)
    return kept


def _make(
    entry: Path, identity: Mapping[str, Any], build: Build, sha256: str | None
) -> dict[str, str]:
    """Build under another name, and rename the whole entry at the end."""
    work = entry.with_suffix(".work")
    content, downloads = work / "content", work / "downloads"
    shutil.rmtree(content, ignore_errors=True)  # half-written by a run that was killed
    content.mkdir(parents=True)
    downloads.mkdir(exist_ok=True)
    try:
        build(downloads, content)
        sums = checksums(content, files_below(content))
        compare("the content", combined(sums), sha256)
    except DownloadError:
        raise  # the next call continues the download
    except Exception:
        shutil.rmtree(work)  # the downloads are wrong, or there is no room for them
        raise
    write_json(work / "manifest.json", {"identity": identity, "files": sums})
    # A client whose parent was killed may still write here; that does no harm.
    shutil.rmtree(downloads, ignore_errors=True)
    work.rename(entry)
    return sums


def _sweep(folder: Path) -> None:
    """Remove unfinished entries that are older than a week."""
    for work in folder.glob("*.work"):
        try:
            with FileLock(work.with_suffix(".lock"), timeout=0):
                if work.exists() and time.time() - work.stat().st_mtime > ABANDONED_SECONDS:
                    shutil.rmtree(work)
        except (Timeout, OSError):
            continue


def files_below(folder: Path) -> list[str]:
    """Names of all files below a folder, relative to it, sorted."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
