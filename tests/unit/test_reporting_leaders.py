"""Who leads, and by how much."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nddv.reporting.catalogue.tables import TABLES

ENTRY = TABLES["leaders"]

F1 = {
    "nddv-path": [0.7, 0.9, 0.8],
    "nddv-terminal": [0.5, 0.5, 0.5],
    "loo": [0.6, 0.6, 0.6],
    "data-oob": [0.75, 0.75, 0.75],
    "random": [0.99, 0.99, 0.99],
    "dvrl": [np.nan, np.nan, np.nan],
}


@pytest.fixture
def scores():
    rows = [
        {"dataset": d, "n": 1000, "corruption": "label10", "method": m}
        | {"seed": 100 + i, "f1_budget": f1 - (0.2 if d == "b" and m == "nddv-path" else 0)}
        for d in "ab"
        for m, numbers in F1.items()
        for i, f1 in enumerate(numbers)
    ]
    return pd.DataFrame(rows)


def leaders(scores):
    return ENTRY.load()(scores=scores, methods=list(F1))


def test_the_best_baseline_and_the_difference_seed_by_seed(scores):
    table = leaders(scores).frame.set_index(["dataset", "method"])
    path = table.loc[("a", "nddv-path")]
    assert (path["baseline"], path["baseline_f1"]) == ("data-oob", 0.75)
    assert path["ahead"] == pytest.approx(0.05)
    assert path["ahead_sd"] == pytest.approx(0.1)
    half = 4.302653 * 0.1 / 3**0.5  # Student's quantile at .975 for two degrees of freedom
    assert path["ahead_low"] == pytest.approx(0.05 - half, abs=1e-6)
    assert path["ahead_high"] == pytest.approx(0.05 + half, abs=1e-6)
    assert tuple(path[["wins", "leads", "zero_inside"]]) == ("2 of 3", "yes", "yes")
    assert tuple(table.loc[("b", "nddv-path"), ["leads", "zero_inside"]]) == ("no", "yes")
    terminal = table.loc[("a", "nddv-terminal")]
    assert tuple(terminal[["wins", "leads", "zero_inside"]]) == ("0 of 3", "no", "no")


def test_a_tie_is_no_lead_and_one_seed_has_no_interval(scores):
    level = scores[scores["method"].isin(["nddv-path", "loo"])].assign(f1_budget=0.5)
    table = leaders(level).frame
    assert set(table["leads"]) == {"no"}
    assert set(table["wins"]) == {"0 of 3"}
    assert set(table["zero_inside"]) == {"yes"}
    alone = leaders(scores[scores["seed"] == 101]).frame
    assert alone[["ahead_low", "ahead_high"]].isna().all(axis=None)
    assert set(alone["zero_inside"]) == {""}


def test_controls_are_rivals_and_chance_and_the_released_procedure_are_not(scores):
    loo = scores[scores["method"] == "loo"]
    more = [loo.assign(method=m, f1_budget=f) for m, f in (("aum", 0.9), ("nddv-released", 1.0))]
    names = [*F1, "aum", "nddv-released"]
    table = ENTRY.load()(scores=pd.concat([scores, *more], ignore_index=True), methods=names).frame
    assert set(table["baseline"]) == {"aum"}


def test_how_often_each_readout_leads_is_said(scores, written):
    _, text, record = written(ENTRY, leaders(scores))
    assert record["notes"][:2] == [
        "NDDV, path-integrated leads in 1 of 2, with zero inside the interval in 1 of these; it is "
        "behind, with zero outside, in 0.",
        "NDDV, terminal (the paper's score) leads in 0 of 2, with zero inside the interval in 0 of "
        "these; it is behind, with zero outside, in 2.",
    ]
    assert " ".join(record["notes"]) in text
    line = (
        "| 0.80 ± 0.10 | Data-OOB, logistic | 0.750 ± 0.000 | 0.05 ± 0.10 | -0.198 | 0.298 | 2 of 3"
    )
    assert f"{line} | yes | yes |" in text


def test_other_methods_are_not_compared(scores):
    table = ENTRY.load()(scores=scores, methods=["nddv-path", "loo"]).frame
    assert set(table["baseline"]) == {"loo"}


def test_a_problem_without_baselines_has_no_row(scores, written):
    ours = leaders(scores[scores["method"].str.startswith("nddv-")])
    assert ours.frame.empty
    assert "| Data set | n |" in written(ENTRY, ours)[1]
