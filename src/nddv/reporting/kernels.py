"""The figure of Matérn kernels: shapes, regression, and the functions of a fitted control."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import LogLocator, NullFormatter

from nddv.reporting.figures import COLOURS, STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 7.5
TITLE = 8.5

LOOKS: dict[str, tuple[str, str, Any, str]] = {
    "matern-1/2": ("Matérn, ν = 1/2", COLOURS[1], STYLES[1], "s"),
    "matern-3/2": ("Matérn, ν = 3/2 (used)", COLOURS[0], STYLES[0], "o"),
    "matern-5/2": ("Matérn, ν = 5/2", COLOURS[2], STYLES[2], "^"),
    "gaussian": ("Gaussian, ν → ∞", COLOURS[3], STYLES[3], "D"),
    "mlp": ("MLP", "0.15", STYLES[4], "x"),
    "mlp-long": ("MLP, longer training", "0.5", STYLES[1], "+"),
}
"""Title, colour, line style and marker of each model."""

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


def matern_kan(
    curves: pd.DataFrame,
    regressions: pd.DataFrame,
    functions: pd.DataFrame,
    states: pd.DataFrame,
    strengths: pd.DataFrame,
) -> Figure:
    """Draw kernels, regressions and a fitted control (fig:terminal_map_interpretability).

    Parameters
    ----------
    curves : as ``nddv.anatomy.kernels.kernel_curves`` gives them.
    regressions : as ``compare_regressions`` gives them.
    functions, states, strengths : as ``coordinate_functions`` gives them.
    """
    if regressions.empty or curves.empty or functions.empty:
        raise ValueError("nothing to draw: a table of the kernels or of the control has no rows")
    figure = Figure(figsize=(7.5, 9.0), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=[2.2, 2.9, 4.2])
    _draw_shapes(parts[0], curves)
    _draw_regressions(parts[1], regressions)
    _draw_control(parts[2], functions, states, strengths)
    return figure


def _tidy(panel: Axes, title: str = "", x: str = "", y: str = "") -> None:
    panel.set_title(title, fontsize=SMALL)
    panel.set_xlabel(x, fontsize=SMALL)
    panel.set_ylabel(y, fontsize=SMALL)
    panel.tick_params(labelsize=SMALL)
    panel.grid(color="0.92", linewidth=0.6)
    panel.set_axisbelow(True)


# ------------------------------------------------------------------ kernels


def _draw_shapes(part: SubFigure, curves: pd.DataFrame) -> None:
    title = "(a, b) Kernels: the smaller ν, the rougher"
    part.suptitle(title, fontsize=TITLE, x=0.01, ha="left")
    axes = part.subplots(1, len(SHAPES))
    for panel, (kind, title) in zip(axes, SHAPES.items(), strict=True):
        drawn = curves[(curves["kind"] == kind) & (curves["draw"] == 0)]
        for k, (nu, one) in enumerate(drawn.groupby("nu")):
            _, colour, style, _ = LOOKS[MODELS[float(nu)]]
            # the random functions one below the other, and solid: dashes would hide roughness
            shift = -SHIFT * k if kind == "sample" else 0.0
            look: dict[str, Any] = {"color": colour, "linewidth": 1.2, "linestyle": style}
            if kind == "sample":
                look |= {"linestyle": "-", "linewidth": 0.9}
            panel.plot(one["x"], one["y"] + shift, **look)
        _tidy(panel, title, "r (length scales)")
        if kind == "sample":
            _tidy(panel, title, "x (length scales)")
            panel.set_yticks([])


# ------------------------------------------------------------------ regression


def _draw_regressions(part: SubFigure, regressions: pd.DataFrame) -> None:
    repetitions = regressions["repetition"].nunique()
    title = f"(c) Regression: error on unseen points, {repetitions} repetitions"
    part.suptitle(title, fontsize=TITLE, x=0.01, ha="left")
    names = list(regressions["target"].unique())
    axes = part.subplots(1, len(names), sharey=True, squeeze=False)[0]
    models = [model for model in LOOKS if (regressions["model"] == model).any()]
    for panel, name in zip(axes, names, strict=True):
        own = regressions[regressions["target"] == name]
        for model in models:
            _draw_model(panel, own[own["model"] == model], model)
        sizes = sorted(own["points"].unique())
        panel.axhline(own["noise"].iloc[0], color="0.6", linewidth=0.8, zorder=0)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter(NullFormatter())
        _tidy(panel, TARGETS.get(name, name), "training points")
    axes[0].set_ylabel("test error (RMSE,\nsd of target = 1)", fontsize=SMALL)
    keys = [
        axes[0].plot([], [], color=colour, linestyle=style, marker=marker, ms=3, label=title)[0]
        for title, colour, style, marker in (LOOKS[model] for model in models)
    ]
    keys += axes[0].plot([], [], color="0.6", linewidth=0.8, label="noise of a training point")
    part.legend(handles=keys, ncols=4, **_legend(), title=_sizes(regressions))


def _draw_model(panel: Axes, own: pd.DataFrame, model: str) -> None:
    """Geometric mean over repetitions and its spread: errors are told apart by factors."""
    _, colour, style, marker = LOOKS[model]
    logs = np.log(own["rmse"]).groupby(own["points"]).agg(["mean", "std"])
    middle = np.exp(logs["mean"])
    look: dict[str, Any] = {"color": colour, "linestyle": style, "linewidth": 1.1}
    panel.plot(middle.index, middle, marker=marker, markersize=3, **look)
    low, high = (np.exp(logs["mean"] + side * logs["std"].fillna(0.0)) for side in (-1, 1))
    panel.fill_between(middle.index, low, high, color=colour, alpha=0.12, linewidth=0)


def _sizes(regressions: pd.DataFrame) -> str:
    """What is drawn, and how large the networks are and how long they were trained."""
    kan, mlp = (regressions["model"] == model for model in ("matern-3/2", "mlp"))
    said = [
        f"{part.loc[kan, 'parameters'].iloc[0]} and {part.loc[mlp, 'parameters'].iloc[0]}"
        for _, part in regressions.groupby("inputs")
    ]
    steps = regressions["steps"]
    return (
        "geometric mean over repetitions; bands: ± 1 standard deviation of the logarithm\n"
        f"{steps.min()} steps of training (longer: {steps.max()}); "
        f"parameters of KAN and MLP: {', '.join(said)}"
    )


def _legend() -> dict[str, Any]:
    return {
        "loc": "outside lower center",
        "fontsize": SMALL,
        "title_fontsize": SMALL,
        "frameon": False,
    }


# ------------------------------------------------------------------ a fitted control


def _draw_control(
    part: SubFigure, functions: pd.DataFrame, states: pd.DataFrame, strengths: pd.DataFrame
) -> None:
    first = strengths.iloc[0]
    title = (
        f"(d) A fitted control: {first['dataset']}, n = {first['n']}, {first['corruption']}, "
        f"seed {first['seed']}; what its last step adds to the margin of class {first['target']}"
    )
    part.suptitle(title, fontsize=TITLE, x=0.01, ha="left")
    numbers = {
        kind: list(own["number"].unique()) for kind, own in states.groupby("kind", sort=False)
    }
    axes = part.subplots(2, 1 + len(numbers["coordinate"]))
    unit_colours = {q: COLOURS[k] for k, q in enumerate(numbers["unit"])}
    _draw_strengths(axes[0, 0], strengths, numbers["coordinate"])
    _draw_outer(axes[1, 0], functions, states, unit_colours)
    for column, p in enumerate(numbers["coordinate"], start=1):
        own = functions[functions["coordinate"] == p]
        where = states[(states["kind"] == "coordinate") & (states["number"] == p)]
        row = strengths[(strengths["kind"] == "coordinate") & (strengths["number"] == p)].iloc[0]
        _draw_inner(axes[0, column], own[own["kind"] == "inner"], unit_colours)
        resembled = f"r = {row['correlation']:+.2f} with {row['feature']}".replace("-", "−")
        _tidy(axes[0, column], f"coordinate {p}\n({resembled})")
        _draw_effect(axes[1, column], own[own["kind"] == "effect"])
        _tidy(axes[1, column], "", f"state, coordinate {p}")
        for panel in axes[:, column]:
            _rug(panel, where)
    axes[0, 1].set_ylabel("inner functions $h_{q,p}$", fontsize=SMALL)
    axes[1, 1].set_ylabel("change of margin", fontsize=SMALL)
    for row_of_panels in axes[:, 1:]:
        _same_height(row_of_panels)
    keys = [
        axes[0, 1].plot([], [], color=colour, label=f"unit {q}")[0]
        for q, colour in unit_colours.items()
    ]
    keys += axes[0, 1].plot([], [], color="0.75", linewidth=0.7, label="other units")
    keys += axes[0, 1].plot([], [], color="black", label="mean over points, ± 1 sd")
    keys += [
        axes[0, 1].plot([], [], "|", color=colour, label=f"points labelled {label}")[0]
        for label, colour in _label_colours(states).items()
    ]
    part.legend(handles=keys, ncols=4, **_legend())


def _draw_strengths(panel: Axes, strengths: pd.DataFrame, shown: list[int]) -> None:
    """All coordinates, strongest first; those shown beside are dark and numbered."""
    own = strengths[strengths["kind"] == "coordinate"].sort_values("strength", ascending=False)
    dark = own["number"].isin(shown)
    panel.bar(range(len(own)), own["strength"], color=np.where(dark, "0.2", "0.75"))
    additive = own["additive"].iloc[0]
    said = f"all effects added:\n{additive:.0%} of variance".replace("%", " %")
    panel.text(0.97, 0.95, said, ha="right", va="top", fontsize=SMALL, transform=panel.transAxes)
    _tidy(panel, "strength of each\ncoordinate alone", "coordinates by rank", "sd of its effect")
    panel.set_xticks([])
    panel.set_ylim(0, 1.45 * own["strength"].max())
    panel.grid(visible=False, axis="x")


def _draw_outer(
    panel: Axes, functions: pd.DataFrame, states: pd.DataFrame, colours: dict[int, str]
) -> None:
    for q, colour in colours.items():
        own = functions[(functions["kind"] == "outer") & (functions["unit"] == q)]
        panel.plot(own["x"], own["y"], color=colour, linewidth=1.2)
    _tidy(panel, "", "sum of inner functions", "outer functions $H_q$")
    _rug(panel, states[states["kind"] == "unit"], by_label=False)


def _draw_inner(panel: Axes, inner: pd.DataFrame, colours: dict[int, str]) -> None:
    """Functions of all units; those of the units drawn at the left in their colours, on top."""
    for q, own in inner.groupby("unit"):
        colour, width = (colours[int(q)], 1.3) if q in colours else ("0.75", 0.6)
        panel.plot(own["x"], own["y"], color=colour, linewidth=width, zorder=2 + (q in colours))


def _draw_effect(panel: Axes, effect: pd.DataFrame) -> None:
    low, high = (effect["y"] + side * effect["spread"] for side in (-1, 1))
    panel.axhline(0.0, color="0.6", linewidth=0.8)
    panel.fill_between(effect["x"], low, high, color="0.8", linewidth=0)
    panel.plot(effect["x"], effect["y"], color="black", linewidth=1.3)


def _label_colours(states: pd.DataFrame) -> dict[str, str]:
    labels = sorted(states["label"].unique())
    return {label: COLOURS[(4 + k) % len(COLOURS)] for k, label in enumerate(labels)}


def _rug(panel: Axes, where: pd.DataFrame, by_label: bool = True) -> None:
    """Short lines at the bottom, one a point; one level for each label."""
    colours = _label_colours(where) if by_label else {"": "0.4"}
    for level, (label, colour) in enumerate(colours.items()):
        x = where.loc[where["label"] == label, "x"] if by_label else where["x"]
        bottom = 0.01 + 0.05 * level
        panel.vlines(
            x,
            bottom,
            bottom + 0.045,
            transform=panel.get_xaxis_transform(),
            color=colour,
            linewidth=0.4,
            alpha=0.35,
        )
    # room below the curves
    low, high = panel.get_ylim()
    panel.set_ylim(low - 0.12 * (high - low), high)


def _same_height(panels: Any) -> None:
    low, high = zip(*(panel.get_ylim() for panel in panels), strict=True)
    for panel in panels:
        panel.set_ylim(min(low), max(high))
