"""Figures of how run times grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from nddv.reporting.figures import COLOURS, STYLES
from nddv.reporting.timing.tables import (
    LARGEST,
    NOT_RUN,
    REGIMES,
    PowerLaw,
    by_regime,
    fit_laws,
    summarise,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 7.5
MARKERS = ["o", "s", "D", "v", "P", "X", "*"]
Look = tuple[str, Any, str]


def elapsed_time_figure(timings: pd.DataFrame) -> Figure:
    """Draw seconds against n for all methods (fig:time_comparison), logarithmic on both axes.

    A column of panels per number of features, a row per regime of the validation rows. Points:
    means of repeated runs ± 1 sd. Open triangles: time-outs. Grey lines rise as n and n².

    Parameters
    ----------
    timings : rows of all methods and sizes.
    """
    looks = _looks(timings)
    table = summarise(by_regime(timings))
    features = sorted(table["features"].unique())
    width = max(7.0, 2.6 * len(features) + 0.6)
    lines = -(-(len(looks) + 2) // 3)
    figure = Figure(figsize=(width, 5.0 + 0.18 * lines), layout="constrained")
    grid = figure.subplots(len(REGIMES), len(features), squeeze=False, sharex=True, sharey=True)
    for panels, (valid, words) in zip(grid, REGIMES.items(), strict=True):
        for panel, d in zip(panels, features, strict=True):
            part = table[(table["features"] == d) & (table["valid"] == valid)]
            _draw_curves(panel, part, looks)
            _say_missing(panel, part)
            _dress(panel)
        panels[0].set_ylabel(f"{words}\nseconds", fontsize=SMALL)
    for panel, d in zip(grid[0], features, strict=True):
        panel.set_title(f"{d:,} features", fontsize=9)
    for panel in grid[-1]:
        panel.set_xlabel("training points n", fontsize=SMALL)
    _limits(grid.ravel(), table)
    for panel in grid.ravel():
        _draw_slopes(panel)
    keys = _keys(grid[0, 0], table, looks)
    keys += grid[0, 0].plot([], [], color="0.8", linewidth=1, label="rises as n, and as n²")
    _legend(figure, keys, timings)
    return figure


def runtime_scaling_figure(timings: pd.DataFrame, largest: int = LARGEST) -> Figure:
    """Draw seconds against n of NDDV, GhostSuite and LossVal (fig:runtime_comparison_new).

    A panel per number of features. Solid lines join what was measured, means of repeated runs
    ± 1 sd; dashed lines are extrapolations by the fitted power law, to `largest` or as far as the
    law reaches.

    Parameters
    ----------
    timings : rows of all methods and sizes, of one regime of the validation rows.
    largest : number of points to which lines are continued at most.
    """
    looks = _looks(timings)
    table = summarise(by_regime(timings))
    regimes = list(table["valid"].unique())
    if len(regimes) > 1:
        raise ValueError(f"one regime of validation rows is drawn, got {', '.join(regimes)}")
    features = sorted(table["features"].unique())
    width = max(7.0, 2.6 * len(features) + 0.6)
    figure = Figure(figsize=(width, 3.7), layout="constrained")
    panels = figure.subplots(1, len(features), squeeze=False, sharex=True, sharey=True)[0]
    laws = fit_laws(table)
    for panel, d in zip(panels, features, strict=True):
        part = table[table["features"] == d]
        _draw_curves(panel, part, {m: (c, "-", marker) for m, (c, _, marker) in looks.items()})
        for (at, _, method), law in laws.items():
            if at == d and law is not None and law.largest < largest:
                ends = np.array([law.largest, min(law.reach, largest)])
                panel.plot(ends, law.seconds(ends), "--", color=looks[method][0], linewidth=1)
        _say_exponents(panel, part, laws, looks)
        _say_missing(panel, part)
        _dress(panel)
        panel.set_title(f"{d:,} features", fontsize=9)
        panel.set_xlabel("training points n", fontsize=SMALL)
    panels[0].set_ylabel(f"seconds ({REGIMES[regimes[0]]})", fontsize=SMALL)
    solid = {method: (colour, "-", marker) for method, (colour, _, marker) in looks.items()}
    keys = _keys(panels[0], table, solid)
    keys += panels[0].plot([], [], "--", color="0.3", linewidth=1, label="extrapolation")
    _legend(figure, keys, timings)
    return figure


def _looks(timings: pd.DataFrame) -> dict[str, Look]:
    """Colour, line style and marker of every method, in the order in which they come."""
    methods = list(timings["method"].unique())
    return {
        method: (COLOURS[i % 7], STYLES[i // 7 % len(STYLES)], MARKERS[i % 7])
        for i, method in enumerate(methods)
    }


def _draw_curves(panel: Axes, part: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    for method, rows in part.sort_values("n").groupby("method", sort=False):
        colour, style, marker = looks[str(method)]
        done = rows[rows["seconds"].notna()]
        if len(done):
            panel.errorbar(
                done["n"], done["seconds"], _below_mean(done), color=colour, linestyle=style,
                marker=marker, markersize=3.5, linewidth=1.2, elinewidth=0.8,
            )  # fmt: skip
        late = rows[rows["seconds"].isna() & rows["lower_bound"].notna()]
        panel.plot(
            late["n"], late["lower_bound"], "^", color=colour, fillstyle="none", markersize=7
        )


def _below_mean(done: pd.DataFrame) -> Any:
    """Bars (2, sizes) of ± 1 sd, whose lower end stays above 0 on a logarithmic axis."""
    spread = done["seconds_sd"].fillna(0).to_numpy()
    return np.stack([np.minimum(spread, 0.9 * done["seconds"].to_numpy()), spread])


def _say_missing(panel: Axes, part: pd.DataFrame) -> None:
    """Name the methods without any time; in an empty panel, say that nothing was run."""
    look: dict[str, Any] = {"transform": panel.transAxes, "fontsize": 7, "color": "0.3"}
    if part.empty:
        panel.text(0.5, 0.5, fill(NOT_RUN, 20), ha="center", va="center", **look)
        return
    absent = part[part["lower_bound"].isna()]
    said = [
        fill(f"{title}: no values at n = {', '.join(f'{n:,}' for n in sorted(rows['n']))}", 34)
        for title, rows in absent.groupby("title", sort=False)
    ]
    panel.text(0.97, 0.03, "\n".join(said), ha="right", va="bottom", **look)


def _say_exponents(
    panel: Axes,
    part: pd.DataFrame,
    laws: Mapping[tuple[Any, ...], PowerLaw | None],
    looks: Mapping[str, Look],
) -> None:
    """Write the exponent of every method in its colour, from the top down."""
    height = 0.95
    for row in part.drop_duplicates("method").itertuples():
        law = laws[row.features, row.valid, row.method]
        if law is None:
            continue
        said = f"∝ n$^{{{law.exponent:.2f}}}$"
        look: dict[str, Any] = {"color": looks[str(row.method)][0], "fontsize": 8}
        panel.text(0.05, height, said, va="top", transform=panel.transAxes, **look)
        height -= 0.085


def _dress(panel: Axes) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.tick_params(labelsize=SMALL)
    panel.xaxis.set_minor_formatter(NullFormatter())  # labels between decades would overlap
    panel.grid(color="0.93", linewidth=0.6)
    panel.set_axisbelow(True)


def _limits(panels: Iterable[Axes], table: pd.DataFrame) -> None:
    """Room around the times and time-outs of all panels, which share their axes."""
    times = table["lower_bound"].dropna()
    for panel in panels:
        panel.set_xlim(table["n"].min() / 1.5, table["n"].max() * 1.5)
        if len(times):
            panel.set_ylim(times.min() / 4, times.max() * 3)


def _draw_slopes(panel: Axes) -> None:
    """Grey lines that rise as n and n², from the lower left corner."""
    (left, right), (bottom, top) = panel.get_xlim(), panel.get_ylim()
    n = np.array([left, right])
    for power in (1, 2):
        panel.plot(n, bottom * (n / left) ** power, color="0.8", linewidth=1, zorder=0.5)
    panel.set_xlim(left, right)
    panel.set_ylim(bottom, top)


def _keys(panel: Axes, table: pd.DataFrame, looks: Mapping[str, Look]) -> list[Any]:
    titles = table.drop_duplicates("method").set_index("method")["title"]
    keys: list[Any] = [
        panel.plot(
            [], [], color=colour, linestyle=style, marker=marker, markersize=3.5, linewidth=1.2,
            label=titles[method],
        )[0]
        for method, (colour, style, marker) in looks.items()
    ]  # fmt: skip
    late = table[table["seconds"].isna() & table["lower_bound"].notna()]
    if len(late):
        limits = ", ".join(f"{limit:,.0f}" for limit in sorted(late["lower_bound"].unique()))
        words = f"timed out (after {limits} s)"
        look: dict[str, Any] = {"color": "0.3", "fillstyle": "none", "markersize": 6}
        keys += panel.plot([], [], "^", label=words, **look)
    return keys


def _legend(figure: Figure, keys: list[Any], timings: pd.DataFrame) -> None:
    threads = ", ".join(str(number) for number in sorted(timings["threads"].unique()))
    title = f"means of repeated runs, bars: ± 1 standard deviation; threads: {threads}"
    figure.legend(
        handles=keys, loc="outside lower center", ncols=3, fontsize=SMALL, frameon=False,
        title=title, title_fontsize=SMALL,
    )  # fmt: skip
