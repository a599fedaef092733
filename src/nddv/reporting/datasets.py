"""The table of data sets: what was measured beside what the paper prints, and every departure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

NOT_LOADED = "not part of this configuration"
KINDS = {"table": "Tabular", "text": "Text", "image": "Image"}

MEASURED = ("dataset", "title", "rows", "features", "classes", "minority", "source", "checksum")
HEADINGS = {
    "title": "Data set",
    "type": "Type",
    "rows": "Rows",
    "rows_paper": "Rows in the paper",
    "features": "Dimension",
    "features_paper": "Dimension in the paper",
    "classes": "Classes",
    "minority": "Smallest class",
    "minority_paper": "Smallest class in the paper",
    "group": "Group",
    "encoder": "Encoder",
    "source": "Source used",
    "checksum": "Checksum",
    "deviations": "Departures from the paper",
}


def read_published_datasets(path: str | Path) -> pd.DataFrame:
    """Read the paper's table: dataset, title, rows, features, classes, minority, ..., encoder."""
    return pd.read_csv(path, comment="#").fillna({"encoder": ""})


def dataset_table(
    measured: Sequence[Mapping[str, Any]],
    needed: Sequence[tuple[str, int, Mapping[str, int]]],
    published: pd.DataFrame,
    gaps: Sequence[Mapping[str, Any]],
) -> pd.DataFrame:
    """One row for every data set that was loaded; then, as gaps, those that were not.

    Parameters
    ----------
    measured : the summary of each data set (:func:`nddv.problems.datasets.summary`).
    needed : data set, n and rows of every part, for each problem.
    published : as :func:`read_published_datasets` gives it.
    gaps : problems whose data set could not be had: ``dataset``, ``title``, ``data``, ``reason``.
    """
    paper = published.set_index("dataset")
    rows = []
    for one in measured:
        base, _, encoder = one["dataset"].partition("@")
        printed = paper.loc[base] if base in paper.index else None
        row: dict[str, Any] = {
            **{key: one[key] for key in MEASURED},
            "type": KINDS[one["data"]],
            "group": one["group"] or "Class label",
            "encoder": encoder,
            **_printed(printed),
        }
        notes = [*_departures(one, encoder, printed), *_resampled(one, needed), *one["notes"]]
        rows.append({**row, "deviations": "; ".join(notes)})
    named = {one["dataset"] for one in measured}
    for gap in gaps:
        if gap["dataset"] not in named:
            base, _, encoder = gap["dataset"].partition("@")
            about = {
                "title": gap["title"] or base,
                "type": KINDS[gap["data"]],
                "encoder": encoder,
            }
            printed = paper.loc[base] if base in paper.index else None
            row = {"dataset": gap["dataset"], **about, **_printed(printed)}
            rows.append({**row, "deviations": gap["reason"]})
            named.add(gap["dataset"])
    for base, printed in paper.iterrows():
        if base not in {name.partition("@")[0] for name in named}:
            about = {key: printed[key] for key in ("title", "type", "group")}
            rows.append({"dataset": base, **about, **_printed(printed), "deviations": NOT_LOADED})
    return pd.DataFrame(rows).reindex(columns=["dataset", *HEADINGS])


def _printed(printed: pd.Series | None) -> dict[str, Any]:
    """What the paper prints, in columns of its own."""
    keys = ("rows", "features", "minority")
    return {} if printed is None else {f"{key}_paper": printed[key] for key in keys}


def _departures(one: Mapping[str, Any], encoder: str, printed: pd.Series | None) -> list[str]:
    """In what the numbers and the making of a data set differ from the paper's."""
    if printed is None:
        return ["not in the paper"]
    found = []
    if one["kind"] == "generated":
        found.append("drawn from its formula: equivalent rows, not the published ones")
    for key in ("rows", "features"):
        if not pd.isna(printed[key]) and one[key] != printed[key]:
            what = {"rows": "rows", "features": "dimensions"}[key]
            found.append(f"{one[key]} {what} instead of {printed[key]:.0f}")
    if printed["encoder"] and encoder != printed["encoder"]:
        found.append(f"encoder {encoder} instead of {printed['encoder']}")
    return found


def _resampled(
    one: Mapping[str, Any], needed: Sequence[tuple[str, int, Mapping[str, int]]]
) -> list[str]:
    """The sizes at which the data set has too few rows, so that they were drawn repeatedly."""
    sizes = {
        n
        for name, n, parts in needed
        if name == one["dataset"] and sum(parts.values()) > one["rows"]
    }
    return [
        f"n={n} is drawn with replacement, from disjoint rows for every part" for n in sorted(sizes)
    ]


def format_datasets(table: pd.DataFrame) -> pd.DataFrame:
    """Turn the table into text, with ``—`` where there is no number."""
    text = pd.DataFrame(index=table.index)
    for name, heading in HEADINGS.items():
        digits = 3 if name.startswith("minority") else 0
        text[heading] = [_cell(value, digits) for value in table[name]]
    return text


def _cell(value: Any, digits: int) -> str:
    if pd.isna(value) or value == "":
        return "—"
    return value if isinstance(value, str) else f"{float(value):.{digits}f}"
