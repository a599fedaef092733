"""Sensitivity of NDDV to one setting at a time (fig:ablation_study)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from nddv.methods.variants import split_variant
from nddv.reporting.frames import PROBLEM, over_seeds, words

Defaults = Mapping[str, Mapping[str, float | str]]

KEYS = [*PROBLEM, "method", "parameter", "setting"]
COLUMNS = [*KEYS, "is_default", "runs", "f1", "f1_sd", "area", "area_sd", "note"]


def sensitivity_table(scores: pd.DataFrame, defaults: Defaults) -> pd.DataFrame:
    """Detection with one setting of NDDV changed at a time.

    Parameters
    ----------
    scores : as :func:`nddv.evaluation.collect.detection_tables` writes them, with methods such as
        ``nddv-path:interaction=10``. Other methods, and problems without any of these, are left
        out. May be without rows and columns.
    defaults : of each readout, the usual setting of every parameter to be shown, which is that of
        the plain readout. A parameter that does nothing to a readout is not among its own.

    Returns
    -------
    One row per problem, readout (``method``), parameter and setting, the default's (``is_default``)
    among them for every parameter: runs, and the means and spreads over seeds of f1
    (budget-matched) and area. Settings are texts, numbers too (``"0.01"``), so that they come back
    from a file as they were; numbers are in order, after words. ``note`` says what failed.
    """
    if scores.empty:
        return pd.DataFrame(columns=COLUMNS)
    texts = {
        method: {name: setting_text(usual) for name, usual in own.items()}
        for method, own in defaults.items()
    }
    parameters = list(dict.fromkeys(name for own in defaults.values() for name in own))
    table = over_seeds(_by_setting(scores, texts), [*KEYS, "is_default"], ["f1", "area"])
    places = {
        "problem": table.groupby(PROBLEM, sort=False).ngroup(),
        "readout": table["method"].map(list(defaults).index),
        "parameter": table["parameter"].map(parameters.index),
        "number": pd.to_numeric(table["setting"], errors="coerce"),
        "learned": table["setting"] != "none",
    }
    order = pd.DataFrame(places).sort_values(list(places), kind="stable", na_position="first")
    return table.loc[order.index, COLUMNS].reset_index(drop=True)


def setting_text(setting: float | str) -> str:
    """A setting as it is written: 1.0 and 1 are the same."""
    return setting if isinstance(setting, str) else f"{setting:g}"


def _by_setting(scores: pd.DataFrame, defaults: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Scores of the readouts with parameter, setting and is_default; the plain ones of each."""
    own = scores[scores["method"].str.partition(":")[0].isin(list(defaults))]
    pairs = [split_variant(name) for name in own["method"]]
    own = own.rename(columns={"f1_budget": "f1"}).assign(
        method=[base for base, _ in pairs],
        parameter=[change.parameter if change else None for _, change in pairs],
        setting=[setting_text(change.setting) if change else None for _, change in pairs],
        gap=words(own["gap"]),
    )
    shown = [p in defaults[m] for m, p in zip(own["method"], own["parameter"], strict=True)]
    changed = own[np.array(shown, dtype=bool)]
    plain = own[own["parameter"].isna()].merge(changed[PROBLEM].drop_duplicates(), on=PROBLEM)
    each = [
        plain[plain["method"] == method].assign(parameter=name, setting=text)
        for method, usual in defaults.items()
        for name, text in usual.items()
    ]
    rows = pd.concat([*each, changed], ignore_index=True)
    named = zip(rows["method"], rows["parameter"], rows["setting"], strict=True)
    rows["is_default"] = [defaults[method][name] == setting for method, name, setting in named]
    # A variant that is set to the default is the plain readout again.
    return rows.drop_duplicates([*KEYS, "seed"])
