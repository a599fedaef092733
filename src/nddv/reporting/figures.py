"""Figures, each written as PDF and PNG and readable without the code that made it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nddv.files import atomic_write
from nddv.reporting.detection import PROBLEM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe–Ito: told apart by readers with any colour vision; line styles help in print.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
STYLES = ["-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1))]

# Letters stay letters, which editors and searches can read; fixed ids and no date, so that the same
# data give the same bytes.
STYLE = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "nddv", "font.size": 10}
METADATA = {".pdf": {"CreationDate": None}, ".png": {"Software": None}, ".svg": {"Date": None}}


def detection_curves(curves: pd.DataFrame, scores: pd.DataFrame) -> Figure:
    """Draw the share of corrupted points found against the share inspected, a panel per problem.

    Parameters
    ----------
    curves : problem, method, title, seed, inspected (%), found (%).
    scores : one row per problem, method and seed; gives the area and the number corrupted.
    """
    problems = list(scores[PROBLEM].drop_duplicates().itertuples(index=False, name=None))
    columns = min(len(problems), 3)
    rows = -(-len(problems) // columns)
    figure = Figure(figsize=(6.4 * columns, 5.4 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, problem in zip(axes, problems, strict=False):
        selected = [(frame[PROBLEM] == list(problem)).all(axis=1) for frame in (curves, scores)]
        _draw_problem(panel, curves[selected[0]], scores[selected[1]])
        rate = 100 * scores.loc[selected[1], "chance_budget"].mean()
        title = "{}, n = {}, {}".format(*problem) + f" ({rate:g} % of the points corrupted)"
        panel.set_title(title, fontsize=10)
    for panel in axes[len(problems) :]:
        panel.set_visible(False)
    figure.suptitle("How many corrupted points are found by inspecting the lowest values first")
    return figure


def _draw_problem(panel: Axes, curves: pd.DataFrame, scores: pd.DataFrame) -> None:
    for i, (method, runs) in enumerate(scores.groupby("method", sort=False)):
        title, area = runs["title"].iloc[0], runs["area"].mean()
        drawn = curves[curves["method"] == method]
        if drawn.empty:
            panel.plot([], [], " ", label=f"{title}: no values")
            continue
        by_seed = drawn.pivot(index="inspected", columns="seed", values="found")
        mean = by_seed.mean(axis=1)
        colour = COLOURS[i % len(COLOURS)]
        label = f"{title} (area {area:.2f})"
        style = STYLES[i % len(STYLES)]
        panel.plot(mean.index, mean, color=colour, linestyle=style, label=label)
        if by_seed.shape[1] > 1:
            spread = by_seed.std(axis=1, ddof=1)
            low, high = (np.clip(mean + side * spread, 0, 100) for side in (-1, 1))
            panel.fill_between(mean.index, low, high, color=colour, alpha=0.15, linewidth=0)
    rate = 100 * scores["chance_budget"].iloc[0]
    panel.plot([0, rate, 100], [0, 100, 100], color="0.6", linewidth=1, label="best possible")
    panel.plot([0, 100], [0, 100], ":", color="0.4", label="chance (area 0.50)")
    panel.axvline(rate, color="0.85", linewidth=1, zorder=0)
    panel.set_xlim(0, 100)
    panel.set_ylim(0, 101)
    panel.set_xlabel("training points inspected, lowest value first (%)")
    seeds = scores["seed"].nunique()
    spread_note = f"; band: ± 1 sd over {seeds} seeds" if seeds > 1 else ""
    panel.set_ylabel(f"corrupted points found (%){spread_note}")
    panel.legend(loc="lower right", fontsize=8, frameon=False)


def save_figure(figure: Figure, paths: Sequence[str | Path]) -> None:
    """Write a figure to each path, in the format of its suffix."""
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        for path in map(Path, paths):
            with atomic_write(path) as temporary:
                figure.savefig(temporary, dpi=150, metadata=METADATA[path.suffix])
