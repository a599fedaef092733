"""Corrupted points found by inspecting the lowest values first."""

from __future__ import annotations

from textwrap import fill

import pandas as pd
from matplotlib.figure import Figure

import nddv.reporting.figures.style as style
from nddv.reporting.frames import PROBLEM
from nddv.reporting.titles import title_of

ACROSS = 4  # problems side by side


@style.styled
def detection_curves(curves: pd.DataFrame, scores: pd.DataFrame) -> Figure:
    """Draw the share of corrupted points found against the share inspected, a panel per problem.

    The scores, a row per problem, method and seed, give the share of corrupted points. The curves
    have percentages (inspected, found) of the same runs. The methods that stand out have colours,
    and so have others where there are few; if there are many, they are thin grey lines.
    """
    problems = list(scores.groupby(PROBLEM, sort=False))
    columns = min(len(problems), ACROSS)
    rows = -(-len(problems) // columns)
    figure = Figure(figsize=(max(2.4 * columns, 4.5), 2.9 * rows + 0.7))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    methods = list(scores["method"].unique())
    looks = style.looks_of(methods, most=len(style.LOOKS))
    for panel, (problem, own) in zip(axes, problems, strict=False):
        drawn = style.pick(curves, PROBLEM, problem)
        style.draw_methods(panel, drawn, "inspected", "found", looks)
        rate = 100 * own["chance_budget"].mean()
        panel.plot([0, rate, 100], [0, 100, 100], color="0.6", linewidth=1)
        panel.plot([0, 100], [0, 100], **style.CHANCE)
        panel.axvline(rate, color="0.85", linewidth=1, zorder=0)
        without = [m for m in looks if m in set(own["method"]) - set(drawn["method"])]
        if without:
            text = "\n".join(f"{title_of(method)}: no values" for method in without)
            style.say(panel, 0.97, 0.03, text, ha="right", va="bottom")
        panel.set(xlim=(0, 100), ylim=(0, 101))
        heading = "{}, n = {}\n{}".format(*problem)
        panel.set_title(f"{heading}: {rate:g} % of the points")
    style.hide(axes[len(problems) :])
    for panel in axes[max(len(problems) - columns, 0) : len(problems)]:
        panel.set_xlabel("inspected, lowest value first (%)")
    for panel in axes[::columns]:
        panel.set_ylabel("corrupted points found (%)")
    best = style.key("best possible", color="0.6", linewidth=1)
    keys = [*style.method_keys(looks), best, style.chance()]
    seeds = scores["seed"].nunique()
    said = [f"means; bands: ± 1 standard deviation over {seeds} seeds"] if seeds > 1 else []
    others = [title_of(method) for method in methods if method not in looks]
    if others:
        said.append(fill("thin grey lines: " + ", ".join(others), 36 * columns))
    style.legend_below(figure, keys, min(columns, 3), "\n".join(said))
    return figure
