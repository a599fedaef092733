"""Keep what tables and figures are made of, so that nobody has to compute it again.

    python -m nddv.workflow.kept pack      # results -> results/kept.tar.xz
    python -m nddv.workflow.kept unpack    # results/kept.tar.xz -> results

The archive has the scores and records of a run (CSV and JSON files) and none of its arrays: it is
small enough to travel with the reports. After unpacking, Snakemake makes tables and figures from
it, and computes only what it lacks: a run goes on where it ended on another machine. Times of files
are kept, since Snakemake compares them (``--rerun-triggers mtime``). It notices no other change: a
problem that is asked for with other methods or settings has to be deleted from the results first.
"""

from __future__ import annotations

import argparse
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from nddv.support.files import atomic_write

RESULTS, ARCHIVE = Path("results"), Path("results/kept.tar.xz")
SUFFIXES = (".csv", ".json")
LEFT = ("benchmarks", "checksums", "logs", "quick", "redrawn", "tables")
"""Folders of results that stay: they are about a machine, or made from the others in a moment."""
FETCHED = "files.json"  # where fetched files lie on one machine


def kept_files(root: Path) -> Iterator[Path]:
    """The files of a run that are kept, in order, as seen from its folder."""
    for path in sorted((root / RESULTS).rglob("*")):
        below = path.relative_to(root / RESULTS)
        chosen = path.suffix in SUFFIXES and path.name != FETCHED and path.is_file()
        if chosen and below.parts[0] not in LEFT and not path.name.startswith("."):
            yield path.relative_to(root)


def pack(root: Path = Path()) -> list[Path]:
    """Write the archive of the run in a folder; the files that it has."""
    files = list(kept_files(root))
    if not files:
        raise ValueError(f"{root / RESULTS} has no scores or records: run the workflow first")
    with atomic_write(root / ARCHIVE) as path, tarfile.open(path, "w:xz") as archive:
        for file in files:
            archive.add(root / file, str(file), filter=_nobody)
    return files


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Who packed is nobody's business."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(root: Path = Path()) -> list[Path]:
    """Put the files of the archive in their places; one that is there already stays."""
    if not (root / ARCHIVE).exists():
        raise ValueError(f"there is no {root / ARCHIVE}")
    written = []
    with tarfile.open(root / ARCHIVE) as archive:
        for member in archive:
            path = Path(member.name)
            if not (root / path).exists():
                archive.extract(member, root, filter="data")
                written.append(path)
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["pack", "unpack"])
    asked = parser.parse_args(arguments)
    try:
        files = {"pack": pack, "unpack": unpack}[asked.what]()
    except ValueError as error:
        parser.error(str(error))
    print(
        f"{len(files):,} files: {asked.what}ed, {ARCHIVE} has {ARCHIVE.stat().st_size / 1e6:.1f} MB"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
