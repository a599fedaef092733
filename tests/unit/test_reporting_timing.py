"""Tables and figures of run times, on times that follow known laws."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nddv.reporting.catalogue.tables import TABLES
from nddv.reporting.figures.style import save_figure
from nddv.reporting.figures.timing import elapsed_time, runtime_scaling
from nddv.reporting.frames import NOT_RUN
from nddv.reporting.tables.timing import LARGEST, fit_power_law, timing_table

ROOT = Path(__file__).parents[2]
TITLES = {
    "nddv-terminal": "NDDV, terminal",
    "knn-shapley": "KNN-Shapley",
    "data-shapley": "Data Shapley",
    "lossval": "LossVal",
}


def runs(method, n, features, valid, seconds=(), timeout=60.0, status="done", gap=np.nan):
    """Rows of one method and size, with an empty reason as a file gives it back."""
    about = {
        "method": method,
        "title": TITLES[method],
        "n": n,
        "features": features,
        "valid": valid,
        "valid_rows": 100,
        "seed": 100,
        "threads": 1,
        "timeout": timeout,
        "gap": gap,
    }
    if status != "done":
        empty = {"repeat": 0, "status": status, "seconds": np.nan, "peak_memory_mb": np.nan}
        return [{**about, **empty}]
    return [
        {**about, "repeat": i, "status": status, "seconds": one, "peak_memory_mb": 100.0 + i}
        for i, one in enumerate(seconds)
    ]


def law(method, sizes, features, valid, scale, exponent):
    """Two runs of every size around scale · n^exponent."""
    return [
        row
        for n in sizes
        for row in runs(method, n, features, valid, scale * n**exponent * np.array([0.9, 1.1]))
    ]


@pytest.fixture
def timings():
    """NDDV grows as n, KNN-Shapley as n² with n/10 rows, Data Shapley times out."""
    return pd.DataFrame(
        [
            *law("nddv-terminal", [10_000, 100_000], 500, "none", 1e-3, 1.0),
            *law("knn-shapley", [10_000, 100_000], 500, "fixed", 1e-5, 1.0),
            *law("knn-shapley", [1000, 10_000], 500, "tenth", 1e-8, 2.0),
            *runs("data-shapley", 10_000, 500, "fixed", status="timed out"),
        ]
    )


@pytest.fixture
def published():
    return pd.read_csv(ROOT / "config" / "paper" / "wallclock_scaling.csv", comment="#")


def cell(table, n, valid, method):
    """The one row of a method and size."""
    found = table[(table["n"] == n) & (table["valid"] == valid) & (table["method"] == method)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.parametrize("exponent", [0.7, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_found(exponent):
    rng = np.random.default_rng(100)
    n = np.repeat([100, 1000, 10_000], 20)
    seconds = 3e-4 * n**exponent * np.exp(0.05 * rng.standard_normal(len(n)))
    found = fit_power_law(n.tolist(), seconds.tolist())
    assert found.exponent == pytest.approx(exponent, abs=0.02)
    assert float(found.seconds(LARGEST)) == pytest.approx(3e-4 * LARGEST**exponent, rel=0.15)
    assert (found.smallest, found.largest) == (100, 10_000)


def test_one_size_has_no_exponent():
    assert fit_power_law([100, 100], [1.0, 2.0]) is None
    assert fit_power_law([100, 1000], [1.0, np.nan]) is None


def test_published_minutes_are_those_of_the_paper(published):
    minutes = published.pivot(index="n", columns="method", values="seconds") / 60
    assert minutes["nddv-terminal"].tolist() == [1.6, 5.2, 18.0]
    assert minutes["knn-shapley"].tolist() == [6.1, 58.0, 1060.0]
    assert minutes["data-shapley"].iloc[0] == 24 * 60
    assert minutes["data-shapley"].iloc[1:].isna().all()
    assert published["seconds_sd"].dropna().tolist() == [30 * 60]


def test_table_has_means_spreads_exponents_and_ratios(timings):
    table = timing_table(timings)
    own = cell(table, 10_000, "fixed", "nddv-terminal")
    assert (own["runs"], own["seconds"]) == (2, pytest.approx(10.0))
    assert own["seconds_sd"] == pytest.approx(np.std([9.0, 11.0], ddof=1))
    assert own["peak_memory_mb"] == pytest.approx(100.5)
    assert own["exponent"] == pytest.approx(1.0)
    assert own["ratio"] == 1.0
    assert cell(table, 10_000, "fixed", "knn-shapley")["ratio"] == pytest.approx(0.01)
    square = cell(table, 10_000, "tenth", "knn-shapley")
    assert square["exponent"] == pytest.approx(2.0)
    assert square["ratio"] == pytest.approx(0.1)
    assert np.isnan(cell(table, 1000, "tenth", "knn-shapley")["ratio"])
    assert not table["extrapolated"].any()


def test_a_method_that_reads_no_validation_rows_is_in_both_regimes(timings):
    table = timing_table(timings)
    both = [cell(table, 10_000, valid, "nddv-terminal") for valid in ("fixed", "tenth")]
    assert both[0]["seconds"] == both[1]["seconds"]
    assert "reads no validation rows" in both[1]["note"]
    assert cell(table, 10_000, "fixed", "knn-shapley")["note"] == ""
    alone = timing_table(timings[timings["valid"] == "none"])
    assert set(alone["valid"]) == {"fixed"}


def test_time_outs_and_gaps_have_their_reason_and_no_seconds(timings):
    gap = runs("lossval", 1000, 500, "fixed", status="gap", gap="NoValues: too few")
    table = timing_table(pd.concat([timings, pd.DataFrame(gap)], ignore_index=True))
    late, absent = cell(table, 10_000, "fixed", "data-shapley"), table[table["method"] == "lossval"]
    assert (late["runs"], late["lower_bound"]) == (0, 60)
    assert np.isnan(late["seconds"])
    assert late["note"] == "timed out after 60 s"
    assert absent["note"].tolist() == ["NoValues: too few"]
    assert absent["lower_bound"].isna().all()
    assert absent["estimate"].isna().all()


def test_published_numbers_are_beside_ours_and_what_was_not_run_is_a_gap(timings, published):
    table = timing_table(timings, published)
    for valid in ("fixed", "tenth"):
        row = cell(table, 10_000, valid, "knn-shapley")
        assert row["published_seconds"] == 366
        assert row["published_ratio"] == pytest.approx(6.1 / 1.6)
    largest = cell(table, LARGEST, "tenth", "knn-shapley")
    assert largest["runs"] == 0
    assert np.isnan(largest["seconds"])
    assert NOT_RUN in largest["note"]
    assert largest["published_seconds"] == 63_600
    assert largest["published_seconds_sd"] == 1800
    # measured to 10,000: a hundred times farther is too far
    assert np.isnan(largest["estimate"])
    # ... by its own exponent, 2, and that of NDDV, 1
    farther = cell(table, 100_000, "tenth", "knn-shapley")
    assert farther["extrapolated"]
    assert farther["estimate"] == pytest.approx(100)
    assert farther["ratio"] == pytest.approx(1.0)
    late = cell(table, LARGEST, "tenth", "data-shapley")
    assert np.isnan(late["estimate"])
    assert late["title"] == "Data Shapley"
    assert largest["note"].endswith("the paper: ± 30 min")
    assert "the paper: more than 24 h" in late["note"]


def test_extrapolations_are_rows_of_their_own_and_never_below_a_time_out(timings):
    late = runs("knn-shapley", 20_000, 500, "tenth", status="timed out", timeout=1e6)
    rows = pd.concat([timings, pd.DataFrame(late)], ignore_index=True)
    table = timing_table(rows, extrapolate=[100_000, LARGEST])
    row = cell(table, LARGEST, "fixed", "nddv-terminal")
    assert (row["runs"], row["extrapolated"]) == (0, True)
    assert np.isnan(row["seconds"])
    assert row["estimate"] == pytest.approx(1000)
    assert "extrapolated from n = 10,000 to 100,000" in row["note"]
    assert not cell(table, 100_000, "fixed", "nddv-terminal")["extrapolated"]
    assert np.isnan(cell(table, LARGEST, "fixed", "data-shapley")["estimate"])
    assert cell(table, 20_000, "tenth", "knn-shapley")["estimate"] == 1e6


def test_rows_are_in_order_and_written(timings, published, written):
    wallclock, runtime = TABLES["wallclock_scaling"], TABLES["runtime_scaling"]
    result = wallclock.load()(rows=timings, published=published, threads=4)
    table = result.frame
    order = table[["features", "valid", "n"]]
    pd.testing.assert_frame_equal(order, order.sort_values(list(order), ignore_index=True))
    first = table[(table["valid"] == "fixed") & (table["n"] == 10_000)]["method"]
    assert first.tolist() == ["nddv-terminal", "knn-shapley", "data-shapley"]
    stored, text, _ = written(wallclock, result)
    assert stored["config"].unique().tolist() == ["abc123"]
    assert "seeds" not in stored
    assert stored["n"].dtype.kind == "i"
    assert "| 10000 | 500 | fixed | KNN-Shapley | 2 | 0.100 ± 0.014 [366] | 0.01 [3.8] |" in text
    assert "Threads: 4. Configuration abc123." in text
    assert "measured or extrapolated" not in text
    assert "released code" in text
    scaling = runtime.load()(rows=timings, threads=4)
    assert {10_000, 100_000, LARGEST} <= set(scaling.frame["n"])
    assert "measured or extrapolated" in written(runtime, scaling)[1]


def test_no_rows_are_refused(timings):
    for function in (timing_table, elapsed_time, runtime_scaling):
        with pytest.raises(ValueError, match="no timings"):
            function(timings[:0])


def saved(figure, folder):
    paths = [folder / "figure.png", folder / "figure.pdf"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that does not fit
        save_figure(figure, paths)
    return all(path.stat().st_size > 5000 for path in paths)


def texts(panel):
    return " ".join(" ".join(text.get_text() for text in panel.texts).split())


def markers(panel, fillstyle):
    """Points (n, seconds) of the lines with a marker of that fill."""
    return [
        tuple(point)
        for line in panel.lines
        if line.get_marker() not in ("None", None, "") and line.get_fillstyle() == fillstyle
        for point in line.get_xydata()
    ]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_elapsed_time_has_a_row_per_regime_and_triangles_at_time_outs(timings, tmp_path):
    other = pd.DataFrame(law("knn-shapley", [1000, 10_000], 5, "fixed", 1e-5, 1.0))
    figure = elapsed_time(pd.concat([timings, other], ignore_index=True))
    assert len(figure.axes) == 4
    few, many, few_tenth, many_tenth = figure.axes
    assert [few.get_title(), many.get_title()] == ["5 features", "500 features"]
    assert markers(many, "none") == [(10_000, 60)]
    assert markers(many_tenth, "none") == []
    drawn = markers(many_tenth, "full")
    assert (10_000, pytest.approx(10.0)) in drawn  # NDDV, which reads no validation rows
    assert (10_000, pytest.approx(1.0)) in drawn
    assert NOT_RUN in texts(few_tenth)
    assert NOT_RUN not in texts(few)
    assert "timed out (after 60 s)" in legend(figure)
    assert saved(figure, tmp_path)


def test_elapsed_time_without_gaps_speaks_of_none(timings, tmp_path):
    figure = elapsed_time(timings[timings["status"] == "done"])
    assert not any("timed out" in words for words in legend(figure))
    assert [texts(panel) for panel in figure.axes] == ["", ""]
    assert saved(figure, tmp_path)


def test_a_method_without_values_is_named_in_its_panel(timings):
    gap = runs("lossval", 1000, 500, "fixed", status="gap", gap="NoValues: too few")
    figure = elapsed_time(pd.concat([timings, pd.DataFrame(gap)], ignore_index=True))
    above, below = figure.axes
    assert "LossVal: no values at n = 1,000" in texts(above)
    assert texts(below) == ""


def scaling_rows(features):
    return pd.DataFrame(
        [
            row
            for d in features
            for row in (
                *law("nddv-terminal", [1000, 10_000], d, "none", 1e-3, 1.0),
                *law("lossval", [1000, 10_000], d, "fixed", 1e-2, 1.5),
            )
        ]
    )


def dashed(panel):
    return [line.get_xydata() for line in panel.lines if line.get_linestyle() == "--"]


def test_runtime_scaling_draws_extrapolations_dashed_and_says_so(tmp_path):
    figure = runtime_scaling(scaling_rows([100, 1000, 10_000]))
    assert [panel.get_title() for panel in figure.axes] == [
        "100 features",
        "1,000 features",
        "10,000 features",
    ]
    for panel in figure.axes:
        own, other = dashed(panel)
        # sizes that span a decade are continued for one
        np.testing.assert_allclose(own, [[10_000, 10], [100_000, 100]])
        np.testing.assert_allclose(other[1], [100_000, 1e-2 * 100_000**1.5])
        assert texts(panel) == "∝ n$^{1.00}$ ∝ n$^{1.50}$"
    assert legend(figure)[-1] == "extrapolation"
    assert saved(figure, tmp_path)


def test_runtime_scaling_extrapolates_nothing_that_was_measured_or_has_one_size(tmp_path):
    rows = scaling_rows([100])
    figure = runtime_scaling(rows, largest=10_000)
    assert dashed(figure.axes[0]) == []
    figure = runtime_scaling(rows, largest=20_000)
    assert {line[-1, 0] for line in dashed(figure.axes[0])} == {20_000}
    late = pd.DataFrame(runs("lossval", 10_000, 100, "fixed", status="timed out"))
    once = rows[(rows["method"] != "lossval") | (rows["n"] == 1000)]
    figure = runtime_scaling(pd.concat([once, late], ignore_index=True))
    assert len(dashed(figure.axes[0])) == 1
    assert (10_000, 60) in markers(figure.axes[0], "none")
    assert saved(figure, tmp_path)


def test_runtime_scaling_draws_one_regime(timings):
    with pytest.raises(ValueError, match="one regime"):
        runtime_scaling(timings)
