"""The way from data to values in one picture."""

from __future__ import annotations

from itertools import pairwise
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

import nddv.reporting.figures.style as style
from nddv.reporting.figures.trajectories import (
    CORRUPTED,
    MEAN,
    check_points,
    class_colours,
    draw_flow,
    looks_of_readouts,
    spaced,
)

BOTH = "#404040"  # clean points of all classes, where classes have colours
MARKERS = ["o", "^", "s", "D", "v"]

# Under each panel: a formula, and what happens.
WORDS = {
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


@style.styled
def overview(
    run: pd.DataFrame, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame
) -> Figure:
    """Draw the way from data to values in five panels joined by arrows (fig:nddv)."""
    check_points(points, states)
    figure = Figure(figsize=(style.WIDTH, 2.9))
    figure.set_layout_engine("none")  # the texts under the panels are placed by hand
    place = {"left": 0.028, "right": 0.994, "top": 0.83, "bottom": 0.41, "wspace": 0.27}
    axes = figure.subplots(1, 5, gridspec_kw=place)
    _draw_data(axes[0], points, run.iloc[0])
    draw_flow(axes[1], points, states, steps, each=18)
    axes[1].set_ylabel("state (PC 1)")
    _draw_adjoint(axes[2], points, states)
    _draw_histogram(axes[3], points)
    _draw_found(axes[4], points)
    for panel, (title, (formula, said)) in zip(axes, WORDS.items(), strict=True):
        panel.set_title(title, fontweight="bold", pad=4)
        panel.set(xticks=[], yticks=[])
        panel.yaxis.labelpad = 1
        box = panel.get_position()
        middle = (box.x0 + box.x1) / 2
        figure.text(middle, box.y0 - 0.125, formula, ha="center", va="center")
        look: dict[str, Any] = {"ha": "center", "va": "top", "color": "0.15", "linespacing": 1.25}
        figure.text(middle, box.y0 - 0.175, fill(said, 23), **look)
    for left, right in pairwise(axes):
        _join(figure, left, right)
    figure.legend(handles=_keys(points), ncols=7, loc="upper center")
    return figure


def _draw_data(panel: Axes, points: pd.DataFrame, run: pd.Series) -> None:
    # Features with few values would hide points behind each other.
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, (len(points), 2))
    drawn = points.assign(x=points["feature_1"] + shift[:, 0], y=points["feature_2"] + shift[:, 1])
    _scatter(panel, drawn, "x", "y")
    panel.set(xlabel=f"feature {run['feature_1']:g}", ylabel=f"feature {run['feature_2']:g}")


def _draw_adjoint(panel: Axes, points: pd.DataFrame, states: pd.DataFrame) -> None:
    """Terminal states, and the co-states of some as arrows of their relative lengths."""
    end = points.merge(states[states["step"] == states["step"].max()], on="point")
    _scatter(panel, end, "state_1", "state_2", alpha=0.3)
    wrong = end["corrupted"]
    shown = [*spaced(end[wrong], "terminal", 9), *spaced(end[~wrong], "terminal", 12)]
    some = end[end["point"].isin(shown)]
    longest = np.hypot(some["costate_1"], some["costate_2"]).max()
    arrows = (some[name] for name in ("state_1", "state_2", "costate_1", "costate_2"))
    look: Any = {"angles": "xy", "scale_units": "width", "scale": longest / 0.3, "width": 0.013}
    panel.quiver(*arrows, color=np.where(some["corrupted"], CORRUPTED, BOTH), zorder=3, **look)
    panel.set(xlabel="state at T (PC 1)", ylabel="(PC 2)")


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
    panel.set(xlabel=r"value $\phi$ (line: 0)", ylabel="share (root scale)")


def _draw_found(panel: Axes, points: pd.DataFrame) -> None:
    """The discovery curves of the values of this run, and chance."""
    inspected = 100 * np.arange(len(points) + 1) / len(points)
    for k, (method, look) in enumerate(looks_of_readouts(points).items()):
        readout = method.removeprefix("nddv-")
        ordered = points.sort_values(readout)["corrupted"]
        share = np.concatenate([[0], 100 * ordered.cumsum() / ordered.sum()])
        panel.plot(inspected, share, **look.line())
        style.say(panel, 0.97, 0.58 - 0.13 * k, readout, color=look.colour, ha="right")
    panel.plot([0, 100], [0, 100], **style.CHANCE)
    style.say(panel, 0.97, 0.2, "chance", color="0.3", ha="right")
    panel.set(xlim=(0, 100), ylim=(0, 103), xlabel="inspected", ylabel="found")


def _scatter(panel: Axes, points: pd.DataFrame, x: str, y: str, alpha: float = 0.6) -> None:
    """Clean points small and below, corrupted ones larger; a marker for each class."""
    for k, (label, colour) in enumerate(class_colours(points).items()):
        for corrupted, part in points[points["label"] == label].groupby("corrupted"):
            shown, size, level = (CORRUPTED, 6, 2) if corrupted else (colour, 2, 1)
            look: Any = {"marker": MARKERS[k % len(MARKERS)], "alpha": alpha, "linewidths": 0}
            panel.scatter(part[x], part[y], size, shown, zorder=level, **look)


def _keys(points: pd.DataFrame) -> list[Any]:
    """Keys of clean points by class and together, of corrupted ones, and of the mean."""
    looks = [
        (f"clean, class {label}", colour, MARKERS[k % len(MARKERS)])
        for k, (label, colour) in enumerate(class_colours(points).items())
    ]
    looks += [("clean, all", BOTH, "s"), ("wrong label", CORRUPTED, "o")]
    keys = [style.key(said, color=c, marker=marker, linestyle="none") for said, c, marker in looks]
    return [*keys, style.key("weighted mean", **MEAN)]


def _join(figure: Figure, left: Axes, right: Axes) -> None:
    """An arrow between two panels, above their middle."""
    start, end = left.get_position(), right.get_position()
    height, gap = end.y1 + 0.045, (start.x1 + end.x0) / 2
    look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 10, "color": "0.25"}
    ends = (gap - 0.02, height), (gap + 0.02, height)
    figure.add_artist(FancyArrowPatch(*ends, transform=figure.transFigure, linewidth=1.4, **look))
