"""Gaps between groups: three tables of the paper.

A table is made of the summary rows that ``nddv.evaluation.groups`` writes, of published numbers and
of gaps: a row per problem and method with means and spreads over seeds, the published number beside
its measurement, and what was not run as a gap with its reason.
"""

from __future__ import annotations

import pandas as pd

from nddv.methods.variants import RELEASED, is_nddv
from nddv.reporting.frames import PROBLEM, Gaps, completed, over_seeds, without_variants
from nddv.reporting.titles import CHANCE, title_of, with_titles

CONTROLS = (RELEASED, "small-loss", "random")
GAPS = ("dtpr", "deo")

_DETECTION = [
    "score_gap",
    *("slope_tpr", "slope_fpr", "predicted_dtpr", "predicted_deo"),
    *("dtpr", "dtpr_mean", "dtpr_floor", "deo", "deo_mean", "deo_floor"),
    *("recall", "auroc"),
]
_COMPARED = ["dtpr_within", "dtpr_share", "deo_within", "deo_share"]


def threshold_sensitivity(
    rows: pd.DataFrame, published: pd.DataFrame, gaps: Gaps = ()
) -> pd.DataFrame:
    """Class-wise gaps and envelopes (tab:threshold_sensitivity_diagnostics), NDDV and controls."""
    rows = without_variants(rows)
    shown = rows["method"].map(is_nddv) | rows["method"].isin(CONTROLS)
    chosen = rows[shown & (rows["partition"] != "protected") & (rows["rule"] == "budget")]
    table = with_titles(_summary(chosen, [*PROBLEM, "partition", "method"], _DETECTION))
    return completed(table, published, ["method", "partition"], gaps, unprinted=False)


def adult_score_gaps(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Score gaps of NDDV by the protected attribute, with and without weights (tab:adult_thm2)."""
    nddv = rows["method"].map(is_nddv) | (rows["method"] == RELEASED)
    chosen = rows[nddv & (rows["partition"] == "protected") & (rows["rule"] == "budget")]
    chosen = chosen.assign(
        scaled_epsilon_u=chosen["epsilon_u"] * chosen["n"] / (chosen["n"] - 1),
        d_phi_sd_units=chosen["score_gap"],
        title=chosen["method"].map(title_of),
        # a readout and its variant without weights: `reweighting` tells them apart
        method=chosen["method"].str.replace(":.*", "", regex=True),
    )
    keys = [*PROBLEM, "method", "title", "reweighting"]
    columns = ["epsilon_u", "scaled_epsilon_u", "d_phi", "d_phi_sd_units", "weight_range"]
    table = _summary(chosen, keys, columns).drop(columns=_COMPARED)
    return completed(table, published, ["method", "reweighting"])


def adult_detection_gaps(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Gaps of detection by the protected attribute, of all methods (tab:adult_cor4)."""
    rows = without_variants(rows)
    chosen = rows[(rows["partition"] == "protected") & rows["rule"].isin(["budget", "balanced"])]
    keys = [*PROBLEM, "method", "rule"]
    levels = {gap: chosen[f"{gap}_chance"] for gap in GAPS}
    chance = chosen.assign(method=CHANCE, gap="", **levels)
    # A seed has one chance level, whatever the method.
    chance = over_seeds(chance.drop_duplicates([*keys, "seed"]), keys, GAPS)
    table = [_summary(chosen, keys, _DETECTION), chance.assign(note="expectation")]
    titled = with_titles(pd.concat(table, ignore_index=True))
    return completed(titled, published, ["method", "rule"])


def _summary(rows: pd.DataFrame, keys: list[str], columns: list[str]) -> pd.DataFrame:
    """Means over seeds, with the reason of what gave no values.

    ``<gap>_within`` is the share of the seeds in which a gap is not above its prediction, and
    ``<gap>_share`` the gap as a part of it.
    """
    check_once(rows, keys)
    compared = {}
    for gap in GAPS:
        measured, predicted = rows[gap], rows[f"predicted_{gap}"]
        known = measured.notna() & predicted.notna()
        # Room for rounding: a gap of zero is within a prediction of zero.
        compared[f"{gap}_within"] = (measured <= predicted + 1e-9).where(known).astype(float)
        compared[f"{gap}_share"] = (measured / predicted).where(predicted > 1e-9)
    rows = rows.assign(**compared)
    table = over_seeds(rows, keys, columns)
    # That some methods have none of these needs no note.
    quiet = over_seeds(rows, keys, ["epsilon_u", *_COMPARED])
    kept = [*_COMPARED, *(n for n in ("epsilon_u", "epsilon_u_sd") if n not in table)]
    return pd.concat([table, quiet[kept]], axis=1)


def check_once(rows: pd.DataFrame, keys: list[str]) -> None:
    """A method is there once: fits with other settings would be averaged with its own."""
    twice = rows[rows.duplicated([*keys, "seed"])]
    if len(twice):
        named = ", ".join(f"{key} {twice[key].iloc[0]}" for key in [*keys, "seed"])
        raise ValueError(f"two summary rows for {named}: give an ablation to its own table only")
