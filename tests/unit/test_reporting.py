"""Tables and figures say what was measured, what was published, and what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nddv.evaluation.collect import detection_tables
from nddv.problems import Truth
from nddv.reporting.detection import (
    NOT_RUN,
    detection_table,
    format_detection,
    read_published,
    write_detection,
)
from nddv.reporting.figures import detection_curves, save_figure
from nddv.reporting.tables import Provenance, to_markdown
from nddv.values import Values

PAPER = Path(__file__).parents[2] / "config" / "paper" / "mislabeled_data_detection.csv"


@pytest.fixture
def evaluated():
    """Two seeds of a good method, a random one, and one that fails on one seed."""
    mask = np.arange(100) < 10
    truth = Truth(mask.astype(np.int8), np.zeros(100, np.int64), np.arange(100))
    truths = {100: truth, 101: truth}
    values = []
    for seed in truths:
        noise = np.random.default_rng(seed).normal(size=100)
        record = {"seed": seed, "seconds": 2.0}
        good = {"method": "knn-shapley", "title": "KNN-Shapley"}
        values.append(Values(noise - 3 * mask, None, {**record, **good}))
        values.append(Values(noise, None, {**record, "method": "random", "title": "Random"}))
        broken = {**record, "method": "broken", "title": "Broken"}
        if seed == 100:
            values.append(Values(noise, None, broken))
        else:
            values.append(Values(np.empty(0), None, {**broken, "gap": "ValueError: too | flat"}))
    problem = {"dataset": "2dplanes", "n": 1000, "corruption": "label10"}
    return detection_tables(truths, values, problem, 0.1)


def row(table, method):
    return table[(table["method"] == method) & (table["dataset"] == "2dplanes")].iloc[0]


def test_mean_spread_and_published_stand_side_by_side(evaluated):
    scores, _ = evaluated
    table = detection_table(scores, read_published(PAPER))
    knn = row(table, "knn-shapley")
    f1 = scores.loc[scores["method"] == "knn-shapley", "f1_budget"]
    assert knn["f1"] == pytest.approx(f1.mean())
    assert knn["f1_sd"] == pytest.approx(f1.std(ddof=1))
    area = scores.loc[scores["method"] == "knn-shapley", "area"]
    assert area.std(ddof=1) > 0
    assert knn["area_sd"] == pytest.approx(area.std(ddof=1))
    assert (knn["published"], knn["published_sd"]) == (0.30, 0.007)
    assert knn["runs"] == 2
    assert knn["note"] == ""


def test_chance_rows_follow_the_methods(evaluated):
    table = detection_table(evaluated[0], read_published(PAPER))
    assert row(table, "chance")["f1"] == pytest.approx(0.1)
    assert row(table, "chance")["two_means"] == pytest.approx(1 / 6)
    assert row(table, "chance-everything")["two_means"] == pytest.approx(2 / 11)


def test_nothing_is_dropped_silently(evaluated):
    table = detection_table(evaluated[0], read_published(PAPER))
    broken = row(table, "broken")
    assert broken["runs"] == 1
    assert "1 of 2 seeds" in broken["note"]
    assert "too | flat" in broken["note"]
    oob = row(table, "data-oob")
    assert oob["note"] == NOT_RUN
    assert oob["published"] == 0.46
    assert np.isnan(oob["f1"])
    absent = table[table["method"] == "all"]
    assert set(absent["dataset"]) == {
        "electricity", "bbc", "imdb", "stl10", "cifar10", "imagenet100",
    }  # fmt: skip


def test_a_method_that_always_fails_is_a_row_without_numbers(evaluated):
    scores, _ = evaluated
    failed = scores[scores["gap"] != ""]
    table = detection_table(failed, read_published(PAPER))
    assert np.isnan(row(table, "broken")["f1"])
    assert row(table, "broken")["runs"] == 0
    assert "—" in format_detection(table).iloc[0].tolist()


def test_one_seed_has_no_spread(evaluated):
    scores, _ = evaluated
    table = detection_table(scores[scores["seed"] == 100], read_published(PAPER))
    assert np.isnan(row(table, "random")["f1_sd"])
    assert "±" not in format_detection(table).iloc[1]["F1, budget-matched"]


def test_written_together_with_provenance(evaluated, tmp_path):
    table = detection_table(evaluated[0], read_published(PAPER))
    paths = write_detection(
        tmp_path / "detection", table, "Title", Provenance("abc123", [100, 101])
    )
    assert [path.name for path in paths] == ["detection.csv", "detection.md", "detection.html"]
    numbers = pd.read_csv(paths[0])
    assert set(numbers["config"]) == {"abc123"}
    assert set(numbers["seeds"]) == {"100 101"}
    assert len(numbers) == len(table)
    for path in paths[1:]:
        text = path.read_text()
        assert "abc123" in text
        assert "seeds 100, 101" in text
        assert "Chance" in text


def test_markdown_has_one_cell_for_each_column(evaluated):
    table = detection_table(evaluated[0], read_published(PAPER))
    text = to_markdown(format_detection(table), "T", "F")
    lines = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == len(table) + 2
    assert {line.count("|") for line in lines} == {12}


def test_published_numbers_are_complete():
    published = read_published(PAPER)
    assert len(published) == 7 * 12
    assert published.groupby("dataset")["method"].nunique().eq(12).all()
    assert published[["f1", "sd"]].notna().all(axis=None)
    best = published.loc[published.groupby("dataset")["f1"].idxmax()]
    # The paper: NDDV has the top F1 on six of seven rows, Data-OOB on electricity by 0.01.
    assert dict(zip(best["dataset"], best["method"], strict=True)) == {
        name: "data-oob" if name == "electricity" else "nddv-terminal"
        for name in published["dataset"].unique()
    }


def test_figure_shows_methods_chance_and_gaps(evaluated, tmp_path):
    scores, curves = evaluated
    without_broken = curves[curves["method"] != "broken"]
    figure = detection_curves(without_broken, scores)
    (panel,) = figure.axes
    labels = [text.get_text() for text in panel.get_legend().get_texts()]
    assert any("KNN-Shapley (area" in label for label in labels)
    assert any(label.startswith("chance") for label in labels)
    assert "Broken: no values" in labels
    assert "%" in panel.get_xlabel()
    assert "%" in panel.get_ylabel()
    found = panel.lines[0].get_ydata()
    expected = curves[curves["method"] == "knn-shapley"].groupby("inspected")["found"].mean()
    np.testing.assert_allclose(found, expected)
    paths = [tmp_path / "a.png", tmp_path / "a.svg"]
    save_figure(figure, paths)
    first = [path.read_bytes() for path in paths]
    assert first[0].startswith(b"\x89PNG")
    assert b"<svg" in first[1]
    save_figure(detection_curves(without_broken, scores), paths)
    assert [path.read_bytes() for path in paths] == first  # same data, same bytes


def test_figure_has_a_panel_for_each_problem(evaluated):
    scores, curves = evaluated
    both = [pd.concat([frame, frame.assign(n=10)]) for frame in (curves, scores)]
    assert len(detection_curves(*both).axes) == 2
