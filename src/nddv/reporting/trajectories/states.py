"""States under the mean-field flow, and the learned weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.figure import Figure

from nddv.reporting.trajectories.parts import (
    BAND_WORDS,
    CLEAN,
    CORRUPTED,
    SMALL,
    WIDTH,
    check_points,
    class_colours,
    draw_flow,
    draw_legend,
    finish_panels,
    mean_look,
    spaced_last,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    figure = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    axes = figure.subplots(1, 3)
    about = run.iloc[0]
    draw_flow(axes[0], points, states, steps, each=12)
    axes[0].set_title("a  States over time, along PC 1", fontsize=9, loc="left")
    _draw_plane(axes[1], points, states, steps)
    axes[1].set_title("a′  The same in the plane", fontsize=9, loc="left")
    shares = [f"PC {k} ({100 * about[f'explained_{k}']:.0f} % of variance)" for k in (1, 2)]
    axes[0].set_ylabel(f"state, {shares[0]}", fontsize=SMALL)
    axes[1].set_xlabel(f"state, {shares[0]}", fontsize=SMALL)
    axes[1].set_ylabel(f"state, {shares[1]}", fontsize=SMALL)
    _draw_weights(axes[2], points, weight_map, int(about["seed"]))
    axes[2].set_title("b  Learned weights", fontsize=9, loc="left")
    finish_panels(axes)
    keys = [
        *(
            axes[0].plot([], [], color=colour, label=f"clean, class {label}")[0]
            for label, colour in class_colours(points)
        ),
        *axes[0].plot([], [], color=CORRUPTED, label="corrupted (each a line)"),
        *axes[0].plot([], [], "-s", **mean_look(), label="weighted mean $\\mu_t$"),
    ]
    others = weight_map["seed"].nunique() - 1
    if others:
        said = f"weight maps of {others} other seed{'s' * (others > 1)}"
        keys += axes[0].plot([], [], color="0.7", label=said)
    draw_legend(figure, keys, 5, title=f"median and single points; {BAND_WORDS}")
    return figure


def _draw_plane(
    panel: Axes, points: pd.DataFrame, states: pd.DataFrame, steps: pd.DataFrame
) -> None:
    """Paths of some points from open markers at the start to full ones at the end."""
    marked = points.merge(states, on="point")
    groups = [
        (colour, marked[(marked["label"] == label) & ~marked["corrupted"]], 16)
        for label, colour in class_colours(points)
    ]
    for colour, part, k in [*groups, (CORRUPTED, marked[marked["corrupted"]], 10)]:
        some = part[part["point"].isin(spaced_last(part, "state_1", k))]
        for _, path in some.groupby("point"):
            x, y = path["state_1"].to_numpy(), path["state_2"].to_numpy()
            panel.plot(x, y, color=colour, linewidth=0.7, alpha=0.8)
            panel.plot(x[:1], y[:1], "o", color=colour, markersize=3, markerfacecolor="white")
            panel.plot(x[-1:], y[-1:], "o", color=colour, markersize=3)
    panel.plot(steps["mean_1"], steps["mean_2"], "-s", **mean_look(), zorder=4)
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
