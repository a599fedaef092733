"""Values over Euler times and epochs, and what their order is worth."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nddv.reporting.curation import AXES, CONTROL, DIRECTIONS, TASKS
from nddv.reporting.detection import NOT_RUN, PROBLEM
from nddv.reporting.figures import COLOURS, HIGHLIGHT
from nddv.reporting.trajectories.parts import (
    BAND_WORDS,
    CLEAN,
    CORRUPTED,
    READOUTS,
    SMALL,
    WIDTH,
    check_points,
    draw_band,
    draw_legend,
    draw_lines,
    finish_panels,
    spaced,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HIGH, LOW = COLOURS[2], COLOURS[3]


def layer_epoch_values(
    run: pd.DataFrame, points: pd.DataFrame, layers: pd.DataFrame, epochs: pd.DataFrame
) -> Figure:
    """Draw values over Euler times and over training epochs (fig:reveal_dv_layer_epoch)."""
    check_points(points, layers, epochs)
    figure = Figure(figsize=(WIDTH, 3.8), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for panel, rows, x in ((axes[0], layers, "time"), (axes[1], epochs, "epoch")):
        marked = points.merge(rows, on="point")
        panel.axhline(0, color="0.6", linewidth=0.7)
        for corrupted, colour in ((True, CORRUPTED), (False, CLEAN)):
            part = marked[marked["corrupted"] == corrupted]
            draw_band(panel, part, x, "value", colour)
            some = spaced(part.drop_duplicates("point"), "terminal", 7)
            draw_lines(panel, part, some, "value", colour, x=x)
        panel.set_xlim(rows[x].min(), rows[x].max())
    axes[0].set_title("a  Layer-wise: after the last epoch", fontsize=9.5, loc="left")
    axes[1].set_title("b  Epoch-wise: at the terminal time", fontsize=9.5, loc="left")
    axes[0].set_ylabel(r"value $\phi$ (higher is better)", fontsize=SMALL)
    axes[0].set_xlabel(f"time t of the flow ({layers['step'].max()} Euler steps)", fontsize=SMALL)
    axes[0].set_xticks(sorted(layers["time"].unique()))
    axes[0].xaxis.set_major_formatter("{x:.2g}")
    axes[1].set_xlabel("training epoch", fontsize=SMALL)
    axes[1].xaxis.set_major_locator(MaxNLocator(integer=True))
    best = _mark_best(axes[1], run)
    finish_panels(axes)
    keys = [
        axes[0].plot([], [], color=colour, linewidth=1.8, label=f"{name}, median")[0]
        for name, colour in (("clean points", CLEAN), ("corrupted points", CORRUPTED))
    ]
    keys += axes[0].plot([], [], color="0.5", linewidth=0.7, label="single points")
    draw_legend(figure, [*keys, best], 4, title=f"one run; {BAND_WORDS}")
    return figure


def valuation_process(
    run: pd.DataFrame, points: pd.DataFrame, epochs: pd.DataFrame, curves: pd.DataFrame
) -> Figure:
    """Draw how values form in training, and what their order is worth (fig:reveal_dv).

    curves : test accuracies of one problem, of all seeds, as ``nddv.evaluation.curation`` gives
        them.
    """
    check_points(points, epochs)
    if len(curves[PROBLEM].drop_duplicates()) > 1:
        raise ValueError("the curves are of several problems: give those of one")
    figure = Figure(figsize=(WIDTH, 6.0), layout="constrained")
    top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.1, 1]).ravel()
    left, right = top.subplots(1, 2)
    by_epoch = epochs.pivot(index="epoch", columns="point", values="value")
    integrated = path_values(by_epoch)
    keys = _draw_ends(left, points, integrated)
    _draw_lowest(right, points, by_epoch, integrated)
    for panel in (left, right):
        panel.set_xlabel("training epoch", fontsize=SMALL)
        panel.set_xlim(by_epoch.index.min(), by_epoch.index.max())
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        best = _mark_best(panel, run)
    left.set_title("a  Highest and lowest values as they form", fontsize=9, loc="left")
    right.set_title("b  Corrupted points among the lowest values", fontsize=9, loc="left")
    draw_legend(top, [*keys, best], 3, title=f"a, b: one run; {BAND_WORDS}")
    axes = bottom.subplots(1, len(DIRECTIONS))
    for panel, letter, direction in zip(axes, "cdef", DIRECTIONS, strict=True):
        _draw_accuracy(panel, curves[curves["direction"] == direction])
        what, good = TASKS[direction]
        panel.set_title(f"{letter}  {what}\n({good})", fontsize=8.5)
        panel.set_xlabel(AXES[direction.partition("_")[0]], fontsize=SMALL)
    for pair in (axes[:2], axes[2:]):
        _share_height(pair)
    axes[0].set_ylabel("test accuracy (%)", fontsize=SMALL)
    finish_panels([left, right, *axes])
    seeds = curves["seed"].nunique()
    title = f"c to f: mean over {seeds} seed{'s' * (seeds != 1)}; bands: ± 1 standard deviation"
    draw_legend(bottom, _curve_keys(axes[0], curves), 4, title=title)
    return figure


def path_values(by_epoch: pd.DataFrame) -> pd.DataFrame:
    """The path readout up to each epoch: standardised values (epochs, points), averaged so far."""
    spread = by_epoch.std(axis=1, ddof=1)
    return by_epoch.sub(by_epoch.mean(axis=1), axis=0).div(spread, axis=0).expanding().mean()


def _draw_ends(panel: Axes, points: pd.DataFrame, integrated: pd.DataFrame) -> list[Any]:
    """Path values of the tenths of the points that end highest and lowest; gives their keys."""
    rows = integrated.stack().rename("value").reset_index()
    tenth = max(1, len(points) // 10)
    ordered = points.sort_values("path")["point"]
    ends = {
        "highest tenth by path value": (ordered[-tenth:], HIGH),
        "lowest tenth by path value": (ordered[:tenth], LOW),
    }
    panel.axhline(0, color="0.6", linewidth=0.7)
    keys = []
    for said, (members, colour) in ends.items():
        part = rows[rows["point"].isin(members)]
        draw_band(panel, part, "epoch", "value", colour)
        some = spaced(points[points["point"].isin(members)], "path", 6)
        draw_lines(panel, part, some, "value", colour, x="epoch")
        keys += panel.plot([], [], color=colour, label=said)
    panel.set_ylabel("path value up to the epoch\n(standard deviations)", fontsize=SMALL)
    return keys


def _draw_lowest(
    panel: Axes, points: pd.DataFrame, by_epoch: pd.DataFrame, integrated: pd.DataFrame
) -> None:
    """Of as many lowest values as there are corrupted points, the share that is corrupted."""
    corrupted = points.set_index("point")["corrupted"]
    budget = int(corrupted.sum())
    for readout, values in (("path", integrated), ("terminal", by_epoch)):
        lowest = values.rank(axis=1, method="first") <= budget
        share = 100 * lowest.loc[:, corrupted[corrupted].index].sum(axis=1) / budget
        colour, style = HIGHLIGHT[READOUTS[readout]]
        said = "path value up to the epoch" if readout == "path" else "terminal value of the epoch"
        panel.plot(share.index, share, color=colour, linestyle=style, label=said)
    panel.axhline(100 * corrupted.mean(), linestyle=":", color="0.2", linewidth=1, label="chance")
    panel.set_ylim(0, 100)
    panel.set_ylabel(f"corrupted among the\n{budget} lowest values (%)", fontsize=SMALL)
    panel.legend(fontsize=SMALL, frameon=False, loc=(0.03, 0.15))


def _draw_accuracy(panel: Axes, part: pd.DataFrame) -> None:
    """Accuracies of one direction: NDDV and random orders, with their spread over seeds."""
    drawn = part[part["share"].notna()]
    looks: dict[str, tuple[str, Any]] = {CONTROL: ("0.45", "-")}
    looks |= {method: HIGHLIGHT[method] for method in READOUTS.values()}
    absent = [method for method in READOUTS.values() if method not in set(drawn["method"])]
    for method, (colour, style) in looks.items():
        rows = drawn[drawn["method"] == method]
        curve = 100 * rows.groupby("share")["accuracy"].agg(["mean", "std"])
        panel.plot(100 * curve.index, curve["mean"], color=colour, linestyle=style, linewidth=1.3)
        low, high = (curve["mean"] + side * curve["std"].fillna(0) for side in (-1, 1))
        panel.fill_between(100 * curve.index, low, high, color=colour, alpha=0.15, linewidth=0)
    if absent:
        said = fill(f"{' and '.join(absent)}: {NOT_RUN}", 22)
        look: dict[str, Any] = {"transform": panel.transAxes, "ha": "center", "fontsize": SMALL}
        panel.text(0.5, 0.5, said, **look)
    if len(drawn):
        chance = 100 * drawn.drop_duplicates("seed")["chance_accuracy"].mean()
        panel.axhline(chance, linestyle=":", color="0.2", linewidth=1)
        panel.set_xlim(0, 100 * drawn["share"].max())


def _mark_best(panel: Axes, run: pd.DataFrame) -> Any:
    """A bar at the last epoch that the path readout averages; gives its key."""
    look: dict[str, Any] = {"color": "0.8", "linewidth": 4, "zorder": 0}
    return panel.axvline(run["best_epoch"].iloc[0], **look, label="last epoch of the path readout")


def _share_height(panels: Sequence[Axes]) -> None:
    """The same limits for panels that are compared, and numbers beside the first only."""
    limits = np.array([panel.get_ylim() for panel in panels])
    for panel in panels:
        panel.set_ylim(limits[:, 0].min(), limits[:, 1].max())
    for panel in panels[1:]:
        panel.set_yticklabels([])


def _curve_keys(panel: Axes, curves: pd.DataFrame) -> list[Any]:
    """Keys of the methods that have curves, of random orders and of chance."""
    titles = curves.drop_duplicates("method").set_index("method")["title"]
    keys: list[Any] = []
    for method in READOUTS.values():
        if method in titles:
            colour, style = HIGHLIGHT[method]
            keys += panel.plot([], [], color=colour, linestyle=style, label=titles[method])
    keys += panel.plot([], [], color="0.45", label="random order")
    keys += panel.plot([], [], ":", color="0.2", label="chance")
    return keys
