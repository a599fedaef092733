"""Make a problem: load, split, standardise, corrupt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.problems.addresses import (
    KINDS,
    RELEASED,
    address,
    check_task,
    parse_corruption,
    split_regime,
)
from nddv.problems.corruption import corrupt
from nddv.problems.problem import Problem, Truth
from nddv.problems.sizes import PARTS, part_sizes
from nddv.problems.splits import splits_of, standardise, streams
from nddv.problems.tables import Table

# Sizes of the other parts, as shares of n: the paper's 1000/100/300/100, 10000/1000/3000/1000.
SIDE_SIZES = {"valid": 0.1, "test": 0.3, "meta": 0.1}


def make_problem(
    data: Table | str,
    n: int = 1000,
    corruption: str = "label10",
    seed: int = 0,
    sizes: Mapping[str, int | float] = SIDE_SIZES,
    resample: bool = False,
    corrupt_valid: bool = False,
) -> tuple[Problem, Truth]:
    """Make one problem and the truth about it.

    Parameters
    ----------
    data : a table (:func:`nddv.problems.load_dataset` loads one), or the name of a data set that
        needs no file: 2dplanes, fire, heavy_tails, heavy_tails_2, digits, breast_cancer, wine; with
        real-valued targets fire_target, houses. Only drawn rows are read.
    n : number of training points.
    corruption : ``"clean"``, or kinds with their percentage: ``"label10"``, ``"label10+gauss5"``;
        wrong targets of a regression are ``"target10"``. ``"label10@released"`` is the regime of
        the released code: the validation part is corrupted too, and parts are drawn by
        :func:`~nddv.problems.splits.released_splits`.
    seed : decides the splits and the corruption; the same seed gives the same bytes.
    sizes : of the ``valid``, ``test`` and ``meta`` parts, in rows or as a share of n.
    resample : if there are too few rows, draw rows more than once; parts still share no row.
    corrupt_valid : corrupt the validation part as well, by the same kinds and rates, as OpenDataVal
        does. The training part does not depend on it.
    """
    rates = parse_corruption(corruption)
    corrupt_valid = corrupt_valid or split_regime(corruption)[1] == RELEASED
    wanted = part_sizes(n, sizes)
    if seed < 0:
        raise ValueError(f"the seed must not be negative, got {seed}")
    table = data if isinstance(data, Table) else _built_in(data)
    split_rng, train_rng, valid_rng = streams(seed)
    try:
        check_task(corruption, table.task)
        rows = splits_of(corruption, table.y, wanted, split_rng, resample)
        X, y = _parts(table, rows)
    except ValueError as error:
        raise ValueError(f"data set {table.name}: {error}") from error

    y_clean = y["train"]
    varies = np.ptp(X["train"], axis=0) > 0
    how = (rates, varies, len(table.classes))
    X["train"], y["train"], kinds = corrupt(X["train"], y_clean, *how, train_rng)
    if corrupt_valid:
        X["valid"], y["valid"], _ = corrupt(X["valid"], y["valid"], *how, valid_rng)

    arrays: dict[str, Any] = {f"X_{part}": X[part] for part in PARTS}
    arrays |= {f"y_{part}": y[part] for part in PARTS}
    record = {
        **table.record,
        "address": address(table.name, n, corruption, seed),
        "dataset": table.name,
        "n": n,
        "corruption": corruption,
        "seed": seed,
        "task": table.task,
        "classes": table.classes,
        "sizes": wanted,
        "resampled": sum(wanted.values()) > len(table.y),
        "distinct": {part: len(np.unique(rows[part])) for part in PARTS},
        "valid": "corrupted" if corrupt_valid and rates else "clean",
    }
    group = None if table.group is None else table.group[rows["train"]]
    about = {
        "kinds": list(KINDS),
        "rates": rates,
        "corrupted": {kind: int((kinds == KINDS.index(kind)).sum()) for kind in rates},
        "groups": table.groups,
    }
    truth = Truth(kinds, y_clean, rows["train"], group, about)
    return Problem(**arrays, record=record), truth


def _parts(
    table: Table, rows: Mapping[str, NDArray[np.int64]]
) -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[Any]]]:
    """Standardised features, and labels or targets, of every part."""
    y = {part: table.y[rows[part]] for part in PARTS}
    missing = sorted(set(range(len(table.classes))) - set(y["train"].tolist()))
    if missing:
        lost = ", ".join(table.classes[c] for c in missing[:5])
        lost += f" and {len(missing) - 5} others" if len(missing) > 5 else ""
        raise ValueError(f"n={len(y['train'])} leaves no training point of class {lost}; raise n")
    drawn = {part: np.asarray(table.X[rows[part]]) for part in PARTS}
    for part, X in drawn.items():
        bad = np.argwhere(~np.isfinite(X))
        if len(bad):
            row, feature = rows[part][bad[0, 0]], bad[0, 1]
            raise ValueError(
                f"feature {feature} of row {row} is {X[tuple(bad[0])]}: fill in or drop what is "
                "missing or infinite"
            )
    return dict(zip(PARTS, standardise(*drawn.values()), strict=True)), y


def _built_in(name: str) -> Table:
    from nddv.problems.datasets import load_dataset
    from nddv.problems.registry import BUILT_IN
    from nddv.support.wording import pick

    return load_dataset(name, pick(BUILT_IN, name, "data set"))
