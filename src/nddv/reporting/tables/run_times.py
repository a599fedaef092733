"""What the valuations behind the report took: seconds and memory of each method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from nddv.methods.variants import is_nddv
from nddv.reporting.registry import Result

MEASURED = ["seconds", "fit_seconds", "peak_memory_mb"]


def run_times_table(records: Iterable[Mapping[str, Any]]) -> Result:
    """A row per method: runs, seconds (of all runs), median_seconds, peak_memory_mb (the largest).

    A variant of NDDV counts with its readout. The total counts a fit once, though all readouts of
    it are in the rows.

    records : of values; one with a ``gap`` has no time.
    """
    rows = []
    for record in records:
        if "gap" not in record:
            base, _, change = record["method"].partition(":")
            method = base if is_nddv(base) else record["method"]
            fit = f"{record['problem']} {change}"
            rows.append([method, fit, *(record.get(name) for name in MEASURED)])
    runs = pd.DataFrame(rows, columns=["method", "fit", *MEASURED])
    fits = runs[runs["fit_seconds"].notna()]
    again = fits.loc[fits["fit"].duplicated(), "fit_seconds"].sum()
    hours = (runs["seconds"].sum() - again) / 3600
    table = runs.groupby("method", sort=False).agg(
        runs=("method", "size"),
        seconds=("seconds", "sum"),
        median_seconds=("seconds", "median"),
        peak_memory_mb=("peak_memory_mb", "max"),
    )
    return Result(table.reset_index(), (f"{len(runs)} runs, {hours:.2f} hours in all.",))
