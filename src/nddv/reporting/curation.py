"""What orders by value are worth: the figure of detection, removal and addition, and its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nddv.reporting.detection import PROBLEM
from nddv.reporting.figures import HIGHLIGHT
from nddv.reporting.tables import Provenance, format_numbers, over_seeds, write_measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CONTROL = "random-order"  # the method of random orders in the curves
SMALL = 7.5
LEAST_HEIGHT = 20.0  # per cent of accuracy, of a panel

# A column of panels each: what is done, and what good values make of it.
TASKS = {
    "detection": ("Inspect lowest first", "good: rises at once"),
    "remove_low": ("Remove lowest first", "good: stays up"),
    "remove_high": ("Remove highest first", "good: falls"),
    "add_high": ("Add highest first", "good: rises at once"),
    "add_low": ("Add lowest first", "good: rises late"),
}
DIRECTIONS = [task for task in TASKS if task != "detection"]
AXES = {
    "detection": "inspected (%)",
    "remove": "removed (%)",
    "add": "training set (%)",
}


def curation_figure(
    curves: pd.DataFrame,
    detection: pd.DataFrame,
    highlight: Mapping[str, tuple[str, Any]] = HIGHLIGHT,
) -> Figure:
    """Draw detection, removal and addition (fig:corrupt_remove_add_exp), a row per problem.

    Parameters
    ----------
    curves : as ``nddv.evaluation.curation`` gives them, of all problems and seeds.
    detection : problem, method, title, seed, inspected (%), found (%). A problem that has none,
        because nothing is corrupted, has an empty panel that says so.
    highlight : colour and line style of methods drawn with their spread; all others are thin grey
        lines.
    """
    if curves.empty:
        raise ValueError("no removal and addition curves to draw: the table has no rows")
    titles = curves.drop_duplicates("method").set_index("method")["title"]
    looks = {method: look for method, look in highlight.items() if method in titles}
    problems = list(curves.groupby(PROBLEM, sort=False))
    figure = Figure(figsize=(9.0, 1.75 * len(problems) + 1.3), layout="constrained")
    axes = figure.subplots(len(problems), len(TASKS), squeeze=False)
    for row, (problem, part) in zip(axes, problems, strict=True):
        found = detection[(detection[PROBLEM] == list(problem)).all(axis=1)]
        _draw_detection(row[0], found, looks)
        _say_gaps(row[0], part, looks)
        for panel, direction in zip(row[1:], DIRECTIONS, strict=True):
            _draw_accuracy(panel, part[part["direction"] == direction], looks)
        row[0].set_ylabel(f"{_name(problem)}\n\ncorrupted found (%)", fontsize=SMALL)
        row[1].set_ylabel("test accuracy (%)", fontsize=SMALL)
    for panel, (what, good) in zip(axes[0], TASKS.values(), strict=True):
        panel.set_title(f"{what}\n({good})", fontsize=8.5)
    for panel, task in zip(axes[-1], TASKS, strict=True):
        panel.set_xlabel(AXES[task.partition("_")[0]], fontsize=SMALL)
    for panel in axes.ravel():
        panel.tick_params(labelsize=SMALL)
        panel.grid(color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)
    figure.align_ylabels(axes)
    _legend(figure, axes[0, 0], {titles[method]: look for method, look in looks.items()}, curves)
    return figure


def _name(problem: Sequence[Any]) -> str:
    dataset, n, corruption = problem
    return f"{dataset}\nn = {n}, {corruption}"


def _draw_detection(panel: Axes, found: pd.DataFrame, looks: Mapping[str, tuple[str, Any]]) -> None:
    panel.set_xlim(0, 100)
    panel.set_ylim(0, 102)
    if found.empty:
        said = "nothing corrupted,\nor not evaluated"
        panel.text(50, 50, said, ha="center", va="center", fontsize=SMALL)
        return
    panel.plot([0, 100], [0, 100], ":", color="0.2", linewidth=1)
    _draw_methods(panel, found, "inspected", "found", looks)


def _draw_accuracy(panel: Axes, part: pd.DataFrame, looks: Mapping[str, tuple[str, Any]]) -> None:
    """Curves of one direction, over random orders and the chance line."""
    drawn = part[part["share"].notna()]
    drawn = drawn.assign(share=100 * drawn["share"], accuracy=100 * drawn["accuracy"])
    random = drawn["method"] == CONTROL
    # Draws and seeds together: the spread of one random order, as of one order by value.
    control = drawn[random].groupby("share")["accuracy"].agg(["mean", "std"])
    low, high = (control["mean"] + side * control["std"] for side in (-1, 1))
    panel.fill_between(control.index, low, high, color="0.85", linewidth=0)
    panel.plot(control.index, control["mean"], color="0.45", linewidth=1.2)
    _draw_methods(panel, drawn[~random], "share", "accuracy", looks)
    panel.set_xlim(0, drawn["share"].max())
    _draw_chance(panel, 100 * part.drop_duplicates("seed")["chance_accuracy"].mean())


def _say_gaps(panel: Axes, part: pd.DataFrame, methods: Iterable[str]) -> None:
    """Name the highlighted methods that have no values, where a detection panel has room."""
    absent = part[part["method"].isin(methods) & part["share"].isna()]
    seeds = part["seed"].nunique()
    said = [
        fill(f"{title}: no values in {k} of {seeds} seeds", 26)
        for title, k in absent.groupby("title", sort=False)["seed"].nunique().items()
    ]
    look: dict[str, Any] = {"ha": "right", "fontsize": 5.5, "transform": panel.transAxes}
    panel.text(0.97, 0.04, "\n".join(said), **look)


def _draw_chance(panel: Axes, chance: float) -> None:
    """A line at chance; where it lies far below the curves, only its number."""
    low, high = panel.get_ylim()
    # Some height at least, or the noise of the test part would look like an effect.
    low, high = min(low, high - LEAST_HEIGHT), min(high, 101.0)
    panel.set_ylim(low, high)
    if chance > low:
        panel.axhline(chance, linestyle=":", color="0.2", linewidth=1)
    else:
        said = f"chance {chance:.0f} % ↓"
        panel.text(0.97, 0.04, said, transform=panel.transAxes, ha="right", fontsize=6.5)


def _draw_methods(
    panel: Axes, rows: pd.DataFrame, x: str, y: str, looks: Mapping[str, tuple[str, Any]]
) -> None:
    """Means over seeds; the highlighted methods on top, with their spread."""
    means = rows.groupby(["method", x], sort=False)[y].agg(["mean", "std"])
    given = list(rows["method"].unique())
    others = [method for method in given if method not in looks]
    methods = others + [method for method in list(looks)[::-1] if method in given]
    for method in methods:
        curve = means.loc[method]
        if method not in looks:
            panel.plot(curve.index, curve["mean"], color="0.75", linewidth=0.6)
            continue
        colour, style = looks[method]
        panel.plot(curve.index, curve["mean"], color=colour, linestyle=style, linewidth=1.3)
        low, high = (curve["mean"] + side * curve["std"] for side in (-1, 1))
        panel.fill_between(curve.index, low, high, color=colour, alpha=0.1, linewidth=0)


def _legend(
    figure: Figure, panel: Axes, looks: Mapping[str, tuple[str, Any]], curves: pd.DataFrame
) -> None:
    seeds = curves["seed"].nunique()
    keys: list[Any] = [
        panel.plot([], [], color=colour, linestyle=style, label=title)[0]
        for title, (colour, style) in looks.items()
    ]
    if set(curves["title"]) - set(looks) - {"Random order"}:
        keys += panel.plot([], [], color="0.75", linewidth=0.8, label="other methods")
    keys += panel.plot([], [], color="0.45", linewidth=1.2, label="random order")
    keys += panel.plot([], [], ":", color="0.2", label="chance")
    figure.legend(
        handles=keys,
        loc="outside lower center",
        ncols=4,
        fontsize=SMALL,
        frameon=False,
        title=f"mean over {seeds} seeds; bands: ± 1 standard deviation",
        title_fontsize=SMALL,
    )


HEADINGS = {
    "dataset": "Data set",
    "n": "n",
    "corruption": "Corruption",
    "title": "Method",
    "remove_low": "Remove lowest (good: +)",
    "remove_high": "Remove highest (good: −)",
    "add_high": "Add highest (good: +)",
    "add_low": "Add lowest (good: −)",
    "note": "Note",
}

ABOUT = (
    "Mean difference of the test accuracy from that of random orders, over the steps of removing "
    "up to 50 % of the points or adding up to 100 %. The downstream logistic regression is trained "
    "anew at every step, on the labels that the methods were given. Random order: zero by "
    "definition; its spread is that of a single random order."
)


def curation_table(scores: pd.DataFrame, gaps: Sequence[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """Summary numbers of the curves, over seeds.

    Parameters
    ----------
    scores : as ``nddv.evaluation.curation`` gives them, of all problems and seeds.
    gaps : problems whose data set could not be had, each with the ``reason``.

    Returns
    -------
    One row per problem and method, with a column per direction (accuracy) and another,
    ``<direction>_log_likelihood``, each with its ``_sd``; then the random orders of the problem;
    then the gaps.
    """
    keys = [*PROBLEM, "method", "title"]
    control = scores.drop_duplicates([*PROBLEM, "seed", "direction"])
    control = control.assign(method=CONTROL, title="Random order", gap="")
    spread = _wide(control, keys, ["random_accuracy", "random_log_likelihood"])
    columns = [name for name in spread if name not in (*keys, "seed")]
    measured = over_seeds(_wide(scores, keys, ["accuracy", "log_likelihood"]), keys, columns)
    squares = spread.assign(**{name: spread[name] ** 2 for name in columns})
    expected = over_seeds(squares, keys, columns)
    for name in columns:
        expected[f"{name}_sd"] = np.sqrt(expected[name])
        expected[name] = 0.0
    order = pd.concat([scores[keys], control[keys]]).drop_duplicates()
    found = order.merge(pd.concat([measured, expected]), on=keys)
    reasons = scores.assign(gap=scores["gap"].fillna("")).groupby(keys, sort=False)["gap"].max()
    told = zip(found["note"], found.join(reasons, on=keys)["gap"].fillna(""), strict=True)
    found["note"] = [f"{note}: {gap}" if gap else note for note, gap in told]
    by_problem = [part for _, part in found.groupby(PROBLEM, sort=False)]
    absent = pd.DataFrame(
        [{**{name: gap[name] for name in PROBLEM}, "note": gap["reason"]} for gap in gaps]
    )
    return pd.concat([*by_problem, absent], ignore_index=True)


def _wide(scores: pd.DataFrame, keys: list[str], measures: list[str]) -> pd.DataFrame:
    """A row per method and seed, a column per direction and measure."""
    accuracy, likelihood = (
        scores.pivot(index=[*keys, "seed"], columns="direction", values=measure)[DIRECTIONS]
        for measure in measures
    )
    return accuracy.join(likelihood.add_suffix("_log_likelihood")).reset_index()


def write_curation(
    stem: str | Path, table: pd.DataFrame, title: str, provenance: Provenance
) -> list[Path]:
    """Write the table of the summary numbers with its provenance; give the paths."""
    shown = table.fillna({"method": "all", "title": "(every method)"})
    return write_measured(stem, table, format_numbers(shown, HEADINGS), title, ABOUT, provenance)
