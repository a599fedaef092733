"""The released procedure: what its notebooks print beside what is measured."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from nddv.reporting.catalogue.tables import TABLES
from nddv.reporting.frames import NOT_RUN

ENTRY = TABLES["released_procedure"]
PROBLEM = {"n": 1000, "corruption": "label10@released"}
PRINTED = {"2dplanes": [0.6, 0.7], "bbc": [0.8], "pol": [0.5]}
F1 = {"2dplanes": [0.5, 0.6, 0.7], "bbc@minilm": [0.85, 0.9, 0.95], "fire": [0.2, 0.2, 0.2]}


@pytest.fixture
def table():
    rows = [
        {"dataset": d, **PROBLEM, "method": m, "seed": seed, "f1_budget": 0.4}
        | {"f1_two_means_at_least": f1 if m == "nddv-released" else 0.99}
        for d, numbers in F1.items()
        for m in ("nddv-released", "random")
        for seed, f1 in enumerate(numbers)
    ]
    printed = [{"dataset": d, **PROBLEM, "f1": f1} for d, all_ in PRINTED.items() for f1 in all_]
    gaps = [{"dataset": "pol", **PROBLEM, "title": "pol", "data": "table", "reason": "no file"}]
    frame = ENTRY.load()(scores=pd.DataFrame(rows), published=pd.DataFrame(printed), gaps=gaps)
    return frame.set_index("dataset")


def test_our_mean_stands_beside_the_range_that_is_printed(table):
    planes = table.loc["2dplanes"]
    assert planes["two_means_at_least"] == pytest.approx(0.6)
    assert planes["two_means_at_least_sd"] == pytest.approx(0.1)
    assert list(planes[["lowest", "highest", "published_low", "published_high"]]) == [
        0.5,
        0.7,
        0.6,
        0.7,
    ]
    assert (planes["apart"], planes["within"]) == (pytest.approx(0), "yes")


def test_what_lies_outside_says_by_how_much(table):
    bbc = table.loc["bbc@minilm"]  # the printed number is of the data set under another encoder
    assert bbc["apart"] == pytest.approx(0.1)
    assert bbc["within"] == "no"  # further than one standard deviation, 0.05


def test_what_is_not_printed_or_not_run_has_no_difference(table):
    assert table.loc["fire", ["within", "two_means_at_least"]].tolist() == ["", pytest.approx(0.2)]
    assert table.loc["pol", ["within", "note"]].tolist() == ["", "no file"]
    assert table.loc["pol", "published_low"] == 0.5


def test_where_nothing_was_run_the_printed_numbers_stand_alone():
    printed = pd.DataFrame([{"dataset": "pol", **PROBLEM, "f1": 0.5}])
    frame = ENTRY.load()(scores=pd.DataFrame(), published=printed)
    assert frame[["dataset", "published_low", "within"]].to_numpy().tolist() == [["pol", 0.5, ""]]
    assert frame["note"].tolist() == [NOT_RUN]


def test_the_columns_of_the_entry_are_those_of_the_frame(table):
    assert set(ENTRY.columns) <= {*table.reset_index()}


def test_the_printed_numbers_are_of_problems_of_the_regime():
    path = Path(__file__).parents[2] / "config" / "paper" / "released_procedure.csv"
    printed = pd.read_csv(path, comment="#")
    assert set(printed["corruption"]) == {"label10@released"}
    assert printed["f1"].between(0, 1).all()
