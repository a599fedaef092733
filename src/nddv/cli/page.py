"""The HTML page of a valuation: one file, no script, nothing fetched from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined, Template

from nddv.cli import plots
from nddv.cli.readouts import low_values
from nddv.dynamics.choices import LEARNED_WEIGHTS
from nddv.dynamics.readouts import default_readout, get_readout
from nddv.tabular.files import FileTable

SHOWN_ROWS = 15
SHOWN_COLUMNS = 12
SHOWN_CLASSES = 20
SHOWN_LETTERS = 60


def render_page(
    table: FileTable,
    result: pd.DataFrame,
    record: Mapping[str, Any],
    history: Mapping[str, Sequence[object]],
) -> str:
    """Render the page.

    Parameters
    ----------
    table : the valued table.
    result : (n, …) with columns row, value, rank and flag, in the order of the table.
    record : what was run, as written next to the values.
    history : the estimator's ``history_``.
    """
    target = record["input"]["target"]
    task, readout = record["settings"]["task"], get_readout(record["settings"]["readout"])
    ordered = task in readout.low_is_bad
    order = result["rank"].to_numpy().argsort()
    columns = [target, *record["input"]["id"], *(c["column"] for c in record["columns"])]
    lowest, highest = ("Least", "Most") if ordered else ("Lowest", "Highest")
    rows = "valuable rows" if ordered else "values"
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
            result["flag"].to_numpy() == 1,
            "higher is better" if ordered else "low does not mean bad",
        ),
        curve=plots.curve(record["curve"]) if "curve" in record else None,
        history=plots.history(history),
        runs=plots.run_looks(history),
        columns=columns[:SHOWN_COLUMNS],
        hidden_columns=max(len(columns) - SHOWN_COLUMNS, 0),
        sections=[
            (f"{lowest} {rows}", "low", _rows(table, result, order[::-1], columns)),
            (f"{highest} {rows}", "high", _rows(table, result, order, columns)),
        ],
        classes=_classes(table.frame[target], result) if task == "classification" else [],
        settings=sorted(record["settings"].items()),
        estimator=json.dumps(record["estimator"], indent=2, sort_keys=True),
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = plots.number
    source = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return environment.from_string(source)


def _rows(
    table: FileTable, result: pd.DataFrame, order: np.ndarray[Any, Any], columns: Sequence[str]
) -> list[dict[str, Any]]:
    shown = order[: min(SHOWN_ROWS, len(order) // 2)]
    entries = table.frame[list(columns[:SHOWN_COLUMNS])].iloc[shown].map(_entry).to_numpy()
    lines = result.iloc[shown].to_dict("records")
    return [{**line, "entries": own} for line, own in zip(lines, entries, strict=True)]


def _entry(entry: object) -> str:
    if isinstance(entry, float | np.floating):
        return "" if np.isnan(entry) else f"{entry:.6g}"
    text = str(entry)
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 1] + "…"


def _classes(target: pd.Series, result: pd.DataFrame) -> list[dict[str, Any]]:
    """Values by class; none where there are too many classes for a table."""
    if target.nunique() > SHOWN_CLASSES:
        return []
    groups = result.groupby(target.astype(str).to_numpy())
    named = {"rows": ("value", "size"), "mean": ("value", "mean"), "flagged": ("flag", "sum")}
    classes = groups.agg(**named).rename(index=_entry).rename_axis("name").reset_index()
    return list(classes.to_dict("records"))
