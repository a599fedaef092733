"""Make a problem: load, split, standardise, corrupt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nddv.problems.corruption import Corruption, corrupt_labels, parse_corruption
from nddv.problems.problem import PARTS, Problem, address
from nddv.problems.sources import BUILT_IN, load_table
from nddv.problems.splits import standardise, stratified_splits

# Sizes of the parts that are not valued, as in the paper's protocol (1000/100/300/100).
SIDE_SIZES = {"valid": 100, "test": 300, "meta": 100}


def make_problem(
    dataset: str | Mapping[str, Any],
    n: int = 1000,
    corruption: str = "label10",
    seed: int = 0,
    sizes: Mapping[str, int] = SIDE_SIZES,
) -> tuple[Problem, Corruption]:
    """Make one problem and the truth about it.

    Parameters
    ----------
    dataset : the name of a built-in data set, or an entry of ``config/datasets.yaml`` with its
        ``name``.
    n : number of training points.
    corruption : ``"clean"`` or e.g. ``"label10"``; training labels only.
    seed : decides the splits and the corruption; the same seed gives the same bytes.
    sizes : rows of the ``valid``, ``test`` and ``meta`` parts.
    """
    name, entry = _entry(dataset)
    kind, rate = parse_corruption(corruption)
    if n < 1 or seed < 0:
        raise ValueError(f"n must be positive and the seed not negative, got n={n}, seed={seed}")
    if set(sizes) != set(SIDE_SIZES) or min(sizes.values()) < 1:
        raise ValueError(f"sizes must give positive {', '.join(SIDE_SIZES)}, got {dict(sizes)}")
    table = load_table(name, entry)
    split_rng, corruption_rng = np.random.default_rng(seed).spawn(2)

    parts = {"train": n, **{part: sizes[part] for part in SIDE_SIZES}}
    try:
        rows = stratified_splits(table.y, parts, split_rng)
    except ValueError as error:
        raise ValueError(f"data set {name}: {error}") from error
    y = {part: table.y[rows[part]] for part in PARTS}
    missing = sorted(set(range(len(table.classes))) - set(y["train"].tolist()))
    if missing:
        raise ValueError(
            f"data set {name}: n={n} leaves no training point of class "
            f"{', '.join(table.classes[c] for c in missing)}; raise n"
        )
    X = dict(zip(PARTS, standardise(*(table.X[rows[part]] for part in PARTS)), strict=True))

    y_clean = y["train"]
    mask = np.zeros(n, dtype=bool)
    if kind == "label":
        y["train"], mask = corrupt_labels(y_clean, rate, len(table.classes), corruption_rng)
    arrays: dict[str, Any] = {f"X_{part}": X[part] for part in PARTS}
    arrays |= {f"y_{part}": y[part] for part in PARTS}
    record = {
        **table.record,
        "address": address(name, n, corruption, seed),
        "dataset": name,
        "n": n,
        "corruption": corruption,
        "seed": seed,
        "task": "classification",
        "classes": table.classes,
        "sizes": parts,
    }
    truth = {"kind": kind, "rate": rate, "corrupted": int(mask.sum())}
    return Problem(**arrays, record=record), Corruption(mask, y_clean, truth)


def _entry(dataset: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(dataset, str):
        if "name" not in dataset:
            raise ValueError("an entry of a data set needs its 'name'")
        return str(dataset["name"]), dataset
    if dataset not in BUILT_IN:
        raise ValueError(f"unknown data set {dataset!r}; built in: {', '.join(sorted(BUILT_IN))}")
    return dataset, BUILT_IN[dataset]
