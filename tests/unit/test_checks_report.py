"""`nddv.check`: the report of a table, its sentences, and what it takes."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import nddv
from nddv import NDDV
from nddv.support.wording import InputError

FAST = {"random_state": 100, "members": 2, "epochs": 6}
N = 150
EVIL = "<b>a & b</b>"


def table(seed: int = 100):
    """Features, labels with 15 wrong ones among the first, and the right labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    side = X[:, 0] > 0
    X[:, 0] += np.where(side, 2.0, -2.0)
    clean = np.where(side, EVIL, "plain")
    y = clean.copy()
    y[:15] = np.where(clean[:15] == EVIL, "plain", EVIL)
    X[40] = 12.0  # strange
    X[51], y[51] = X[50], y[50]  # duplicates
    X[61], y[60], y[61] = X[60], EVIL, "plain"  # duplicates that disagree
    return X, y, clean


X, Y, CLEAN = table()


@pytest.fixture(scope="module")
def report():
    return nddv.check(X, Y, groups=pd.DataFrame({"half": np.arange(N) < 75}), **FAST)


def test_rows_have_a_line_each(report):
    rows = report.rows
    assert list(rows) == [
        *("row", "label", "value", "rank", "p_wrong", "suggested", "p_suggested", "flag"),
        *("typicality", "outlier", "group", "exact", "conflicting"),
    ]
    assert rows["row"].tolist() == list(range(1, N + 1))
    assert (rows["label"] == Y).all()
    assert sorted(rows["rank"]) == list(range(1, N + 1))
    assert rows.loc[rows["rank"] == 1, "value"].item() == rows["value"].max()
    np.testing.assert_array_equal(rows["value"], report.model.values_)
    np.testing.assert_array_equal(rows["p_wrong"], report.labels.p_wrong)
    assert ((rows["flag"] == 1) == (rows["p_wrong"] > 0.5)).all()


def test_what_was_put_in_is_found(report):
    rows = report.rows
    assert rows["flag"][:15].mean() > 0.6
    assert rows["flag"][15:].mean() < 0.15
    found = rows.index[:15][rows["flag"][:15] == 1]
    assert (rows["suggested"][found] == CLEAN[found]).all()
    assert rows["outlier"][40]
    assert rows["exact"][[50, 51, 60, 61]].all()
    assert rows["group"][50] == rows["group"][51] >= 0
    assert rows["conflicting"][[60, 61]].all()
    assert not rows["conflicting"][[50, 51]].any()


def test_what_is_to_be_looked_at(report):
    review = report.to_review()
    assert len(review) == report.record["flagged"] == report.rows["flag"].sum()
    assert (np.diff(review["p_wrong"]) <= 0).all()


def test_classes_and_groups(report):
    classes = report.classes
    assert list(classes) == ["label", "rows", "wrong", "low", "high", "value"]
    assert classes["wrong"].sum() == pytest.approx(report.wrong.count)
    for label, value in classes[["label", "value"]].to_numpy():
        assert value == pytest.approx(
            report.rows.loc[report.rows["label"] == label, "value"].mean()
        )
    halves = report.groups.set_index("group")
    assert set(halves["column"]) == {"half"}
    wrong = report.rows["p_wrong"]
    assert halves.loc["True", "share_wrong"] == pytest.approx(wrong[:75].mean())


def test_the_record_is_json(report):
    record = json.loads(json.dumps(report.record))
    assert record["rows"] == N
    assert record["wrong"]["count"] == report.wrong.count
    assert record["outliers"] == report.rows["outlier"].sum()
    assert record["duplicates"] == (report.rows["group"] >= 0).sum()


def test_three_sentences(report):
    first, second, third = str(report).splitlines()
    said = re.match(
        r"About (\d+) of 150 labels look wrong \(90% interval: (\d+) to (\d+)\); (\d+)", first
    )
    assert said, first
    wrong = report.wrong
    numbers = [wrong.count, wrong.low, wrong.high, report.record["flagged"]]
    assert [int(n) for n in said.groups()] == [round(n) for n in numbers]
    assert re.match(r"The class '(plain|<b>a & b</b>)' has the largest share", second), second
    assert "strange features" in third
    assert "1 group of equal rows with different labels" in third
    assert repr(report) == str(report)


def test_a_notebook_shows_labels_as_they_are(report):
    shown = report._repr_html_()
    assert "<table" in shown
    assert "&lt;b&gt;a &amp; b&lt;/b&gt;" in shown
    assert "<b>" not in shown


def test_a_clean_table_is_said_to_be_clean():
    rng = np.random.default_rng(102)
    features = rng.normal(size=(100, 2)) + 6 * np.repeat([[0], [1]], 50, axis=0)
    report = nddv.check(features, np.repeat([0, 1], 50), **FAST)
    assert report.record["flagged"] == 0
    assert re.match(r"No label of the 100 rows stands out as wrong \(at most \d\)\.", str(report))
    assert "np." not in str(report)
    assert "<table" not in report._repr_html_()


def mixed():
    """A frame with words, dates, truth values and missing entries; classes that are numbers."""
    rng = np.random.default_rng(103)
    size, color = rng.normal(size=N), rng.choice(["red", "green", "blue"], N).astype(object)
    y = (size + (color == "red") > 0).astype(int)
    y[:10] = 1 - y[:10]
    frame = pd.DataFrame(
        {
            "size": np.where(np.arange(N) % 20 == 7, np.nan, size),
            "color": np.where(np.arange(N) % 30 == 8, None, color),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90, N), "D"),
            "new": rng.random(N) < 0.5,
        },
        index=rng.permutation(N) + 1000,
    )
    return frame, y


@pytest.fixture(scope="module")
def of_frame():
    frame, y = mixed()
    return nddv.check(frame, pd.Series(y, index=frame.index), frame[100:], y[100:], **FAST)


def test_a_frame_with_words_and_missing_entries(of_frame):
    assert {column.kind for column in of_frame.encoding.columns} >= {"number", "category", "date"}
    assert len(of_frame.rows) == N
    assert of_frame.rows["row"].tolist() == list(range(1, N + 1))
    assert of_frame.rows["p_wrong"][:10].mean() > of_frame.rows["p_wrong"][10:].mean() + 0.2
    assert "np." not in str(of_frame)
    assert re.search(r"The class [01] has", str(of_frame))


def test_a_frame_of_polars_says_the_same(of_frame):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame, y = mixed()
    given = polars.from_pandas(frame.reset_index(drop=True))
    labels = polars.Series("y", y)
    again = nddv.check(given, labels, given[100:], labels[100:], **FAST)
    np.testing.assert_allclose(again.rows["p_wrong"], of_frame.rows["p_wrong"], atol=1e-6)


def test_a_fitted_model_is_used():
    model = NDDV(**FAST | {"epochs": 2}).fit(X, Y)
    report = nddv.check(X, Y, model=model)
    assert report.model is model
    np.testing.assert_array_equal(report.rows["value"], model.values_)


def test_a_model_of_other_rows_is_refused():
    model = NDDV(members=1, epochs=1).fit(X[:20], Y[:20])
    with pytest.raises(InputError, match="the model was fitted to 20 rows, not 150"):
        nddv.check(X, Y, model=model)


def test_a_large_table_is_checked_without_its_features(monkeypatch):
    monkeypatch.setattr("nddv.checks.rows.LARGEST", 100)
    report = nddv.check(X, Y, **FAST | {"epochs": 2})
    assert report.features is None
    assert report.duplicates is None
    assert "typicality" not in report.rows
    assert "too large to look for strange features" in report.record["notices"][-1]
    assert len(report.sentences()) == 3


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"y": np.linspace(0, 1, N)}, InputError, 'give classes, or value .*readout="residual"'),
        ({"y": Y[:-1]}, ValueError, "y has 149 entries, but X has 150 rows"),
        ({"X": X * np.nan}, ValueError, "X has a missing or infinite value in row 0"),
        ({"y": ["a"] * N}, ValueError, "one class only"),
        ({"model": NDDV()}, ValueError, "fit"),
        ({"model": NDDV(), "random_state": 3}, InputError, "leave random_state out"),
        ({"groups": {"half": [0, 1]}}, InputError, "groups\\['half'\\] has 2 entries"),
    ],
)
def test_bad_input_is_refused_before_models_are_trained(
    changed, error, says, says_why, monkeypatch
):
    def never(*_, **__):
        raise AssertionError("a model was trained")

    monkeypatch.setattr("nddv.checks.labels.held_out_scores", never)
    with pytest.raises(error, match=says) as raised:
        nddv.check(**{"X": X, "y": Y} | changed)
    says_why(raised.value)
