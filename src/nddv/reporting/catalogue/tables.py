"""The tables of the report: the entries of ``tables.yaml``, and those of tables of detection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nddv.reporting.catalogue.files import read
from nddv.reporting.claims import SCORES
from nddv.reporting.registry import Table

_HEADINGS: dict[str, str] = read("headings.yaml") | {s.column: s.title for s in SCORES}


def _table(
    name: str,
    columns: str,
    csv_only: str = "",
    headings: Mapping[str, str] | None = None,
    about: str | Sequence[str] = "",
    **entry: Any,
) -> Table:
    """An entry as it is written.

    columns, csv_only : names with spaces between them; those that the text shows, in its order.
    headings : other headings than those of all tables.
    about : sentences, or several parts of them.
    """
    known = _HEADINGS | dict(headings or {})
    named = {column: known.get(column) or _of_the_paper(column) for column in columns.split()}
    named |= dict.fromkeys(csv_only.split(), "")
    about = about if isinstance(about, str) else " ".join(about)
    return Table(name=name, columns=named, about=about, **entry)


def _of_the_paper(column: str) -> str:
    return _HEADINGS[column.removeprefix("published_").removesuffix("_paper")] + " in the paper"


def experiment_table(
    name: str,
    title: str,
    across: str,
    caption: str = "",
    label: str = "",
    part: str = "experiments",
) -> Table:
    """The entry of a table of detection.

    across : the column of the problem whose values become the columns of the text.
    """
    return _table(
        name,
        columns=" ".join(key for key in ("dataset", "n", "corruption", "title") if key != across),
        csv_only=f"{across} method runs f1 published two_means two_means_precision "
        "two_means_recall two_means_at_least two_means_at_least_precision "
        "two_means_at_least_recall area auroc seconds published_area note",
        title=title,
        caption=caption,
        label=label,
        part=part,
        about="F1 of detection, budget-matched: as many points are flagged, the lowest values, as "
        "are corrupted. Bold: the best of a column. In brackets: the number that the paper prints. "
        "Ceiling: what a detector can expect at best that knows P(y|x), where that is known. "
        "Other rules, areas, AUROC and seconds are in the CSV.",
        function="nddv.reporting.tables.detection:detection_table",
        reads={
            "scores": f"experiment_scores:{name}",
            "published": f"published:{name}",
            "ceilings": f"ceilings:{name}",
        },
        facts={"methods": f"experiment_methods:{name}", "gaps": f"experiment_gaps:{name}"},
        layout="nddv.reporting.tables.detection:lay_out",
    )


_DETECTION = {
    1000: (
        "F1 of detecting 10 % wrong labels among 1000 points, with the published number beside the "
        "measured one.",
        "tab:mislabeled_data_detection",
    ),
    10_000: (
        "The same among 10,000 points, for the methods that scale.",
        "tab:mislabeled_data_detection_n10000",
    ),
}


def detection_table(n: int) -> Table:
    """The entry of the table of detection of the main problems with n points."""
    caption, label = _DETECTION.get(n, (f"F1 of detection among {n} points.", ""))
    title = f"Detection of corrupted training points, n = {n}"
    return experiment_table(f"detection_n{n}", title, "dataset", caption, label, "detection")


TABLES = {name: _table(name, **entry) for name, entry in read("tables.yaml").items()}
"""The tables that every configuration may ask for; those of detection follow from it."""
