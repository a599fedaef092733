"""Notice damage: what a job of the workflow reads is what an earlier one wrote.

    python -m nddv.support.integrity                 # all results of this folder
    python -m nddv.support.integrity results/quick   # all results of a run in another folder

When a job ends, the checksum of every file that it wrote below ``results`` is kept in a small file
of its own: that of ``results/data/iris/labels.npz`` in
``results/checksums/data/iris/labels.npz.json``. Before a job works, its inputs are compared with
their checksums. The import needs the standard library only, as every job needs it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from nddv.support.files import read_json, write_json

RESULTS = "results"
CHECKSUMS = "checksums"
REMEDY = "delete it and give the same command again"


@dataclass(frozen=True)
class Checksum:
    """What was written to a file, and by which job: its rule and the log that names it."""

    sha256: str
    size: int
    rule: str
    log: str


class DamagedError(ValueError):
    """A file is not what was written to it."""


@contextmanager
def checked_files(
    read: Iterable[str], written: Iterable[str], rule: str, log: str
) -> Iterator[None]:
    """Check what a job reads before the block runs; keep checksums of what it wrote after that.

    Files that are not below ``results`` are left alone: they are the user's, or tracked by git.
    """
    written = list(written)
    for path in results_of(written):  # of an earlier run; they would accuse the new files
        keeper(path).unlink(missing_ok=True)
    check(read)
    yield
    for path in results_of(written):
        if path.exists():  # Snakemake itself tells of a file that was not written
            keep(path, rule, log)


def results_of(paths: Iterable[str]) -> list[Path]:
    """The files below ``results`` among some paths, each once; a folder stands for its files."""
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.parts[0] == RESULTS:
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            found.update(dict.fromkeys(file for file in files if not file.is_dir()))
    return list(found)


def keeper(path: Path) -> Path:
    """The file that has the checksum of a result."""
    return Path(RESULTS, CHECKSUMS, *path.parts[1:-1], f"{path.name}.json")


def keep(path: Path, rule: str, log: str) -> None:
    """Write down the checksum of a result, and which job made it."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = os.fstat(file.fileno()).st_size
    write_json(keeper(path), asdict(Checksum(digest, size, rule, log)))


def check(paths: Iterable[str]) -> None:
    """Refuse results that are not what was written; say of which no checksum is known."""
    unknown, damaged = [], []
    for path in results_of(paths):
        if keeper(path).exists():
            damaged += damage_of(path, keeper(path))
        else:
            unknown.append(path)
    if unknown:
        more = f" and {len(unknown) - 1} other inputs" if len(unknown) > 1 else ""
        print(f"no checksum is known of {unknown[0]}{more}: not checked", file=sys.stderr)
    if damaged:
        others = f"; so are {len(damaged) - 1} others" if len(damaged) > 1 else ""
        every = " (python -m nddv.support.integrity names all)" if others else ""
        raise DamagedError(f"{damaged[0]}{others}{every}")


def damage_of(path: Path, kept: Path) -> list[str]:
    """A sentence on what is wrong with a file; none if it is as the checksum in ``kept`` says."""
    try:
        expected = Checksum(**read_json(kept))
    except (TypeError, ValueError):
        return [f"{kept} is damaged: it is no record of a checksum; {REMEDY}"]
    # The size after opening: only then does a network file system look at the file again.
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size != expected.size:
            what = f"it has {size:,} bytes, and {expected.rule} wrote {expected.size}"
        elif hashlib.file_digest(file, "sha256").hexdigest() != expected.sha256:
            what = f"its bytes are not those that {expected.rule} wrote"
        else:
            return []
    return [f"{path} is damaged: {what} (log: {expected.log}); {REMEDY}"]


def check_all(run: Path) -> tuple[list[str], str]:
    """Check every result of a run that has a checksum.

    Returns
    -------
    damaged : a sentence for each.
    summary : how many files there are, in one line.
    """
    results = run / RESULTS
    checksums = results / CHECKSUMS
    kept = {
        results / one.relative_to(checksums).with_suffix(""): one
        for one in sorted(checksums.rglob("[!.]*.json"))
    }
    there = {path: one for path, one in kept.items() if path.exists()}
    damaged = [line for path, one in there.items() for line in damage_of(path, one)]
    size = sum(path.stat().st_size for path in there)
    # Below the same folders only: others, as those of another run, are not the workflow's.
    folders = [results / one.name for one in checksums.glob("*")]
    files = {path for one in folders for path in one.rglob("[!.]*") if path.is_file()}
    return damaged, (
        f"{results}: {len(there):,} files with a checksum ({size / 1e6:,.1f} MB), "
        f"{len(damaged):,} damaged; {len(files - kept.keys()):,} without a checksum, "
        f"{len(kept) - len(there):,} deleted since"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all results of a run, name what is damaged, and return 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m nddv.support.integrity", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", nargs="?", default=".", help="folder of the run (default: this one)")
    damaged, summary = check_all(Path(parser.parse_args(arguments).run))
    print("\n".join([*damaged, summary]))
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
