"""Tables are written from their entries: numbers, text and what stands below."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nddv.reporting import numbers
from nddv.reporting.catalogue.tables import TABLES, detection_table
from nddv.reporting.frames import over_seeds
from nddv.reporting.inputs import read_inputs
from nddv.reporting.registry import Table
from nddv.reporting.titles import with_titles
from nddv.reporting.writing import FORMATS, Text, lay_out, to_latex

REPORTS = Path(__file__).parents[2] / "reports" / "tables"


def test_provenance_says_what_is_true_of_a_table(written):
    entry = Table(
        **{"name": "t", "title": "T", "caption": "", "part": "p", "function": "m:f"},
        **{"reads": {}, "columns": {"x": "X"}},
    )
    frame = pd.DataFrame({"x": [1]})
    regime = {"config": "abc", "seeds": [0, 1], "corrupt_valid": True}
    assert (
        "The validation part is corrupted as well. Configuration abc."
        in written(entry, frame, regime)[1]
    )
    unseeded = replace(entry, seeded=False)
    numbers, markdown, _ = written(unseeded, frame, regime)
    assert list(numbers) == ["x", "config"]
    assert "seeds" not in markdown
    of_tables = replace(entry, reads={"tables": "tables"})
    numbers, markdown, _ = written(of_tables, frame, regime)
    assert list(numbers) == ["x"]
    assert "abc" not in markdown


def test_inputs_are_read_by_their_kind(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"# said\nx\n{name}\n")
        (tmp_path / f"{name}.json").write_text(json.dumps({"x": name}))
    csv, records = ([str(tmp_path / f"{n}{suffix}") for n in "ab"] for suffix in (".csv", ".json"))
    inputs = read_inputs(
        {"published": csv, "rows": [], "records": records, "tables": [], "claims": "claims.yaml"}
    )
    assert inputs["published"]["x"].tolist() == ["a", "b"]
    assert inputs["rows"].empty
    assert inputs["records"] == [{"x": "a"}, {"x": "b"}]
    assert inputs["tables"] == {}
    assert inputs["claims"] == "claims.yaml"
    (tmp_path / "c.csv").write_text("y\n1\n")
    assert read_inputs({"tables": [str(tmp_path / "c.csv")]})["tables"]["c"]["y"].tolist() == [1]


def test_latex_escapes_what_it_must_and_keeps_bold():
    rows = (("**0.71 ± 0.03**", "a_b"), ("50 % & more", "—"))
    lines = to_latex(Text("T & T", ("L̂_TPR", "ε̂"), rows, ("δ", "ρ"))).splitlines()
    assert r"\caption{T \& T} \\" in lines
    assert r"\par $\delta$ $\rho$" in lines
    assert r"$\hat{L}$\_TPR & $\hat{\varepsilon}$ \\" in lines
    assert r"\textbf{0.71 $\pm$ 0.03} & a\_b \\" in lines
    assert r"50 \% \& more & --- \\" in lines


def test_latex_knows_every_sign_of_the_catalogue():
    for entry in TABLES.values():
        headings = tuple(heading for heading in entry.columns.values() if heading)
        assert to_latex(Text(entry.title, headings, (), (entry.about,))).isascii(), entry.name


def test_html_escapes_and_keeps_bold():
    page = FORMATS[".html"](Text("T", ("x < y",), (("**a & b**",),), ("<note>",)))
    assert "<th>x &lt; y</th>" in page
    assert "<td><b>a &amp; b</b></td>" in page
    assert "<p>&lt;note&gt;</p>" in page


@pytest.mark.parametrize(
    ("mean", "spread", "text"),
    [
        (0.9927, 0.00434, "0.993 ± 0.004"),
        (0.7123, 0.0340, "0.712 ± 0.034"),
        (0.5, 0.0354, "0.500 ± 0.035"),
        (0.5, 0.0355, "0.50 ± 0.04"),
        (0.5, 0.0949, "0.50 ± 0.09"),
        (0.5, 0.0950, "0.50 ± 0.10"),
        (0.5, 0.09996, "0.50 ± 0.10"),
        (1234.5, 340.0, "1230 ± 340"),
        (63600.0, 1800.0, "63600 ± 1800"),
        (11.141, 3.6, "11 ± 4"),
        (-0.0001, 0.005, "0.000 ± 0.005"),
        (0.75, 0.0, "0.750 ± 0.000"),
        (0.75, 1e-17, "0.750 ± 0.000"),
        (0.75, np.nan, "0.750"),
        (np.nan, 0.1, "—"),
        (np.nan, np.nan, "—"),
    ],
)
def test_the_spread_decides_the_digits(mean, spread, text):
    assert numbers.with_spread(mean, spread) == text


def test_columns_are_written_by_their_kind():
    columns = {"dataset": "", "n": "n", "f1": "F1", "ratio": "Ratio", "gone": "Gone", "ok": "OK"}
    entry = Table(
        **{"name": "t", "title": "T", "caption": "", "part": "p", "function": "m:f", "reads": {}},
        **{"columns": {**columns, "title": "Method", "empty": "Empty", "word": "Word"}},
        digits={"ratio": 1},
    )
    frame = pd.DataFrame(
        {
            "dataset": ["a", "b"],
            "n": [1000.0, np.nan],  # a blank cell makes whole numbers floats
            "f1": [0.5, np.nan],
            "f1_sd": [0.02, np.nan],
            "ratio": [2.0, 0.25],
            "ok": [True, False],
            "title": ["A", None],
            "empty": [np.nan, np.nan],
            "word": ["x", None],
        }
    )
    text = lay_out(entry, frame)
    assert text.columns == ("n", "F1", "Ratio", "OK", "Method", "Empty", "Word")
    assert text.rows == (
        ("1000", "0.500 ± 0.020", "2.0", "yes", "A", "", "x"),
        ("—", "—", "0.2", "", "(every method)", "", ""),
    )
    assert lay_out(entry, frame[:0]).rows == ()


def test_titles_are_looked_up():
    names = ["nddv-path", "nddv-path:interaction=10", "odv:DVRL", "chance", "mine", None]
    frame = with_titles(pd.DataFrame({"method": names, "title": "old", "x": 1}))
    assert list(frame) == ["method", "title", "x"]
    assert frame["title"].tolist()[:5] == [
        "NDDV, path-integrated",
        "NDDV, path-integrated, interaction = 10",
        "OpenDataVal's DVRL",
        "Chance: values without information",
        "mine",
    ]
    assert frame["title"].isna().tolist() == [False] * 5 + [True]


def test_means_over_seeds_say_what_is_missing_and_why():
    rows = pd.DataFrame(
        {
            "method": ["a", "a", "b", "b"],
            "seed": [0, 1, 0, 1],
            "x": [1.0, 3.0, 2.0, np.nan],
            "gap": [np.nan, np.nan, np.nan, "flat"],
        }
    )
    a, b = over_seeds(rows, ["method"], ["x"]).to_dict("records")
    assert a == {"method": "a", "runs": 2, "x": 2.0, "x_sd": pytest.approx(2**0.5), "note": ""}
    assert b["note"] == "x: in 1 of 2 seeds: flat"


@pytest.mark.parametrize("name", [*TABLES, "detection_n1000"])
def test_entries_have_all_columns_of_the_published_tables(name):
    """The files in reports/tables have the columns that their entries describe."""
    entry = TABLES.get(name) or detection_table(1000)
    path = REPORTS / f"{name}.csv"
    if not path.exists():
        pytest.skip("not made yet")
    described = {*entry.columns, *(f"{column}_sd" for column in entry.columns), "config", "seeds"}
    frame = pd.read_csv(path)
    assert set(frame) <= described
    text = lay_out(entry, frame)
    assert all(isinstance(cell, str) for row in text.rows for cell in row)
    assert "nan" not in [cell for row in text.rows for cell in row]


@pytest.mark.parametrize("name", TABLES)
def test_the_function_of_an_entry_takes_what_it_reads_and_is_told(name):
    entry = TABLES[name]
    parameters = inspect.signature(entry.load()).parameters.values()
    given = {*entry.reads, *entry.facts}
    assert {p.name for p in parameters if p.default is p.empty} <= given
    assert given <= {p.name for p in parameters}
