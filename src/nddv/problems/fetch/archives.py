"""Files out of zip and tar archives, without trust in the names that the archive gives them.

Wheels are zip archives, npm packages are ``tar.gz`` ones. Nothing in them is installed or executed.
"""

from __future__ import annotations

import lzma
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

from nddv.problems.fetch.errors import ArchiveError, UnsafeArchive

SHOWN_NAMES = 5
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    # Of an encrypted or exotic zip member.
    NotImplementedError,
    RuntimeError,
)
_ZIP_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)  # 0: written on a system that tells no kind


@dataclass(frozen=True)
class Archive:
    """An open archive: its regular files in the order in which they lie in it."""

    files: list[str]
    open: Callable[[str], IO[bytes]]


def extract(archives: Sequence[Path], patterns: Sequence[str], folder: Path) -> None:
    """Write the files of ``archives`` that match one of ``patterns`` below ``folder``.

    Patterns are those of :mod:`fnmatch`, compared with the full name: ``"package/data/*.bin"``.
    Every pattern must match something, and no two files may have one name.
    """
    missed = set(patterns)
    seen: list[str] = []
    for path in archives:
        with open_archive(path) as archive:
            seen += archive.files
            for name in archive.files:
                hits = [pattern for pattern in patterns if fnmatchcase(name, pattern)]
                missed.difference_update(hits)
                if hits:
                    _write(archive, name, folder / name)
    _refuse_missed(archives, missed, seen)


def join(archives: Sequence[Path], pattern: str, target: Path) -> None:
    """Write the files of ``archives`` that match ``pattern``, one after the other in name order."""
    parts: list[tuple[str, Path]] = []
    seen: list[str] = []
    for path in archives:
        with open_archive(path) as archive:
            seen += archive.files
            parts += [(name, path) for name in archive.files if fnmatchcase(name, pattern)]
    _refuse_missed(archives, set() if parts else {pattern}, seen)
    with target.open("wb") as joined:
        for name, path in sorted(parts):
            with open_archive(path) as archive, archive.open(name) as part:
                shutil.copyfileobj(part, joined, 1 << 20)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a zip or tar archive, told by its content, after a look at every name in it."""
    try:
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        with _open_zip(path) if is_zip else _open_tar(path) as archive:
            yield archive
    except ArchiveError:
        raise
    except _DAMAGE as error:
        raise ArchiveError(f"{path.name} is no archive, or a damaged one ({error})") from error


@contextmanager
def _open_zip(path: Path) -> Iterator[Archive]:
    with zipfile.ZipFile(path) as source:
        for member in source.infolist():
            # `filename` has been put in shape for this system; the name as stored is what counts.
            check_name(member.orig_filename, path.name)
            if stat.S_IFMT(member.external_attr >> 16) not in _ZIP_KINDS:
                raise UnsafeArchive(f"{path.name} has a link or device: {member.orig_filename!r}")
        members = {_plain(m.filename): m for m in source.infolist() if not m.is_dir()}
        yield Archive(list(members), lambda name: source.open(members[name]))


@contextmanager
def _open_tar(path: Path) -> Iterator[Archive]:
    with tarfile.open(path) as source:
        for member in source:
            check_name(member.name, path.name)
            if not (member.isreg() or member.isdir()):
                raise UnsafeArchive(f"{path.name} has a link or device: {member.name!r}")
        _read_to_end(source)
        members = {_plain(m.name): m for m in source.getmembers() if m.isreg()}

        def open_member(name: str) -> IO[bytes]:
            file = source.extractfile(members[name])
            assert file is not None  # it is a regular file
            return file

        yield Archive(list(members), open_member)


def _read_to_end(source: tarfile.TarFile) -> None:
    """Make sure that a tar archive has its end: tarfile takes one cut between members for whole."""
    assert source.fileobj is not None
    source.fileobj.seek(source.offset)
    if source.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("it ends too early")
    while source.fileobj.read(1 << 20):  # a compressed one has its checksum at the very end
        pass


def check_name(name: str, archive: str) -> None:
    """Refuse a name that could lead out of the folder it is written to, on any system."""
    if (
        name.startswith("/")
        or "\\" in name
        or "\0" in name
        or ".." in name.split("/")
        or re.match("[A-Za-z]:", name)
    ):
        raise UnsafeArchive(f"{archive} has a member that leads out of its folder: {name!r}")


def _plain(name: str) -> str:
    """A name without the leading ``./`` that some tar archives have."""
    return PurePosixPath(name).as_posix()


def _write(archive: Archive, name: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(name) as source, target.open("xb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
    except FileExistsError:
        raise ArchiveError(f"two of the archives hold a file named {name}") from None


def _refuse_missed(archives: Sequence[Path], missed: set[str], seen: Sequence[str]) -> None:
    if missed:
        shown = ", ".join(sorted(seen)[:SHOWN_NAMES]) or "nothing"
        more = f" and {len(seen) - SHOWN_NAMES} more" if len(seen) > SHOWN_NAMES else ""
        raise ArchiveError(
            f"nothing in {', '.join(path.name for path in archives)} matches "
            f"{', '.join(sorted(missed))}; there are {shown}{more}"
        )
