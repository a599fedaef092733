"""Estimators of semi-values against seconds: how accurate they are, and what they certify."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from textwrap import fill

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

import nddv.reporting.figures.style as style
from nddv.audit.estimators import ESTIMATORS, TARGET
from nddv.reporting.frames import NOT_RUN, Gaps
from nddv.reporting.titles import title_of

SEMIVALUES = {"shapley": "Shapley", "banzhaf": "Banzhaf", "beta": "Beta Shapley"}
ERRORS = {1.0: "0", 0.1: ".9", 0.01: ".99", 0.001: ".999"}
"""1 − r² of the ticks, and r² as it is written there."""

FAMILIES = {"certified_one": "one pair at a time", "certified_all": "all pairs at once"}


@style.styled
def semivalue_accuracy(rows: pd.DataFrame, gaps: Gaps = ()) -> Figure:
    """Draw r² with the exact values against seconds.

    A column of panels per data set, a row per semi-value; means over seeds. The height is 1 − r²,
    on a logarithmic axis, so that .9, .99 and .999 are told apart; beyond the last all is alike.
    """
    if rows.empty or rows["disattenuated"].isna().all():
        return _nothing("Accuracy of semi-values against seconds", gaps)
    looks = _looks(rows["method"].unique())
    figure, panels = _panels(rows)
    for panel, part in panels:
        error = (1 - part["disattenuated"].clip(lower=0) ** 2).clip(min(ERRORS), max(ERRORS))
        for method, look, curve in _curves(part.assign(error=error), "error", looks):
            alone = method not in ESTIMATORS
            more = {"linestyle": "none", "markersize": 5} if alone else {}
            panel.plot(curve["seconds"], curve["error"], **look.marked() | more)
        panel.axhline(1 - TARGET, color="0.5", linewidth=0.8, zorder=0.5)
        panel.set(yscale="log", ylim=(1.3, min(ERRORS) / 1.3))
        panel.yaxis.set_major_locator(FixedLocator(list(ERRORS)))
        panel.yaxis.set_minor_locator(NullLocator())
        panel.set_yticklabels(list(ERRORS.values()))
    _label(figure, rows, "r² with the exact values")
    keys = [
        style.key(title_of(m), **look.marked() | ({} if m in ESTIMATORS else {"linestyle": "none"}))
        for m, look in looks.items()
        if m in set(rows["method"])
    ]
    style.legend_below(figure, keys, 3)
    return figure


@style.styled
def certified_shares(rows: pd.DataFrame, gaps: Gaps = ()) -> Figure:
    """Draw the share of pairs with a certain order against seconds, panels as for the accuracy."""
    if rows.empty or rows["certified_one"].isna().all():
        return _nothing("Certified orders of pairs against seconds", gaps)
    known = _looks(rows["method"].unique())
    figure, panels = _panels(rows)
    for panel, part in panels:
        for column in FAMILIES:
            for _, look, curve in _curves(part, column, known):
                panel.plot(curve["seconds"], 100 * curve[column], **_of(look, column).marked())
        panel.set(ylim=(-3, 103), yticks=[0, 25, 50, 75, 100])
    _label(figure, rows, "pairs certified (%)")
    keys = [
        style.key(f"{title_of(m)}, {words}", **_of(look, column).marked())
        for m, look in known.items()
        if m in set(rows["method"])
        for column, words in FAMILIES.items()
    ]
    style.legend_below(figure, keys, 2)
    return figure


def _looks(methods: Iterable[str]) -> dict[str, style.Look]:
    """Looks of the estimators, the same in both figures, and of other methods."""
    return style.looks_of(dict.fromkeys([*ESTIMATORS, "knn-shapley", *methods]))


def _of(look: style.Look, column: str) -> style.Look:
    """The look of a method for one pair, or for all pairs."""
    one = column == "certified_one"
    return replace(look, style="-" if one else "--", filled=one)


def _panels(rows: pd.DataFrame) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """Panels with their rows: a column per problem, a row per semi-value, seconds from the left."""
    problems = list(rows.groupby(["dataset", "n", "corruption"], sort=False))
    laws = list(rows["semivalue"].unique())
    size = max(style.WIDTH, 1.9 * len(problems) + 0.6), 1.9 * len(laws) + 1.1
    figure = Figure(figsize=size)
    grid = figure.subplots(len(laws), len(problems), squeeze=False, sharex=True, sharey=True)
    panels = []
    for column, ((dataset, n, corruption), of_problem) in zip(grid.T, problems, strict=True):
        column[0].set_title(f"{dataset}\nn = {n}, {corruption}")
        column[-1].set_xlabel("seconds")
        for panel, law in zip(column, laws, strict=True):
            part = of_problem[of_problem["semivalue"] == law]
            panel.set_xscale("log")
            panel.xaxis.set_minor_formatter(NullFormatter())
            _say_missing(panel, part)
            panels.append((panel, part))
    return figure, panels


def _say_missing(panel: Axes, part: pd.DataFrame) -> None:
    """Name the methods that have no values in any budget, with the reason."""
    if part.empty:
        style.say(panel, 0.5, 0.5, fill(NOT_RUN, 20), color="0.3")
    said = [
        fill(f"{title_of(str(method))}: {rows['gap'].iloc[-1]}", 30)
        for method, rows in part.groupby("method", sort=False)
        if rows["seconds"].isna().all()
    ]
    style.say(panel, 0.03, 0.97, "\n".join(said), ha="left", va="top", color="0.3")


def _curves(
    part: pd.DataFrame, column: str, looks: Mapping[str, style.Look]
) -> Iterable[tuple[str, style.Look, pd.DataFrame]]:
    """Every method with its look and its means over seeds, by budget."""
    means = part.groupby(["method", "budget"], sort=False, dropna=False)[["seconds", column]].mean()
    for method, curve in means.dropna().groupby(level="method", sort=False):
        yield str(method), looks[str(method)], curve.sort_values("seconds")


def _label(figure: Figure, rows: pd.DataFrame, words: str) -> None:
    """Say at the left what is drawn, and of which semi-value."""
    laws = list(rows["semivalue"].unique())
    first = figure.axes[:: len(figure.axes) // len(laws)]
    for panel, law in zip(first, laws, strict=True):
        panel.set_ylabel(f"{SEMIVALUES.get(law, law)}\n{words}")


def _nothing(title: str, gaps: Gaps) -> Figure:
    return style.nothing_to_draw(title, *(f"{gap['dataset']}: {gap['reason']}" for gap in gaps))
