"""What orders by value are worth: areas between the curves of removal and addition and chance."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nddv.reporting.frames import PROBLEM, Gaps, completed, over_seeds, widened
from nddv.reporting.titles import with_titles

CONTROL = "random-order"  # the method of random orders
KEYS = [*PROBLEM, "method"]


def curation_table(scores: pd.DataFrame, gaps: Gaps = ()) -> pd.DataFrame:
    """Means over seeds of the scores of ``nddv.evaluation.curation``.

    One row per problem and method, with a column per direction (accuracy) and another,
    ``<direction>_log_likelihood``, each with its ``_sd``; then the random orders of the problem;
    then the gaps.
    """
    directions = list(scores["direction"].unique())
    columns = [*directions, *(f"{name}_log_likelihood" for name in directions)]
    control = scores.drop_duplicates([*PROBLEM, "seed", "direction"]).assign(method=CONTROL, gap="")
    squares = _wide(control, "random_")
    squares[columns] **= 2
    expected = over_seeds(squares, KEYS, columns)
    for name in columns:  # on average a random order is as good as random orders
        expected[f"{name}_sd"] = np.sqrt(expected[name])
        expected[name] = 0.0
    table = pd.concat([over_seeds(_wide(scores), KEYS, columns), expected])
    by_problem = [part for _, part in table.groupby(PROBLEM, sort=False)]
    return with_titles(completed(pd.concat(by_problem), pd.DataFrame(), gaps=gaps))


def _wide(scores: pd.DataFrame, prefix: str = "") -> pd.DataFrame:
    """A row per method and seed, a column per direction and measure."""
    measures = [f"{prefix}accuracy", f"{prefix}log_likelihood"]
    wide = widened(scores, KEYS, "direction", measures)
    wide.columns = [
        f"{name}_log_likelihood" if what == measures[1] else name if name else what
        for what, name in wide
    ]
    return wide
