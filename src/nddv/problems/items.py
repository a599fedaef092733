"""The rows of a problem in another encoding of its data set, such as pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.problems.problem import Problem, Truth
from nddv.problems.sizes import PARTS
from nddv.problems.splits import splits_of, streams
from nddv.problems.tables import Table


def items_of(problem: Problem, truth: Truth, table: Table) -> dict[str, NDArray[Any]]:
    """What a table has for the very rows of a problem, (rows, d) of each part, as it is.

    table : of the same data set, perhaps with another encoder.
    """
    record = problem.record
    sizes = {part: record["sizes"][part] for part in PARTS}  # a file has them in another order
    stream = streams(record["seed"])[0]
    rows = splits_of(record["corruption"], table.y, sizes, stream, record["resampled"])
    if not (
        np.array_equal(rows["train"], truth.rows_train)
        and np.array_equal(table.y[rows["train"]], truth.y_clean)
        and np.array_equal(table.y[rows["test"]], problem.y_test)
    ):
        raise ValueError(
            f"{table.name} does not have the rows of {record['address']} in the same order: load "
            "both from the same source"
        )
    return {part: np.asarray(table.X[rows[part]]) for part in PARTS}
