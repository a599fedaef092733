"""The table of data sets: what was measured beside what the paper prints, and every departure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from nddv.reporting.frames import Gaps, in_paper
from nddv.reporting.registry import Result

NOT_LOADED = "not part of this configuration"
KINDS = {"table": "Tabular", "text": "Text", "image": "Image"}
PRINTED = ("rows", "features", "minority")
UNITS = {"rows": "rows", "features": "dimensions"}
MEASURED = ("title", "rows", "features", "classes", "minority", "source", "checksum")
COLUMNS = ["dataset", "title", "type", "rows", "rows_paper", "features", "features_paper"]
COLUMNS += ["classes", "minority", "minority_paper", "group", "encoder", "source", "checksum"]

Needed = Sequence[tuple[str, int, Mapping[str, int]]]
"""Data set, n and rows of every part, for each problem."""


def dataset_table(
    summaries: Sequence[Mapping[str, Any]], needed: Needed, published: pd.DataFrame, gaps: Gaps
) -> Result:
    """One row for every data set that was loaded; then, as gaps, those that were not.

    The notes name the data sets that a reader cannot load without files of her own.

    Parameters
    ----------
    summaries : of each data set that was loaded (:func:`nddv.problems.datasets.summary`).
    needed : what the problems need.
    published : the paper's table: dataset, title, rows, features, classes, minority, ..., encoder.
    gaps : problems whose data set is not available: ``dataset``, ``title``, ``data``, ``reason``.
    """
    paper = {row["dataset"]: row for row in published.fillna({"encoder": ""}).to_dict("records")}
    rows: dict[str, dict[str, Any]] = {}
    for summary in summaries:
        name = summary["dataset"]
        printed = paper.get(in_paper(name))
        notes = [*_departures(summary, printed), *_resampled(summary, needed), *summary["notes"]]
        rows[name] = {
            **{key: summary[key] for key in MEASURED},
            "type": KINDS[summary["data"]],
            "group": summary["group"] or ("Class label" if summary["classes"] else ""),
            "deviations": "; ".join(notes),
        }
    for gap in gaps:
        about = {"title": gap["title"] or in_paper(gap["dataset"]), "type": KINDS[gap["data"]]}
        rows.setdefault(gap["dataset"], {**about, "deviations": gap["reason"]})
    shown = {in_paper(name) for name in rows}
    for name, printed in paper.items():
        if name not in shown:
            about = {key: printed[key] for key in ("title", "type", "group")}
            rows[name] = {**about, "deviations": NOT_LOADED}
    for name, row in rows.items():
        printed = paper.get(in_paper(name), {})
        row |= {"dataset": name, "encoder": name.partition("@")[2]}
        row |= {f"{key}_paper": printed[key] for key in PRINTED if key in printed}
    return Result(pd.DataFrame(rows.values(), columns=[*COLUMNS, "deviations"]), _local(summaries))


def _local(summaries: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    names = [summary["dataset"] for summary in summaries if summary["kind"] == "local"]
    if not names:
        return ()
    return (
        f"Made from local files, in the folder that NDDV_DATA names: {', '.join(names)}. Without "
        "these files their rows are gaps in all tables, or come from another source of the entry.",
    )


def _departures(summary: Mapping[str, Any], printed: Mapping[str, Any] | None) -> list[str]:
    """In what the numbers and the making of a data set differ from the paper's."""
    if printed is None:
        return ["not in the paper"]
    notes = []
    if summary["kind"] == "generated":
        notes.append("drawn from its formula: equivalent rows, not the published ones")
    for key, unit in UNITS.items():
        if not pd.isna(printed[key]) and summary[key] != printed[key]:
            notes.append(f"{summary[key]} {unit} instead of {printed[key]:.0f}")
    encoder = summary["dataset"].partition("@")[2]
    if printed["encoder"] and encoder != printed["encoder"]:
        notes.append(f"encoder {encoder} instead of {printed['encoder']}")
    return notes


def _resampled(summary: Mapping[str, Any], needed: Needed) -> list[str]:
    """The sizes at which the data set has too few rows, so that they were drawn repeatedly."""
    own = [(n, sum(parts.values())) for name, n, parts in needed if name == summary["dataset"]]
    sizes = sorted({n for n, rows in own if rows > summary["rows"]})
    return [f"n={n} is drawn with replacement, from disjoint rows for every part" for n in sizes]
