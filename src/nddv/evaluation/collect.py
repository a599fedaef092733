"""Collect the detection scores of many values files into tidy tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nddv.evaluation.detection import chance_levels, detection_scores
from nddv.problems.problem import Truth
from nddv.values import Values

CURVE_POINTS = 101


def detection_tables(
    truths: Mapping[int, Truth],
    values: Sequence[Values],
    problem: Mapping[str, Any],
    minimum_flagged: float,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score every values file of one problem, over its seeds.

    Parameters
    ----------
    truths : the truth of each seed.
    values : of any methods and seeds; a record with a ``gap`` becomes a row with its reason.
    problem : ``dataset``, ``n`` and ``corruption``: the first columns of both tables.
    minimum_flagged : smallest fraction that the third rule flags.

    Returns
    -------
    Scores, one row per method and seed; curves, one row per method, seed and percent inspected.
    """
    rows, curves = [], []
    percent = np.linspace(0, 100, CURVE_POINTS)
    for valued in values:
        seed = int(valued.record["seed"])
        mask = truths[seed].mask
        row: dict[str, Any] = {
            **problem,
            "method": valued.record["method"],
            "seed": seed,
            "corrupted": int(mask.sum()),
            "seconds": valued.record.get("seconds"),
            "gap": valued.record.get("gap", ""),
            **{f"chance_{name}": x for name, x in chance_levels(float(mask.mean())).items()},
        }
        if not row["gap"]:
            # A separate stream, the same for every method: only ties depend on it.
            rng = np.random.default_rng([seed, 2])
            scores, curve = detection_scores(valued.values, mask, minimum_flagged, rng)
            row.update(scores)
            share_found = 100 * np.interp(percent, np.linspace(0, 100, len(curve)), curve)
            labels = {name: row[name] for name in (*problem, "method", "seed")}
            curves.append(pd.DataFrame({**labels, "inspected": percent, "found": share_found}))
        rows.append(row)
    columns = [*problem, "method", "seed", "inspected", "found"]
    return pd.DataFrame(rows), pd.concat(curves) if curves else pd.DataFrame(columns=columns)
