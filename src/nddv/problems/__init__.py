"""Problems: a data set, encoded, split, standardised and corrupted, for one seed.

    addresses   how problems are named
    registry    what the entries of config/datasets.yaml and config/encoders.yaml mean
    fetch       files, verified, from the first source that has them
    readers     files to tables, documents, pictures; formulas for those that are drawn
    numeric     tables to numbers, labels to classes
    encoders    documents and pictures to rows of numbers
    datasets    all of these: ``load_dataset(name, entry) -> Table``
    sizes, splits, corruption
    make        ``make_problem(table, n, corruption, seed) -> Problem, Truth``

The address ``{dataset}/n{n}/{corruption}/seed{seed}`` names a problem in every file, table and log.
Names are loaded when they are first used: the Snakefile imports the registry inside Snakemake's own
environment, where numpy need not be installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nddv.problems.addresses import address
    from nddv.problems.datasets import fetch_dataset, load_dataset
    from nddv.problems.make import make_problem
    from nddv.problems.problem import (
        Problem,
        Truth,
        load_problem,
        load_truth,
        save_problem,
        save_truth,
    )
    from nddv.problems.tables import Table, load_table, save_table

_HOMES = {
    "fetch_dataset": "datasets",
    "load_dataset": "datasets",
    "make_problem": "make",
    "Problem": "problem",
    "Truth": "problem",
    "address": "addresses",
    "load_problem": "problem",
    "load_truth": "problem",
    "save_problem": "problem",
    "save_truth": "problem",
    "Table": "tables",
    "load_table": "tables",
    "save_table": "tables",
}

__all__ = [
    "Problem",
    "Table",
    "Truth",
    "address",
    "fetch_dataset",
    "load_dataset",
    "load_problem",
    "load_table",
    "load_truth",
    "make_problem",
    "save_problem",
    "save_table",
    "save_truth",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
