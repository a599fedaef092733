"""Where data sets come from.

A data set is described by an entry of ``config/datasets.yaml``; its ``source`` picks a loader from
``SOURCES``. A new kind of source is one function and one line in that dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from nddv.problems.tables import Table

Choice = TypeVar("Choice")


def two_d_planes(rows: int, rng: np.random.Generator) -> Table:
    """Draw the ``2dplanes`` data set of Breiman et al. (1984), binarised as OpenML 727 is.

    x1 is ±1; x2..x10 are −1, 0 or 1; all independent and uniform. With ε ~ N(0, 1),
    y = 3 + 3·x2 + 2·x3 + x4 + ε where x1 = +1 and y = −3 + 3·x5 + 2·x6 + x7 + ε where x1 = −1.
    Targets lower than their mean are class P. Equivalent to the published rows, not identical.
    """
    X = rng.integers(-1, 2, size=(rows, 10)).astype(np.float64)
    X[:, 0] = rng.choice([-1.0, 1.0], size=rows)
    upper = 3 + X[:, 1:4] @ [3.0, 2.0, 1.0]
    lower = -3 + X[:, 4:7] @ [3.0, 2.0, 1.0]
    target = np.where(X[:, 0] > 0, upper, lower) + rng.normal(size=rows)
    return Table(X, (target < target.mean()).astype(np.int64), classes=["N", "P"])


def _digits() -> Table:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Table(X.astype(np.float64), y.astype(np.int64), classes=[str(c) for c in range(10)])


GENERATORS: dict[str, Callable[[int, np.random.Generator], Table]] = {"2dplanes": two_d_planes}
SCIKIT_LEARN: dict[str, Callable[[], Table]] = {"digits": _digits}


def _generated(name: str, entry: Mapping[str, Any]) -> Table:
    """Draw the rows once and for all, with the entry's own seed, whatever the problem's seed."""
    generator = _pick(GENERATORS, name, "generated")
    return generator(int(entry["rows"]), np.random.default_rng(int(entry["data_seed"])))


def _scikit_learn(name: str, entry: Mapping[str, Any]) -> Table:
    return _pick(SCIKIT_LEARN, name, "scikit-learn")()


SOURCES: dict[str, Callable[[str, Mapping[str, Any]], Table]] = {
    "generated": _generated,
    "scikit-learn": _scikit_learn,
}

# What a bare name means to ``make_problem``: the entries of config/datasets.yaml without the prose.
BUILT_IN: dict[str, dict[str, Any]] = {
    "2dplanes": {"source": "generated", "rows": 40768, "data_seed": 727},
    "digits": {"source": "scikit-learn", "rows": 1797},
}


def load_table(name: str, entry: Mapping[str, Any]) -> Table:
    """Load a data set from the source that its entry names."""
    source = entry.get("source")
    loader = _pick(SOURCES, str(source), "source")
    table = loader(name, entry)
    if "rows" in entry and len(table.y) != entry["rows"]:
        raise ValueError(
            f"data set {name} has {len(table.y)} rows from source {source}, "
            f"but its entry says {entry['rows']}"
        )
    return Table(
        table.X, table.y, table.classes, name=name, record={**table.record, "source": source}
    )


def _pick(choices: Mapping[str, Choice], name: str, kind: str) -> Choice:
    if name not in choices:
        raise ValueError(f"unknown {kind} {name!r}; known: {', '.join(sorted(choices))}")
    return choices[name]
