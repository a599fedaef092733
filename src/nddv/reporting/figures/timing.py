"""How run times grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import nddv.reporting.figures.style as style
from nddv.reporting.frames import NOT_RUN
from nddv.reporting.tables.timing import LARGEST, REGIMES, by_regime, fit_laws, summarise


@style.styled
def elapsed_time(timings: pd.DataFrame) -> Figure:
    """Draw seconds against n for all methods (fig:time_comparison), logarithmic on both axes.

    A column of panels per number of features, a row per regime of the validation rows. Points:
    means of repeated runs ± 1 sd. Open triangles: time-outs. Grey lines rise as n and n².
    """
    table = summarise(by_regime(timings))
    looks = style.looks_of(timings["method"].unique())
    height = 4.7 + 0.17 * -(-(len(looks) + 2) // 3)
    figure, grid = _panels(table, looks, list(REGIMES), height)
    for panels, words in zip(grid, REGIMES.values(), strict=True):
        panels[0].set_ylabel(f"{words}\nseconds")
    times = table["lower_bound"].dropna()
    left, right = table["n"].min() / 1.5, table["n"].max() * 1.5
    for panel in grid.ravel():
        panel.set_xlim(left, right)
        if len(times):
            panel.set_ylim(times.min() / 4, times.max() * 3)
        _draw_slopes(panel)
    slopes = style.key("rises as n, and as n²", color="0.8", linewidth=1)
    _legend(figure, table, looks, slopes, timings["threads"])
    return figure


@style.styled
def runtime_scaling(timings: pd.DataFrame, largest: int = LARGEST) -> Figure:
    """Draw seconds against n of NDDV, GhostSuite and LossVal (fig:runtime_comparison_new).

    A panel per number of features, of one regime of the validation rows. Solid lines join what was
    measured, means of repeated runs ± 1 sd; dashed lines are extrapolations by the fitted power
    law, to `largest` points or as far as the law reaches.
    """
    table = summarise(by_regime(timings))
    regimes = list(table["valid"].unique())
    if len(regimes) > 1:
        raise ValueError(f"one regime of validation rows is drawn, got {', '.join(regimes)}")
    known = style.looks_of(timings["method"].unique())
    looks = {method: replace(look, style="-") for method, look in known.items()}
    figure, (panels,) = _panels(table, looks, regimes, 3.5)
    laws = fit_laws(table)
    for panel, (d, part) in zip(panels, table.groupby("features"), strict=True):
        own = {m: law for (at, _, m), law in laws.items() if at == d and law is not None}
        for method, law in own.items():
            if law.largest < largest:
                ends = np.array([law.largest, min(law.reach, largest)])
                panel.plot(ends, law.seconds(ends), "--", color=looks[method].colour, linewidth=1)
        for k, method in enumerate(m for m in part["method"].unique() if m in own):
            look = {"color": looks[method].colour, "fontsize": 7.5, "ha": "left", "va": "top"}
            said = f"∝ n$^{{{own[method].exponent:.2f}}}$"
            style.say(panel, 0.05, 0.95 - 0.085 * k, said, **look)
    panels[0].set_ylabel(f"seconds ({REGIMES[regimes[0]]})")
    extrapolated = style.key("extrapolation", color="0.3", linewidth=1, linestyle="--")
    _legend(figure, table, looks, extrapolated, timings["threads"])
    return figure


def _panels(
    table: pd.DataFrame, looks: Mapping[str, style.Look], regimes: list[str], height: float
) -> tuple[Figure, np.ndarray[Any, Any]]:
    """What was measured: a row of panels per regime, a column per number of features."""
    features = sorted(table["features"].unique())
    figure = Figure(figsize=(max(6.6, 2.4 * len(features) + 0.6), height))
    grid = figure.subplots(len(regimes), len(features), squeeze=False, sharex=True, sharey=True)
    for panels, valid in zip(grid, regimes, strict=True):
        for panel, d in zip(panels, features, strict=True):
            part = table[(table["features"] == d) & (table["valid"] == valid)]
            _draw_curves(panel, part, looks)
            _say_missing(panel, part)
            panel.set(xscale="log", yscale="log")
            panel.xaxis.set_minor_formatter(NullFormatter())  # they would overlap
    for top, bottom, d in zip(grid[0], grid[-1], features, strict=True):
        top.set_title(f"{d:,} features")
        bottom.set_xlabel("training points n")
    return figure, grid


def _draw_curves(panel: Axes, part: pd.DataFrame, looks: Mapping[str, style.Look]) -> None:
    for method, rows in part.sort_values("n").groupby("method", sort=False):
        look = looks[str(method)]
        done = rows[rows["seconds"].notna()]
        if len(done):
            # The lower end of a bar stays above 0 on a logarithmic axis.
            spread = done["seconds_sd"].fillna(0)
            bars = np.stack([np.minimum(spread, 0.9 * done["seconds"]), spread])
            panel.errorbar(done["n"], done["seconds"], bars, **look.marked(elinewidth=0.8))
        late = rows[rows["seconds"].isna() & rows["lower_bound"].notna()]
        panel.plot(late["n"], late["lower_bound"], **_late(look.colour, 7))


def _late(colour: str, size: float) -> dict[str, Any]:
    """The look of a time-out."""
    mark: dict[str, Any] = {"marker": "^", "fillstyle": "none", "linestyle": "none"}
    return {"color": colour, "markersize": size, **mark}


def _say_missing(panel: Axes, part: pd.DataFrame) -> None:
    """Name the methods without any time; in an empty panel, say that nothing was run."""
    if part.empty:
        style.say(panel, 0.5, 0.5, fill(NOT_RUN, 20), color="0.3")
        return
    absent = part[part["lower_bound"].isna()]
    said = [
        fill(f"{title}: no values at n = {', '.join(f'{n:,}' for n in sorted(rows['n']))}", 34)
        for title, rows in absent.groupby("title", sort=False)
    ]
    style.say(panel, 0.97, 0.03, "\n".join(said), ha="right", va="bottom", color="0.3")


def _draw_slopes(panel: Axes) -> None:
    """Grey lines that rise as n and n², from the lower left corner."""
    ends, (bottom, top) = np.array(panel.get_xlim()), panel.get_ylim()
    for power in (1, 2):
        panel.plot(ends, bottom * (ends / ends[0]) ** power, color="0.8", linewidth=1, zorder=0.5)
    panel.set(xlim=ends, ylim=(bottom, top))


def _legend(
    figure: Figure, table: pd.DataFrame, looks: Mapping[str, style.Look], last: Any, used: pd.Series
) -> None:
    keys = style.method_keys(looks, marked=True)
    late = table[table["seconds"].isna() & table["lower_bound"].notna()]
    if len(late):
        limits = ", ".join(f"{limit:,.0f}" for limit in sorted(late["lower_bound"].unique()))
        keys.append(style.key(f"timed out (after {limits} s)", **_late("0.3", 6)))
    threads = ", ".join(map(str, sorted(used.unique())))
    title = f"means of repeated runs, bars: ± 1 standard deviation; threads: {threads}"
    style.legend_below(figure, [*keys, last], 3, title)
