"""Run times: power laws, and tables of seconds beside the published ones.

All read the rows of :mod:`nddv.timing.runs`: method, n, features, valid, valid_rows, seed, repeat,
threads, timeout, status (done, timed out, gap), seconds, peak_memory_mb, gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nddv.reporting.frames import NOT_RUN, words
from nddv.reporting.registry import Result
from nddv.reporting.titles import with_titles

PAPER_SCORE = "nddv-terminal"
SIZE = ["features", "valid", "n"]
KEYS = [*SIZE, "method"]
PAPER = ["n", "features", "method"]  # what tells the paper's numbers apart
PRINTED = ["seconds", "seconds_sd", "note"]
COLUMNS = ["n", "features", "valid", "method", "title", "runs", "seconds", "seconds_sd"]
COLUMNS += ["lower_bound", "peak_memory_mb", "note", "exponent", "extrapolated", "estimate"]
COLUMNS += ["ratio", "published_seconds", "published_seconds_sd", "published_ratio"]
CURVE = ["features", "valid", "method"]  # what has an exponent of its own

REGIMES = {"fixed": "100 validation rows", "tenth": "n/10 validation rows"}
READS_NONE = "none"  # the regime of methods that read no validation rows
PAPER_REGIME = "tenth"  # of the released code; the paper does not state its own

LARGEST = 1_000_000
"""The largest n of the paper's figures, to which ours are extrapolated."""
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


def wallclock_scaling(rows: pd.DataFrame, published: pd.DataFrame, threads: int) -> Result:
    """Seconds as n grows, beside the paper's (tab:wallclock_scaling)."""
    return Result(timing_table(rows, published), (f"Threads: {threads}.",))


def runtime_scaling(rows: pd.DataFrame, threads: int) -> Result:
    """Seconds by n and features, extrapolated to the sizes of fig:runtime_comparison_new."""
    table = timing_table(rows, extrapolate=(10_000, 100_000, LARGEST))
    return Result(table, (f"Threads: {threads}.",))


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
    measured = summarise(by_regime(rows))
    printed = pd.DataFrame(columns=PAPER) if published is None else published[[*PAPER, *PRINTED]]
    wanted = [measured[CURVE].drop_duplicates().assign(n=n) for n in extrapolate]
    wanted.append(printed[PAPER].assign(valid=PAPER_REGIME))
    shown = pd.concat([measured[KEYS], *wanted]).drop_duplicates()
    # The paper states no regime: its seconds stand beside ours in either.
    printed = printed.rename(columns=lambda name: name if name in PAPER else f"published_{name}")
    table = shown.merge(measured, how="left", on=KEYS).merge(printed, how="left", on=PAPER)
    table = table.fillna({"runs": 0, "note": NOT_RUN}).astype({"runs": int})
    table = _extrapolated(table, measured)
    table["ratio"] = _ratio(table, "estimate")
    if published is not None:
        said = words("the paper: " + table.pop("published_note"))
        table["note"] = [_join(*notes) for notes in zip(table["note"], said, strict=True)]
        table["published_ratio"] = _ratio(table, "published_seconds")
    came = {method: i for i, method in enumerate(rows["method"].unique())}
    table["rank"] = table["method"].map(came).fillna(len(came))
    table = with_titles(table.sort_values([*SIZE, "rank"], kind="stable", ignore_index=True))
    return table[[name for name in COLUMNS if name in table]]


def by_regime(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of methods that read no validation rows, once for each regime that others have."""
    if rows.empty:
        raise ValueError("no timings: the table has no rows")
    rows = rows.assign(gap=words(rows["gap"])).reset_index(drop=True)
    alone = rows["valid"] == READS_NONE
    regimes = [name for name in REGIMES if (rows["valid"] == name).any()] or ["fixed"]
    copies = [rows[alone].assign(valid=name, shared=SHARED) for name in regimes]
    both = pd.concat([rows[~alone].assign(shared=""), *copies])
    return both.sort_index(kind="stable", ignore_index=True)  # methods as they came


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per size and method."""
    summary = []
    for key, runs in rows.groupby(KEYS, sort=False):
        done = runs[runs["status"] == "done"]
        seconds, sd = done["seconds"].mean(), done["seconds"].std(ddof=1)
        reached = runs.loc[runs["status"] == "timed out", "timeout"].max()
        late = "" if np.isnan(reached) else f"timed out after {reached:g} s"
        gaps = runs.loc[runs["status"] == "gap", "gap"].unique()
        note = _join(late, *gaps, runs["shared"].iloc[0])
        bound = reached if np.isnan(seconds) else seconds
        memory = done["peak_memory_mb"].mean()
        summary.append([*key, len(done), seconds, sd, bound, memory, note])
    measured = ["runs", "seconds", "seconds_sd", "lower_bound", "peak_memory_mb", "note"]
    return with_titles(pd.DataFrame(summary, columns=[*KEYS, *measured]))


def _join(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def fit_laws(table: pd.DataFrame) -> dict[tuple[Any, ...], PowerLaw | None]:
    """The power law of every method, number of features and regime."""
    return {
        key: fit_power_law(part["n"].tolist(), part["seconds"].tolist())
        for key, part in table.groupby(CURVE, sort=False)
    }


def _extrapolated(table: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Add exponent, extrapolated and estimate, and say from where."""
    laws = fit_laws(measured)
    table = table.assign(exponent=np.nan, extrapolated=False, estimate=table["seconds"])
    for i, row in table.iterrows():
        law = laws.get(tuple(row[CURVE]))
        if law is None:
            continue
        table.loc[i, "exponent"] = law.exponent
        if np.isnan(row["seconds"]) and row["n"] <= law.reach:
            # What timed out takes longer than that, whatever the law says.
            estimate = np.fmax(float(law.seconds(row["n"])), row["lower_bound"])
            source = f"extrapolated from n = {law.smallest:,} to {law.largest:,}"
            note = _join(row["note"], source)
            table.loc[i, ["extrapolated", "estimate", "note"]] = [True, estimate, note]
    return table


def _ratio(table: pd.DataFrame, column: str) -> list[float]:
    """A column divided by that of the paper's score at the same size."""
    own = table[table["method"] == PAPER_SCORE].set_index(SIZE)[column]
    base = own.reindex(pd.MultiIndex.from_frame(table[SIZE])).to_numpy()
    return list(table[column].to_numpy() / base)
