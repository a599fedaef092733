"""Figures, each written as PDF and PNG and readable without the code that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nddv.reporting.detection import PROBLEM
from nddv.support.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe–Ito: told apart by readers with any colour vision; line styles help in print.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
STYLES = ["-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1))]

HIGHLIGHT: dict[str, tuple[str, Any]] = {
    "nddv-path": (COLOURS[0], STYLES[0]),
    "nddv-terminal": (COLOURS[1], STYLES[1]),
    "nddv-participation": (COLOURS[2], STYLES[2]),
    "data-oob-trees": (COLOURS[3], STYLES[3]),
    "knn-shapley": (COLOURS[4], STYLES[4]),
    "small-loss": (COLOURS[6], STYLES[1]),
}
"""Colours and line styles of the methods that stand out among many; the last is a control."""

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

    The methods of ``HIGHLIGHT`` have colours, and so have others where there are few; if there are
    many, they are thin grey lines.
    """
    problems = list(scores[PROBLEM].drop_duplicates().itertuples(index=False, name=None))
    columns = min(len(problems), 4)
    rows = -(-len(problems) // columns)
    figure = Figure(figsize=(max(2.8 * columns, 5.0), 3.3 * rows + 0.8), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    looks = _looks(list(scores["method"].unique()))
    for panel, problem in zip(axes, problems, strict=False):
        selected = [(frame[PROBLEM] == list(problem)).all(axis=1) for frame in (curves, scores)]
        _draw_problem(panel, curves[selected[0]], scores[selected[1]], looks)
        rate = 100 * scores.loc[selected[1], "chance_budget"].mean()
        panel.set_title(
            "{}, n = {}".format(*problem) + f"\n{problem[2]}: {rate:g} % of the points", fontsize=9
        )
    for panel in axes[len(problems) :]:
        panel.set_visible(False)
    for panel in axes[max(len(problems) - columns, 0) : len(problems)]:
        panel.set_xlabel("inspected, lowest value first (%)", fontsize=8)
    for panel in axes[::columns]:
        panel.set_ylabel("corrupted points found (%)", fontsize=8)
    _legend(figure, axes[0], scores, looks, columns)
    return figure


def _legend(
    figure: Figure,
    panel: Axes,
    scores: pd.DataFrame,
    looks: Mapping[str, tuple[str, Any]],
    columns: int,
) -> None:
    """One legend for all panels; methods that do not stand out are named in its title."""
    titles = scores.groupby("method", sort=False)["title"].first()
    keys = [
        panel.plot([], [], color=colour, linestyle=style, label=titles[method])[0]
        for method, (colour, style) in looks.items()
    ]
    keys += panel.plot([], [], color="0.6", linewidth=1, label="best possible")
    keys += panel.plot([], [], ":", color="0.4", label="chance")
    others = [title for method, title in titles.items() if method not in looks]
    seeds = scores["seed"].nunique()
    said = [f"means; bands: ± 1 standard deviation over {seeds} seeds"] if seeds > 1 else []
    if others:
        said.append(fill("thin grey lines: " + ", ".join(others), 36 * columns))
    figure.legend(
        handles=keys,
        loc="outside lower center",
        ncols=min(columns, 3),
        fontsize=8,
        frameon=False,
        title="\n".join(said),
        title_fontsize=7.5,
    )


def _looks(methods: list[str]) -> dict[str, tuple[str, Any]]:
    """Colours and line styles of those that stand out: all of few, the usual ones of many."""
    looks = {method: look for method, look in HIGHLIGHT.items() if method in methods}
    others = [method for method in methods if method not in looks]
    free = [look for name, look in HIGHLIGHT.items() if name not in looks] + [(COLOURS[5], "-")]
    return looks | (dict(zip(others, free, strict=False)) if len(others) <= len(free) else {})


def _draw_problem(
    panel: Axes, curves: pd.DataFrame, scores: pd.DataFrame, looks: Mapping[str, tuple[str, Any]]
) -> None:
    titles = scores.groupby("method", sort=False)["title"].first()
    for method in titles.index.difference(list(looks), sort=False):
        mean = curves[curves["method"] == method].groupby("inspected")["found"].mean()
        panel.plot(mean.index, mean, color="0.75", linewidth=0.7, zorder=1)
    without = []
    for method, (colour, style) in looks.items():
        if method not in titles:
            continue
        drawn = curves[curves["method"] == method]
        if drawn.empty:
            without.append(titles[method])
            continue
        by_seed = drawn.pivot(index="inspected", columns="seed", values="found")
        mean = by_seed.mean(axis=1)
        panel.plot(mean.index, mean, color=colour, linestyle=style, linewidth=1.3)
        if by_seed.shape[1] > 1:
            spread = by_seed.std(axis=1, ddof=1)
            low, high = (np.clip(mean + side * spread, 0, 100) for side in (-1, 1))
            panel.fill_between(mean.index, low, high, color=colour, alpha=0.15, linewidth=0)
    rate = 100 * scores["chance_budget"].iloc[0]
    panel.plot([0, rate, 100], [0, 100, 100], color="0.6", linewidth=1)
    panel.plot([0, 100], [0, 100], ":", color="0.4")
    if without:
        said = "\n".join(f"{title}: no values" for title in without)
        panel.text(97, 3, said, ha="right", va="bottom", fontsize=7)
    panel.axvline(rate, color="0.85", linewidth=1, zorder=0)
    panel.set_xlim(0, 100)
    panel.set_ylim(0, 101)
    panel.tick_params(labelsize=8)


def save_figure(figure: Figure, paths: Sequence[str | Path]) -> None:
    """Write a figure to each path, in the format of its suffix."""
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        for path in map(Path, paths):
            with atomic_write(path) as temporary:
                figure.savefig(temporary, dpi=150, metadata=METADATA[path.suffix])
