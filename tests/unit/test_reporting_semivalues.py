"""Tables and figures of semi-values at equal time: means over seeds, ratios, gaps, heights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nddv.audit.accuracy import COLUMNS
from nddv.audit.estimators import ESTIMATORS, PERMUTATIONS, PREDICTED, REUSE, TWO_LEVEL
from nddv.reporting.catalogue.tables import TABLES
from nddv.reporting.figures import semivalues as figures
from nddv.reporting.figures.style import save_figure
from nddv.reporting.tables import semivalues as tables
from nddv.reporting.titles import title_of

LATE = "no values before 3.0 s"
GAP = {"dataset": "b", "n": 10, "corruption": "label10", "reason": "not available"}
SEEDS = [100, 101]


def frame(name, rows):
    """Rows of one problem and two seeds, of which numbers grow with the seed."""
    frames = []
    for seed in SEEDS:
        of_seed = pd.DataFrame(rows(seed - SEEDS[0]), columns=COLUMNS[name])
        frames.append(of_seed.assign(dataset="a", n=10, corruption="label10", seed=seed))
    return pd.concat(frames, ignore_index=True)


@pytest.fixture
def accuracy():
    def rows(later):
        for law, usual in (("shapley", PERMUTATIONS), ("banzhaf", REUSE)):
            of = {"semivalue": law, "gap": "", "reference_reliability": 0.98}
            near = {"pearson": 0.9, "spearman": 0.9, "disattenuated": 0.9 + 0.1 * later}
            yield {**of, **near, "method": "knn-shapley", "seconds": 0.01}
            for method in (PREDICTED, TWO_LEVEL, usual):
                drawn = {"method": method, "budget": 8.0, "seconds": 7.5, "draws": 40}
                yield {**of, **near, **drawn, "reliability": 0.9}
                yield {"semivalue": law, "method": method, "budget": 0.5, "gap": LATE}

    return frame("accuracy", rows)


@pytest.fixture
def shares():
    def rows(later):
        for method, share in ((TWO_LEVEL, 0.8), (PERMUTATIONS, 0.3)):
            of = {"semivalue": "shapley", "method": method}
            some = {"certified_one": share + 0.1 * later, "certified_all": 0.1, "agreement": 1.0}
            yield {**of, "budget": 8.0, "seconds": 7.0, "draws": 9, "pairs": 45, **some, "gap": ""}
            yield {**of, "budget": 0.5, "gap": LATE}

    return frame("shares", rows)


def test_accuracy_is_a_mean_over_seeds_and_what_came_too_late_says_so(accuracy, written):
    result = tables.semivalue_accuracy(accuracy, SEEDS, [GAP])
    found = result.frame.set_index(["dataset", "semivalue", "method", "budget"])
    row = found.loc[("a", "shapley", PREDICTED, 8.0)]
    assert row["disattenuated"] == pytest.approx(0.95)
    assert row["disattenuated_sd"] == pytest.approx(0.1 / np.sqrt(2))
    assert (row["runs"], row["note"]) == (2, "")
    late = found.loc[("a", "shapley", PREDICTED, 0.5)]
    assert np.isnan(late["pearson"])
    assert late["note"] == LATE
    csv, text, _ = written(TABLES["semivalue_accuracy"], result)
    assert csv.iloc[-1]["note"] == "not available"
    assert "over seeds 100, 101." in text
    for name in (PREDICTED, "knn-shapley"):
        assert title_of(name) in text


def test_seconds_are_compared_with_the_usual_way_of_the_same_seed(written):
    def rows(later):
        of = {"gap": "", "extrapolated": False}
        yield {**of, "semivalue": "shapley", "method": PREDICTED, "to_target": 2.0}
        yield {"semivalue": "shapley", "method": "knn-shapley", "gap": "r² is 0.481"}
        long = {"to_target": 100.0 * (1 + later), "extrapolated": bool(later)}
        yield {**of, "semivalue": "shapley", "method": PERMUTATIONS, **long}
        yield {**of, "semivalue": "banzhaf", "method": REUSE, "to_target": 7.0}

    result = tables.semivalue_seconds(frame("seconds", rows), SEEDS)
    found = result.frame.set_index(["semivalue", "method"])
    assert found.loc[("shapley", PREDICTED), "quicker"] == pytest.approx(75.0)
    assert found.loc[("shapley", PERMUTATIONS), "quicker"] == 1
    assert found.loc[("shapley", PERMUTATIONS), "extrapolated"] == 1
    assert found.loc[("banzhaf", REUSE), "to_target"] == 7
    assert found.loc[("shapley", "knn-shapley"), "note"] == "r² is 0.481"
    csv, _, _ = written(TABLES["semivalue_seconds"], result)
    read = tables.semivalue_seconds(frame("seconds", rows).astype(object), SEEDS).frame
    assert list(read["extrapolated"]) == list(csv["extrapolated"])


def test_shares_are_means_over_seeds(shares):
    found = tables.certified_shares(shares, SEEDS).frame.set_index(["method", "budget"])
    assert found.loc[(TWO_LEVEL, 8.0), "certified_one"] == pytest.approx(0.85)
    assert LATE in found.loc[(TWO_LEVEL, 0.5), "note"]


@pytest.mark.parametrize("name", ["semivalue_accuracy", "semivalue_seconds", "certified_shares"])
def test_without_any_data_set_a_table_has_the_gaps(name, written):
    result = getattr(tables, name)(pd.DataFrame(), SEEDS, [GAP])
    csv, text, _ = written(TABLES[name], result)
    assert list(csv["note"]) == ["not available"]
    assert "not available" in text


def test_what_came_too_late_in_one_seed_is_told(accuracy):
    late = (accuracy["seed"] == 101) & (accuracy["budget"] == 8)
    accuracy.loc[late, ["seconds", "pearson", "disattenuated"]] = np.nan
    accuracy.loc[late, "gap"] = LATE
    found = tables.semivalue_accuracy(accuracy, SEEDS).frame.set_index(["method", "budget"])
    assert set(found.loc[(PREDICTED, 8.0), "note"]) == {f"in 1 of 2 seeds: {LATE}"}


def test_one_seed_has_no_spread(accuracy):
    one = accuracy[accuracy["seed"] == 100]
    assert tables.semivalue_accuracy(one, [100]).notes == ("Seed 100.",)


def lines(panel):
    return {line.get_label(): line for line in panel.lines if len(line.get_xdata()) < 2}


def test_the_height_is_what_r_squared_leaves(accuracy, tmp_path):
    figure = figures.semivalue_accuracy(accuracy)
    shapley, banzhaf = figure.axes
    assert shapley.get_ylabel().startswith("Shapley")
    assert banzhaf.get_ylabel().startswith("Banzhaf")
    points = [tuple(np.ravel(line.get_data())) for line in lines(shapley).values()]
    error = np.mean([1 - 0.9**2, 1e-3])  # r = 1 is drawn at the limit
    assert (7.5, pytest.approx(error)) in points
    assert (0.01, pytest.approx(error)) in points
    low, high = shapley.get_ylim()
    assert low > high  # better is higher
    save_figure(figure, [tmp_path / "accuracy.svg"])
    said = (tmp_path / "accuracy.svg").read_text()
    for name in (*ESTIMATORS, "knn-shapley"):
        assert title_of(name) in said
    assert ".999" in said


def test_shares_for_one_pair_and_for_all_are_told_apart(shares):
    (panel,) = figures.certified_shares(shares).axes
    drawn = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in panel.lines}
    assert len(drawn) == len(panel.lines) == 4
    heights = sorted(float(line.get_ydata()[0]) for line in panel.lines)
    assert heights == pytest.approx([10, 10, 35, 85])


def test_an_estimator_looks_alike_in_both_figures_and_like_no_other():
    alone, among = (figures._looks(names) for names in ([], ["ghostsuite", "shapley-level"]))
    assert {name: among[name] for name in alone} == alone
    assert len({(look.colour, look.style) for look in among.values()}) == len(among)
    assert len({(look.colour, look.marker) for look in among.values()}) == len(among)


@pytest.mark.parametrize("draw", [figures.semivalue_accuracy, figures.certified_shares])
def test_where_there_is_nothing_the_figure_says_why(draw, accuracy, shares, tmp_path):
    late = (accuracy if draw is figures.semivalue_accuracy else shares).query("budget == 0.5")
    for rows in (pd.DataFrame(), late):
        figure = draw(rows, [GAP])
        assert "not available" in figure.texts[-1].get_text()
        save_figure(figure, [tmp_path / "nothing.png"])
