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
from nddv.reporting.latex import to_latex
from nddv.reporting.tables import Provenance, read_frame, to_markdown
from nddv.values import Values

PAPER = Path(__file__).parents[2] / "config" / "paper" / "detection_n1000.csv"


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
    absent = table[(table["dataset"] != "2dplanes") & (table["note"] == NOT_RUN)]
    assert absent.groupby("dataset")["published"].count().to_dict() == dict.fromkeys(
        ["electricity", "bbc", "imdb", "stl10", "cifar10", "imagenet100"], 12
    )


def test_what_was_left_out_or_cannot_be_had_has_its_reason(evaluated):
    problem = {"dataset": "2dplanes", "n": 1000, "corruption": "label10"}
    gaps = [
        {**problem, "method": "dvrl", "title": "DVRL", "reason": "hours"},
        {**problem, "dataset": "stl10@resnet50", "reason": "no file"},
        {**problem, "dataset": "mine", "reason": "no such table"},
    ]
    table = detection_table(evaluated[0], read_published(PAPER), gaps)
    assert row(table, "dvrl")["note"] == "hours"
    pictures = table[table["dataset"] == "stl10@resnet50"]
    assert set(pictures["note"]) == {"no file"}
    assert pictures["published"].notna().sum() == 12
    assert not (table["dataset"] == "stl10").any()
    assert table[table["dataset"] == "mine"]["method"].tolist() == ["all"]
    text, notes = format_detection(table)
    assert "mine, n = 1000, label10: no such table." in notes
    assert ") hours." in notes
    assert "mine" not in text


def test_nothing_run_at_all_is_a_table_of_gaps():
    table = detection_table(pd.DataFrame(), read_published(PAPER))
    assert len(table) == 7 * 12
    text, notes = format_detection(table)
    assert text.set_index("Method").loc["LOO", "2dplanes"] == "— (a) [0.18]"
    assert notes == f"(a) {NOT_RUN}."


def test_a_method_that_always_fails_is_a_row_without_numbers(evaluated):
    scores, _ = evaluated
    failed = scores[scores["gap"] != ""]
    table = detection_table(failed, read_published(PAPER))
    assert np.isnan(row(table, "broken")["f1"])
    assert row(table, "broken")["runs"] == 0
    text, notes = format_detection(table)
    assert text["2dplanes"].iloc[0] == "— (a)"
    assert "(a) 1 of 1 seeds gave no values: ValueError: too | flat." in notes


def test_one_seed_has_no_spread(evaluated):
    scores, _ = evaluated
    table = detection_table(scores[scores["seed"] == 100], read_published(PAPER))
    assert np.isnan(row(table, "random")["f1_sd"])
    assert "±" not in "".join(format_detection(table)[0]["2dplanes"])


def test_written_together_with_provenance(evaluated, tmp_path):
    table = detection_table(evaluated[0], read_published(PAPER))
    paths = write_detection(
        tmp_path / "detection", table, "Title", "dataset", Provenance("abc123", [100, 101])
    )
    assert [path.suffix for path in paths] == [".csv", ".md", ".html", ".tex"]
    numbers = pd.read_csv(paths[0])
    assert set(numbers["config"]) == {"abc123"}
    assert set(numbers["seeds"]) == {"100 101"}
    assert len(numbers) == len(table)
    for path in paths[1:]:
        text = path.read_text()
        assert "abc123" in text
        assert "seeds 100, 101" in text
        assert "Chance" in text


def test_a_row_per_method_and_a_column_per_data_set_with_the_best_in_bold(evaluated):
    scores, _ = evaluated
    other = scores.assign(dataset="fire", f1_budget=scores["f1_budget"] / 2)
    table = detection_table(pd.concat([scores, other]), read_published(PAPER))
    text, _ = format_detection(table)
    lines = text.set_index("Method")
    assert list(text.columns[:3]) == ["Method", "2dplanes", "fire"]
    knn = row(table, "knn-shapley")
    number = f"**{knn['f1']:.3f} ± {knn['f1_sd']:.3f}**"
    assert lines.loc["KNN-Shapley", "2dplanes"] == f"{number} [0.3]"
    assert lines.loc["KNN-Shapley", "fire"].startswith("**")
    assert not lines.loc["Random", "2dplanes"].startswith("**")
    assert text["Method"].iloc[-1].startswith("Chance")
    markdown = to_markdown(text, "T", "F")
    bars = [line.count("|") for line in markdown.splitlines() if line.startswith("|")]
    assert set(bars) == {1 + text.shape[1]}


def test_columns_of_the_problem_that_vary_stay_in_front(evaluated):
    scores, _ = evaluated
    more = [scores.assign(dataset=d, corruption=c) for d in "ab" for c in ("label5", "label20")]
    text, _ = format_detection(detection_table(pd.concat(more)), across="corruption")
    assert list(text.columns) == ["Data set", "Method", "label5", "label20"]
    assert text.groupby("Data set")["Method"].nunique().to_dict() == {"a": 4, "b": 4}


def test_frames_of_several_files_or_of_none(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(f"# said\nx\n{name}\n")
    paths = [tmp_path / "a", tmp_path / "b"]
    assert read_frame(paths, comment="#")["x"].tolist() == ["a", "b"]
    assert read_frame([]).empty


def test_latex_escapes_what_it_must_and_keeps_bold():
    text = pd.DataFrame({"L̂_TPR": ["**0.71 ± 0.03**", "50 % & more"], "ε̂": ["a_b", "—"]})
    lines = to_latex(text, "T & T", "δ").splitlines()
    assert r"\caption{T \& T. $\delta$}\\" in lines
    assert r"$\hat{L}$\_TPR & $\hat{\varepsilon}$ \\" in lines
    assert r"\textbf{0.71 $\pm$ 0.03} & a\_b \\" in lines
    assert r"50 \% \& more & --- \\" in lines


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
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert {"KNN-Shapley", "Random", "best possible", "chance"} <= set(labels)
    assert [text.get_text() for text in panel.texts] == ["Broken: no values"]
    assert "%" in panel.get_xlabel()
    assert "%" in panel.get_ylabel()
    found = panel.lines[0].get_ydata()
    expected = curves[curves["method"] == "knn-shapley"].groupby("inspected")["found"].mean()
    np.testing.assert_allclose(found, expected)
    paths = [tmp_path / "a.png", tmp_path / "a.pdf"]
    save_figure(figure, paths)
    first = [path.read_bytes() for path in paths]
    assert first[0].startswith(b"\x89PNG")
    assert first[1].startswith(b"%PDF")
    save_figure(detection_curves(without_broken, scores), paths)
    assert [path.read_bytes() for path in paths] == first  # same data, same bytes


def test_among_many_methods_the_usual_ones_stand_out(evaluated):
    scores, curves = evaluated
    many = [
        pd.concat([frame, *(frame.assign(method=f"m{i}", title=f"M{i}") for i in range(9))])
        for frame in (curves.drop_duplicates(["method", "seed", "inspected"]), scores)
    ]
    many = [
        frame.drop_duplicates(["method", "seed", *set(frame) & {"inspected"}]) for frame in many
    ]
    figure = detection_curves(*many)
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert "KNN-Shapley" in labels
    assert "M1" not in labels
    assert "M1" in legend.get_title().get_text()


def test_figure_has_a_panel_for_each_problem(evaluated):
    scores, curves = evaluated
    both = [pd.concat([frame, frame.assign(n=10)]) for frame in (curves, scores)]
    assert len(detection_curves(*both).axes) == 2
