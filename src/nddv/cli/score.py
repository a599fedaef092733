"""``nddv score``: rows that a saved run has not seen."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.cli.features import encode, prepare
from nddv.cli.folders import read_folder
from nddv.cli.outputs import check_outputs, csv_output, write_outputs
from nddv.cli.runs import load
from nddv.tabular.encoding import read_target
from nddv.tabular.entries import count
from nddv.tabular.files import FileTable, TableError, read_table

SHOWN = 3  # rows that are named, of those left out


def run(arguments: argparse.Namespace) -> None:
    """Score the rows of a table by a saved run and write the result."""
    outputs = {"scores": csv_output(arguments.out, arguments.data, "scores")}
    check_outputs(outputs, [arguments.data], arguments.force)
    saved, about, media = load(arguments.run)
    assert saved.encoding is not None
    start = time.perf_counter()
    notices: list[str] = []
    if about["folder"]:
        table, notices = read_folder(arguments.data)
    else:
        if arguments.data.is_dir():
            raise TableError(f"{arguments.run} scores tables, but {arguments.data} is a folder")
        table = read_table(arguments.data, arguments.separator, arguments.encoding, arguments.na)
    table.check_columns(arguments.id, "kept")
    target = about["target"]
    labelled = target in table.frame.columns
    y = read_target(table, target, "classification") if labelled else None
    reasons = saved.encoding.unknown_levels(table)
    if y is not None:
        reasons.append(unknown_classes(y, saved.classes, target))
    table, y, excluded = leave_out(table, y, reasons)

    progress = sys.stderr.isatty() and not arguments.quiet
    prepared = prepare(table, saved.encoding, media)
    features = encode(prepared, arguments.device, progress, notices)
    if y is not None:
        y = y[features.kept]
    excluded = pd.concat([excluded, features.excluded]).sort_values("row")
    scored = saved.score(features.X, None if y is None else _as_classes(y, saved.classes))
    result = pd.DataFrame({"row": features.table.frame.index.to_numpy(dtype=np.int64) + 1})
    for name in arguments.id:
        taken = name == "row" or name in scored
        result[f"id_{name}" if taken else name] = features.table.frame[name].to_numpy()
    result = result.assign(**{name: scored[name].to_numpy() for name in scored})
    write_outputs(outputs, {"scores": result.to_csv(index=False, lineterminator="\n")})
    if arguments.quiet:
        return
    for notice in notices:
        print(f"nddv: note: {notice}", file=sys.stderr)
    if len(excluded):
        shown = "; ".join(f"row {r} ({why})" for r, why in excluded.head(SHOWN).to_numpy())
        more = f" and {len(excluded) - SHOWN} more" if len(excluded) > SHOWN else ""
        left = count(len(excluded), "row")
        print(f"nddv: note: {left} left out: {shown}{more}", file=sys.stderr)
    seconds = time.perf_counter() - start
    print(f"{count(len(result), 'row')} scored in {seconds:.1f} s.")
    if "p_wrong" in result:
        print(f"{(result['p_wrong'] > 0.5).sum()} labels are more likely wrong than right.")
    for name, file in outputs.items():
        print(f"{name:7}{file}")


def unknown_classes(
    y: NDArray[np.generic], classes: NDArray[np.generic], target: str
) -> NDArray[np.object_]:
    """What is to be said of labels that the run does not know; "" where it knows them."""
    known = np.isin(y.astype(str), classes.astype(str))
    said = [f"{target} is {label!r}, which is no class of the run" for label in y.tolist()]
    return np.where(known, "", np.array(said, dtype=object))


def leave_out(
    table: FileTable, y: NDArray[np.generic] | None, reasons: list[NDArray[np.object_]]
) -> tuple[FileTable, NDArray[np.generic] | None, pd.DataFrame]:
    """The rows that can be judged, and the others with their reasons."""
    if not reasons:
        return table, y, pd.DataFrame({"row": [], "reason": []})
    said = ["; ".join(filter(None, row)) for row in zip(*reasons, strict=True)]
    bad = np.array([bool(reason) for reason in said])
    if bad.all():
        raise TableError(f"no row of {table.path} can be scored: {said[0]} ({table.where(0)})")
    excluded = pd.DataFrame(
        {
            "row": table.frame.index.to_numpy(dtype=np.int64)[bad] + 1,
            "reason": np.array(said, dtype=object)[bad],
        }
    )
    kept = replace(table, frame=table.frame[~bad])
    return kept, None if y is None else y[~bad], excluded


def _as_classes(y: NDArray[np.generic], classes: NDArray[np.generic]) -> NDArray[np.generic]:
    """Labels in the type of the classes: a column of a small table may have been read otherwise."""
    order = np.argsort(classes.astype(str))
    places = np.searchsorted(classes.astype(str)[order], y.astype(str))
    return np.asarray(classes[order[places]])
