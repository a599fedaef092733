"""Problems: a data set, encoded, split, standardised and corrupted, for one seed.

    addresses   names of problems
    registry    the meaning of entries of config/datasets.yaml and encoders/encoders.yaml
    fetch       verified files, from the first source that has them
    readers     from files to tables, documents and pictures; `formulas` draws rows instead
    numeric     from tables to numbers, from labels to classes or real targets
    encoders    from documents and pictures to rows of numbers
    datasets    all of these: ``load_dataset(name, entry) -> Table``
    sizes, splits, corruption
    make        ``make_problem(data, n, corruption, seed) -> Problem, Truth``
    items       the rows of a problem in another encoding

The address ``{dataset}/n{n}/{corruption}/seed{seed}`` names a problem in every file, table and log.
Names are loaded on first use: the Snakefile imports the registry inside Snakemake's own
environment, which may have no numpy.
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
