"""Colours, sizes and parts of panels that the figures of trajectories share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nddv.reporting.figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLEAN, CORRUPTED = COLOURS[0], COLOURS[1]
CLASSES = [COLOURS[0], COLOURS[2], COLOURS[4], COLOURS[3], COLOURS[5]]
READOUTS = {"path": "nddv-path", "terminal": "nddv-terminal"}

BAND = (0.1, 0.9)  # quantiles
BAND_WORDS = "band: 10 to 90 % of the points"
SMALL = 8.5  # points; 7 when a figure 8.5 inches wide is printed at 7
WIDTH = 8.5


def check_points(points: pd.DataFrame, *others: pd.DataFrame) -> None:
    """All frames are about the same points, of which some are corrupted and some are not."""
    if points["corrupted"].nunique() < 2:
        raise ValueError("corrupted and clean points are told apart: the run needs some of each")
    for frame in others:
        if set(frame["point"]) != set(points["point"]):
            raise ValueError("the frames are about different points: give those of one run")


def class_colours(points: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    """Every class with the colour of its clean points."""
    labels = sorted(points["label"].unique())
    return ((label, CLASSES[k % len(CLASSES)]) for k, label in enumerate(labels))


def mean_look() -> dict[str, Any]:
    """How the weighted mean is drawn."""
    return {"color": "black", "linewidth": 1.8, "markersize": 3.5}


def draw_flow(
    panel: Axes, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame, each: int
) -> None:
    """The first coordinate over time: clean points by class, corrupted ones as lines."""
    marked = points.merge(states, on="point")
    for label, colour in class_colours(points):
        part = marked[(marked["label"] == label) & ~marked["corrupted"]]
        draw_band(panel, part, "time", "state_1", colour)
        draw_lines(panel, part, spaced_last(part, "state_1", each // 2), "state_1", colour)
    part = marked[marked["corrupted"]]
    draw_lines(panel, part, spaced_last(part, "state_1", each), "state_1", CORRUPTED, 0.9)
    panel.plot(steps["time"], steps["mean_1"], "-s", **mean_look(), zorder=4)
    panel.set_xlim(steps["time"].min(), steps["time"].max())
    panel.set_xlabel("time t", fontsize=SMALL)
    panel.set_ylabel("state (PC 1)", fontsize=SMALL, labelpad=1)


def draw_band(panel: Axes, rows: pd.DataFrame, x: str, y: str, colour: str) -> None:
    """Median and quantiles over points."""
    by_x = rows.groupby(x)[y]
    middle, low, high = (by_x.quantile(q) for q in (0.5, *BAND))
    panel.fill_between(middle.index, low, high, color=colour, alpha=0.18, linewidth=0)
    panel.plot(middle.index, middle, color=colour, linewidth=1.8)


def draw_lines(
    panel: Axes,
    rows: pd.DataFrame,
    some: Sequence[int],
    y: str,
    colour: str,
    alpha: float = 0.6,
    x: str = "time",
) -> None:
    """A thin line for each of some points."""
    lines = rows[rows["point"].isin(some)].pivot(index=x, columns="point", values=y)
    panel.plot(lines.index, lines, color=colour, linewidth=0.6, alpha=alpha)


def spaced(rows: pd.DataFrame, by: str, k: int) -> list[int]:
    """k points at even ranks, from lowest to highest: chosen by no eye."""
    ordered = rows.sort_values([by, "point"])["point"].to_numpy()
    return list(ordered[np.linspace(0, len(ordered) - 1, min(k, len(ordered))).round().astype(int)])


def spaced_last(rows: pd.DataFrame, by: str, k: int) -> list[int]:
    """The same, by where the points are at the last step."""
    return spaced(rows[rows["step"] == rows["step"].max()], by, k)


def finish_panels(axes: Sequence[Axes]) -> None:
    """Small tick labels, and a grid behind what is drawn."""
    for panel in axes:
        panel.tick_params(labelsize=SMALL)
        panel.grid(color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)


def draw_legend(figure: Any, keys: list[Any], columns: int, **settings: Any) -> None:
    """Keys below all panels of a figure or part of one, unless the settings say where."""
    place = {"loc": "outside lower center", "title_fontsize": SMALL, **settings}
    figure.legend(handles=keys, ncols=columns, fontsize=SMALL, frameon=False, **place)
