"""Matérn kernels: shapes, regression, and the functions of a fitted control."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import LogLocator, NullFormatter

import nddv.reporting.figures.style as style

LOOKS: dict[str, tuple[str, style.Look]] = {
    "matern-1/2": ("Matérn, ν = 1/2", style.Look(style.COLOURS[1], style.STYLES[1], "s")),
    "matern-3/2": ("Matérn, ν = 3/2 (used)", style.Look(style.COLOURS[0], style.STYLES[0], "o")),
    "matern-5/2": ("Matérn, ν = 5/2", style.Look(style.COLOURS[2], style.STYLES[2], "^")),
    "gaussian": ("Gaussian, ν → ∞", style.Look(style.COLOURS[3], style.STYLES[3], "D")),
    "mlp": ("MLP", style.Look("0.15", style.STYLES[4], "x")),
    "mlp-long": ("MLP, longer training", style.Look("0.5", style.STYLES[1], "+")),
}
"""Title and look of each model."""

MODELS = {0.5: "matern-1/2", 1.5: "matern-3/2", 2.5: "matern-5/2", inf: "gaussian"}
"""The model whose bases have smoothness ν."""

SHAPES = {
    "kernel": "(a) kernel k(r)",
    "slope": "(b) its slope",
    "curvature": "(b) its curvature",
    "sample": "(b) random functions",
}

TARGETS = {
    "smooth": "smooth:\n$\\sin(3πx/4)$",
    "kinked": "kinked:\n$|x|$",
    "step": "step:\n$\\mathrm{sign}(x)$",
    "product": "smooth, two inputs:\n$x_1 x_2$",
    "maximum": "kinked, two inputs:\n$\\max(x_1, x_2)$",
}
"""How the functions that are learned are written."""

SHIFT = 4.0  # between random functions of different kernels


@style.styled
def matern_kan(
    curves: pd.DataFrame,
    regressions: pd.DataFrame,
    functions: pd.DataFrame,
    states: pd.DataFrame,
    strengths: pd.DataFrame,
) -> Figure:
    """Draw kernels, regressions and a fitted control (fig:terminal_map_interpretability).

    The frames are those of `nddv.anatomy.kernels`.
    """
    if regressions.empty or curves.empty or functions.empty:
        raise ValueError("nothing to draw: a table of the kernels or of the control has no rows")
    figure = Figure(figsize=(style.WIDTH, 8.4))
    parts: Any = figure.subfigures(3, 1, height_ratios=[2.2, 2.9, 4.2])
    _draw_shapes(parts[0], curves)
    _draw_regressions(parts[1], regressions)
    _draw_control(parts[2], functions, states, strengths)
    for panel in figure.axes:
        panel.title.set_fontsize("medium")
    return figure


def _heading(part: SubFigure, text: str) -> None:
    part.suptitle(text, fontsize=8, x=0.01, ha="left")


# ------------------------------------------------------------------ kernels


def _draw_shapes(part: SubFigure, curves: pd.DataFrame) -> None:
    _heading(part, "(a, b) Kernels: the smaller ν, the rougher")
    for panel, (kind, title) in zip(part.subplots(1, len(SHAPES)), SHAPES.items(), strict=True):
        drawn = curves[(curves["kind"] == kind) & (curves["draw"] == 0)]
        for k, (nu, curve) in enumerate(drawn.groupby("nu")):
            _, look = LOOKS[MODELS[float(nu)]]
            if kind == "sample":
                # below each other, and solid: dashes would hide roughness
                shifted = curve["y"] - SHIFT * k
                panel.plot(curve["x"], shifted, color=look.colour, linewidth=0.9)
            else:
                panel.plot(curve["x"], curve["y"], **look.line())
        panel.set(title=title, xlabel=f"{'x' if kind == 'sample' else 'r'} (length scales)")
    panel.set_yticks([])


# ------------------------------------------------------------------ regression


def _draw_regressions(part: SubFigure, regressions: pd.DataFrame) -> None:
    repetitions = regressions["repetition"].nunique()
    _heading(part, f"(c) Regression: error on unseen points, {repetitions} repetitions")
    names = list(regressions["target"].unique())
    axes = part.subplots(1, len(names), sharey=True, squeeze=False)[0]
    models = [model for model in LOOKS if (regressions["model"] == model).any()]
    noise: dict[str, Any] = {"color": "0.6", "linewidth": 0.8}
    for panel, name in zip(axes, names, strict=True):
        own = regressions[regressions["target"] == name]
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        for model in models:
            _draw_model(panel, own[own["model"] == model], LOOKS[model][1])
        sizes = sorted(own["points"].unique())
        panel.axhline(own["noise"].iloc[0], **noise, zorder=0)
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.set(title=TARGETS.get(name, name), xlabel="training points")
    axes[0].set_ylabel("test error (RMSE,\nsd of target = 1)")
    keys = [style.key(title, **look.marked()) for title, look in map(LOOKS.__getitem__, models)]
    keys.append(style.key("noise of a training point", **noise))
    style.legend_below(part, keys, 4, _sizes(regressions))


def _draw_model(panel: Axes, own: pd.DataFrame, look: style.Look) -> None:
    """Geometric mean over repetitions and its spread: errors are told apart by factors."""
    logs = np.log(own["rmse"]).groupby(own["points"]).agg(["mean", "std"])
    low, high = (np.exp(logs["mean"] + side * logs["std"].fillna(0.0)) for side in (-1, 1))
    panel.plot(np.exp(logs["mean"]), **look.marked(markersize=3))
    panel.fill_between(logs.index, low, high, color=look.colour, alpha=0.12, linewidth=0)


def _sizes(regressions: pd.DataFrame) -> str:
    """What is drawn, and how large the networks are and how long they were trained."""
    first = regressions.groupby(["inputs", "model"])["parameters"].first().unstack()
    pairs = zip(first["matern-3/2"], first["mlp"], strict=True)
    steps = regressions["steps"]
    return (
        "geometric mean over repetitions; bands: ± 1 standard deviation of the logarithm\n"
        f"{steps.min()} steps of training (longer: {steps.max()}); "
        f"parameters of KAN and MLP: {', '.join(f'{kan} and {mlp}' for kan, mlp in pairs)}"
    )


# ------------------------------------------------------------------ a fitted control


def _draw_control(
    part: SubFigure, functions: pd.DataFrame, states: pd.DataFrame, strengths: pd.DataFrame
) -> None:
    first = strengths.iloc[0]
    title = (
        f"(d) A fitted control: {first['dataset']}, n = {first['n']}, {first['corruption']}, "
        f"seed {first['seed']}; what its last step adds to the margin of class {first['target']}"
    )
    _heading(part, title)
    of_kind = {kind: own.groupby("number", sort=False) for kind, own in states.groupby("kind")}
    units = {q: style.COLOURS[k] for k, q in enumerate(of_kind["unit"].groups)}
    coordinates = strengths[strengths["kind"] == "coordinate"].set_index("number")
    axes = part.subplots(2, 1 + len(of_kind["coordinate"]))
    _draw_strengths(axes[0, 0], coordinates, list(of_kind["coordinate"].groups))
    outer = functions[functions["kind"] == "outer"]
    for q, own in outer[outer["unit"].isin(units)].groupby("unit"):
        axes[1, 0].plot(own["x"], own["y"], color=units[q])
    axes[1, 0].set(xlabel="sum of inner functions", ylabel="outer functions $H_q$")
    _rug(axes[1, 0], [states.loc[states["kind"] == "unit", "x"]], ["0.4"])
    labels = sorted(states["label"].unique())
    label_colours = [style.COLOURS[(4 + k) % len(style.COLOURS)] for k in range(len(labels))]
    for (top, bottom), (p, where) in zip(axes[:, 1:].T, of_kind["coordinate"], strict=True):
        own = functions[functions["coordinate"] == p].groupby("kind")
        _draw_inner(top, own.get_group("inner"), units)
        row = coordinates.loc[p]
        resembled = f"r = {row['correlation']:+.2f} with {row['feature']}".replace("-", "−")
        top.set_title(f"coordinate {p}\n({resembled})")
        effect = own.get_group("effect").set_index("x")
        bottom.axhline(0.0, color="0.6", linewidth=0.8)
        effect = effect.rename(columns={"y": "mean", "spread": "std"})
        style.draw_mean(bottom, effect, style.Look("black"), alpha=0.2)
        bottom.set_xlabel(f"state, coordinate {p}")
        for panel in (top, bottom):
            _rug(panel, [where.loc[where["label"] == name, "x"] for name in labels], label_colours)
    axes[0, 1].set_ylabel("inner functions $h_{q,p}$")
    axes[1, 1].set_ylabel("change of margin")
    for row_of_panels in axes[:, 1:]:
        style.same_height(row_of_panels)
    keys = [style.key(f"unit {q}", color=colour) for q, colour in units.items()]
    keys.append(style.key("other units", color=style.GREY, linewidth=0.7))
    keys.append(style.key("mean over points, ± 1 sd", color="black"))
    keys += [
        style.key(f"points labelled {name}", color=colour, marker="|", linestyle="none")
        for name, colour in zip(labels, label_colours, strict=True)
    ]
    style.legend_below(part, keys, 4)


def _draw_strengths(panel: Axes, coordinates: pd.DataFrame, shown: list[int]) -> None:
    """All coordinates, strongest first; those shown beside are dark."""
    own = coordinates.sort_values("strength", ascending=False)
    dark = own.index.isin(shown)
    panel.bar(range(len(own)), own["strength"], color=np.where(dark, "0.2", style.GREY))
    said = f"all effects added:\n{100 * own['additive'].iloc[0]:.0f} % of variance"
    style.say(panel, 0.97, 0.95, said, ha="right", va="top")
    panel.set(title="strength of each\ncoordinate alone", xlabel="coordinates by rank")
    panel.set(ylabel="sd of its effect", xticks=[], ylim=(0, 1.45 * own["strength"].max()))


def _draw_inner(panel: Axes, inner: pd.DataFrame, units: dict[int, str]) -> None:
    """Functions of all units; those of the units drawn at the left in their colours, on top."""
    for q, own in inner.groupby("unit"):
        colour, width = (units[int(q)], 1.3) if q in units else (style.GREY, 0.6)
        panel.plot(own["x"], own["y"], color=colour, linewidth=width, zorder=2 + (q in units))


def _rug(panel: Axes, groups: list[pd.Series], colours: list[str]) -> None:
    """Short lines at the bottom, one a point; one level for each group."""
    for level, (x, colour) in enumerate(zip(groups, colours, strict=True)):
        bottom = 0.01 + 0.05 * level
        look: dict[str, Any] = {"color": colour, "linewidth": 0.4, "alpha": 0.35}
        panel.vlines(x, bottom, bottom + 0.045, transform=panel.get_xaxis_transform(), **look)
    # room below the curves
    low, high = panel.get_ylim()
    panel.set_ylim(low - 0.12 * (high - low), high)
