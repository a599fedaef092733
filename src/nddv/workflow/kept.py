"""Keep what tables and figures are made of, so that nobody has to compute it again.

    python -m nddv.workflow.kept pack      # results -> results/kept.tar.xz
    python -m nddv.workflow.kept unpack    # results/kept.tar.xz -> results
    python -m nddv.workflow.kept add RUN   # methods that only the run in another folder has

The archive has the scores and records of a run (CSV and JSON files) and none of its arrays: it is
small enough to travel with the reports. After unpacking, Snakemake makes tables and figures from
it, and computes only what it lacks: a run goes on where it ended on another machine. Times of files
are kept, since Snakemake compares them (``--rerun-triggers mtime``). It notices no other change: a
problem that is asked for with other settings has to be deleted from the results first.

A problem that is asked for with further methods need not be valued by all of them anew. Run these
elsewhere (``--directory``), with a method or more that is kept, and add them: rows of scores are of
one method and one seed each. Methods that both runs have show that the problems are the same: their
AUROC must agree but for the floating point of encoders, which differs between machines.
"""

from __future__ import annotations

import argparse
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from nddv.support.files import atomic_write, read_csv, write_csv

RESULTS, ARCHIVE = Path("results"), Path("results/kept.tar.xz")
SUFFIXES = (".csv", ".json")
LEFT = ("benchmarks", "checksums", "logs", "quick", "redrawn", "tables")
"""Folders of results that stay: they are about a machine, or made from the others in a moment."""
FETCHED = "files.json"  # where fetched files lie on one machine
ROUNDING = 1e-3  # what an AUROC may move by when a data set is encoded on another machine


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


def add(other: Path, root: Path = Path()) -> list[Path]:
    """Add the methods that only the run in another folder has, of problems that both have.

    Nothing is written unless all can be.

    Returns
    -------
    The scores that have grown, and the records that are new.
    """
    grown: dict[Path, pd.DataFrame] = {}
    for path in sorted((other / RESULTS / "evaluation").rglob("detection.csv")):
        if not (root / path.relative_to(other)).exists():
            continue
        _check_same(read_csv(root / path.relative_to(other)), read_csv(path), path)
        for place in sorted(file.relative_to(other) for file in path.parent.glob("*.csv")):
            if (root / place).exists():
                ours, theirs = _read(root / place), _read(other / place)
                known = ours.get("method", [])  # a ceiling has none
                if not theirs.get("method", pd.Series()).isin(known).all():
                    grown[place] = pd.concat([ours, theirs[~theirs["method"].isin(known)]])
    if not grown:
        raise ValueError(f"{other / RESULTS} has no method that is new to a problem of {RESULTS}")
    folders = [Path("results/values", *place.parts[2:-1]) for place in grown]
    records = [
        path.relative_to(other)
        for folder in dict.fromkeys(folders)
        for path in sorted((other / folder).glob("seed*/*.json"))
        if not (root / path.relative_to(other)).exists()
    ]
    for place in records:  # before the scores, which are made from them
        with atomic_write(root / place) as path:
            path.write_bytes((other / place).read_bytes())
    for place, table in grown.items():
        write_csv(root / place, table)
    return [*grown, *records]


def _read(path: Path) -> pd.DataFrame:
    """A table as it is written: numbers stay the words that they are."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _check_same(ours: pd.DataFrame, theirs: pd.DataFrame, path: Path) -> None:
    """Raise unless the methods of both runs, of which there must be one, have the same AUROC."""
    both = ours.merge(theirs, on=["method", "seed"])
    if both.empty:
        raise ValueError(f"{path}: no method is in both runs, so nothing shows that they agree")
    far = both[~((both["auroc_x"] - both["auroc_y"]).abs() <= ROUNDING)]
    if len(far):
        methods = ", ".join(far["method"].unique())
        raise ValueError(f"{path}: not of the same problem, by the AUROC of {methods}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("pack", help="put scores and records into the archive")
    commands.add_parser("unpack", help="take them out of it")
    adding = commands.add_parser("add", help="add methods that only the run in another folder has")
    adding.add_argument("run", type=Path, help="the folder of that run")
    asked = parser.parse_args(arguments)
    try:
        if asked.what == "add":
            print(f"{len(add(asked.run)):,} files of {RESULTS} are new or have more methods")
            return 0
        files = {"pack": pack, "unpack": unpack}[asked.what]()
    except ValueError as error:
        parser.error(str(error))
    print(
        f"{len(files):,} files: {asked.what}ed, {ARCHIVE} has {ARCHIVE.stat().st_size / 1e6:.1f} MB"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
