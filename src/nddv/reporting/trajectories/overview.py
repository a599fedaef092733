"""The way from data to values in one picture."""

from __future__ import annotations

from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from nddv.reporting.figures import HIGHLIGHT
from nddv.reporting.trajectories.parts import (
    CLASSES,
    CORRUPTED,
    READOUTS,
    SMALL,
    WIDTH,
    check_points,
    class_colours,
    draw_flow,
    draw_legend,
    mean_look,
    spaced,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOTH = "#404040"  # clean points of all classes, where classes have colours
MARKERS = ["o", "^", "s", "D", "v"]


def overview(
    run: pd.DataFrame, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame
) -> Figure:
    """Draw the way from data to values in five panels joined by arrows (fig:nddv)."""
    check_points(points, states)
    figure = Figure(figsize=(WIDTH, 3.5))
    axes = figure.subplots(1, 5)
    figure.subplots_adjust(left=0.028, right=0.994, top=0.83, bottom=0.41, wspace=0.27)
    _draw_data(axes[0], points, run.iloc[0])
    draw_flow(axes[1], points, states, steps, each=18)
    _draw_adjoint(axes[2], points, states)
    _draw_histogram(axes[3], points)
    _draw_found(axes[4], points)
    words = {
        "1  Data": ("$(x_i, y_i)$", "Labelled points. Some labels are wrong; which is not known."),
        "2  Flow": (
            r"$dX = [a(\mu - X) + \psi]\,dt + \sigma\,dW$",
            "In one training run the points move as states, tied by their weighted mean.",
        ),
        "3  Sensitivity": (
            r"$s_i = -X_{i,T} \cdot Y_{i,T}$",
            "A co-state Y points to where the loss falls, and far if the label does not fit.",
        ),
        "4  Values": (
            r"$\phi_i = -(s_i - \overline{s}_{j \neq i})$",
            "Read out and centred; by its sign, higher is better.",
        ),
        "5  Use": ("", "Inspect the lowest values first, and find wrong labels soon."),
    }
    for panel, (title, (formula, said)) in zip(axes, words.items(), strict=True):
        panel.set_title(title, fontsize=9.5, fontweight="bold", pad=5)
        panel.set_xticks([])
        panel.set_yticks([])
        _say_under(figure, panel, formula, said)
    for left, right in pairwise(axes):
        _join(figure, left, right)
    draw_legend(figure, _point_keys(axes[0], points), 7, loc="upper center")
    return figure


def _draw_data(panel: Axes, points: pd.DataFrame, run: pd.Series) -> None:
    # Features with few values would hide points behind each other.
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, (len(points), 2))
    drawn = points.assign(x=points["feature_1"] + shift[:, 0], y=points["feature_2"] + shift[:, 1])
    _scatter(panel, drawn, "x", "y")
    panel.set_xlabel(f"feature {run['feature_1']:g}", fontsize=SMALL)
    panel.set_ylabel(f"feature {run['feature_2']:g}", fontsize=SMALL, labelpad=1)


def _draw_adjoint(panel: Axes, points: pd.DataFrame, states: pd.DataFrame) -> None:
    """Terminal states, and the co-states of some as arrows of their relative lengths."""
    end = points.merge(states[states["step"] == states["step"].max()], on="point")
    _scatter(panel, end, "state_1", "state_2", alpha=0.3)
    wrong = end["corrupted"]
    shown = [*spaced(end[wrong], "terminal", 9), *spaced(end[~wrong], "terminal", 12)]
    some = end[end["point"].isin(shown)]
    longest = np.hypot(some["costate_1"], some["costate_2"]).max()
    panel.quiver(
        *(some[name] for name in ("state_1", "state_2", "costate_1", "costate_2")),
        color=np.where(some["corrupted"], CORRUPTED, BOTH),
        angles="xy",
        scale_units="width",
        scale=longest / 0.3,
        width=0.013,
        zorder=3,
    )
    panel.set_xlabel("state at T (PC 1)", fontsize=SMALL)
    panel.set_ylabel("(PC 2)", fontsize=SMALL, labelpad=1)


def _draw_histogram(panel: Axes, points: pd.DataFrame) -> None:
    """Terminal values of clean and of corrupted points, as shares of their own number."""
    bins = np.linspace(points["terminal"].min(), points["terminal"].max(), 26).tolist()
    for corrupted, part in points.groupby("corrupted")["terminal"]:
        share = np.full(len(part), 100 / len(part))
        colour = CORRUPTED if corrupted else BOTH
        panel.hist(part, bins=bins, weights=share, color=colour, alpha=0.65)
    panel.axvline(0, color="0.3", linewidth=0.8)
    # Clean points fill few bins: on a plain scale the corrupted ones would lie flat.
    panel.set_yscale("function", functions=(lambda y: np.sqrt(np.maximum(y, 0)), np.square))
    panel.set_xlabel(r"value $\phi$ (line: 0)", fontsize=SMALL)
    panel.set_ylabel("share (root scale)", fontsize=SMALL, labelpad=1)


def _draw_found(panel: Axes, points: pd.DataFrame) -> None:
    """The discovery curve of the path and the terminal values of this run, and chance."""
    inspected = 100 * np.arange(len(points) + 1) / len(points)
    for readout, method in READOUTS.items():
        ordered = points.sort_values(readout)["corrupted"]
        found = np.concatenate([[0], 100 * ordered.cumsum() / ordered.sum()])
        colour, style = HIGHLIGHT[method]
        panel.plot(inspected, found, color=colour, linestyle=style, linewidth=1.3)
    panel.plot([0, 100], [0, 100], ":", color="0.3", linewidth=1)
    panel.text(97, 60, "path", color=HIGHLIGHT["nddv-path"][0], fontsize=SMALL, ha="right")
    panel.text(97, 46, "terminal", color=HIGHLIGHT["nddv-terminal"][0], fontsize=SMALL, ha="right")
    panel.text(97, 18, "chance", color="0.3", fontsize=SMALL, ha="right")
    panel.set_xlim(0, 100)
    panel.set_ylim(0, 103)
    panel.set_xlabel("inspected", fontsize=SMALL)
    panel.set_ylabel("found", fontsize=SMALL, labelpad=1)


def _scatter(panel: Axes, points: pd.DataFrame, x: str, y: str, alpha: float = 0.6) -> None:
    """Clean points small and below, corrupted ones larger; a marker for each class."""
    for k, label in enumerate(sorted(points["label"].unique())):
        for corrupted in (False, True):
            part = points[(points["label"] == label) & (points["corrupted"] == corrupted)]
            panel.scatter(
                part[x],
                part[y],
                s=9 if corrupted else 3,
                marker=MARKERS[k % len(MARKERS)],
                color=CORRUPTED if corrupted else CLASSES[k % len(CLASSES)],
                alpha=alpha,
                linewidths=0,
                zorder=2 if corrupted else 1,
            )


def _point_keys(panel: Axes, points: pd.DataFrame) -> list[Any]:
    """Keys of clean points by class and together, of corrupted ones, and of the mean."""
    looks = [
        (f"clean, class {label}", colour, MARKERS[k % len(MARKERS)])
        for k, (label, colour) in enumerate(class_colours(points))
    ]
    looks += [("clean, all", BOTH, "s"), ("wrong label", CORRUPTED, "o")]
    keys: list[Any] = []
    for said, colour, marker in looks:
        keys += panel.plot([], [], marker, color=colour, markersize=4, label=said)
    keys += panel.plot([], [], "-s", **mean_look(), label="weighted mean")
    return keys


def _say_under(figure: Figure, panel: Axes, formula: str, said: str) -> None:
    box = panel.get_position()
    middle = (box.x0 + box.x1) / 2
    figure.text(middle, box.y0 - 0.125, formula, ha="center", va="center", fontsize=SMALL)
    look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": SMALL, "color": "0.15"}
    figure.text(middle, box.y0 - 0.175, fill(said, 23), linespacing=1.25, **look)


def _join(figure: Figure, left: Axes, right: Axes) -> None:
    """An arrow between two panels, above their middle."""
    start, end = left.get_position(), right.get_position()
    height = end.y1 + 0.045
    gap = (start.x1 + end.x0) / 2
    arrow = FancyArrowPatch(
        (gap - 0.02, height),
        (gap + 0.02, height),
        transform=figure.transFigure,
        arrowstyle="-|>",
        mutation_scale=12,
        color="0.25",
        linewidth=1.6,
    )
    figure.add_artist(arrow)
