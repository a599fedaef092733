"""Power laws of run times, and tables of seconds beside the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nddv.reporting.tables import format_numbers, write_table

PAPER_SCORE = "nddv-terminal"
KEYS = ["features", "valid", "n", "method", "title"]
CURVE = ["features", "valid", "method"]  # what has an exponent of its own

REGIMES = {"fixed": "100 validation rows", "tenth": "n/10 validation rows"}
READS_NONE = "none"  # the regime of methods that read no validation rows
PAPER_REGIME = "tenth"  # of the released code; the paper does not state its own

LARGEST = 1_000_000
"""The largest n of the paper's figures, to which ours are extrapolated."""
EXTRAPOLATED = {"wallclock_scaling": (), "runtime_scaling": (10_000, 100_000, LARGEST)}
"""Sizes that a table has rows for in any case, by extrapolation where they were not run."""

NOT_RUN = "not run in this configuration"
SHARED = "reads no validation rows"


class PowerLaw(NamedTuple):
    """seconds = scale · n^exponent, fitted to the sizes from `smallest` to `largest`.

    It says something of sizes up to `reach`: as far beyond the largest, on a logarithmic axis, as
    the measured sizes span. Farther away a small error of the exponent decides, and the constant
    costs of small sizes make one.
    """

    scale: float
    exponent: float
    smallest: int
    largest: int

    @property
    def reach(self) -> float:
        """The largest size to extrapolate to."""
        return self.largest**2 / self.smallest

    def seconds(self, n: Any) -> Any:
        """Of any number or array of sizes."""
        return self.scale * np.asarray(n, dtype=float) ** self.exponent


def fit_power_law(n: Sequence[float], seconds: Sequence[float]) -> PowerLaw | None:
    """Least squares on logarithms, of the mean seconds of every size; None for fewer than two."""
    frame = pd.DataFrame({"n": n, "seconds": seconds}, dtype=float).dropna()
    means = frame[frame["seconds"] > 0].groupby("n")["seconds"].mean()
    if len(means) < 2:
        return None
    exponent, intercept = np.polyfit(np.log(means.index), np.log(means), 1)
    ends = int(means.index.min()), int(means.index.max())
    return PowerLaw(float(np.exp(intercept)), float(exponent), *ends)


def timing_table(
    rows: pd.DataFrame, published: pd.DataFrame | None = None, extrapolate: Iterable[int] = ()
) -> pd.DataFrame:
    """Seconds of every method and size, beside the published ones.

    Parameters
    ----------
    rows : of all methods and sizes.
    published : n, features, method, seconds, seconds_sd, note (tab:wallclock_scaling).
    extrapolate : sizes that have a row in any case.

    Returns
    -------
    A row per features, valid, n and method. ``valid``: ``fixed`` or ``tenth``; methods that read no
    validation rows are in each that others are in. ``runs``: how many gave a time; ``seconds`` and
    ``peak_memory_mb`` are means over them, ``seconds_sd`` the spread. ``lower_bound``: seconds, or
    the time-out that was reached. ``exponent``: of the power law in n. ``estimate``: seconds, or by
    that law where there are none and it reaches so far (``extrapolated``). ``ratio``: of the
    estimate to that of the paper's score at the same size; ``published_ratio`` likewise.
    """
    table = summarise(by_regime(rows))
    laws = fit_laws(table)
    table = _with_missing(table, published, extrapolate)
    table = _extrapolated(table, laws)
    table["ratio"] = _ratio(table, "estimate")
    if published is not None:
        table = _with_published(table, published)
    return _in_order(table, rows)


def by_regime(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of methods that read no validation rows, once for each regime that others have."""
    if rows.empty:
        raise ValueError("no timings: the table has no rows")
    # An empty reason comes back from a file as a missing one.
    gap = rows["gap"].astype(object).where(rows["gap"].notna(), "")
    rows = rows.assign(gap=gap).reset_index(drop=True)
    alone = rows["valid"] == READS_NONE
    regimes = [name for name in REGIMES if (rows["valid"] == name).any()] or ["fixed"]
    copies = [rows[alone].assign(valid=name, shared=SHARED) for name in regimes]
    found = pd.concat([rows[~alone].assign(shared=""), *copies])
    return found.sort_index(kind="stable", ignore_index=True)  # methods as they came


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per size and method."""
    found = []
    for key, runs in rows.groupby(KEYS, sort=False):
        done = runs[runs["status"] == "done"]
        late = runs[runs["status"] == "timed out"]
        seconds = done["seconds"].mean()
        reached = late["timeout"].max()
        notes = [f"timed out after {reached:g} s"] if len(late) else []
        notes += list(runs.loc[runs["status"] == "gap", "gap"].unique())
        found.append(
            {
                **dict(zip(KEYS, key, strict=True)),
                "runs": len(done),
                "seconds": seconds,
                "seconds_sd": done["seconds"].std(ddof=1),
                "lower_bound": reached if np.isnan(seconds) else seconds,
                "peak_memory_mb": done["peak_memory_mb"].mean(),
                "note": _join(*notes, runs["shared"].iloc[0]),
            }
        )
    return pd.DataFrame(found)


def _join(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def fit_laws(table: pd.DataFrame) -> dict[tuple[Any, ...], PowerLaw | None]:
    """The power law of every method, number of features and regime."""
    return {
        key: fit_power_law(part["n"].tolist(), part["seconds"].tolist())
        for key, part in table.groupby(CURVE, sort=False)
    }


def _extrapolated(
    table: pd.DataFrame, laws: Mapping[tuple[Any, ...], PowerLaw | None]
) -> pd.DataFrame:
    """Add exponent, estimate and extrapolated, and say from where."""
    of_rows = [laws.get(curve) for curve in table[CURVE].itertuples(index=False, name=None)]
    found = []
    for (_, row), law in zip(table.iterrows(), of_rows, strict=True):
        needed = law is not None and np.isnan(row["seconds"]) and row["n"] <= law.reach
        estimate, note = row["seconds"], row["note"]
        if law is not None and needed:
            # What timed out takes longer than that, whatever the law says.
            estimate = np.fmax(float(law.seconds(row["n"])), row["lower_bound"])
            note = _join(note, f"extrapolated from n = {law.smallest:,} to {law.largest:,}")
        exponent = np.nan if law is None else law.exponent
        found.append((exponent, needed, estimate, note))
    names = ["exponent", "extrapolated", "estimate", "note"]
    return table.assign(**dict(zip(names, map(list, zip(*found, strict=True)), strict=True)))


def _with_missing(
    table: pd.DataFrame, published: pd.DataFrame | None, extrapolate: Iterable[int]
) -> pd.DataFrame:
    """Add rows for what the paper prints, and for sizes to extrapolate to, that were not run."""
    titles = table.drop_duplicates("method").set_index("method")["title"]
    curves = table[CURVE].drop_duplicates().to_dict("records")
    wanted = [{**curve, "n": n} for n in extrapolate for curve in curves]
    if published is not None:
        printed = published[["n", "features", "method"]].to_dict("records")
        wanted += [{**row, "valid": PAPER_REGIME} for row in printed]
    names = ["features", "valid", "n", "method"]
    known = set(table[names].itertuples(index=False, name=None))
    missing = [row for row in wanted if tuple(row[name] for name in names) not in known]
    if not missing:
        return table
    added = pd.DataFrame(missing).drop_duplicates()
    added = added.assign(
        title=[titles.get(method, method) for method in added["method"]], runs=0, note=NOT_RUN
    )
    return pd.concat([table, added], ignore_index=True)


def _ratio(table: pd.DataFrame, column: str) -> list[float]:
    """A column divided by that of the paper's score at the same size."""
    size = ["features", "valid", "n"]
    own = table[table["method"] == PAPER_SCORE].set_index(size)[column]
    base = own.reindex(pd.MultiIndex.from_frame(table[size])).to_numpy()
    return list(table[column].to_numpy() / base)


def _with_published(table: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Lay the paper's seconds beside ours, in either regime, for it states none."""
    keys = ["n", "features", "method"]
    printed = published[[*keys, "seconds", "seconds_sd", "note"]].rename(
        columns={"note": "printed", **{c: f"published_{c}" for c in ("seconds", "seconds_sd")}}
    )
    table = table.merge(printed, on=keys, how="left")
    table["published_ratio"] = _ratio(table, "published_seconds")
    table["note"] = [
        _join(note, f"the paper: {words}" if isinstance(words, str) and words else "")
        for note, words in zip(table["note"], table["printed"], strict=True)
    ]
    return table.drop(columns="printed")


def _in_order(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """By features, regime and size; methods as they came."""
    methods = {method: i for i, method in enumerate(rows["method"].unique())}
    rank = table["method"].map(methods).fillna(len(methods))
    order = table.assign(rank=rank).sort_values(["features", "valid", "n", "rank"], kind="stable")
    first = ["n", "features", "valid", "method", "title", "runs", "seconds", "seconds_sd"]
    names = [*first, *(name for name in table if name not in first)]
    return order[names].reset_index(drop=True)


HEADINGS = {
    "n": "n",
    "features": "d",
    "valid": "Validation rows",
    "title": "Method",
    "runs": "Runs",
    "seconds": "Seconds",
    "estimate": "Seconds, measured or extrapolated",
    "published_seconds": "Seconds, published",
    "ratio": "Times NDDV, terminal",
    "published_ratio": "Times NDDV, published",
    "exponent": "Exponent of n",
    "peak_memory_mb": "Peak memory (MB)",
    "note": "Note",
}
DIGITS = {
    **dict.fromkeys(("ratio", "exponent"), 2),
    **dict.fromkeys(("published_seconds", "peak_memory_mb"), 0),
    "published_ratio": 1,
}

TITLES = {
    "wallclock_scaling": "Wall-clock scaling on synthetic data",
    "runtime_scaling": "Run time of NDDV, GhostSuite and LossVal as n grows",
}
COMMON = (
    "Every method runs alone in a process of its own, on standard normal features with two "
    "classes; the seconds are those of the valuation, without making data and importing. Seconds: "
    "mean ± standard deviation of repeated runs of the same problem. Exponent: of the power law "
    "that fits the measured sizes, if there are two at least; ratios are of measured seconds, or "
    "of extrapolated ones where the note says so: no farther beyond the largest size measured than "
    "the measured sizes span. Peak memory: of the process, with the data."
)
ABOUT = {
    "wallclock_scaling": (
        "tab:wallclock_scaling of the paper, which states neither its number of validation rows "
        "nor its hardware; with n/10 rows, as in the released code, KNN-Shapley is quadratic in n "
        "by construction. " + COMMON
    ),
    "runtime_scaling": "fig:runtime_comparison_new of the paper, as numbers. " + COMMON,
}


def write_timing(
    stem: str | Path, name: str, table: pd.DataFrame, config: str, threads: int
) -> list[Path]:
    """Write a table of run times with what its numbers mean and come from; give the paths."""
    shown = table.assign(valid=table["valid"].map(lambda name: REGIMES[name].split()[0]))
    hidden = ["published_seconds_sd", *([] if EXTRAPOLATED[name] else ["estimate"])]
    shown = shown.drop(columns=hidden, errors="ignore")
    text = format_numbers(shown, HEADINGS, DIGITS)
    footnote = f"{ABOUT[name]} Threads: {threads}. Configuration {config}."
    return write_table(stem, table.assign(config=config), text, TITLES[name], footnote)
