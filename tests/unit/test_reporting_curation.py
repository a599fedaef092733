"""The figure draws what was measured, and the table says it with its gaps."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from nddv.evaluation import curation as evaluation
from nddv.evaluation.collect import detection_tables
from nddv.evaluation.curation import curation_tables
from nddv.problems import make_problem
from nddv.reporting.catalogue.tables import TABLES as ENTRIES
from nddv.reporting.figures.curation import DIRECTIONS, TASKS, curation_curves
from nddv.reporting.figures.style import LOOKS, save_figure
from nddv.reporting.tables.curation import CONTROL
from nddv.reporting.titles import title_of
from nddv.values import Values

ADDRESS = {"dataset": "wine", "n": 60, "corruption": "label20"}
REASON = "NoValues: too flat"


@pytest.fixture(scope="module")
def evaluated():
    """Curves, areas and detection curves of two seeds, one method without values on the second."""
    problems, truths, values = {}, {}, []
    for seed in (100, 101):
        problems[seed], truths[seed] = make_problem("wine", 60, "label20", seed)
        noise = np.random.default_rng(seed).normal(size=60)
        found = {
            "nddv-path": noise - 5 * truths[seed].mask,
            "knn-shapley": noise if seed == 100 else np.empty(0),
            "lava": -noise,
        }
        for method, array in found.items():
            record = {"method": method, "seed": seed}
            gap = {} if len(array) else {"gap": REASON}
            values.append(Values(array, None, record | gap))
    curves, areas = curation_tables(problems, values, ADDRESS, draws=3)
    _, detection = detection_tables(truths, values, ADDRESS, 0.1)
    return curves, areas, detection


def coloured(panel, colour):
    return [line for line in panel.lines if line.get_color() == colour and len(line.get_xdata())]


def test_names_are_those_of_the_evaluation():
    assert CONTROL == evaluation.CONTROL
    assert list(evaluation.DIRECTIONS) == DIRECTIONS
    headings = ENTRIES["curation"].columns
    signs = {d: 1 if "+" in headings[d] else -1 for d in DIRECTIONS}
    assert signs == evaluation.GOOD


def test_a_panel_per_problem_and_task_with_means_over_seeds(evaluated):
    curves, _, detection = evaluated
    other = [frame.assign(dataset="other") for frame in (curves, detection)]
    figure = curation_curves(pd.concat([curves, other[0]]), pd.concat([detection, other[1]]))
    assert len(figure.axes) == 2 * len(TASKS)
    colour = LOOKS["nddv-path"].colour
    for panel, direction in zip(figure.axes[1:5], DIRECTIONS, strict=True):
        (line,) = coloured(panel, colour)
        part = curves[(curves["method"] == "nddv-path") & (curves["direction"] == direction)]
        mean = part.groupby("share")["accuracy"].mean()
        np.testing.assert_allclose(line.get_xdata(), 100 * mean.index)
        np.testing.assert_allclose(line.get_ydata(), 100 * mean)
        control = curves[(curves["method"] == CONTROL) & (curves["direction"] == direction)]
        (random,) = coloured(panel, "0.45")
        expected = 100 * control.groupby("share")["accuracy"].mean()
        np.testing.assert_allclose(random.get_ydata(), expected)
    (line,) = coloured(figure.axes[0], colour)
    found = detection[detection["method"] == "nddv-path"].groupby("inspected")["found"].mean()
    np.testing.assert_allclose(line.get_ydata(), found)


def test_chance_is_drawn_or_named_in_every_accuracy_panel(evaluated):
    curves, _, detection = evaluated
    level = 100 * curves["chance_accuracy"].mean()
    figure = curation_curves(curves, detection)
    for panel in figure.axes[1:5]:
        lines = [line for line in panel.lines if np.allclose(line.get_ydata(), level)]
        texts = [text.get_text() for text in panel.texts]
        drawn = len([line for line in lines if len(line.get_xdata())])
        assert drawn + sum(text.startswith(f"chance {level:.0f} %") for text in texts) == 1


def test_a_method_without_any_values_is_named(evaluated, tmp_path):
    curves, _, detection = evaluated
    gone = curves["method"] == "nddv-path"
    without = curves[gone].drop_duplicates(["seed", "direction"])
    without = without.assign(share=np.nan, accuracy=np.nan, log_likelihood=np.nan, gap=REASON)
    figure = curation_curves(pd.concat([curves[~gone], without]), detection[:0])
    texts = ["\n".join(text.get_text() for text in panel.texts) for panel in figure.axes]
    said = " ".join(texts[0].split())
    assert "nothing corrupted" in said
    assert f"{title_of('nddv-path')}: no values in 2 of 2 seeds" in said
    assert f"{title_of('knn-shapley')}: no values in 1 of 2 seeds" in said
    assert title_of("lava") not in said
    paths = [tmp_path / f"figure.{suffix}" for suffix in ("png", "pdf", "svg")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that does not fit
        save_figure(figure, paths)
    assert all(path.stat().st_size > 10_000 for path in paths)
    assert "Remove highest first" in paths[2].read_text()


def test_an_empty_figure_is_refused(evaluated):
    curves, _, detection = evaluated
    with pytest.raises(ValueError, match="no rows"):
        curation_curves(curves[:0], detection)


def test_table_has_means_spreads_random_orders_and_gaps(evaluated, written):
    _, areas, _ = evaluated
    gap = {"dataset": "imdb", "n": 1000, "corruption": "label10", "reason": "no source"}
    entry = ENTRIES["curation"]
    table = entry.load()(scores=areas, gaps=[gap])
    assert table["title"].tolist()[:4] == [
        "NDDV, path-integrated",
        "KNN-Shapley",
        "LAVA",
        "Random order",
    ]
    by = table.set_index("method")
    for direction in DIRECTIONS:
        own = areas[(areas["method"] == "nddv-path") & (areas["direction"] == direction)]
        for measure, suffix in (("accuracy", ""), ("log_likelihood", "_log_likelihood")):
            assert by.loc["nddv-path", direction + suffix] == pytest.approx(own[measure].mean())
            spread = by.loc["nddv-path", f"{direction}{suffix}_sd"]
            assert spread == pytest.approx(own[measure].std(ddof=1))
        assert by.loc[CONTROL, direction] == 0
        squares = own["random_accuracy"] ** 2
        assert by.loc[CONTROL, f"{direction}_sd"] == pytest.approx(np.sqrt(squares.mean()))
    assert REASON in by.loc["knn-shapley", "note"]
    assert "in 1 of 2 seeds" in by.loc["knn-shapley", "note"]
    assert by.loc["nddv-path", "note"] == ""
    numbers, text, _ = written(entry, table)
    assert "| imdb | 1000 | label10 | (every method) | — | — | — | — | no source |" in text
    assert "seeds 100, 101" in text
    assert numbers["seeds"].unique().tolist() == ["100 101"]
