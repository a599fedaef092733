"""Extract files from zip and tar archives, without trusting the names in the archive.

Wheels are zip archives, npm packages are ``tar.gz`` ones. Nothing in them is installed or executed.
"""

from __future__ import annotations

import gzip
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
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from nddv.problems.fetch.errors import ArchiveError, UnsafeArchive

COPY_BYTES = 1 << 20
SHOWN_NAMES = 5
# RuntimeError is zipfile's for a member that is encrypted, or compressed in an unknown way.
_DAMAGE = (
    *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError),
    *(EOFError, RuntimeError),
)
_ZIP_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)  # 0: written on a system that stores no kind


@dataclass(frozen=True)
class Member:
    """A regular file in an open archive."""

    name: str
    open: Callable[[], IO[bytes]]


def extract(archives: Sequence[Path], patterns: Sequence[str], folder: Path) -> None:
    """Write the files of ``archives`` that match one of ``patterns`` below ``folder``.

    Patterns are those of :mod:`fnmatch`, compared with the full name: ``"package/data/*.bin"``.
    Every pattern must match something, and no two files may have the same name.
    """
    missed, seen = set(patterns), list[str]()
    for path in archives:
        with open_archive(path) as members:
            for member in members:
                seen.append(member.name)
                hits = {pattern for pattern in patterns if fnmatchcase(member.name, pattern)}
                missed -= hits
                if hits:
                    _write(member, folder / member.name)
    _refuse_missed(archives, missed, seen)


def join(archives: Sequence[Path], pattern: str, target: Path) -> None:
    """Write all files of ``archives`` that match ``pattern`` into one file, in name order."""
    parts, seen = list[tuple[str, Path]](), list[str]()
    for path in archives:
        with open_archive(path) as members:
            seen += [member.name for member in members]
            parts += [(m.name, path) for m in members if fnmatchcase(m.name, pattern)]
    _refuse_missed(archives, set() if parts else {pattern}, seen)
    with target.open("wb") as joined:
        for name, path in sorted(parts):
            with open_archive(path) as members:
                member = next(member for member in members if member.name == name)
                with member.open() as part:
                    shutil.copyfileobj(part, joined, COPY_BYTES)


@contextmanager
def open_archive(path: Path) -> Iterator[list[Member]]:
    """Open a zip or tar archive, and check every name in it. The content tells which kind it is.

    Gives the files in the order of the archive.
    """
    try:
        with path.open("rb") as file:
            is_zip = file.read(4) in (b"PK\3\4", b"PK\5\6")
        with _open_zip(path) if is_zip else _open_tar(path) as members:
            yield members
    except ArchiveError:
        raise
    except _DAMAGE as error:
        reason = str(error).partition("\n")[0]
        raise ArchiveError(f"{path.name} is no archive, or a damaged one ({reason})") from error


@contextmanager
def _open_zip(path: Path) -> Iterator[list[Member]]:
    with zipfile.ZipFile(path) as source:
        for info in source.infolist():
            # `filename` is adapted to this system; the stored name must be checked.
            check_name(info.orig_filename, path.name)
            if stat.S_IFMT(info.external_attr >> 16) not in _ZIP_KINDS:
                raise UnsafeArchive(f"{path.name} has a link or device: {info.orig_filename!r}")
        files = [info for info in source.infolist() if not info.is_dir()]
        yield [Member(_plain(info.filename), partial(source.open, info)) for info in files]


@contextmanager
def _open_tar(path: Path) -> Iterator[list[Member]]:
    with tarfile.open(path) as source:
        for info in source:
            check_name(info.name, path.name)
            if not (info.isreg() or info.isdir()):
                raise UnsafeArchive(f"{path.name} has a link or device: {info.name!r}")
        _read_to_end(source)

        def read(info: tarfile.TarInfo) -> IO[bytes]:
            file = source.extractfile(info)
            assert file is not None  # it is a regular file
            return file

        files = [info for info in source if info.isreg()]
        yield [Member(_plain(info.name), partial(read, info)) for info in files]


def _read_to_end(source: tarfile.TarFile) -> None:
    """Check that a tar archive is complete: tarfile does not notice a cut between two members."""
    assert source.fileobj is not None
    source.fileobj.seek(source.offset)
    if source.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("it ends too early")
    while source.fileobj.read(COPY_BYTES):  # a compressed archive has its checksum at the end
        pass


def check_name(name: str, archive: str) -> None:
    """Refuse a name that could lead out of its folder, on any system."""
    if re.match(r"/|[A-Za-z]:", name) or {"\\", "\0"} & set(name) or ".." in name.split("/"):
        raise UnsafeArchive(f"{archive} has a member that leads out of its folder: {name!r}")


def _plain(name: str) -> str:
    """A name without the leading ``./`` that some tar archives have."""
    return PurePosixPath(name).as_posix()


def _write(member: Member, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with member.open() as source, target.open("xb") as file:
            shutil.copyfileobj(source, file, COPY_BYTES)
    except FileExistsError:
        raise ArchiveError(f"there are two files named {member.name}") from None


def _refuse_missed(archives: Sequence[Path], missed: set[str], seen: Sequence[str]) -> None:
    if missed:
        shown = ", ".join(sorted(seen)[:SHOWN_NAMES]) or "nothing"
        more = f" and {len(seen) - SHOWN_NAMES} more" if len(seen) > SHOWN_NAMES else ""
        raise ArchiveError(
            f"nothing in {', '.join(path.name for path in archives)} matches "
            f"{', '.join(sorted(missed))}; there are {shown}{more}"
        )
