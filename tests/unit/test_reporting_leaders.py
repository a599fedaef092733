"""Who leads, and by how much."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nddv.reporting.leaders import leaders, write_leaders
from nddv.reporting.tables import Provenance

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
        {"dataset": d, "n": 1000, "corruption": "label10", "method": m, "title": m.upper()}
        | {"seed": 100 + i, "f1_budget": f1 - (0.2 if d == "b" and m == "nddv-path" else 0)}
        for d in "ab"
        for m, numbers in F1.items()
        for i, f1 in enumerate(numbers)
    ]
    return pd.DataFrame(rows)


def test_the_best_baseline_and_the_difference_seed_by_seed(scores):
    table = leaders(scores).set_index(["dataset", "method"])
    path = table.loc[("a", "nddv-path")]
    assert (path["baseline"], path["baseline_f1"]) == ("data-oob", 0.75)
    assert path["ahead"] == pytest.approx(0.05)
    assert path["ahead_sd"] == pytest.approx(0.1)
    assert (path["wins"], path["leads"]) == ("2 of 3", "yes")
    assert table.loc[("b", "nddv-path"), "leads"] == "no"
    assert table.loc[("a", "nddv-terminal"), "wins"] == "0 of 3"


def test_how_often_each_readout_leads_is_said(scores, tmp_path):
    _, markdown, *_ = write_leaders(
        tmp_path / "leaders", leaders(scores), "T", Provenance("abc", [100, 101, 102])
    )
    text = markdown.read_text()
    assert "NDDV-PATH leads in 1 of 2." in text
    assert "NDDV-TERMINAL leads in 0 of 2." in text
    assert "| 0.800 ± 0.100 | DATA-OOB | 0.750 ± 0.000 | 0.050 ± 0.100 | 2 of 3 | yes |" in text


def test_a_problem_without_baselines_has_no_row(scores, tmp_path):
    ours = leaders(scores[scores["method"].str.startswith("nddv-")])
    assert ours.empty
    paths = write_leaders(tmp_path / "leaders", ours, "T", Provenance("abc", [100]))
    assert "| Data set | n |" in paths[1].read_text()
