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
from nddv.cli.table import Table

SHOWN_ROWS = 15
SHOWN_COLUMNS = 12
SHOWN_CLASSES = 20
SHOWN_LETTERS = 60

READOUTS = {
    "path": "the sensitivity of the terminal loss to each row, standardised at every epoch and "
    "averaged over training up to the epoch of best meta score",
    "terminal": "the paper's score: the sensitivity of the terminal loss to each row at the end "
    "of training",
    "participation": "the derivative of the utility on the validation data with respect to each "
    "row's weight in this very training run",
}


def render_page(
    table: Table,
    result: pd.DataFrame,
    record: Mapping[str, Any],
    history: Mapping[str, Sequence[object]],
    readout: str,
) -> str:
    """Render the page.

    Parameters
    ----------
    table : the valued table.
    result : (n, …) with columns row, value, rank and flag, in the order of the table.
    record : what was run, as written next to the values.
    history : the estimator's ``history_``.
    readout : the name of the readout.
    """
    target = record["input"]["target"]
    order = result["rank"].to_numpy().argsort()
    columns = [target, *(c for c in table.frame.columns if c != target)]
    return _template().render(
        title=f"Values of {record['input']['file']}",
        record=record,
        target=target,
        readout=readout,
        meaning=READOUTS[readout],
        histogram=plots.histogram(result["value"].to_numpy(), result["flag"].to_numpy() == 1),
        history=plots.history(history),
        columns=columns[:SHOWN_COLUMNS],
        hidden_columns=max(len(columns) - SHOWN_COLUMNS, 0),
        sections=[
            ("Least valuable rows", "low", _rows(table, result, order[::-1], columns)),
            ("Most valuable rows", "high", _rows(table, result, order, columns)),
        ],
        classes=_classes(table.frame[target], result),
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
    table: Table, result: pd.DataFrame, order: np.ndarray[Any, Any], columns: Sequence[str]
) -> list[dict[str, Any]]:
    rows = []
    for position in order[: min(SHOWN_ROWS, len(order) // 2)]:
        line = result.iloc[position]
        entries = table.frame.iloc[position]
        rows.append(
            {
                "row": int(line["row"]),
                "rank": int(line["rank"]),
                "value": float(line["value"]),
                "flag": bool(line["flag"]),
                "entries": [_entry(entries[c]) for c in columns[:SHOWN_COLUMNS]],
            }
        )
    return rows


def _entry(entry: object) -> str:
    if isinstance(entry, float | np.floating):
        return "" if np.isnan(entry) else f"{entry:.6g}"
    text = str(entry)
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 1] + "…"


def _classes(target: pd.Series, result: pd.DataFrame) -> list[dict[str, Any]]:
    """Values by class; none for a target with too many different entries to be classes."""
    if target.nunique() > SHOWN_CLASSES:
        return []
    groups = result.groupby(target.astype(str).to_numpy(), sort=True)
    return [
        {
            "name": _entry(name),
            "rows": len(group),
            "mean": float(group["value"].mean()),
            "flagged": int(group["flag"].sum()),
        }
        for name, group in groups
    ]
