"""The figures draw the frames that they are given, and say what is missing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from nddv.anatomy.trajectories import trace_run
from nddv.evaluation.curation import curation_tables
from nddv.problems import make_problem
from nddv.reporting.figures.curation import DIRECTIONS
from nddv.reporting.figures.overview import overview
from nddv.reporting.figures.style import LOOKS, save_figure
from nddv.reporting.figures.trajectories import (
    CLEAN,
    CORRUPTED,
    HIGH,
    LOW,
    layer_epoch_values,
    path_values,
    state_dynamics,
    valuation_process,
)
from nddv.values import Values

N, SEED = 80, 100
READS = {
    overview: ("run", "points", "states", "steps"),
    state_dynamics: ("run", "points", "states", "steps", "weight_map"),
    layer_epoch_values: ("points", "layers", "epochs"),
    valuation_process: ("points", "epochs", "curves"),
}


@pytest.fixture(scope="module")
def frames():
    """Of one run, with the removal and addition curves of two seeds."""
    problem, truth = make_problem("2dplanes", N, "label20", SEED)
    traced = trace_run(problem, truth, SEED, {"epochs": 4, "width": 6, "hidden": 5})
    values = [
        Values(traced["points"][name], None, {"method": f"nddv-{name}", "seed": seed})
        for name in ("path", "terminal")
        for seed in (SEED, SEED + 1)
    ]
    problems = {SEED: problem, SEED + 1: make_problem("2dplanes", N, "label20", SEED + 1)[0]}
    address = {"dataset": "2dplanes", "n": N, "corruption": "label20"}
    curves, _ = curation_tables(problems, values, address, draws=2)
    return {**traced, "curves": curves}


def draw(function, frames, **changes):
    given = {**frames, **changes}
    return function(**{name: given[name] for name in READS[function]})


def lines(panel, colour, width=None):
    return [
        line
        for line in panel.lines
        if line.get_color() == colour
        and len(line.get_xdata()) > 1
        and (width is None or line.get_linewidth() == width)
    ]


def texts(figure):
    found = [t.get_text() for t in figure.texts]
    for panel in figure.axes:
        found += [t.get_text() for t in panel.texts]
    legends = [*figure.legends, *(legend for sub in figure.subfigs for legend in sub.legends)]
    for legend in legends:
        found += [t.get_text() for t in [legend.get_title(), *legend.get_texts()]]
    return " ".join(found).replace("\n", " ")


@pytest.mark.parametrize("function", READS, ids=lambda f: f.__name__)
def test_every_figure_is_written_from_what_a_file_gives_back(function, frames, tmp_path):
    read = {}
    for name in READS[function]:
        frames[name].to_csv(tmp_path / name, index=False)
        read[name] = pd.read_csv(tmp_path / name)
    paths = [tmp_path / "one.pdf", tmp_path / "one.png"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that does not fit
        save_figure(function(**read), paths)
    assert all(path.stat().st_size > 5000 for path in paths)


@pytest.mark.parametrize("function", READS, ids=lambda f: f.__name__)
def test_a_run_without_corrupted_points_is_refused(function, frames):
    with pytest.raises(ValueError, match="some of each"):
        draw(function, frames, points=frames["points"].assign(corrupted=False))


def test_frames_of_different_runs_are_refused(frames):
    with pytest.raises(ValueError, match="different points"):
        draw(layer_epoch_values, frames, epochs=frames["epochs"].query("point > 3"))


def test_overview_tells_what_is_found_by_the_lowest_values(frames):
    figure = draw(overview, frames)
    panel = figure.axes[4]
    points = frames["points"]
    for readout in ("path", "terminal"):
        (line,) = lines(panel, LOOKS[f"nddv-{readout}"].colour)
        lowest = points.nsmallest(16, readout)["corrupted"].sum()
        assert line.get_xdata()[16] == pytest.approx(20)
        assert line.get_ydata()[16] == pytest.approx(100 * lowest / points["corrupted"].sum())
        assert line.get_ydata()[-1] == pytest.approx(100)
    assert "s_i = -X_{i,T}" in texts(figure)
    arrows = [c for c in figure.axes[2].collections if hasattr(c, "U")]
    end = frames["states"][frames["states"]["step"] == 3]
    assert set(arrows[0].U) <= set(end["costate_1"])


def test_states_are_drawn_with_the_mean_and_the_weights_with_other_seeds(frames):
    grid = frames["weight_map"]
    several = pd.concat([grid, grid.assign(seed=7, weight=0.3), grid.assign(seed=8, weight=0.4)])
    figure = draw(state_dynamics, frames, weight_map=several)
    flow, _, weights = figure.axes
    (mean,) = [line for line in lines(flow, "black") if line.get_marker() == "s"]
    np.testing.assert_allclose(mean.get_ydata(), frames["steps"]["mean_1"])
    (own,) = lines(weights, "black")
    np.testing.assert_allclose(own.get_ydata(), grid["weight"])
    assert [line.get_ydata()[0] for line in lines(weights, "0.7")] == [0.3, 0.4]
    assert "2 other seeds" in texts(figure)
    assert "other seed" not in texts(draw(state_dynamics, frames))
    share = f"{100 * frames['run']['explained_1'].item():.0f} % of variance"
    assert share in flow.get_ylabel()


def test_value_trajectories_have_medians_and_bands_of_clean_and_corrupted(frames):
    figure = draw(layer_epoch_values, frames)
    points = frames["points"]
    for panel, name, x in zip(figure.axes, ("layers", "epochs"), ("time", "epoch"), strict=True):
        marked = points[["point", "corrupted"]].merge(frames[name], on="point")
        for corrupted, colour in ((False, CLEAN), (True, CORRUPTED)):
            by_x = marked[marked["corrupted"] == corrupted].groupby(x)["value"]
            (median,) = lines(panel, colour, 1.6)
            np.testing.assert_allclose(median.get_ydata(), by_x.median())
            assert len(lines(panel, colour, 0.6)) == 7
        low, high = panel.collections[-1].get_datalim(panel.transData).intervaly
        assert low == pytest.approx(by_clean_quantile(marked, x, 0.1).min())
        assert high == pytest.approx(by_clean_quantile(marked, x, 0.9).max())


def by_clean_quantile(marked, x, q):
    return marked[~marked["corrupted"]].groupby(x)["value"].quantile(q)


def test_path_values_are_running_means_of_standardised_values_late_epochs_more(frames):
    by_epoch = frames["epochs"].pivot(index="epoch", columns="point", values="value")
    found = path_values(by_epoch)
    total, weight = np.zeros(N), 0.0
    for k, values in enumerate(by_epoch.to_numpy(), start=1):
        total += k * (values - values.mean()) / values.std(ddof=1)
        weight += k
        np.testing.assert_allclose(found.loc[k], total / weight, atol=1e-12)


def test_the_ends_that_are_drawn_are_those_of_the_last_epoch(frames):
    panel = draw(valuation_process, frames).axes[0]
    by_epoch = frames["epochs"].pivot(index="epoch", columns="point", values="value")
    means = path_values(by_epoch)
    tenth = N // 10
    for colour, end in ((HIGH, "nlargest"), (LOW, "nsmallest")):
        points = getattr(means.iloc[-1], end)(tenth).index
        (median,) = lines(panel, colour, 1.6)
        np.testing.assert_allclose(median.get_ydata(), means[points].median(axis=1))


def test_the_process_shows_means_over_seeds_and_the_share_at_the_low_end(frames):
    figure = draw(valuation_process, frames)
    points, curves = frames["points"], frames["curves"]
    colour = LOOKS["nddv-terminal"].colour
    (share,) = lines(figure.axes[1], colour)
    budget = points["corrupted"].sum()
    lowest = points.nsmallest(budget, "terminal")["corrupted"].sum()
    assert share.get_ydata()[-1] == pytest.approx(100 * lowest / budget)
    for panel, direction in zip(figure.axes[2:], DIRECTIONS, strict=True):
        part = curves[(curves["method"] == "nddv-terminal") & (curves["direction"] == direction)]
        mean = 100 * part.groupby("share")["accuracy"].mean()
        (line,) = lines(panel, colour)
        np.testing.assert_allclose(line.get_ydata(), mean)
    assert "mean over 2 seeds" in texts(figure)


def test_a_readout_without_curves_is_named_in_the_panels(frames):
    curves = frames["curves"]
    figure = draw(valuation_process, frames, curves=curves[curves["method"] != "nddv-path"])
    said = "nddv-path: not run in this configuration"
    assert texts(figure).count(said) == len(DIRECTIONS)
    assert "nddv-terminal:" not in texts(figure)


def test_curves_of_two_problems_are_refused(frames):
    both = pd.concat([frames["curves"], frames["curves"].assign(dataset="fire")])
    with pytest.raises(ValueError, match="several problems"):
        draw(valuation_process, frames, curves=both)
