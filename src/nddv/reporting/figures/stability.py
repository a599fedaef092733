"""Figures of the stability checks: theory as a line, measurements as points with their spread.

One function for each table of `nddv.audit.stability`, under the same name; it takes that table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

import nddv.reporting.figures.style as style
from nddv.reporting.numbers import with_spread

THEORY: dict[str, Any] = {"color": "0.3", "linewidth": 1.2}


@style.styled
def contraction(frame: pd.DataFrame) -> Figure:
    """Draw relative states over time: simulated, in closed form, and for the fitted control."""
    names = {"far pair": "two points, far apart", "near pair": "two points, close together"}
    names["group mean"] = "mean of a class, mean of all"
    figure, axes = _panels("How far apart points are while they move together", names.values())
    fitted_look: dict[str, Any] = {"color": "black", "marker": "x", "linestyle": "none"}
    for panel, quantity in zip(axes, names, strict=True):
        own = frame[frame["quantity"] == quantity]
        for k, (a, part) in enumerate(own[own["control"] == "shared"].groupby("interaction")):
            _theory(panel, part, "time", k, "euler", "continuous")
            _points(panel, part[::2], "time", k, f"a = {a:g}", spread="stderr")
        fitted = own[own["control"] == "fitted"]
        panel.plot(fitted["time"], fitted["measured"], **fitted_look)
        if quantity != "near pair":  # which grows or shrinks by a small factor only
            panel.set_yscale("log")
        panel.set_xlabel("time t")
    axes[0].set_ylabel("mean squared distance (± standard error)")
    a = frame.loc[frame["control"] == "fitted", "interaction"].iloc[0]
    keys = [
        *axes[0].containers,
        style.key("theory, for the Euler steps taken", **THEORY),
        style.key("theory, in the limit Δt → 0", **THEORY, linestyle=":"),
        style.key(f"fitted control, a = {a:g} (no theory about it)", **fitted_look),
    ]
    style.legend_below(figure, keys, 2)
    return figure


@style.styled
def score_gap_transfer(frame: pd.DataFrame) -> Figure:
    """Draw group score gaps and their bound against the strength of interaction."""
    names = {
        "shared": "one score map for all points (κ = 0)",
        "labelled": "NDDV scores: the map depends on the label",
    }
    title = "Score gaps between a class and all points, and what bounds them"
    figure, axes = _panels(title, names.values())
    for panel, kind in zip(axes, names, strict=True):
        own = frame[frame["map"] == kind]
        for k, (group, part) in enumerate(own.groupby("group")):
            _theory(panel, part, "interaction", k, "bound", "bound_seen")
            label = f"class {group} ({part['size'].iloc[0]} points), measured"
            _points(panel, part, "interaction", k, label)
        panel.set_xscale("log", base=2)
        panel.set(xticks=sorted(own["interaction"].unique()), yscale="log")
        panel.xaxis.set_major_formatter("{x:g}")
        panel.set_xlabel("strength of interaction a")
    axes[0].set_ylabel("gap of mean scores (points: ± 1 sd)")
    keys = [
        *axes[0].containers,
        style.key("bound, proved $L_h$", **THEORY),
        style.key("bound, largest slope seen for $L_h$", **THEORY, linestyle=":"),
    ]
    style.legend_below(figure, keys, 2)
    return figure


@style.styled
def frozen_aggregate(frame: pd.DataFrame) -> Figure:
    """Draw the error along an aggregate of N points against N."""
    names = {"aggregate": "mean field μ", "state": "states", "co-state": "co-states"}
    figure, (panel,) = _panels("Error from a mean field of N points instead of very many", [""])
    for k, (quantity, part) in enumerate(frame.groupby("quantity", sort=False)):
        label = names.get(str(quantity), f"{quantity}s")
        summary = _measured(panel, part, "n", "error", k, label)
        # a line of the proved rate through the middle of the measurements
        rate = summary["n"] ** -0.5
        level = np.exp(np.log(summary["measured"] / rate).mean())
        panel.plot(summary["n"], level * rate, color=style.COLOURS[k], linewidth=1)
    _log_log(panel)
    repetitions = frame.groupby("quantity", sort=False)["repetition"].nunique().iloc[-1]
    panel.set_ylabel(f"error (± 1 sd, {repetitions} populations)")
    panel.set_xlabel("points N in the mean field")
    theory = style.key("rate of the theory: slope −1/2", color="0.3", linewidth=1)
    style.legend_below(figure, [*panel.containers, theory], 2)
    return figure


@style.styled
def discretisation(frame: pd.DataFrame) -> Figure:
    """Draw the error of scores against the time step and the number of trajectories."""
    names = {"state": "states, same noise", "score": "scores, same noise"}
    names |= {"expected score": "expected scores"}
    names |= {"sampling": "against M → ∞", "total": "against the limit Δt → 0"}
    x = np.sort(frame.loc[frame["axis"] == "time step", "x"].unique())
    means = f"mean scores of M trajectories, Δt = {x[-1]:.2g}"
    titles = ["one trajectory, against the limit Δt → 0", means]
    figure, axes = _panels("Error of the scores from time steps and from sampling", titles)
    for panel, axis in zip(axes, ("time step", "trajectories"), strict=True):
        own = frame[frame["axis"] == axis]
        for k, name in enumerate(n for n in names if (own["quantity"] == n).any()):
            _measured(panel, own[own["quantity"] == name], "x", "error", k, names[name])
        _log_log(panel)
    top = frame.loc[frame["quantity"] == "state", "error"].max() * 1.6
    root = top * (x / x[-1]) ** 0.5
    axes[0].plot(x, root, **THEORY, label="guide: slope 1/2, the proved rate")
    axes[0].plot(x, top * (x / x[-1]), **THEORY, linestyle="--", label="guide: slope 1")
    axes[0].set_xlabel(f"time step Δt of T = 1 (of the fit: {x[-1]:.2g})")
    axes[0].set_ylabel("root mean square error")
    sampled = frame[frame["quantity"] == "sampling"].drop_duplicates("x")
    axes[1].plot(sampled["x"], sampled["theory"], **THEORY, label="theory: $σ_h/\\sqrt{M}$")
    axes[1].set_xlabel("trajectories M averaged")
    _legends(axes)
    return figure


@style.styled
def stationarity(frame: pd.DataFrame) -> Figure:
    """Draw mean squared gradients of the meta update against the number of steps."""
    groups = {
        "no bias but that of the frozen aggregate": {
            "exact": "exact gradient",
            "frozen adjoint": "frozen aggregate, as in training",
            "noise": "with noise",
        },
        "bias of norm β against the gradient": {
            "bias": "with bias",
            "bias and noise": "with bias and noise",
        },
    }
    figure, axes = _panels("Squared gradients along K steps of the meta update", groups)
    for panel, names in zip(axes, groups.values(), strict=True):
        for k, (name, label) in enumerate(names.items()):
            part = frame[frame["gradient"] == name]
            _measured(panel, part, "steps", "mean_square", k, label)
            panel.plot(part.groupby("steps")["bound"].mean(), color=style.COLOURS[k], linewidth=1.2)
        panel.plot([], [], **THEORY, label="bound (same colour)")
        _log_log(panel)
        panel.set_xlabel("steps K, at a rate of at most $c/\\sqrt{K}$")
    biased = frame[frame["gradient"] == "bias"]
    right = axes[1]
    right.axhline(biased["floor"].mean(), **THEORY, linestyle="--", label="floor 4β² of the bound")
    hollow = replace(style.nth(0), filled=False).marked(linestyle="none")
    least, stalled = biased.groupby("steps")["least_square"].mean(), biased["bias_square"].mean()
    right.plot(least, **hollow, label="with bias: smallest of the steps")
    right.axhline(stalled, **THEORY, linestyle=":", label="β²: where steps stall")
    axes[0].set_ylabel("mean of ‖∇J‖² over the steps")
    style.same_height(axes)
    _legends(axes)
    return figure


def _panels(title: str, headings: Any) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each heading, side by side."""
    headings = list(headings)
    figure = Figure(figsize=({1: 4.2, 2: 6.2}.get(len(headings), 6.8), 3.6))
    figure.suptitle(title)
    axes = list(figure.subplots(1, len(headings), squeeze=False)[0])
    for panel, heading in zip(axes, headings, strict=True):
        panel.set_title(heading)
    return figure, axes


def _theory(panel: Axes, part: pd.DataFrame, x: str, k: int, solid: str, dotted: str) -> None:
    """Two lines in the colour of the k-th measurements."""
    for column, line in ((solid, "-"), (dotted, ":")):
        panel.plot(part[x], part[column], line, color=style.nth(k).colour)


def _points(
    panel: Axes, part: pd.DataFrame, x: str, k: int, label: str, spread: str = "spread"
) -> None:
    """Measurements, with a bar of ± `spread` that never reaches zero on a logarithmic axis."""
    bars = np.stack([np.minimum(part[spread], 0.95 * part["measured"]), part[spread]])
    look = style.nth(k).marked(linestyle="none", elinewidth=0.8)
    panel.errorbar(part[x], part["measured"], bars, **look, label=label)


def _measured(panel: Axes, part: pd.DataFrame, x: str, y: str, k: int, label: str) -> pd.DataFrame:
    """Draw and give the mean (`measured`) and sd (`spread`) of repetitions; name their slope."""
    summary = part.groupby(x)[y].agg(measured="mean", spread="std").fillna(0.0).reset_index()
    slope, error = part[["slope", "slope_stderr"]].iloc[0]
    if not np.isnan(slope):
        label += f": slope {with_spread(slope, error)}".replace("-", "−")
    _points(panel, summary, x, k, label)
    return summary


def _log_log(panel: Axes) -> None:
    panel.set(xscale="log", yscale="log")
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_minor_locator(LogLocator(subs=range(2, 10)))
    panel.yaxis.set_minor_formatter(NullFormatter())


def _legends(axes: list[Axes]) -> None:
    """A legend below each panel."""
    for panel in axes:
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
