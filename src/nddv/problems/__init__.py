"""Problems: a data set, split, standardised and corrupted, for one seed.

``make_problem`` is the way in. Its address, ``{dataset}/n{n}/{corruption}/seed{seed}``, names it in
every file, table and log.
"""

from nddv.problems.corruption import Corruption, corrupt_labels, parse_corruption
from nddv.problems.make import make_problem
from nddv.problems.problem import (
    Problem,
    address,
    load_corruption,
    load_problem,
    save_corruption,
    save_problem,
)
from nddv.problems.sources import SOURCES, load_table
from nddv.problems.splits import stratified_splits
from nddv.problems.tables import Table

__all__ = [
    "SOURCES",
    "Corruption",
    "Problem",
    "Table",
    "address",
    "corrupt_labels",
    "load_corruption",
    "load_problem",
    "load_table",
    "make_problem",
    "parse_corruption",
    "save_corruption",
    "save_problem",
    "stratified_splits",
]
