"""How near estimators of semi-values come to a precise reference, and in how many seconds.

All read the rows of :func:`nddv.audit.accuracy.compare_semivalues`, with the columns of the problem
and the seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nddv.audit.estimators import PUBLISHED
from nddv.reporting.frames import PROBLEM, Gaps, completed, over_seeds, words
from nddv.reporting.registry import Result
from nddv.reporting.titles import with_titles

KEYS = [*PROBLEM, "semivalue", "method"]
NEAR = ["pearson", "spearman", "disattenuated", "reliability", "reference_reliability"]
CERTIFIED = ["certified_one", "certified_all", "agreement"]


def semivalue_accuracy(rows: pd.DataFrame, seeds: Sequence[int], gaps: Gaps = ()) -> Result:
    """Correlations with the reference, a row per estimator and budget."""
    return _result(_summary(rows, [*KEYS, "budget"], ["seconds", "draws", *NEAR]), seeds, gaps)


def certified_shares(rows: pd.DataFrame, seeds: Sequence[int], gaps: Gaps = ()) -> Result:
    """Shares of pairs with a certain order, a row per estimator and budget."""
    columns = ["seconds", "draws", "pairs", *CERTIFIED]
    return _result(_summary(rows, [*KEYS, "budget"], columns), seeds, gaps)


def semivalue_seconds(rows: pd.DataFrame, seeds: Sequence[int], gaps: Gaps = ()) -> Result:
    """Seconds until r² with the exact values is high, and how much quicker than the usual way.

    ``quicker`` is the mean over seeds of the ratio of the seconds of the usual way, permutations or
    sample reuse, to those of the row.
    """
    if rows.empty:
        return _result(_summary(rows, KEYS, ["to_target", "quicker"]), seeds, gaps)
    by = [*PROBLEM, "semivalue", "seed"]
    usual = rows[rows["method"].isin(PUBLISHED)].set_index(by)["to_target"]
    base = usual.reindex(pd.MultiIndex.from_frame(rows[by])).to_numpy()
    table = _summary(rows.assign(quicker=base / rows["to_target"]), KEYS, ["to_target", "quicker"])
    beyond = rows["extrapolated"].astype(object) == True  # noqa: E712 (missing where there is a gap)
    counts = rows[beyond].groupby(KEYS)["seed"].nunique().rename("beyond")
    table = table.join(counts, on=KEYS)
    table["extrapolated"] = table.pop("beyond").fillna(0).astype(int)
    return _result(table, seeds, gaps)


def _summary(rows: pd.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Means over seeds; the note is about the first column, which is there if any number is."""
    if rows.empty:  # no data set is available
        return pd.DataFrame(columns=[*keys, *columns, "note"])
    groups = rows.assign(gap=words(rows["gap"])).groupby(list(keys), sort=False, dropna=False)
    facts = zip(
        groups[columns[0]].count(), groups["seed"].nunique(), groups["gap"].max(), strict=True
    )
    return over_seeds(rows, keys, columns).assign(note=[_note(*fact) for fact in facts])


def _note(count: int, runs: int, reason: str) -> str:
    """The reason where there are no numbers, and in how many seeds there are some."""
    return reason if count in (0, runs) else f"in {count} of {runs} seeds: {reason}"


def _result(table: pd.DataFrame, seeds: Sequence[int], gaps: Gaps) -> Result:
    """With titles, gaps and the seeds."""
    table = with_titles(completed(table, pd.DataFrame(), gaps=gaps))
    table = table.replace({"budget": {np.nan: None}}) if "budget" in table else table
    told = ", ".join(map(str, seeds))
    spread = "Mean ± standard deviation over seeds" if len(seeds) > 1 else "Seed"
    return Result(table, (f"{spread} {told}.",))
