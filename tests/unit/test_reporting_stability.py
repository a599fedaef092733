"""Figures of the stability checks, from small runs of the checks themselves."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.audit.stability import CHECKS
from nddv.reporting.catalogue import figures
from nddv.reporting.figures.style import COLOURS, save_figure
from nddv.reporting.numbers import with_spread

SIZES = {
    "contraction": {"points": 20, "steps": 4, "copies": 50},
    "score_gap_transfer": {"interactions": (1.0, 4.0), "points": 30, "steps": 5, "copies": 20},
    "frozen_aggregate": {"sizes": (20, 80, 320), "reference": 2000, "repetitions": 3},
    "discretisation": {
        "refinements": (1, 2, 4),
        "reference": 8,
        "trajectories": (1, 2, 4),
        "points": 20,
        "repetitions": 2,
        "draws": 16,
    },
    "stationarity": {"steps": (2, 4, 8), "repetitions": 2},
}

FIGURES = {check: figures.FIGURES[f"stability_{check}"].load() for check in CHECKS}


@pytest.fixture(scope="module")
def frames():
    return {name: check(**SIZES[name]) for name, check in CHECKS.items()}


def legend_texts(figure):
    legends = [*figure.legends, *(panel.get_legend() for panel in figure.axes)]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


def lines_of(panel, colour):
    """Drawn lines (not the points of measurements) of one colour, as arrays of y."""
    return [
        np.asarray(line.get_ydata(), dtype=float)
        for line in panel.get_lines()
        if line.get_color() == colour and line.get_linestyle() != "None" and len(line.get_ydata())
    ]


def points_of(panel):
    """Measurements that were drawn: y of every set of points with bars."""
    return [np.asarray(drawn.lines[0].get_ydata(), dtype=float) for drawn in panel.containers]


def test_every_check_has_a_figure():
    assert [name for name in figures.FIGURES if name.startswith("stability_")] == [
        f"stability_{check}" for check in CHECKS
    ]


@pytest.mark.parametrize("name", CHECKS)
def test_figures_are_written_and_are_the_same_every_time(frames, name, tmp_path):
    figure = FIGURES[name](frames[name])
    paths = [tmp_path / f"figure.{suffix}" for suffix in ("png", "svg")]
    save_figure(figure, paths)
    assert all(path.stat().st_size > 5000 for path in paths)
    again = [tmp_path / f"again.{suffix}" for suffix in ("png", "svg")]
    save_figure(FIGURES[name](frames[name]), again)
    for one, other in zip(paths, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
    for panel in figure.axes:
        assert panel.get_xlabel()
    assert figure.axes[0].get_ylabel()


def test_contraction_shows_theory_as_lines_and_measurements_as_points(frames):
    frame = frames["contraction"]
    panel = FIGURES["contraction"](frame).axes[0]
    far = frame[(frame["quantity"] == "far pair") & (frame["control"] == "shared")]
    still = far[far["interaction"] == 0.0]
    euler, continuous = lines_of(panel, COLOURS[0])
    assert np.array_equal(euler, still["euler"])
    assert np.array_equal(continuous, still["continuous"])
    assert np.array_equal(points_of(panel)[0], still["measured"][::2])


def test_score_gaps_and_bounds_are_both_drawn(frames):
    frame = frames["score_gap_transfer"]
    panels = FIGURES["score_gap_transfer"](frame).axes
    for panel, kind in zip(panels, ("shared", "labelled"), strict=True):
        own = frame[(frame["map"] == kind) & (frame["group"] == 0)]
        assert np.array_equal(lines_of(panel, COLOURS[0])[0], own["bound"])
        assert np.array_equal(points_of(panel)[0], own["measured"])


def test_rates_are_told_with_their_errors(frames):
    frame = frames["frozen_aggregate"]
    slope = frame.loc[frame["quantity"] == "score", ["slope", "slope_stderr"]].iloc[0]
    texts = legend_texts(FIGURES["frozen_aggregate"](frame))
    expected = f"scores: slope {with_spread(*slope)}"
    assert expected.replace("-", "−") in texts


def test_an_error_with_a_floor_is_given_no_rate(frames):
    texts = legend_texts(FIGURES["discretisation"](frames["discretisation"]))
    assert "against the limit Δt → 0" in texts
    assert any(text.startswith("against M → ∞: slope −") for text in texts)


def test_the_bound_and_its_floor_are_drawn(frames):
    frame = frames["stationarity"]
    unbiased, biased = FIGURES["stationarity"](frame).axes
    exact = frame[frame["gradient"] == "exact"]
    assert np.array_equal(lines_of(unbiased, COLOURS[0])[0], exact["bound"])
    assert np.array_equal(points_of(unbiased)[0], exact["mean_square"])
    floor = frame.loc[frame["gradient"] == "bias", "floor"].mean()
    assert any(np.allclose(y, floor) for y in lines_of(biased, "0.3"))
    assert unbiased.get_ylim() == biased.get_ylim()
