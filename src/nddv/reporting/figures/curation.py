"""What orders by value are worth: detection, removal and addition."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import nddv.reporting.figures.style as style
from nddv.reporting.frames import PROBLEM
from nddv.reporting.tables.curation import CONTROL
from nddv.reporting.titles import title_of

CONTROL_LOOK = style.Look("0.45")
LEAST_HEIGHT = 20.0  # per cent of accuracy, of a panel

# A column of panels each: what is done, and what good values make of it; then the axis.
TASKS = {
    "detection": ("Inspect lowest first\n(good: rises at once)", "inspected (%)"),
    "remove_low": ("Remove lowest first\n(good: stays up)", "removed (%)"),
    "remove_high": ("Remove highest first\n(good: falls)", "removed (%)"),
    "add_high": ("Add highest first\n(good: rises at once)", "training set (%)"),
    "add_low": ("Add lowest first\n(good: rises late)", "training set (%)"),
}
DIRECTIONS = [task for task in TASKS if task != "detection"]


@style.styled
def curation_curves(curves: pd.DataFrame, detection: pd.DataFrame) -> Figure:
    """Draw detection, removal and addition (fig:corrupt_remove_add_exp), a row per problem.

    Parameters
    ----------
    curves : as ``nddv.evaluation.curation`` gives them, of all problems and seeds.
    detection : problem, method, seed, inspected (%), found (%). A problem that has none, because
        nothing is corrupted, has an empty panel that says so.
    """
    if curves.empty:
        raise ValueError("no removal and addition curves to draw: the table has no rows")
    methods = [method for method in curves["method"].unique() if method != CONTROL]
    looks = {method: look for method, look in style.LOOKS.items() if method in methods}
    problems = list(curves.groupby(PROBLEM, sort=False))
    figure = Figure(figsize=(8.4, 1.65 * len(problems) + 1.2))
    axes = figure.subplots(len(problems), len(TASKS), squeeze=False)
    for row, (problem, part) in zip(axes, problems, strict=True):
        _draw_detection(row[0], style.pick(detection, PROBLEM, problem), looks)
        _say_gaps(row[0], part[part["method"].isin(looks)])
        for panel, direction in zip(row[1:], DIRECTIONS, strict=True):
            draw_accuracy(panel, part[part["direction"] == direction], looks)
        row[0].set_ylabel("{}\nn = {}, {}\n\ncorrupted found (%)".format(*problem))
        row[1].set_ylabel("test accuracy (%)")
    for top, bottom, (heading, axis) in zip(axes[0], axes[-1], TASKS.values(), strict=True):
        top.set_title(heading)
        bottom.set_xlabel(axis)
    figure.align_ylabels(axes)
    title = f"mean over {curves['seed'].nunique()} seeds; bands: ± 1 standard deviation"
    others = [style.other_methods()] if len(methods) > len(looks) else []
    style.legend_below(figure, [*style.method_keys(looks), *others, *order_keys()], 4, title)
    return figure


def _draw_detection(panel: Axes, found: pd.DataFrame, looks: Mapping[str, style.Look]) -> None:
    panel.set(xlim=(0, 100), ylim=(0, 102))
    if found.empty:
        style.say(panel, 0.5, 0.5, "nothing corrupted,\nor not evaluated")
        return
    panel.plot([0, 100], [0, 100], **style.CHANCE)
    style.draw_methods(panel, found, "inspected", "found", looks)


def draw_accuracy(panel: Axes, part: pd.DataFrame, looks: Mapping[str, style.Look]) -> None:
    """Curves of one direction, over random orders and the chance line."""
    drawn = part[part["share"].notna()]
    drawn = drawn.assign(share=100 * drawn["share"], accuracy=100 * drawn["accuracy"])
    random = drawn["method"] == CONTROL
    # Draws and seeds together: the spread of one random order, as of one order by value.
    control = drawn[random].groupby("share")["accuracy"].agg(["mean", "std"])
    style.draw_mean(panel, control, CONTROL_LOOK, alpha=0.25, zorder=1.9)
    style.draw_methods(panel, drawn[~random], "share", "accuracy", looks)
    if len(drawn):
        panel.set_xlim(0, drawn["share"].max())
        _draw_chance(panel, 100 * part.drop_duplicates("seed")["chance_accuracy"].mean())


def _draw_chance(panel: Axes, chance: float) -> None:
    """A line at chance; where it lies far below the curves, only its number."""
    low, high = panel.get_ylim()
    # Some height at least, or the noise of the test part would look like an effect.
    low, high = min(low, high - LEAST_HEIGHT), min(high, 101.0)
    panel.set_ylim(low, high)
    if chance > low:
        panel.axhline(chance, **style.CHANCE)
    else:
        text = f"chance {chance:.0f} % ↓"
        style.say(panel, 0.97, 0.04, text, ha="right", va="bottom", fontsize=6)


def _say_gaps(panel: Axes, part: pd.DataFrame) -> None:
    """Name the methods that have no values, where a detection panel has room."""
    seeds = part["seed"].nunique()
    absent = part[part["share"].isna()].groupby("method", sort=False)["seed"].nunique()
    said = [
        fill(f"{title_of(str(method))}: no values in {k} of {seeds} seeds", 26)
        for method, k in absent.items()
    ]
    style.say(panel, 0.97, 0.04, "\n".join(said), ha="right", va="bottom", fontsize=5.5)


def order_keys() -> list[Line2D]:
    """Keys of random orders and of chance."""
    return [style.key("random order", **CONTROL_LOOK.line()), style.chance()]
