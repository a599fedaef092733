"""Runs that the command line keeps for rows to come: how a table became features, and the run."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nddv.cli.inputs import Inputs
from nddv.cli.media import Media
from nddv.tabular.files import TableError

if TYPE_CHECKING:
    from nddv.checks.report import Report
    from nddv.checks.saved import SavedRun


def check_folder(folder: Path, force: bool) -> None:
    """Refuse a folder that a run must not be written to."""
    from nddv.checks.saved import check_folder

    try:
        check_folder(folder, force)
    except ValueError as error:
        raise TableError(f"--save {error} (--force replaces a run)") from error


def save(arguments: argparse.Namespace, inputs: Inputs, report: Report) -> None:
    """Keep the run, with all that turns other rows into its features."""
    from nddv.checks.saved import SavedRun, save_run

    about = {
        "target": inputs.target,
        "folder": arguments.data.is_dir(),
        "media": [asdict(column) for column in inputs.media],
        "input": {"file": arguments.data.name, "sha256": inputs.sha256},
    }
    run = SavedRun.of(report.model, report.labels, inputs.encoding, about)
    # notices are of the table that was valued
    kept = replace(run, encoding=replace(inputs.encoding, notices=[]))
    save_run(arguments.save, kept, replace=arguments.force)


def load(folder: Path) -> tuple[SavedRun, dict[str, Any], tuple[Media, ...]]:
    """A run that `save` wrote, what it was told of its table, and its texts and pictures."""
    from nddv.checks.saved import load_run

    run = load_run(folder)
    about = run.record
    if run.encoding is None or "target" not in about:
        raise TableError(
            f"{folder} was saved from Python, which knows of no columns of a table: score rows "
            "with nddv.load_run"
        )
    return run, about, tuple(Media(**column) for column in about["media"])
