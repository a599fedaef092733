"""Networks trained end to end: scores of their points against retraining, and what a replay costs.

Both read frames of :func:`nddv.audit.modules.compare_modules`, with the columns of the problem, the
network (``module``) and the seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from nddv.reporting.frames import PROBLEM, Gaps, completed, over_seeds
from nddv.reporting.registry import Result
from nddv.reporting.titles import with_titles

COUNTED = ["points", "subsets"]
HELD = ["spearman", "lds_5", "f1"]
COSTS = ["parameters", "steps", "accuracy", "training", "replay", "times_training"]


def module_fidelity(rows: pd.DataFrame, seeds: Sequence[int], gaps: Gaps = ()) -> Result:
    """Rank correlations with retraining, and F1 of wrong labels, a row per network and score."""
    table = _summary(rows, [*PROBLEM, "module", "method", "reads"], [*COUNTED, *HELD])
    return _result(with_titles(completed(table, pd.DataFrame(), gaps=gaps)), seeds)


def module_costs(rows: pd.DataFrame, seeds: Sequence[int], gaps: Gaps = ()) -> Result:
    """The size and accuracy of each network, and seconds of its training and replay."""
    table = _summary(rows, [*PROBLEM, "module"], COSTS)
    return _result(completed(table, pd.DataFrame(), gaps=gaps), seeds)


def _summary(rows: pd.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    if rows.empty:  # no data set is available
        return pd.DataFrame(columns=[*keys, *columns, "note"])
    return over_seeds(rows, keys, columns)


def _result(table: pd.DataFrame, seeds: Sequence[int]) -> Result:
    """With the seeds, which are fewer than those of other tables."""
    told = ", ".join(map(str, seeds))
    spread = "Mean ± standard deviation over seeds" if len(seeds) > 1 else "Seed"
    return Result(table, (f"{spread} {told}.",))
