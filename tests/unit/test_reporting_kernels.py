"""The figure of kernels draws what was measured."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nddv.anatomy import kernels as evaluation
from nddv.anatomy.controls import coordinate_functions
from nddv.problems import make_problem
from nddv.reporting.figures.kernels import LOOKS, MODELS, SHAPES, TARGETS, matern_kan
from nddv.reporting.figures.style import save_figure


@pytest.fixture(scope="module")
def frames():
    settings = evaluation.Comparison(
        sizes=(8, 16), repetitions=3, steps=5, rates=(0.05,), valid=10, test=20
    )
    problem, _ = make_problem("wine", 60, "label20", 100)
    tables = coordinate_functions(problem, 100, {"epochs": 1}, points=21)
    return {
        "curves": evaluation.kernel_curves(100, points=61),
        "regressions": evaluation.compare_regressions(100, settings=settings),
        "functions": tables["functions"],
        "states": tables["states"],
        "strengths": tables["strengths"],
    }


@pytest.fixture(scope="module")
def figure(frames):
    return matern_kan(**frames)


def lines(panel, colour):
    return [line for line in panel.lines if line.get_color() == colour and len(line.get_xdata())]


def test_names_are_those_of_the_evaluation():
    assert MODELS == evaluation.NAMES
    assert list(LOOKS) == [*evaluation.NAMES.values(), evaluation.MLP, evaluation.MLP_LONG]
    assert list(TARGETS) == [target.name for target in evaluation.TARGETS]


def test_every_kernel_is_drawn_in_every_panel_of_shapes(frames, figure):
    curves = frames["curves"]
    for panel, kind in zip(figure.axes, SHAPES, strict=False):
        for nu, model in MODELS.items():
            (line,) = lines(panel, LOOKS[model][1].colour)
            own = curves[(curves["kind"] == kind) & (curves["nu"] == nu)]["y"].to_numpy()
            drawn = np.asarray(line.get_ydata(), dtype=float)
            # random functions are shifted as a whole
            assert np.nanstd(drawn - own) == pytest.approx(0, abs=1e-12)


def test_errors_are_geometric_means_over_repetitions(frames, figure):
    regressions = frames["regressions"]
    panels = figure.axes[len(SHAPES) : len(SHAPES) + len(TARGETS)]
    for panel, target in zip(panels, TARGETS, strict=True):
        assert panel.get_title() == TARGETS[target]
        for model, (_, look) in LOOKS.items():
            own = regressions[(regressions["target"] == target) & (regressions["model"] == model)]
            expected = np.exp(np.log(own["rmse"]).groupby(own["points"]).mean())
            drawn = lines(panel, look.colour)
            (line,) = [line for line in drawn if line.get_marker() == look.marker]
            np.testing.assert_allclose(line.get_xdata(), [8, 16])
            np.testing.assert_allclose(line.get_ydata(), expected)
        assert panel.get_ylim() == panels[0].get_ylim()


def test_effects_are_drawn_over_where_the_points_are(frames, figure):
    functions, states, strengths = (frames[k] for k in ("functions", "states", "strengths"))
    control = figure.axes[len(SHAPES) + len(TARGETS) :]
    shown = strengths.loc[strengths["kind"] == "coordinate", "number"].tolist()[:3]
    for panel, p in zip(control[5:], shown, strict=True):
        own = functions[(functions["kind"] == "effect") & (functions["coordinate"] == p)]
        (line,) = lines(panel, "black")
        np.testing.assert_allclose(line.get_ydata(), own["y"])
        rugs = [c for c in panel.collections if c.get_transform() != panel.transData]
        drawn = sum(len(c.get_segments()) for c in rugs if hasattr(c, "get_segments"))
        assert drawn == ((states["kind"] == "coordinate") & (states["number"] == p)).sum()
        assert panel.get_xlabel() == f"state, coordinate {p}"
    assert len(control[0].patches) == (strengths["kind"] == "coordinate").sum()


def test_it_is_written_without_warnings(figure, tmp_path):
    path = tmp_path / "figure.png"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that does not fit
        save_figure(figure, [path])
    assert path.stat().st_size > 10_000


def test_an_empty_table_is_refused(frames):
    with pytest.raises(ValueError, match="has no rows"):
        matern_kan(**frames | {"regressions": frames["regressions"][:0]})
