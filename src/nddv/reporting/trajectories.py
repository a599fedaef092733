"""Figures of what happens inside one NDDV run, drawn from its own trajectories.

The frames are those of `nddv.evaluation.trajectories`, each under its name there. Bands are over
the points of one run, except where a legend says seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import MaxNLocator

from nddv.reporting.curation import AXES, CONTROL, DIRECTIONS, HIGHLIGHT, TASKS
from nddv.reporting.detection import NOT_RUN, PROBLEM
from nddv.reporting.figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLEAN, CORRUPTED = COLOURS[0], COLOURS[1]
BOTH = "#404040"  # clean points of all classes, where classes have colours
CLASSES = [COLOURS[0], COLOURS[2], COLOURS[4], COLOURS[3], COLOURS[5]]
MARKERS = ["o", "^", "s", "D", "v"]
HIGH, LOW = COLOURS[2], COLOURS[3]
READOUTS = {"path": "nddv-path", "terminal": "nddv-terminal"}

BAND = (0.1, 0.9)  # quantiles
BAND_WORDS = "band: 10 to 90 % of the points"
SMALL = 8.5  # points; 7 when a figure 8.5 inches wide is printed at 7
WIDTH = 8.5


# ---------------------------------------------------------------------- overview


def overview(
    run: pd.DataFrame, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame
) -> Figure:
    """Draw the way from data to values in five panels joined by arrows (fig:nddv)."""
    _check(points, states)
    figure = Figure(figsize=(WIDTH, 3.5))
    axes = figure.subplots(1, 5)
    figure.subplots_adjust(left=0.028, right=0.994, top=0.83, bottom=0.41, wspace=0.27)
    _draw_data(axes[0], points, run.iloc[0])
    _draw_flow(axes[1], points, states, steps, each=18)
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
    _legend(figure, _point_keys(axes[0], points), 7, loc="upper center")
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
    shown = [*_spaced(end[wrong], "terminal", 9), *_spaced(end[~wrong], "terminal", 12)]
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


# ---------------------------------------------------------------------- states and weights


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
    _check(points, states)
    figure = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    axes = figure.subplots(1, 3)
    about = run.iloc[0]
    _draw_flow(axes[0], points, states, steps, each=12)
    axes[0].set_title("a  States over time, along PC 1", fontsize=9, loc="left")
    _draw_plane(axes[1], points, states, steps)
    axes[1].set_title("a′  The same in the plane", fontsize=9, loc="left")
    shares = [f"PC {k} ({100 * about[f'explained_{k}']:.0f} % of variance)" for k in (1, 2)]
    axes[0].set_ylabel(f"state, {shares[0]}", fontsize=SMALL)
    axes[1].set_xlabel(f"state, {shares[0]}", fontsize=SMALL)
    axes[1].set_ylabel(f"state, {shares[1]}", fontsize=SMALL)
    _draw_weights(axes[2], points, weight_map, int(about["seed"]))
    axes[2].set_title("b  Learned weights", fontsize=9, loc="left")
    _finish(axes)
    keys = [
        *(
            axes[0].plot([], [], color=colour, label=f"clean, class {label}")[0]
            for label, colour in _class_colours(points)
        ),
        *axes[0].plot([], [], color=CORRUPTED, label="corrupted (each a line)"),
        *axes[0].plot([], [], "-s", **_mean_look(), label="weighted mean $\\mu_t$"),
    ]
    others = weight_map["seed"].nunique() - 1
    if others:
        said = f"weight maps of {others} other seed{'s' * (others > 1)}"
        keys += axes[0].plot([], [], color="0.7", label=said)
    _legend(figure, keys, 5, title=f"median and single points; {BAND_WORDS}")
    return figure


def _draw_flow(
    panel: Axes, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame, each: int
) -> None:
    """The first coordinate over time: clean points by class, corrupted ones as lines."""
    marked = points.merge(states, on="point")
    for label, colour in _class_colours(points):
        part = marked[(marked["label"] == label) & ~marked["corrupted"]]
        _draw_band(panel, part, "time", "state_1", colour)
        _draw_lines(panel, part, _spaced_last(part, "state_1", each // 2), "state_1", colour)
    part = marked[marked["corrupted"]]
    _draw_lines(panel, part, _spaced_last(part, "state_1", each), "state_1", CORRUPTED, 0.9)
    panel.plot(steps["time"], steps["mean_1"], "-s", **_mean_look(), zorder=4)
    panel.set_xlim(steps["time"].min(), steps["time"].max())
    panel.set_xlabel("time t", fontsize=SMALL)
    panel.set_ylabel("state (PC 1)", fontsize=SMALL, labelpad=1)


def _draw_plane(
    panel: Axes, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame
) -> None:
    """Paths of some points from open markers at the start to full ones at the end."""
    marked = points.merge(states, on="point")
    groups = [
        (colour, marked[(marked["label"] == label) & ~marked["corrupted"]], 16)
        for label, colour in _class_colours(points)
    ]
    for colour, part, k in [*groups, (CORRUPTED, marked[marked["corrupted"]], 10)]:
        some = part[part["point"].isin(_spaced_last(part, "state_1", k))]
        for _, path in some.groupby("point"):
            x, y = path["state_1"].to_numpy(), path["state_2"].to_numpy()
            panel.plot(x, y, color=colour, linewidth=0.7, alpha=0.8)
            panel.plot(x[:1], y[:1], "o", color=colour, markersize=3, markerfacecolor="white")
            panel.plot(x[-1:], y[-1:], "o", color=colour, markersize=3)
    panel.plot(steps["mean_1"], steps["mean_2"], "-s", **_mean_look(), zorder=4)
    look: dict[str, Any] = {"transform": panel.transAxes, "fontsize": SMALL, "ha": "right"}
    panel.text(0.98, 0.95, "open: t = 0\nfull: t = T", va="top", **look)


def _draw_weights(panel: Axes, points: pd.DataFrame, weight_map: pd.DataFrame, seed: int) -> None:
    """V_θ of all seeds, and the points of the drawn run on its own."""
    for other, curve in weight_map.groupby("seed"):
        colour, width = ("black", 1.2) if other == seed else ("0.7", 0.9)
        panel.plot(curve["cost"], curve["weight"], color=colour, linewidth=width)
    for corrupted, part in points.groupby("corrupted"):
        colour = CORRUPTED if corrupted else CLEAN
        name = "corrupted" if corrupted else "clean"
        said = f"{name}: mean {part['weight'].mean():.2f}"
        panel.plot(part["cost"], part["weight"], "|", color=colour, label=said, markersize=7)
    panel.set_ylim(0, 1)
    panel.set_xlim(0, None)
    panel.set_xlabel("cost q of a point", fontsize=SMALL)
    panel.set_ylabel(r"weight $v$ in the mean $\mu$", fontsize=SMALL)
    settings: dict[str, Any] = {"title": f"points of seed {seed}", "title_fontsize": SMALL}
    panel.legend(fontsize=SMALL, frameon=False, loc="lower left", alignment="left", **settings)


# ---------------------------------------------------------------------- values


def layer_epoch_values(
    run: pd.DataFrame, points: pd.DataFrame, layers: pd.DataFrame, epochs: pd.DataFrame
) -> Figure:
    """Draw values over Euler times and over training epochs (fig:reveal_dv_layer_epoch)."""
    _check(points, layers, epochs)
    figure = Figure(figsize=(WIDTH, 3.8), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for panel, rows, x in ((axes[0], layers, "time"), (axes[1], epochs, "epoch")):
        marked = points.merge(rows, on="point")
        panel.axhline(0, color="0.6", linewidth=0.7)
        for corrupted, colour in ((True, CORRUPTED), (False, CLEAN)):
            part = marked[marked["corrupted"] == corrupted]
            _draw_band(panel, part, x, "value", colour)
            some = _spaced(part.drop_duplicates("point"), "terminal", 7)
            _draw_lines(panel, part, some, "value", colour, x=x)
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
    _finish(axes)
    keys = [
        axes[0].plot([], [], color=colour, linewidth=1.8, label=f"{name}, median")[0]
        for name, colour in (("clean points", CLEAN), ("corrupted points", CORRUPTED))
    ]
    keys += axes[0].plot([], [], color="0.5", linewidth=0.7, label="single points")
    _legend(figure, [*keys, best], 4, title=f"one run; {BAND_WORDS}")
    return figure


def valuation_process(
    run: pd.DataFrame, points: pd.DataFrame, epochs: pd.DataFrame, curves: pd.DataFrame
) -> Figure:
    """Draw how values form in training, and what their order is worth (fig:reveal_dv).

    curves : test accuracies of one problem, of all seeds, as ``nddv.evaluation.curation`` gives
        them.
    """
    _check(points, epochs)
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
    _legend(top, [*keys, best], 3, title=f"a, b: one run; {BAND_WORDS}")
    axes = bottom.subplots(1, len(DIRECTIONS))
    for panel, letter, direction in zip(axes, "cdef", DIRECTIONS, strict=True):
        _draw_accuracy(panel, curves[curves["direction"] == direction])
        what, good = TASKS[direction]
        panel.set_title(f"{letter}  {what}\n({good})", fontsize=8.5)
        panel.set_xlabel(AXES[direction.partition("_")[0]], fontsize=SMALL)
    for pair in (axes[:2], axes[2:]):
        _share_height(pair)
    axes[0].set_ylabel("test accuracy (%)", fontsize=SMALL)
    _finish([left, right, *axes])
    seeds = curves["seed"].nunique()
    title = f"c to f: mean over {seeds} seed{'s' * (seeds != 1)}; bands: ± 1 standard deviation"
    _legend(bottom, _curve_keys(axes[0], curves), 4, title=title)
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
        _draw_band(panel, part, "epoch", "value", colour)
        some = _spaced(points[points["point"].isin(members)], "path", 6)
        _draw_lines(panel, part, some, "value", colour, x="epoch")
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


# ---------------------------------------------------------------------- parts of panels


def _check(points: pd.DataFrame, *others: pd.DataFrame) -> None:
    """All frames are about the same points, of which some are corrupted and some are not."""
    if points["corrupted"].nunique() < 2:
        raise ValueError("corrupted and clean points are told apart: the run needs some of each")
    for frame in others:
        if set(frame["point"]) != set(points["point"]):
            raise ValueError("the frames are about different points: give those of one run")


def _class_colours(points: pd.DataFrame) -> Iterator[tuple[Any, str]]:
    labels = sorted(points["label"].unique())
    return ((label, CLASSES[k % len(CLASSES)]) for k, label in enumerate(labels))


def _mean_look() -> dict[str, Any]:
    return {"color": "black", "linewidth": 1.8, "markersize": 3.5}


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


def _draw_band(panel: Axes, rows: pd.DataFrame, x: str, y: str, colour: str) -> None:
    """Median and quantiles over points."""
    by_x = rows.groupby(x)[y]
    middle, low, high = (by_x.quantile(q) for q in (0.5, *BAND))
    panel.fill_between(middle.index, low, high, color=colour, alpha=0.18, linewidth=0)
    panel.plot(middle.index, middle, color=colour, linewidth=1.8)


def _draw_lines(
    panel: Axes,
    rows: pd.DataFrame,
    some: Sequence[int],
    y: str,
    colour: str,
    alpha: float = 0.6,
    x: str = "time",
) -> None:
    lines = rows[rows["point"].isin(some)].pivot(index=x, columns="point", values=y)
    panel.plot(lines.index, lines, color=colour, linewidth=0.6, alpha=alpha)


def _spaced(rows: pd.DataFrame, by: str, k: int) -> list[int]:
    """k points at even ranks, from lowest to highest: chosen by no eye."""
    ordered = rows.sort_values([by, "point"])["point"].to_numpy()
    return list(ordered[np.linspace(0, len(ordered) - 1, min(k, len(ordered))).round().astype(int)])


def _spaced_last(rows: pd.DataFrame, by: str, k: int) -> list[int]:
    """The same, by where the points are at the last step."""
    return _spaced(rows[rows["step"] == rows["step"].max()], by, k)


def _mark_best(panel: Axes, run: pd.DataFrame) -> Any:
    """A bar at the last epoch that the path readout averages; gives its key."""
    look: dict[str, Any] = {"color": "0.8", "linewidth": 4, "zorder": 0}
    return panel.axvline(run["best_epoch"].iloc[0], **look, label="last epoch of the path readout")


def _finish(axes: Sequence[Axes]) -> None:
    for panel in axes:
        panel.tick_params(labelsize=SMALL)
        panel.grid(color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)


def _point_keys(panel: Axes, points: pd.DataFrame) -> list[Any]:
    """Keys of clean points by class and together, of corrupted ones, and of the mean."""
    looks = [
        (f"clean, class {label}", colour, MARKERS[k % len(MARKERS)])
        for k, (label, colour) in enumerate(_class_colours(points))
    ]
    looks += [("clean, all", BOTH, "s"), ("wrong label", CORRUPTED, "o")]
    keys: list[Any] = []
    for said, colour, marker in looks:
        keys += panel.plot([], [], marker, color=colour, markersize=4, label=said)
    keys += panel.plot([], [], "-s", **_mean_look(), label="weighted mean")
    return keys


def _legend(figure: Any, keys: list[Any], columns: int, **settings: Any) -> None:
    place = {"loc": "outside lower center", "title_fontsize": SMALL, **settings}
    figure.legend(handles=keys, ncols=columns, fontsize=SMALL, frameon=False, **place)
