"""The HTML page of a valuation: one file, nothing fetched from elsewhere.

With a report on the labels it has a list of rows to review, and a script by which a person decides
on each; without the script it is a plain list. Without a report there is no script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from nddv.cli import plots
from nddv.cli.media import Media
from nddv.cli.page_review import FAULTS, complete, entry_text, feature_columns, review, stands_out
from nddv.cli.readouts import low_values
from nddv.dynamics.choices import LEARNED_WEIGHTS
from nddv.dynamics.readouts import default_readout, get_readout
from nddv.tabular.encoding import Encoding
from nddv.tabular.files import FileTable

if TYPE_CHECKING:
    from nddv.checks.report import Report

FOLDER = Path(__file__).parent

SHOWN_ROWS = 15
SHOWN_COLUMNS = 12
SHOWN_CLASSES = 20
SHOWN_GROUPS = 20
SHOWN_TWINS = 10


def render_page(
    table: FileTable,
    result: pd.DataFrame,
    record: Mapping[str, Any],
    history: Mapping[str, Sequence[object]],
    report: Report | None = None,
    media: Sequence[Media] = (),
    X: Any = None,
    encoding: Encoding | None = None,
) -> str:
    """Render the page.

    Parameters
    ----------
    table : the valued table.
    result : (n, …) with columns row, value, rank and flag, in the order of the table.
    record : what was run, as written next to the values.
    history : the estimator's ``history_``.
    report : what was found about the labels; None for targets that are no classes.
    media : columns of texts and pictures.
    X : (n, d) features, from which evidence on the labels is gathered; without them there is none.
    encoding : how columns became the first of these features; without it no column is named.
    """
    target = record["input"]["target"]
    task, readout = record["settings"]["task"], get_readout(record["settings"]["readout"])
    ordered = task in readout.low_is_bad
    order = result["rank"].to_numpy().argsort()
    used = [c["column"] for c in record["columns"]]
    named = list(dict.fromkeys([target, *record["input"]["id"], *used]))
    columns = [name for name in named if name in table.frame]  # not all of a table read in pieces
    lowest, highest = ("Least", "Most") if ordered else ("Lowest", "Highest")
    rows = "valuable rows" if ordered else "values"
    flagged = result["flag"].to_numpy() == 1
    parts: dict[str, Any] = {"report": report}
    if report is not None:
        seen = {target, *(column.column for column in media)}
        described = [c for c in columns if c not in seen]
        features = feature_columns(encoding.columns) if encoding is not None else []
        cards = review(table, result, report, described, media, X, features)
        parts |= _report_parts(table, result, report, columns)
        parts |= {"cards": cards, "evidence": X is not None, "faults": FAULTS, "script": _script()}
    return _template().render(
        title=f"Values of {record['input']['file']}",
        record=record,
        target=target,
        task=task,
        readout=readout,
        advised=default_readout(task).name,
        ordered=ordered,
        low_values=low_values(task, readout),
        steered=record["settings"]["reweighting"] in LEARNED_WEIGHTS,
        histogram=plots.histogram(
            result["value"].to_numpy(),
            flagged,
            "higher is better" if ordered else "low does not mean bad",
        ),
        curve=plots.curve(record["curve"]) if "curve" in record else None,
        history=plots.history(history),
        runs=plots.run_looks(history),
        columns=columns[:SHOWN_COLUMNS],
        hidden_columns=len(named) - len(columns[:SHOWN_COLUMNS]),
        sections=[
            (f"{lowest} {rows}", "low", _rows(table, result, order[::-1], columns)),
            (f"{highest} {rows}", "high", _rows(table, result, order, columns)),
        ],
        classes=_classes(table.frame[target], result) if task == "classification" else [],
        settings=sorted(record["settings"].items()),
        estimator=json.dumps(record["estimator"], indent=2, sort_keys=True),
        **parts,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = plots.number
    environment.filters["percent"] = _percent
    environment.filters["entry"] = entry_text
    return environment.get_template("page.html")


@cache
def _script() -> dict[str, Markup]:
    """The page's own script, and its hash: by this the browser runs no other."""
    text = (FOLDER / "page_review.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return {"text": Markup(text), "hash": Markup(f"sha256-{digest}")}


def _report_parts(
    table: FileTable, result: pd.DataFrame, report: Report, columns: Sequence[str]
) -> dict[str, Any]:
    """What the report says besides the review list."""
    rows, flagged = complete(report.rows), result["flag"].to_numpy() == 1
    strange = np.flatnonzero(rows["outlier"])
    strange = strange[np.argsort(rows["typicality"].to_numpy()[strange], kind="stable")]
    scored = result.assign(value=rows["typicality"].to_numpy())
    worse = report.groups[report.groups["worse"]]
    by_label = result["flag"].groupby(rows["label"].to_numpy()).sum()
    classes = report.classes.assign(flagged=report.classes["label"].map(by_label).fillna(0))
    parts = {
        "to_review": int(np.any([*stands_out(rows, flagged).values()], axis=0).sum()),
        "probabilities": plots.probabilities(rows["p_wrong"].to_numpy()),
        "by_class": classes.nlargest(SHOWN_CLASSES, "wrong").to_dict("records"),
        "all_classes": len(classes),
        "worse": worse.head(SHOWN_GROUPS).to_dict("records"),
        "all_worse": len(worse),
        "outliers": len(strange),
        "strange": _rows(table, scored, strange, columns, share=1),
    }
    if report.duplicates is not None:
        groups = report.duplicates.groups()
        conflicts = groups[groups["conflict"].astype(bool)]
        parts |= {
            "twins": conflicts.head(SHOWN_GROUPS).to_dict("records"),
            "conflicts": len(conflicts),
            "agreeing": len(groups) - len(conflicts),
            "shown_twins": SHOWN_TWINS,
            "places": result["row"].tolist(),
        }
    return parts


def _rows(
    table: FileTable,
    result: pd.DataFrame,
    order: np.ndarray[Any, Any],
    columns: Sequence[str],
    share: float = 0.5,
) -> list[dict[str, Any]]:
    """The first rows of an order, but not more than a share of it, each with its entries."""
    shown = order[: min(SHOWN_ROWS, int(share * len(order)))]
    entries = table.frame[list(columns[:SHOWN_COLUMNS])].iloc[shown].map(entry_text).to_numpy()
    lines = result.iloc[shown].to_dict("records")
    return [{**line, "entries": own} for line, own in zip(lines, entries, strict=True)]


def _percent(share: float) -> str:
    """A share in percent: never 0 or 100 for what is not certain."""
    if 0.995 <= share < 1:
        return "> 99 %"
    if 0 < share < 0.005:
        return "< 1 %"
    return f"{100 * share:.0f} %"


def _classes(target: pd.Series, result: pd.DataFrame) -> list[dict[str, Any]]:
    """Values by class; none where there are too many classes for a table."""
    if target.nunique() > SHOWN_CLASSES:
        return []
    groups = result.groupby(target.astype(str).to_numpy())
    named = {"rows": ("value", "size"), "mean": ("value", "mean"), "flagged": ("flag", "sum")}
    classes = groups.agg(**named).rename(index=entry_text).rename_axis("name").reset_index()
    return list(classes.to_dict("records"))
