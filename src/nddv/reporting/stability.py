"""Figures of the stability checks: theory as a line, measurements as points with their spread.

One function for each table of `nddv.audit.stability`, under the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from nddv.reporting.figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ["o", "s", "^", "D", "v"]
SMALL = 8  # points, for what stands inside a panel


def contraction(frame: pd.DataFrame) -> Figure:
    """Draw relative states over time: simulated, in closed form, and for the fitted control.

    frame: as `nddv.audit.stability.contraction` gives it.
    """
    names = {
        "far pair": "two points, far apart",
        "near pair": "two points, close together",
        "group mean": "mean of a class, mean of all",
    }
    figure, axes = _panels(3, "How far apart points are while they move together")
    for panel, (quantity, title) in zip(axes, names.items(), strict=True):
        own = frame[frame["quantity"] == quantity]
        shared = own[own["control"] == "shared"]
        for k, (a, part) in enumerate(shared.groupby("interaction")):
            colour = COLOURS[k % len(COLOURS)]
            panel.plot(part["time"], part["euler"], color=colour, linewidth=1.2)
            panel.plot(part["time"], part["continuous"], ":", color=colour, linewidth=1.2)
            _points(panel, part[::2], "time", k, f"a = {a:g}")
        fitted = own[own["control"] == "fitted"]
        style: dict[str, Any] = {"color": "black", "marker": "x", "linestyle": "", "markersize": 4}
        panel.plot(fitted["time"], fitted["measured"], **style)
        if quantity != "near pair":  # which grows or shrinks by a small factor only
            panel.set_yscale("log")
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("time t")
    axes[0].set_ylabel("mean squared distance (± standard error)")
    handles, labels = axes[0].get_legend_handles_labels()
    a = frame.loc[frame["control"] == "fitted", "interaction"].iloc[0]
    keys = [
        _key(axes[0], color="0.3", label="theory, for the Euler steps taken"),
        _key(axes[0], color="0.3", linestyle=":", label="theory, in the limit Δt → 0"),
        _key(axes[0], **style, label=f"fitted control, a = {a:g} (no theory about it)"),
    ]
    labels += [key.get_label() for key in keys]
    figure.legend([*handles, *keys], labels, loc="outside lower center", ncols=2, **_plain())
    return figure


def score_gap_transfer(frame: pd.DataFrame) -> Figure:
    """Draw group score gaps and their bound against the strength of interaction.

    frame: as `nddv.audit.stability.score_gap_transfer` gives it.
    """
    names = {
        "shared": "one score map for all points (κ = 0)",
        "labelled": "NDDV scores: the map depends on the label",
    }
    figure, axes = _panels(2, "Score gaps between a class and all points, and what bounds them")
    for panel, (kind, title) in zip(axes, names.items(), strict=True):
        own = frame[frame["map"] == kind]
        for k, (group, part) in enumerate(own.groupby("group")):
            colour = COLOURS[k % len(COLOURS)]
            panel.plot(part["interaction"], part["bound"], color=colour, linewidth=1.2)
            panel.plot(part["interaction"], part["bound_seen"], ":", color=colour, linewidth=1.2)
            label = f"class {group} ({part['size'].iloc[0]} points), measured"
            _points(panel, part, "interaction", k, label, spread="spread")
        panel.set_xscale("log", base=2)
        panel.set_xticks(sorted(own["interaction"].unique()))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.set_yscale("log")
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("strength of interaction a")
    axes[0].set_ylabel("gap of mean scores (points: ± 1 sd)")
    handles, labels = axes[0].get_legend_handles_labels()
    keys = [
        _key(axes[0], color="0.3", label="bound, proved $L_h$"),
        _key(axes[0], color="0.3", linestyle=":", label="bound, largest slope seen for $L_h$"),
    ]
    labels += [key.get_label() for key in keys]
    figure.legend([*handles, *keys], labels, loc="outside lower center", ncols=2, **_plain())
    return figure


def frozen_aggregate(frame: pd.DataFrame) -> Figure:
    """Draw the error along an aggregate of N points against N.

    frame: as `nddv.audit.stability.frozen_aggregate` gives it.
    """
    names = {"aggregate": "mean field μ", "state": "states", "co-state": "co-states"}
    figure, (panel,) = _panels(1, "Error from a mean field of N points instead of very many")
    for k, (quantity, part) in enumerate(frame.groupby("quantity", sort=False)):
        summary = _over_repetitions(part, "n", "error")
        label = f"{names.get(str(quantity), f'{quantity}s')}: {_slope(part)}"
        _points(panel, summary, "n", k, label, spread="spread")
        # a line of the proved rate through the middle of the measurements
        rate = summary["n"] ** -0.5
        level = np.exp(np.log(summary["measured"] / rate).mean())
        panel.plot(summary["n"], level * rate, color=COLOURS[k], linewidth=1)
    panel.plot([], [], color="0.3", linewidth=1, label="rate of the theory: slope −1/2")
    _log_log(panel)
    panel.set_xlabel("points N in the mean field")
    panel.set_ylabel(f"error (± 1 sd, {part['repetition'].nunique()} populations)")
    figure.legend(loc="outside lower center", ncols=2, **_plain())
    return figure


def discretisation(frame: pd.DataFrame) -> Figure:
    """Draw the error of scores against the time step and the number of trajectories.

    frame: as `nddv.audit.stability.discretisation` gives it.
    """
    names = {
        "state": "states, same noise",
        "score": "scores, same noise",
        "expected score": "expected scores",
        "sampling": "against M → ∞",
        "total": "against the limit Δt → 0",
    }
    figure, axes = _panels(2, "Error of the scores from time steps and from sampling")
    for panel, axis in zip(axes, ("time step", "trajectories"), strict=True):
        own = frame[frame["axis"] == axis]
        for k, name in enumerate(n for n in names if (own["quantity"] == n).any()):
            part = own[own["quantity"] == name]
            slope = "" if part["slope"].isna().all() else f": {_slope(part)}"
            summary = _over_repetitions(part, "x", "error")
            _points(panel, summary, "x", k, names[name] + slope, spread="spread")
        _log_log(panel)
    x = np.sort(frame.loc[frame["axis"] == "time step", "x"].unique())
    top = frame.loc[frame["quantity"] == "state", "error"].max() * 1.6
    axes[0].plot(
        x, top * (x / x[-1]) ** 0.5, color="0.3", label="guide: slope 1/2, the proved rate"
    )
    axes[0].plot(x, top * (x / x[-1]), "--", color="0.3", label="guide: slope 1")
    axes[0].set_title("one trajectory, against the limit Δt → 0", fontsize=9)
    axes[0].set_xlabel(f"time step Δt of T = 1 (of the fit: {x[-1]:.2g})")
    axes[0].set_ylabel("root mean square error")
    sampled = frame[frame["quantity"] == "sampling"].drop_duplicates("x")
    axes[1].plot(sampled["x"], sampled["theory"], color="0.3", label="theory: $σ_h/\\sqrt{M}$")
    axes[1].set_title(f"mean scores of M trajectories, Δt = {x[-1]:.2g}", fontsize=9)
    axes[1].set_xlabel("trajectories M averaged")
    for panel in axes:
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), **_plain())
    return figure


def stationarity(frame: pd.DataFrame) -> Figure:
    """Draw mean squared gradients of the meta update against the number of steps.

    frame: as `nddv.audit.stability.stationarity` gives it.
    """
    names = {
        "exact": "exact gradient",
        "frozen adjoint": "frozen aggregate, as in training",
        "noise": "with noise",
        "bias": "with bias",
        "bias and noise": "with bias and noise",
    }
    groups: Sequence[Sequence[str]] = (
        ("exact", "frozen adjoint", "noise"),
        ("bias", "bias and noise"),
    )
    figure, axes = _panels(2, "Squared gradients along K steps of the meta update")
    for panel, group in zip(axes, groups, strict=True):
        for k, name in enumerate(group):
            part = frame[frame["gradient"] == name]
            summary = _over_repetitions(part, "steps", "mean_square")
            _points(panel, summary, "steps", k, f"{names[name]}: {_slope(part)}", spread="spread")
            bound = part.groupby("steps")["bound"].mean()
            panel.plot(bound.index, bound, color=COLOURS[k], linewidth=1.2)
        panel.plot([], [], color="0.3", linewidth=1.2, label="bound (same colour)")
        _log_log(panel)
        panel.set_xlabel("steps K, at a rate of at most $c/\\sqrt{K}$")
    biased = frame[frame["gradient"] == "bias"]
    axes[1].axhline(
        biased["floor"].mean(), color="0.3", linestyle="--", label="floor 4β² of the bound"
    )
    least = biased.groupby("steps")["least_square"].mean()
    hollow: dict[str, Any] = {"color": COLOURS[0], "marker": MARKERS[0], "markerfacecolor": "white"}
    label = "with bias: smallest of the steps"
    axes[1].plot(least.index, least, **hollow, linestyle="", markersize=4, label=label)
    label = "β²: where steps stall"
    axes[1].axhline(biased["bias_square"].mean(), color="0.3", linestyle=":", label=label)
    axes[0].set_title("no bias but that of the frozen aggregate", fontsize=9)
    axes[1].set_title("bias of norm β against the gradient", fontsize=9)
    axes[0].set_ylabel("mean of ‖∇J‖² over the steps")
    low, high = zip(*(panel.get_ylim() for panel in axes), strict=True)
    for panel in axes:
        panel.set_ylim(min(low), max(high))
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), **_plain())
    return figure


def _panels(count: int, title: str) -> tuple[Figure, list[Axes]]:
    width = {1: 4.8, 2: 6.8}.get(count, 7.2)
    figure = Figure(figsize=(width, 4.0), layout="constrained")
    figure.suptitle(title, fontsize=10)
    axes = figure.subplots(1, count, squeeze=False)[0]
    for panel in axes:
        panel.tick_params(labelsize=SMALL)
        panel.xaxis.label.set_size(9)
        panel.yaxis.label.set_size(9)
        panel.grid(color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)
    return figure, list(axes)


def _points(
    panel: Axes, part: pd.DataFrame, x: str, k: int, label: str, spread: str = "stderr"
) -> None:
    """Measurements, with a bar of ± `spread` that never reaches zero on a logarithmic axis."""
    below = np.minimum(part[spread], 0.95 * part["measured"])
    panel.errorbar(
        part[x],
        part["measured"],
        yerr=np.stack([below, part[spread]]),
        color=COLOURS[k % len(COLOURS)],
        marker=MARKERS[k % len(MARKERS)],
        markersize=3.5,
        linestyle="",
        elinewidth=0.8,
        label=label,
    )


def _over_repetitions(part: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Mean (`measured`) and standard deviation (`spread`, 0 of one) of y at each x."""
    grouped = part.groupby(x)[y]
    found = pd.DataFrame({"measured": grouped.mean(), "spread": grouped.std(ddof=1).fillna(0.0)})
    return found.reset_index()


def _slope(part: pd.DataFrame) -> str:
    slope, stderr = part["slope"].iloc[0], part["slope_stderr"].iloc[0]
    digits = 2 if stderr >= 0.005 else 3
    return f"slope {slope:.{digits}f} ± {stderr:.{digits}f}".replace("-", "−")


def _log_log(panel: Axes) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_minor_locator(LogLocator(subs=range(2, 10)))
    panel.yaxis.set_minor_formatter(NullFormatter())


def _key(panel: Axes, **style: Any) -> Any:
    return panel.plot([], [], **style)[0]


def _plain() -> dict[str, Any]:
    return {"fontsize": SMALL, "frameon": False}
