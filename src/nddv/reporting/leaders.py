"""Who leads: the readouts of NDDV beside the best baseline of every problem."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nddv.reporting.detection import PROBLEM
from nddv.reporting.tables import Provenance, format_numbers, write_measured

READOUTS = ("nddv-path", "nddv-terminal")
CONTROLS = ("random",)

ABOUT = (
    "Budget-matched F1. The best baseline is the one with the highest mean over seeds, chosen with "
    "these same seeds, which favours it; the small-loss control counts as a baseline. Ahead by: "
    "differences seed by seed, on the same points. Wins: seeds in which the readout is ahead or "
    "level."
)
HEADINGS = {
    "dataset": "Data set",
    "n": "n",
    "corruption": "Corruption",
    "title": "Readout",
    "f1": "F1",
    "baseline_title": "Best baseline",
    "baseline_f1": "Its F1",
    "ahead": "Ahead by",
    "wins": "Wins",
    "leads": "Leads",
}


def leaders(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per problem and readout, beside the best of the other methods.

    Parameters
    ----------
    scores : one row per problem, method and seed, as :mod:`nddv.evaluation.collect` writes them.

    Returns
    -------
    problem, method, title, f1, baseline, baseline_title, baseline_f1, ahead (each mean with its
    ``_sd`` over seeds), wins (``"4 of 5"``), leads (yes or no).
    """
    rows = []
    for problem, group in scores.groupby(PROBLEM, sort=False):
        titles = group.groupby("method", sort=False)["title"].first()
        by_seed = group.pivot(index="seed", columns="method", values="f1_budget")
        others = [m for m in by_seed if not m.startswith("nddv-") and m not in CONTROLS]
        means = by_seed[others].mean().dropna()
        if means.empty:
            continue
        best = means.idxmax()
        for readout in (name for name in READOUTS if name in by_seed):
            ahead = (by_seed[readout] - by_seed[best]).dropna()
            row = dict(zip(PROBLEM, problem, strict=True))
            row |= {"method": readout, "title": titles[readout]}
            row |= _spread("f1", by_seed[readout])
            row |= {"baseline": best, "baseline_title": titles[best]}
            row |= _spread("baseline_f1", by_seed[best]) | _spread("ahead", ahead)
            row |= {"wins": f"{int((ahead >= 0).sum())} of {len(ahead)}"}
            rows.append(row | {"leads": "yes" if ahead.mean() >= 0 else "no"})
    return pd.DataFrame(rows, columns=None if rows else [*HEADINGS, "method"])


def _spread(name: str, numbers: pd.Series) -> dict[str, float]:
    return {name: numbers.mean(), f"{name}_sd": numbers.std(ddof=1)}


def write_leaders(
    stem: str | Path, table: pd.DataFrame, title: str, provenance: Provenance
) -> list[Path]:
    """Write the table, and in how many problems each readout leads; give the paths."""
    counts = [
        f"{part['title'].iloc[0]} leads in {(part['leads'] == 'yes').sum()} of {len(part)}."
        for _, part in table.groupby("method", sort=False)
    ]
    about = " ".join([ABOUT, *counts])
    return write_measured(stem, table, format_numbers(table, HEADINGS), title, about, provenance)
