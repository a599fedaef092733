"""How far the co-states grow from the terminal time back to the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from nddv.reporting.frames import PROBLEM
from nddv.reporting.numbers import number
from nddv.reporting.registry import Result, Table
from nddv.reporting.titles import title_of

KEYS = [*PROBLEM, "method"]


def adjoint_norms(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per problem, readout and seed: ``largest_ratio``, from the records of NDDV values.

    A run without values has no ratio; ``note`` has the reason.
    """
    rows = []
    for record in records:
        dataset, n, corruption, _ = record["problem"].split("/")
        problem = {"dataset": dataset, "n": int(n.removeprefix("n")), "corruption": corruption}
        ratio = record.get("fit", {}).get("adjoint_growth")
        told = {"method": record["method"], "seed": record["seed"], "note": record.get("gap", "")}
        rows.append({**problem, **told, "largest_ratio": ratio})
    return pd.DataFrame(rows, columns=[*KEYS, "seed", "largest_ratio", "note"])


def lay_out(entry: Table, table: pd.DataFrame) -> Result:
    """One line of text per problem and readout, all seeds in it."""
    lines = []
    for (*problem, method), runs in table.groupby(KEYS, sort=False):
        ratios = runs["largest_ratio"].dropna()
        each = ", ".join(number(ratio, 2) for ratio in ratios)
        notes = "; ".join(dict.fromkeys(filter(None, runs["note"])))
        lines.append([*map(str, problem), title_of(method), number(ratios.max()), each, notes])
    return Result(pd.DataFrame(lines, columns=[h for h in entry.columns.values() if h]))
