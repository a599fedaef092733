"""SHA-256 of files, and of several files together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from nddv.problems.fetch.errors import ChecksumError


def content_sha256(folder: str | Path, files: Iterable[str]) -> str:
    """Checksum of the content of ``files``, which are names relative to ``folder``.

    For one file it is the SHA-256 of its bytes. For several files it is the SHA-256 of the output
    of ``sha256sum FILES``: one line ``<sha256>  <name>`` per file, sorted by name.
    """
    return combined(checksums(folder, files))


def checksums(folder: str | Path, files: Iterable[str]) -> dict[str, str]:
    """SHA-256 of every file, by name."""
    return {name: file_sha256(Path(folder, name)) for name in files}


def file_sha256(path: str | Path) -> str:
    """SHA-256 of the bytes of one file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def combined(sums: Mapping[str, str]) -> str:
    """One checksum from the checksums of several files; see :func:`content_sha256`."""
    if len(sums) == 1:
        return next(iter(sums.values()))
    lines = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    return hashlib.sha256(lines.encode()).hexdigest()


def compare(what: str, actual: str, expected: str | None) -> None:
    """Refuse ``what`` if its checksum is not the expected one; None accepts any."""
    if expected is not None and actual != expected.lower():
        raise ChecksumError(
            f"{what} has SHA-256 {actual}, but {expected} is expected: "
            "it was altered, or cut short, on its way or at its source"
        )
