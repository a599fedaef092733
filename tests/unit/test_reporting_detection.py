"""Tables and figures say what was measured, what was published, and what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nddv.evaluation.collect import detection_tables
from nddv.problems import Truth
from nddv.reporting import numbers
from nddv.reporting.catalogue.tables import detection_table as entry_of
from nddv.reporting.catalogue.tables import experiment_table
from nddv.reporting.figures.detection import detection_curves
from nddv.reporting.figures.style import save_figure
from nddv.reporting.frames import NOT_RUN
from nddv.reporting.registry import Result
from nddv.reporting.tables.detection import detection_table, lay_out
from nddv.reporting.writing import FORMATS, read_text, to_markdown
from nddv.reporting.writing import lay_out as text_of
from nddv.values import Values

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "config" / "paper" / "detection_n1000.csv"
ENTRY = entry_of(1000)


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
        values.append(Values(noise - 3 * mask, None, {**record, "method": "knn-shapley"}))
        values.append(Values(noise, None, {**record, "method": "random"}))
        broken = {**record, "method": "broken"}
        if seed == 100:
            values.append(Values(noise, None, broken))
        else:
            values.append(Values(np.empty(0), None, {**broken, "gap": "ValueError: too | flat"}))
    problem = {"dataset": "2dplanes", "n": 1000, "corruption": "label10"}
    return detection_tables(truths, values, problem, 0.1)


@pytest.fixture
def published():
    return pd.read_csv(PAPER, comment="#")


def table_of(scores, published=None, gaps=()):
    """The table with all methods that there are."""
    methods = {}
    for row in scores.itertuples():
        methods.setdefault(f"{row.dataset}/n{row.n}/{row.corruption}", []).append(row.method)
    printed = pd.DataFrame() if published is None else published
    return detection_table(scores=scores, published=printed, methods=methods, gaps=gaps)


def with_ceilings(scores, f1s):
    """The table, with a ceiling for each seed of its problem."""
    problem = {"dataset": "2dplanes", "n": 1000, "corruption": "label10", "method": "ceiling"}
    rows = [{**problem, "seed": 100 + i, "f1_budget": f1} for i, f1 in enumerate(f1s)]
    methods = {"2dplanes/n1000/label10": list(scores["method"].unique())}
    return detection_table(scores, pd.DataFrame(), methods, ceilings=pd.DataFrame(rows))


def cells(table, entry=ENTRY):
    """Text and notes."""
    laid = lay_out(entry, table)
    return laid.frame, " ".join(laid.notes)


def row(table, method):
    return table[(table["method"] == method) & (table["dataset"] == "2dplanes")].iloc[0]


def test_mean_spread_and_published_stand_side_by_side(evaluated, published):
    scores, _ = evaluated
    table = table_of(scores, published)
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


def test_chance_rows_follow_the_methods(evaluated, published):
    table = table_of(evaluated[0], published)
    assert row(table, "chance")["f1"] == pytest.approx(0.1)
    assert row(table, "chance")["two_means"] == pytest.approx(1 / 6)
    assert row(table, "chance-everything")["two_means"] == pytest.approx(2 / 11)


def test_nothing_is_dropped_silently(evaluated, published):
    table = table_of(evaluated[0], published)
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


def test_what_was_left_out_or_is_not_available_has_its_reason(evaluated, published):
    problem = {"dataset": "2dplanes", "n": 1000, "corruption": "label10"}
    gaps = [
        {**problem, "method": "dvrl", "title": "DVRL", "reason": "hours"},
        {**problem, "dataset": "stl10@resnet50", "reason": "no file"},
        {**problem, "dataset": "mine", "reason": "no such table"},
    ]
    table = table_of(evaluated[0], published, gaps)
    assert row(table, "dvrl")["note"] == "hours"
    pictures = table[table["dataset"] == "stl10@resnet50"]
    assert set(pictures["note"]) == {"no file"}
    assert pictures["published"].notna().sum() == 12
    assert not (table["dataset"] == "stl10").any()
    assert table[table["dataset"] == "mine"]["method"].tolist() == ["all"]
    text, notes = cells(table)
    assert "mine, n = 1000, label10: no such table." in notes
    assert ") hours." in notes
    assert "mine" not in text


def test_nothing_run_at_all_is_a_table_of_gaps(published):
    table = table_of(pd.DataFrame(), published)
    assert len(table) == 7 * 12
    text, notes = cells(table)
    assert text.set_index("Method").loc["LOO", "2dplanes"] == "— (a) [0.18]"
    assert notes == f"(a) {NOT_RUN}."


def test_a_method_that_always_fails_is_a_row_without_numbers(evaluated, published):
    scores, _ = evaluated
    failed = scores[scores["gap"] != ""]
    table = table_of(failed, published)
    assert np.isnan(row(table, "broken")["f1"])
    assert row(table, "broken")["runs"] == 0
    text, notes = cells(table)
    assert text["2dplanes"].iloc[0] == "— (a)"
    assert "(a) 1 of 1 seeds gave no values: ValueError: too | flat." in notes


def test_one_seed_has_no_spread(evaluated, published):
    scores, _ = evaluated
    table = table_of(scores[scores["seed"] == 100], published)
    assert np.isnan(row(table, "random")["f1_sd"])
    assert "±" not in "".join(cells(table)[0]["2dplanes"])


def test_written_together_with_provenance(evaluated, published, written, tmp_path):
    table = table_of(evaluated[0], published)
    frame, markdown, record = written(ENTRY, Result(table, ("A note.",)))
    assert set(frame["config"]) == {"abc123"}
    assert set(frame["seeds"]) == {"100 101"}
    assert len(frame) == len(table)
    for part in (ENTRY.title, ENTRY.about, "A note.", "Configuration abc123.", "seeds 100, 101"):
        assert part in markdown
    assert record["provenance"] == {"config": "abc123", "seeds": [100, 101], "corrupt_valid": False}
    # The text can be made again from the files, in any format.
    text = read_text(ENTRY, tmp_path / f"{ENTRY.name}.csv", tmp_path / f"{ENTRY.name}.json")
    assert FORMATS[".md"](text) == markdown
    for suffix in (".html", ".tex"):
        assert "Configuration abc123." in FORMATS[suffix](text)
        assert "Chance: values without information" in FORMATS[suffix](text)


def test_a_row_per_method_and_a_column_per_data_set_with_the_best_in_bold(evaluated, published):
    scores, _ = evaluated
    other = scores.assign(dataset="fire", f1_budget=scores["f1_budget"] / 2)
    table = table_of(pd.concat([scores, other]), published)
    text, _ = cells(table)
    lines = text.set_index("Method")
    assert list(text.columns[:3]) == ["Method", "2dplanes", "fire"]
    knn = row(table, "knn-shapley")
    number = f"**{numbers.with_spread(knn['f1'], knn['f1_sd'])}**"
    assert "±" in number
    assert lines.loc["KNN-Shapley", "2dplanes"] == f"{number} [0.3]"
    assert lines.loc["KNN-Shapley", "fire"].startswith("**")
    assert not lines.loc["Random", "2dplanes"].startswith("**")
    assert text["Method"].iloc[-1].startswith("Chance")
    markdown = to_markdown(text_of(ENTRY, table))
    bars = [line.count("|") for line in markdown.splitlines() if line.startswith("|")]
    assert set(bars) == {1 + text.shape[1]}


def test_columns_of_the_problem_that_vary_stay_in_front(evaluated):
    scores, _ = evaluated
    more = [scores.assign(dataset=d, corruption=c) for d in "ab" for c in ("label5", "label20")]
    text, _ = cells(table_of(pd.concat(more)), experiment_table("t", "T", "corruption"))
    assert list(text.columns) == ["Data set", "Method", "label5", "label20"]
    assert text.groupby("Data set")["Method"].nunique().to_dict() == {
        "mean of 2": 4,
        "a": 4,
        "b": 4,
    }


def test_methods_stand_in_the_order_of_the_configuration(evaluated):
    scores, _ = evaluated
    methods = {"2dplanes/n1000/label10": ["random", "broken", "knn-shapley"]}
    table = detection_table(scores=scores, published=pd.DataFrame(), methods=methods)
    assert list(table["method"][:3]) == ["random", "broken", "knn-shapley"]


def test_a_method_that_a_block_lacks_is_named_below_and_has_no_row(evaluated):
    scores, _ = evaluated
    rates = pd.concat([scores, scores.assign(corruption="label20")])
    both = pd.concat([rates, rates.assign(dataset="digits")])
    gaps = [
        {"dataset": "digits", "n": 1000, "corruption": corruption, "method": name, "reason": why}
        for corruption in ("label10", "label20")
        for name, why in {"loo": "too slow.", "knn-shapley": "too slow.", "random": "no"}.items()
        if (corruption, name) != ("label20", "random")
    ]
    entry = experiment_table("label_noise_rates", title="", caption="", across="corruption")
    shown, notes = cells(table_of(both, gaps=gaps), entry)
    digits = shown[shown["Data set"] == "digits"]
    assert not {"LOO", "KNN-Shapley"} & set(digits["Method"])
    assert "(b) too slow." in notes
    assert "(b) also stands for KNN-Shapley; LOO on digits." in notes
    # one that it lacks in some columns only has a row
    assert digits.loc[digits["Method"] == "Random", "label10"].iloc[0] == "— (c)"
    assert "KNN-Shapley" in set(shown.loc[shown["Data set"] == "2dplanes", "Method"])


def test_only_the_methods_of_a_problem_are_shown(evaluated):
    scores, _ = evaluated
    methods = {"2dplanes/n1000/label10": ["random"]}
    table = detection_table(scores=scores, published=pd.DataFrame(), methods=methods)
    assert table["method"].tolist() == ["random", "chance", "chance-everything"]


def test_published_numbers_are_complete(published):
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
    assert [text.get_text() for text in panel.texts] == ["broken: no values"]
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
        pd.concat([frame, *(frame.assign(method=f"m{i}") for i in range(9))])
        for frame in (curves.drop_duplicates(["method", "seed", "inspected"]), scores)
    ]
    many = [
        frame.drop_duplicates(["method", "seed", *set(frame) & {"inspected"}]) for frame in many
    ]
    figure = detection_curves(*many)
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert "KNN-Shapley" in labels
    assert "m1" not in labels
    assert "m1" in legend.get_title().get_text()


def test_figure_has_a_panel_for_each_problem(evaluated):
    scores, curves = evaluated
    both = [pd.concat([frame, frame.assign(n=10)]) for frame in (curves, scores)]
    assert len(detection_curves(*both).axes) == 2


def test_a_ceiling_is_a_reference_and_no_method(evaluated):
    """It stands between the methods and chance, is never bold, and takes bold from no method."""
    scores, _ = evaluated
    table = with_ceilings(scores, [1.0, 0.9])
    row = table[table["method"] == "ceiling"].iloc[0]
    assert row["f1"] == pytest.approx(0.95)
    assert row["f1_sd"] == pytest.approx(np.std([1.0, 0.9], ddof=1))
    assert row["runs"] == 2
    frame, notes = cells(table)
    assert list(frame.iloc[-2:, 0]) == [
        "Ceiling: P(y|x) known",
        "Chance: values without information",
    ]
    assert frame["2dplanes"].iloc[-2] == "0.95 ± 0.07"
    assert "**" in frame["2dplanes"].iloc[0]
    assert "expectation of the best" not in notes


def test_without_ceilings_there_is_no_row(evaluated):
    scores, _ = evaluated
    assert "ceiling" not in set(table_of(scores)["method"])
