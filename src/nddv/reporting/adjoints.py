"""How far the co-states grow from the terminal time back to the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nddv.reporting.detection import PROBLEM
from nddv.reporting.tables import Provenance, write_measured

ABOUT = (
    "Largest ‖Y_0‖/‖Y_T‖ over the points of a fitted run; the paper reports at most 5. The ratio "
    "is that of the recursion: without the running cost, which keeps feeding co-states whose "
    "terminal value has vanished."
)


def adjoint_norms(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per problem and seed: ``largest_ratio``, from the records of NDDV values.

    A run without values has no ratio; ``note`` has the reason.
    """
    rows = []
    for record in records:
        dataset, n, corruption, _ = record["problem"].split("/")
        problem = {"dataset": dataset, "n": int(n.removeprefix("n")), "corruption": corruption}
        ratio = record.get("fit", {}).get("adjoint_growth")
        note = record.get("gap", "")
        rows.append({**problem, "seed": record["seed"], "largest_ratio": ratio, "note": note})
    return pd.DataFrame(rows)


def write_adjoint_norms(
    stem: str | Path, table: pd.DataFrame, title: str, provenance: Provenance
) -> list[Path]:
    """Write the ratios: one line of text per problem, all seeds in it; give the paths."""
    lines = []
    for problem, runs in table.groupby(PROBLEM, sort=False):
        ratios = runs["largest_ratio"].dropna()
        told = "; ".join(dict.fromkeys(note for note in runs["note"] if note))
        lines.append(
            {
                **dict(zip(("Data set", "n", "Corruption"), map(str, problem), strict=True)),
                "Largest of all seeds": f"{ratios.max():.3f}" if len(ratios) else "—",
                "By seed": ", ".join(f"{ratio:.2f}" for ratio in ratios),
                "Note": told,
            }
        )
    return write_measured(stem, table, pd.DataFrame(lines), title, ABOUT, provenance)
