"""Tables and figures of networks trained end to end: means over seeds, gaps, what is drawn."""

from __future__ import annotations

import pandas as pd
import pytest

from nddv.audit.modules import COLUMNS
from nddv.replay.choices import REPLAY, TERMINAL, TRACIN
from nddv.reporting.catalogue.tables import TABLES
from nddv.reporting.figures import modules as figures
from nddv.reporting.figures.style import save_figure
from nddv.reporting.tables import modules as tables
from nddv.reporting.titles import title_of

GAP = {"dataset": "b", "n": 10, "corruption": "label10", "reason": "not available"}
SEEDS = [100, 101]
METHODS = {REPLAY: 0.9, TRACIN: 0.5, TERMINAL: -0.1, "nddv-path": None}


def frame(name, rows):
    """Rows of two networks and two seeds, of which numbers grow with the seed."""
    frames = []
    for dataset, module in (("a", "mlp"), ("a@pixels", "convolution")):
        for seed in SEEDS:
            of_seed = pd.DataFrame(rows(seed - SEEDS[0]), columns=COLUMNS[name])
            about = {"dataset": dataset, "n": 10, "corruption": "label10", "module": module}
            frames.append(of_seed.assign(**about, seed=seed))
    return pd.concat(frames, ignore_index=True)


@pytest.fixture
def fidelity():
    def rows(later):
        for method, rho in METHODS.items():
            row = {"method": method, "reads": "a", "gap": "" if rho else "it failed"}
            held = {"points": 5, "subsets": 4, "f1": 0.4}
            held |= {"spearman": (rho or 0) + 0.1 * later, "lds_5": rho}
            yield {**row, **held} if rho else row

    return frame("fidelity", rows)


@pytest.fixture
def changes():
    def rows(later):
        for what in ("point", "group"):
            for i in range(3):
                yield {"what": what, "predicted": -0.1 * i, "actual": -0.2 * i - later}

    return frame("changes", rows)


def test_fidelity_is_a_mean_over_seeds_and_gaps_say_why(fidelity, written):
    result = tables.module_fidelity(fidelity, SEEDS, [GAP])
    found = result.frame.set_index(["dataset", "module", "method"])
    row = found.loc[("a", "mlp", REPLAY)]
    assert row["spearman"] == pytest.approx(0.95)
    assert row["spearman_sd"] == pytest.approx(0.1 / 2**0.5)
    assert row["runs"] == 2
    assert "it failed" in found.loc[("a", "mlp", "nddv-path"), "note"]
    csv, text, _ = written(TABLES["module_fidelity"], result)
    assert csv.iloc[-1]["note"] == "not available"
    assert "over seeds 100, 101." in text
    for name in (REPLAY, TRACIN, TERMINAL):
        assert title_of(name) in text


def test_costs_are_means_over_seeds(written):
    def rows(later):
        sizes = {"parameters": 50, "steps": 6, "accuracy": 0.5}
        yield {**sizes, "training": 2.0, "replay": 4.0 + later, "times_training": 2.0 + later / 2}

    result = tables.module_costs(frame("costs", rows), SEEDS)
    assert list(result.frame["times_training"]) == [2.25, 2.25]
    _, text, _ = written(TABLES["module_costs"], result)
    assert "Times the training" in text


@pytest.mark.parametrize("name", ["module_fidelity", "module_costs"])
def test_without_any_data_set_a_table_has_the_gaps(name, written):
    csv, _, _ = written(TABLES[name], getattr(tables, name)(pd.DataFrame(), [100], [GAP]))
    assert list(csv["note"]) == ["not available"]


def test_changes_are_drawn_beside_the_line_where_they_are_equal(changes, tmp_path):
    figure = figures.module_changes(changes)
    assert len(figure.axes) == 4  # two networks, points above groups
    assert [bool(panel.get_ylabel()) for panel in figure.axes] == [True, False, True, False]
    line, marks = figure.axes[0].lines
    assert list(line.get_xdata()) == list(line.get_ydata())
    assert sorted(marks.get_xdata()) == pytest.approx([-1.4, -1.2, -1, -0.4, -0.2, 0])
    assert sorted(marks.get_ydata()) == pytest.approx([-0.2, -0.2, -0.1, -0.1, 0, 0])
    save_figure(figure, [tmp_path / "changes.png"])


def test_every_score_has_a_mark_a_network(fidelity, tmp_path):
    figure = figures.module_fidelity(fidelity)
    panel = figure.axes[0]
    drawn = [line for line in panel.lines if line.get_marker() not in ("None", None)]
    places = sorted(float(x) for line in drawn for x in line.get_xdata() if x == x)
    assert places == pytest.approx([-0.05, -0.05, 0.55, 0.55, 0.95, 0.95])
    heights = [tuple(line.get_ydata()) for line in drawn]
    assert len(set(heights)) == len(METHODS)
    save_figure(figure, [tmp_path / "fidelity.svg"])
    said = (tmp_path / "fidelity.svg").read_text()
    for name in METHODS:
        assert title_of(name) in said


@pytest.mark.parametrize("draw", [figures.module_changes, figures.module_fidelity])
def test_where_there_is_nothing_the_figure_says_why(draw):
    assert "not available" in draw(pd.DataFrame(), [GAP]).texts[-1].get_text()
