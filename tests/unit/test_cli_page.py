"""The HTML page: complete in one file, escaped, well formed."""

from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nddv.cli import plots
from nddv.cli.page import render_page
from nddv.cli.value import tabulate
from nddv.dynamics.readouts import READOUTS
from nddv.estimator.settings import SETTINGS
from nddv.tabular.files import FileTable

ATTACK = '<script>alert("1")</script>'


class Checker(HTMLParser):
    """Follows the tags; `open` is empty at the end of a well-formed page."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def make_page(
    n: int = 40, columns: int = 3, task: str = "classification", readout: str = "path", **changes
) -> str:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=n) for i in range(columns)})
    frame[ATTACK] = ATTACK
    frame["constant"] = 1
    frame["y"] = np.where(rng.random(n) < 0.5, ATTACK, "no")
    table = FileTable(Path(ATTACK), frame, text=True)
    values = rng.normal(size=n)
    result = tabulate(table, values - values.mean(), None, 0.1, [])
    record = {
        "nddv": "0",
        "command": f"nddv value {ATTACK}",
        "input": {
            "file": ATTACK,
            "sha256": "00",
            "rows": n,
            "target": "y",
            "id": [],
            "meta": None,
            "valid": None,
        },
        "columns": [{"column": c} for c in frame.columns if c not in {"y", "constant"}],
        "features": 4,
        "notices": [ATTACK],
        "flag": {"fraction": 0.1, "rows": int(result["flag"].sum())},
        "seconds": 1.0,
        "settings": {
            **{"task": task, "readout": readout, "meta_fraction": 0.2, ATTACK: ATTACK},
            "reweighting": SETTINGS["reweighting"].value(READOUTS[readout].configuration),
        },
        "estimator": {"seconds": 1.0, "note": ATTACK},
    }
    history = {"epoch": [0, 1, 0, 1], "train_loss": [2.0, 1.0, 2.0, 1.5], ATTACK: [1, 2, 3, 4]}
    return render_page(table, result, record | changes, history)


def test_page_is_complete_and_well_formed():
    page = make_page()
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    tags = [tag for tag, _ in checker.seen]
    assert not {"script", "link", "img", "iframe"} & set(tags)
    assert not any("src" in a or "href" in a for _, a in checker.seen)
    assert tags.count("svg") == 3  # histogram, two plots by epoch
    assert "run 1 of 2" in page
    assert "run 2 of 2" in page
    assert "url(" not in page
    assert "http" not in page


def test_everything_of_the_user_is_escaped():
    assert "<script" not in make_page()
    assert "&lt;script&gt;" in make_page()


def test_page_shows_the_rows_and_says_what_the_flag_is():
    page = make_page()
    assert "Least valuable rows" in page
    assert "Most valuable rows" in page
    assert "not a detector" in page


def test_meta_data_are_told_of_where_they_are_needed():
    assert "No meta table was given: there were two runs" in make_page(readout="terminal")
    page = make_page(readout="path")
    assert "meta" not in page.partition("<h2>Settings")[0].partition("How to read this")[2]


def test_wide_tables_are_cut_and_say_so():
    assert "more columns in use are not shown" in make_page(columns=30)
    assert "more columns" not in make_page(columns=3)


def test_with_meta_table():
    record = {
        "file": "t.csv",
        "sha256": "00",
        "rows": 40,
        "target": "y",
        "id": [],
        "meta": "good.csv",
        "valid": None,
    }
    page = make_page(input=record, readout="participation")
    assert "steered by the meta table good.csv" in page
    assert "validation data were the table good.csv" in page
    page = make_page(input=record, readout="path")
    assert "steered" not in page
    assert "No value depends on the meta table good.csv" in page


def test_columns_that_are_not_used_are_not_shown():
    assert "<th>x0</th>" in make_page()
    assert "<th>constant</th>" not in make_page()


def test_version_is_left_out_when_unknown():
    assert "nddv 0" in make_page()
    assert "None" not in make_page(nddv=None)


@pytest.mark.parametrize(
    ("task", "readout", "present", "absent"),
    [
        ("classification", "path", "gather mislabelled rows", "does not mean"),
        ("classification", "terminal", "gather mislabelled rows", "does not mean"),
        ("classification", "participation", "more weight on a row", "does not mean"),
        ("regression", "participation", "gather rows with a wrong target", "mislabelled"),
        ("regression", "residual", "gather rows with a wrong target", "mislabelled"),
        ("regression", "terminal", "Lowest values", "valuable rows"),
    ],
)
def test_sentences_fit_task_and_readout(task, readout, present, absent):
    page = " ".join(make_page(task=task, readout=readout).split())
    assert present in page
    assert absent not in page
    assert ("By class" in page) == (task == "classification")


@settings(max_examples=40)
@given(
    values=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=200),
    fraction=st.floats(0, 0.99),
)
def test_histogram_is_xml_and_counts_every_row(values, fraction):
    array = np.asarray(values)
    flagged = np.arange(len(array)) < fraction * len(array)
    drawing = ElementTree.fromstring(str(plots.histogram(array, flagged)))
    bars = [t.text for t in drawing.iter("title") if t.text and t.text.endswith((" row", " rows"))]
    assert sum(int(b.split(": ")[1].split()[0]) for b in bars) == len(array)


def height_of(bar):
    """Of a bar, in pixels: its path goes from corner to corner."""
    (path,) = [node.get("d") for node in bar if node.tag == "path"]
    corners = [float(word) for word in path.split() if word[-1].isdigit()]
    return max(corners[1::2]) - min(corners[1::2])


def test_histogram_keeps_a_tail_readable():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(0, 0.1, 2000), -10 * rng.random(30)])
    flagged = values < np.sort(values)[50]
    drawing = ElementTree.fromstring(str(plots.histogram(values, flagged)))
    heights = [height_of(bar) for bar in drawing.iter() if bar.get("class") == "bar"]
    assert 20 < len(heights) <= plots.MAX_BINS + 1
    assert min(heights) > 8  # one row is still seen next to a thousand
    assert "logarithmic" in str(plots.histogram(values, flagged))
    even = rng.random(500)
    assert "logarithmic" not in str(plots.histogram(even, even < 0.1))


def test_history_has_a_plot_for_each_number_that_there_is():
    record = {"epoch": [0, 1], "train_loss": [2.0, 1.0]}
    assert [name for name, _ in plots.history(record)] == ["train loss"]
    record |= {"meta_loss": [2.0, 1.0], "meta_accuracy": [0.5, 0.6]}
    assert [name for name, _ in plots.history(record)] == [
        *("train loss", "meta loss", "meta accuracy")
    ]


def test_runs_have_colours_of_their_own():
    two = {"epoch": [0, 1, 0, 1], "loss": [1, 2, 3, 4]}
    first, second = plots.run_looks(two)
    assert first != second
    ((_, drawing),) = plots.history(two)
    assert all(colour in drawing for colour, _ in (first, second))
    assert plots.run_looks({"epoch": [0, 1], "loss": [1, 2]}) == []
    assert plots.run_looks({}) == []
    assert not {colour for colour, _ in plots.RUNS} & {plots.RED, plots.BLUE}


def test_history_draws_one_line_a_run_and_leaves_out_what_is_not_numeric():
    record = {"epoch": [0, 1, 2, 0, 1, 2], "loss": [3, 2, 1, 3, 2, float("nan")], "note": ["a"] * 6}
    [(name, drawing)] = plots.history(record)
    assert name == "loss"
    assert drawing.count('class="line"') == 2
    assert plots.history({}) == []
    assert plots.history({"loss": [1.0]})[0][1].count('class="dot"') == 1


def test_the_same_values_give_the_same_drawing_without_addresses():
    values = np.random.default_rng(0).normal(size=50)
    first, second = (plots.histogram(values, values < -1) for _ in range(2))
    assert first == second
    assert not [word for word in ("http", "url(", "href", " id=") if word in first]
    assert "−1" in first  # a true minus sign
