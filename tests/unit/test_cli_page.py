"""The HTML page: complete in one file, escaped, well formed."""

from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nddv.cli import plots
from nddv.cli.page import render_page
from nddv.cli.value import tabulate
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
        "settings": {"task": task, "readout": readout, "meta_fraction": 0.2, ATTACK: ATTACK},
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
    assert tags.count("svg") == 5  # histogram, two plots by epoch, two samples of a line
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
    assert "No meta table was given" in page


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
        ("regression", "path", "low value does not mean", "igher is better"),
        ("regression", "terminal", "Lowest values", "valuable rows"),
    ],
)
def test_sentences_fit_task_and_readout(task, readout, present, absent):
    page = " ".join(make_page(task=task, readout=readout).split())
    assert present in page
    assert absent not in page
    assert ("By class" in page) == (task == "classification")


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


def test_histogram_keeps_a_tail_readable():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(0, 0.1, 2000), -10 * rng.random(30)])
    flagged = values < np.sort(values)[50]
    drawing = ElementTree.fromstring(str(plots.histogram(values, flagged)))
    heights = [float(e.get("height")) for e in drawing.iter() if e.tag.endswith("rect")]
    assert 20 < len(heights) <= plots.MAX_BINS + 1
    assert min(heights) > 8  # one row is still seen next to a thousand
    assert "logarithmic" in str(plots.histogram(values, flagged))
    even = rng.random(500)
    assert "logarithmic" not in str(plots.histogram(even, even < 0.1))


def test_standard_error_is_a_band_of_the_score_it_belongs_to():
    record = {"epoch": [0, 1, 0, 1], "meta_loss": [2, 1, 2, 1], "meta_error": [0.1] * 4}
    [(name, loss)] = plots.history(record)
    assert name == "meta loss"
    assert str(loss).count("<polygon") == 2
    drawn = dict(plots.history(record | {"meta_accuracy": [0.5, 0.6, 0.5, 0.7]}))
    assert "<polygon" not in drawn["meta loss"]
    assert drawn["meta accuracy"].count("<polygon") == 2


def test_legend_names_the_runs_in_colours_of_their_own():
    two = {"epoch": [0, 1, 0, 1], "loss": [1, 2, 3, 4]}
    assert "run 1 of 2" in plots.history_legend(two)
    assert "run 2 of 2" in plots.history_legend(two)
    assert plots.history_legend({"epoch": [0, 1], "loss": [1, 2]}) == ""
    assert plots.history_legend({}) == ""
    assert not {colour for colour, _ in plots.RUNS} & {plots.RED, plots.BLUE}


def test_history_draws_one_line_a_run_and_leaves_out_what_is_not_numeric():
    record = {"epoch": [0, 1, 2, 0, 1, 2], "loss": [3, 2, 1, 3, 2, float("nan")], "note": ["a"] * 6}
    [(name, drawing)] = plots.history(record)
    assert name == "loss"
    assert str(drawing).count("<polyline") == 2
    assert plots.history({}) == []
    assert str(plots.history({"loss": [1.0]})[0][1]).count("<circle") == 1


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((0, 10), [0, 2, 4, 6, 8, 10]),
        ((-0.31, 0.29), [-0.3, -0.2, -0.1, 0, 0.1, 0.2]),
        ((1000, 1001), [1000, 1000.2, 1000.4, 1000.6, 1000.8, 1001]),
    ],
)
def test_ticks_are_round_and_inside(span, expected):
    assert plots.ticks(*span) == pytest.approx(expected)
