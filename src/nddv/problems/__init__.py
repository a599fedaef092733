"""Problems: a data set, split, standardised and corrupted, for one seed.

``make_problem`` is the way in. Its address, ``{dataset}/n{n}/{corruption}/seed{seed}``, names it in
every file, table and log.
"""

from nddv.problems.corruption import corrupt, parse_corruption
from nddv.problems.make import make_problem
from nddv.problems.problem import (
    Problem,
    Truth,
    address,
    load_problem,
    load_truth,
    save_problem,
    save_truth,
)
from nddv.problems.sources import SOURCES, load_table
from nddv.problems.splits import part_sizes, stratified_splits
from nddv.problems.tables import Table

__all__ = [
    "SOURCES",
    "Problem",
    "Table",
    "Truth",
    "address",
    "corrupt",
    "load_problem",
    "load_table",
    "load_truth",
    "make_problem",
    "parse_corruption",
    "part_sizes",
    "save_problem",
    "save_truth",
    "stratified_splits",
]
