"""What happens inside one NDDV run, drawn from its own trajectories.

The frames are those of `nddv.anatomy.trajectories`, each under its name there. Bands are over
the points of one run, except where a legend says seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import nddv.reporting.figures.style as style
from nddv.dynamics.readouts import READOUTS
from nddv.reporting.figures.curation import DIRECTIONS, TASKS, draw_accuracy, order_keys
from nddv.reporting.frames import NOT_RUN, PROBLEM
from nddv.reporting.tables.curation import CONTROL

CLEAN, CORRUPTED = style.COLOURS[0], style.COLOURS[1]
CLASSES = [style.COLOURS[0], style.COLOURS[2], style.COLOURS[4], style.COLOURS[3], style.COLOURS[5]]
HIGH, LOW = style.COLOURS[2], style.COLOURS[3]
MEAN: dict[str, Any] = {"color": "black", "linewidth": 1.6, "marker": "s", "markersize": 3}

BAND = (0.1, 0.9)  # quantiles
BAND_WORDS = "band: 10 to 90 % of the points"


# ------------------------------------------------------------------ figures


@style.styled
def state_dynamics(
    run: pd.DataFrame,
    points: pd.DataFrame,
    states: pd.DataFrame,
    steps: pd.DataFrame,
    weight_map: pd.DataFrame,
) -> Figure:
    """Draw states under the mean-field flow, and the learned weights (fig:learn_sde).

    weight_map : of the run that the other frames are about, and of others for comparison.
    """
    check_points(points, states)
    figure = Figure(figsize=(style.WIDTH, 3.1))
    flow, plane, weights = figure.subplots(1, 3)
    about = run.iloc[0]
    draw_flow(flow, points, states, steps, each=12)
    _draw_plane(plane, points, states, steps)
    _draw_weights(weights, points, weight_map, int(about["seed"]))
    flow.set_title("a  States over time, along PC 1", loc="left")
    plane.set_title("a′  The same in the plane", loc="left")
    weights.set_title("b  Learned weights", loc="left")
    shares = [f"({100 * about[f'explained_{k}']:.0f} % of variance)" for k in (1, 2)]
    first, second = (f"state, PC {k} {share}" for k, share in enumerate(shares, 1))
    flow.set_ylabel(first)
    plane.set(xlabel=first, ylabel=second)
    colours = class_colours(points)
    keys = [style.key(f"clean, class {label}", color=c) for label, c in colours.items()]
    keys.append(style.key("corrupted (each a line)", color=CORRUPTED))
    keys.append(style.key("weighted mean $\\mu_t$", **MEAN))
    if others := weight_map["seed"].nunique() - 1:
        said = f"weight maps of {others} other seed{'s' * (others > 1)}"
        keys.append(style.key(said, color="0.7"))
    style.legend_below(figure, keys, 5, f"median and single points; {BAND_WORDS}")
    return figure


@style.styled
def layer_epoch_values(points: pd.DataFrame, layers: pd.DataFrame, epochs: pd.DataFrame) -> Figure:
    """Draw values over Euler times and over training epochs (fig:reveal_dv_layer_epoch)."""
    check_points(points, layers, epochs)
    figure = Figure(figsize=(style.WIDTH, 3.2))
    axes = figure.subplots(1, 2, sharey=True)
    for panel, rows, x in ((axes[0], layers, "time"), (axes[1], epochs, "epoch")):
        marked = points.merge(rows, on="point")
        panel.axhline(0, color="0.6", linewidth=0.7)
        for corrupted, colour in ((True, CORRUPTED), (False, CLEAN)):
            part = marked[marked["corrupted"] == corrupted]
            some = spaced(part.drop_duplicates("point"), "terminal", 7)
            draw_points(panel, part, some, x, "value", colour)
        panel.set_xlim(rows[x].min(), rows[x].max())
    axes[0].set_title("a  Layer-wise: after the last epoch", loc="left")
    axes[1].set_title("b  Epoch-wise: at the terminal time", loc="left")
    axes[0].set_ylabel(r"value $\phi$ (higher is better)")
    axes[0].set_xlabel(f"time t of the flow ({layers['step'].max()} Euler steps)")
    axes[0].set_xticks(sorted(layers["time"].unique()))
    axes[0].xaxis.set_major_formatter("{x:.2g}")
    keys = [
        style.key("clean points, median", color=CLEAN, linewidth=1.6),
        style.key("corrupted points, median", color=CORRUPTED, linewidth=1.6),
        style.key("single points", color="0.5", linewidth=0.7),
    ]
    _epoch_axis(axes[1])
    style.legend_below(figure, keys, 3, f"one run; {BAND_WORDS}")
    return figure


@style.styled
def valuation_process(points: pd.DataFrame, epochs: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Draw how values form in training, and what their order is worth (fig:reveal_dv).

    curves : test accuracies of one problem, of all seeds, as ``nddv.evaluation.curation`` gives
        them.
    """
    check_points(points, epochs)
    if len(curves[PROBLEM].drop_duplicates()) > 1:
        raise ValueError("the curves are of several problems: give those of one")
    figure = Figure(figsize=(style.WIDTH, 5.0))
    top, bottom = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.1, 1]).ravel()
    left, right = top.subplots(1, 2)
    by_epoch = epochs.pivot(index="epoch", columns="point", values="value")
    integrated = path_values(by_epoch)
    keys = _draw_ends(left, points, integrated)
    _draw_lowest(right, points, by_epoch, integrated)
    for panel in (left, right):
        panel.set_xlim(by_epoch.index.min(), by_epoch.index.max())
        _epoch_axis(panel)
    left.set_title("a  Highest and lowest values as they form", loc="left")
    right.set_title("b  Corrupted points among the lowest values", loc="left")
    style.legend_below(top, keys, 2, f"a, b: one run; {BAND_WORDS}")
    looks = looks_of_readouts(points)
    shown = curves[curves["method"].isin([CONTROL, *looks])]
    axes = bottom.subplots(1, len(DIRECTIONS))
    for panel, letter, direction in zip(axes, "cdef", DIRECTIONS, strict=True):
        part = shown[shown["direction"] == direction]
        draw_accuracy(panel, part, looks)
        absent = looks.keys() - set(part.loc[part["share"].notna(), "method"])
        if absent:
            style.say(panel, 0.5, 0.5, fill(f"{' and '.join(sorted(absent))}: {NOT_RUN}", 22))
        heading, axis = TASKS[direction]
        panel.set(title=f"{letter}  {heading}", xlabel=axis)
    for pair in (axes[:2], axes[2:]):
        style.same_height(pair)
        pair[1].set_yticklabels([])
    axes[0].set_ylabel("test accuracy (%)")
    seeds = curves["seed"].nunique()
    title = f"c to f: mean over {seeds} seed{'s' * (seeds != 1)}; bands: ± 1 standard deviation"
    run_looks = {m: look for m, look in looks.items() if m in set(curves["method"])}
    style.legend_below(bottom, [*style.method_keys(run_looks), *order_keys()], 4, title)
    return figure


# ------------------------------------------------------------------ points of a run


def check_points(points: pd.DataFrame, *others: pd.DataFrame) -> None:
    """All frames are about the same points, of which some are corrupted and some are not."""
    if points["corrupted"].nunique() < 2:
        raise ValueError("corrupted and clean points are told apart: the run needs some of each")
    for frame in others:
        if set(frame["point"]) != set(points["point"]):
            raise ValueError("the frames are about different points: give those of one run")


def class_colours(points: pd.DataFrame) -> dict[Any, str]:
    """Every class with the colour of its clean points."""
    labels = sorted(points["label"].unique())
    return {label: CLASSES[k % len(CLASSES)] for k, label in enumerate(labels)}


def looks_of_readouts(points: pd.DataFrame) -> dict[str, style.Look]:
    """The methods of the readouts that the points have values of."""
    methods = [f"nddv-{name}" for name in READOUTS if name in points]
    return {method: style.OF_READOUTS[method] for method in methods}


def spaced(rows: pd.DataFrame, by: str, k: int) -> list[int]:
    """k points at even ranks, from lowest to highest: chosen by no eye.

    Where the rows are of several steps, by where the points are at the last.
    """
    if "step" in rows:
        rows = rows[rows["step"] == rows["step"].max()]
    ordered = rows.sort_values([by, "point"])["point"].to_numpy()
    return list(ordered[np.linspace(0, len(ordered) - 1, min(k, len(ordered))).round().astype(int)])


def draw_points(
    panel: Axes,
    rows: pd.DataFrame,
    some: Sequence[int],
    x: str,
    y: str,
    colour: str,
    *,
    band: bool = True,
) -> None:
    """Median and quantiles over points, and a thin line for each of some."""
    if band:
        by_x = rows.groupby(x)[y]
        middle, low, high = (by_x.quantile(q) for q in (0.5, *BAND))
        panel.fill_between(middle.index, low, high, color=colour, alpha=0.18, linewidth=0)
        panel.plot(middle, color=colour, linewidth=1.6)
    lines = rows[rows["point"].isin(some)].pivot(index=x, columns="point", values=y)
    panel.plot(lines, color=colour, linewidth=0.6, alpha=0.6 if band else 0.9)


def draw_flow(
    panel: Axes, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame, each: int
) -> None:
    """The first coordinate over time: clean points by class, corrupted ones as lines."""
    marked = points.merge(states, on="point")
    clean, corrupted = marked[~marked["corrupted"]], marked[marked["corrupted"]]
    for label, colour in class_colours(points).items():
        part = clean[clean["label"] == label]
        some = spaced(part, "state_1", each // 2)
        draw_points(panel, part, some, "time", "state_1", colour)
    some = spaced(corrupted, "state_1", each)
    draw_points(panel, corrupted, some, "time", "state_1", CORRUPTED, band=False)
    panel.plot(steps["time"], steps["mean_1"], **MEAN, zorder=4)
    panel.set_xlim(steps["time"].min(), steps["time"].max())
    panel.set_xlabel("time t")


# ------------------------------------------------------------------ panels


def _draw_plane(
    panel: Axes, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame
) -> None:
    """Paths of some points from open markers at the start to full ones at the end."""
    marked = points.merge(states, on="point")
    groups = [
        (colour, marked[(marked["label"] == label) & ~marked["corrupted"]], 16)
        for label, colour in class_colours(points).items()
    ]
    for colour, part, k in [*groups, (CORRUPTED, marked[marked["corrupted"]], 10)]:
        some = part[part["point"].isin(spaced(part, "state_1", k))]
        for _, path in some.groupby("point"):
            x, y = path["state_1"].to_numpy(), path["state_2"].to_numpy()
            panel.plot(x, y, color=colour, linewidth=0.7, alpha=0.8)
            panel.plot(x[0], y[0], "o", color=colour, markersize=3, markerfacecolor="white")
            panel.plot(x[-1], y[-1], "o", color=colour, markersize=3)
    panel.plot(steps["mean_1"], steps["mean_2"], **MEAN, zorder=4)
    style.say(panel, 0.98, 0.95, "open: t = 0\nfull: t = T", ha="right", va="top")


def _draw_weights(panel: Axes, points: pd.DataFrame, weight_map: pd.DataFrame, seed: int) -> None:
    """V_θ of all seeds, and the points of the drawn run on its own."""
    for other, curve in weight_map.groupby("seed"):
        colour, width = ("black", 1.2) if other == seed else ("0.7", 0.9)
        panel.plot(curve["cost"], curve["weight"], color=colour, linewidth=width)
    for corrupted, part in points.groupby("corrupted"):
        name, colour = ("corrupted", CORRUPTED) if corrupted else ("clean", CLEAN)
        said = f"{name}: mean {part['weight'].mean():.2f}"
        panel.plot(part["cost"], part["weight"], "|", color=colour, label=said, markersize=6)
    panel.set(ylim=(0, 1), xlabel="cost q of a point", ylabel=r"weight $v$ in the mean $\mu$")
    panel.set_xlim(0, None)
    panel.legend(loc="lower left", alignment="left", title=f"points of seed {seed}")


def path_values(by_epoch: pd.DataFrame) -> pd.DataFrame:
    """Standardised values (epochs, points), averaged up to each epoch, late epochs more.

    The weights are 1, 2, 3, …, as those of the looks that the path readout averages. It averages
    costs, of some epochs; here it is the values of all epochs, each of one scoring pass.
    """
    spread = by_epoch.std(axis=1, ddof=1)
    standardised = by_epoch.sub(by_epoch.mean(axis=1), axis=0).div(spread, axis=0)
    weights = pd.Series(np.arange(1.0, len(by_epoch) + 1), index=by_epoch.index)
    return standardised.mul(weights, axis=0).cumsum().div(weights.cumsum(), axis=0)


def _draw_ends(panel: Axes, points: pd.DataFrame, integrated: pd.DataFrame) -> list[Any]:
    """Mean values of the tenths of the points that end highest and lowest; gives their keys."""
    rows = integrated.stack().rename("value").reset_index()
    tenth = max(1, len(points) // 10)
    ordered = points.assign(end=points["point"].map(integrated.iloc[-1])).sort_values("end")
    panel.axhline(0, color="0.6", linewidth=0.7)
    for members, colour in ((ordered[-tenth:], HIGH), (ordered[:tenth], LOW)):
        part = rows[rows["point"].isin(members["point"])]
        draw_points(panel, part, spaced(members, "end", 6), "epoch", "value", colour)
    panel.set_ylabel("mean value up to the epoch\n(standard deviations)")
    ends = {"highest": HIGH, "lowest": LOW}.items()
    return [style.key(f"{end} tenth after the last epoch", color=c) for end, c in ends]


def _draw_lowest(
    panel: Axes, points: pd.DataFrame, by_epoch: pd.DataFrame, integrated: pd.DataFrame
) -> None:
    """Of as many lowest values as there are corrupted points, the share that is corrupted."""
    corrupted = points.set_index("point")["corrupted"]
    budget = int(corrupted.sum())
    drawn = {
        "mean value up to the epoch": ("nddv-path", integrated),
        "terminal value of the epoch": ("nddv-terminal", by_epoch),
    }
    for said, (method, values) in drawn.items():
        lowest = values.rank(axis=1, method="first") <= budget
        share = 100 * lowest.loc[:, corrupted[corrupted].index].sum(axis=1) / budget
        panel.plot(share, **style.LOOKS[method].line(), label=said)
    panel.axhline(100 * corrupted.mean(), **style.CHANCE, label="chance")
    panel.set(ylim=(0, 100), ylabel=f"corrupted among the\n{budget} lowest values (%)")
    panel.legend()


def _epoch_axis(panel: Axes) -> None:
    panel.set_xlabel("training epoch")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
