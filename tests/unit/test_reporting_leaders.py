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
    assert path["ahead_se"] == pytest.approx(0.1 / 3**0.5)
    assert (path["wins"], path["leads"]) == ("2 of 3", "yes")
    assert table.loc[("b", "nddv-path"), "leads"] == "no"
    assert table.loc[("a", "nddv-terminal"), "wins"] == "0 of 3"


def test_how_often_each_readout_leads_is_said(scores, written):
    _, text, record = written(ENTRY, leaders(scores))
    assert record["notes"][:2] == [
        "NDDV, path-integrated leads in 1 of 2.",
        "NDDV, terminal (the paper's score) leads in 0 of 2.",
    ]
    assert " ".join(record["notes"]) in text
    line = "| 0.80 ± 0.10 | Data-OOB, logistic | 0.750 ± 0.000 | 0.05 ± 0.10 | 0.058 | 2 of 3 |"
    assert line in text


def test_other_methods_are_not_compared(scores):
    table = ENTRY.load()(scores=scores, methods=["nddv-path", "loo"]).frame
    assert set(table["baseline"]) == {"loo"}


def test_a_problem_without_baselines_has_no_row(scores, written):
    ours = leaders(scores[scores["method"].str.startswith("nddv-")])
    assert ours.frame.empty
    assert "| Data set | n |" in written(ENTRY, ours)[1]
