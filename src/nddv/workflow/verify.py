"""Compare a run with the committed one: scores seed by seed, and tables within the spread.

    python -m nddv.workflow.verify                 # this working copy with git's HEAD
    python -m nddv.workflow.verify results/quick   # a run in another folder with git's HEAD
    python -m nddv.workflow.verify results/quick --kept ../other

A score of detection has one seed. Where the rows of the data set and the settings of the method are
the same, too, it should be the same number; it differs if it moved by more than the spread over
seeds. Tables have means: :mod:`nddv.reporting.comparing`. Ends with status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from nddv.reporting.comparing import MOST, TABLES, compare, read_folder, redrawn_datasets
from nddv.reporting.numbers import ROUNDING
from nddv.support.files import read_csv, read_json
from nddv.workflow.kept import ARCHIVE, RESULTS, unpack

DATASETS = "datasets"  # the table that says which rows a run has
PROBLEM = ["dataset", "n", "corruption", "method"]
SCORES = ("f1_budget", "area", "auroc")
SAME = 1e-9  # what the digits of a file may lose


def read_scores(run: Path) -> pd.DataFrame:
    """Scores of detection of a run by problem, method and seed, with a hash of the settings."""
    frames = [pd.DataFrame(columns=[*PROBLEM, "seed", "settings", *SCORES])]
    for path in sorted((run / RESULTS / "evaluation").glob("*/*/*/detection.csv")):
        frame = read_csv(path)
        values = run / RESULTS / "values" / Path(*path.parts[-4:-1])
        records = [
            values / f"seed{seed}" / f"{method}.json"
            for method, seed in zip(frame["method"], frame["seed"], strict=True)
        ]
        frame["settings"] = [
            read_json(record)["params_hash"] if record.exists() else "" for record in records
        ]
        frames.append(frame[frames[0].columns])
    return pd.concat(frames[1:] or frames, ignore_index=True)


def compare_scores(
    kept: pd.DataFrame, made: pd.DataFrame, redrawn: Sequence[str]
) -> tuple[list[str], bool]:
    """What is to be said of scores of the same rows, settings and seed; whether none differs.

    redrawn : the data sets whose rows are not the same on both sides.
    """
    spreads = kept.groupby(PROBLEM)[list(SCORES)].transform("std")
    kept = kept.assign(**{f"{score}_sd": spreads[score] for score in SCORES})
    both = kept.merge(made, on=[*PROBLEM, "seed"], suffixes=("", "_made"))
    other_rows = both["dataset"].isin(redrawn)
    other_settings = ~other_rows & (both["settings"] != both["settings_made"])
    same = both[~other_rows & ~other_settings]
    equal = within = 0
    differ = []
    for score in SCORES:
        moved = (same[f"{score}_made"] - same[score]).abs()
        far = moved > same[f"{score}_sd"].fillna(0.0) + ROUNDING
        equal += int((moved <= SAME).sum())
        within += int(((moved > SAME) & ~far).sum())
        differ += [
            f"{row.dataset}, {row.n}, {row.corruption}, {row.method}, seed {row.seed}: "
            f"{score} was {getattr(row, score):.4g}, is {getattr(row, f'{score}_made'):.4g}"
            for row in same[far].itertuples()
        ]
    lines = [f"  differs: {text}" for text in differ[:MOST]]
    if len(differ) > MOST:
        lines.append(f"  differs: {len(differ) - MOST} more")
    lines.append(
        f"Scores of the same rows, settings and seed: {equal:,} are equal, {within:,} within the "
        f"spread, {len(differ):,} differ. Not compared: {int(other_rows.sum()):,} values of other "
        f"rows, {int(other_settings.sum()):,} of other settings."
    )
    return lines, not differ


def committed(folder: Path, root: Path = Path()) -> None:
    """Put the tables and scores that git's HEAD has into a folder."""
    _extract(TABLES, folder, root)
    try:
        _extract(ARCHIVE, folder, root)
    except FileNotFoundError:
        return  # no scores were kept
    unpack(folder)


def _extract(path: Path, folder: Path, root: Path) -> None:
    command = ["git", "-C", str(root), "archive", "HEAD", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        raise FileNotFoundError(
            f"git has no committed {path} here ({said.decode().strip()}); name a folder: --kept"
        ) from error
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def compare_runs(kept: Path, made: Path) -> tuple[list[str], bool]:
    """What is to be said of two runs, and whether nothing differs that should be the same."""
    tables = [read_folder(run / TABLES) for run in (kept, made)]
    redrawn = redrawn_datasets(*(of_run.get(DATASETS) for of_run in tables))
    lines, tables_agree = compare(*tables)
    if redrawn:
        lines.append(f"Data sets with other rows: {', '.join(redrawn)}.")
    said, scores_agree = compare_scores(read_scores(kept), read_scores(made), redrawn)
    return [*lines, *said], tables_agree and scores_agree


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, say what differs, and return 1 if something does."""
    parser = argparse.ArgumentParser(prog="python -m nddv.workflow.verify", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", nargs="?", default=".", help="folder of the run (default: this one)")
    parser.add_argument("--kept", help="folder of the run to compare with (default: git's HEAD)")
    chosen = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            if not chosen.kept:
                committed(Path(folder))
            lines, same = compare_runs(Path(chosen.kept or folder), Path(chosen.run))
    except (FileNotFoundError, ValueError) as error:
        print(f"verify: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
