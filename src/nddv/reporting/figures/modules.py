"""Networks trained end to end: what their replay predicts, and how well scores rank and detect."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import nddv.reporting.figures.style as style
from nddv.reporting.frames import Gaps
from nddv.reporting.titles import title_of

KEYS = ["dataset", "n", "corruption", "module"]
WHAT = {"point": "one point left out", "group": "5 % of the points dropped"}
HELD = {
    "spearman": "ρ, one point left out",
    "lds_5": "ρ, 5 % of the points dropped",
    "f1": "F1 of wrong labels",
}


@style.styled
def module_changes(rows: pd.DataFrame, gaps: Gaps = ()) -> Figure:
    """Draw predicted against actual changes: a column per network, points above groups."""
    if rows.empty:
        return _nothing("Changes of the utility, predicted and actual", gaps)
    networks = list(rows.groupby(KEYS, sort=False))
    figure = Figure(figsize=(max(style.WIDTH, 1.75 * len(networks)), 4.2))
    grid = figure.subplots(len(WHAT), len(networks), squeeze=False)
    for place, (address, of_network) in enumerate(networks):
        column = grid[:, place]
        for panel, (what, words) in zip(column, WHAT.items(), strict=True):
            _draw_changes(panel, of_network[of_network["what"] == what], what)
            if place == 0:
                panel.set_ylabel(f"{words}\npredicted change")
        column[0].set_title(_name(*address))
        column[-1].set_xlabel("actual change")
    return figure


def _draw_changes(panel: Axes, part: pd.DataFrame, what: str) -> None:
    look = style.nth(list(WHAT).index(what))
    both = part[["actual", "predicted"]].to_numpy()
    ends = np.array([both.min(), both.max()])
    panel.plot(ends, ends, color="0.5", linewidth=0.8, zorder=0.5)
    panel.plot(*both.T, marker=look.marker, color=look.colour, linestyle="none", alpha=0.7)
    panel.locator_params(nbins=3)
    panel.ticklabel_format(scilimits=(-2, 2))


@style.styled
def module_fidelity(rows: pd.DataFrame, gaps: Gaps = ()) -> Figure:
    """Draw how well each score agrees with retraining, and finds wrong labels; means over seeds."""
    if rows.empty:
        return _nothing("Scores of networks trained end to end", gaps)
    networks = {address: i for i, address in enumerate(rows.groupby(KEYS, sort=False).groups)}
    looks = style.looks_of(rows["method"].unique())
    means = rows.groupby([*KEYS, "method"], sort=False)[list(HELD)].mean().reset_index()
    figure = Figure(figsize=(style.WIDTH, 0.5 * len(networks) + 1.5))
    panels = figure.subplots(1, len(HELD), sharey=True)
    for panel, (column, words) in zip(panels, HELD.items(), strict=True):
        for place, (method, look) in enumerate(looks.items()):
            part = means[means["method"] == method]
            shift = 0.12 * (place - (len(looks) - 1) / 2)  # so that equal numbers are all seen
            heights = [networks[tuple(address)] + shift for address in part[KEYS].to_numpy()]
            panel.plot(part[column], heights, **look.marked() | {"linestyle": "none"})
        panel.set_xlabel(words)
        panel.axvline(0, color="0.5", linewidth=0.8, zorder=0.5)
    names = [_name(*address) for address in networks]
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    keys = [
        style.key(title_of(m), **look.marked() | {"linestyle": "none"}) for m, look in looks.items()
    ]
    style.legend_below(figure, keys, 3)
    return figure


def _name(dataset: str, n: int, corruption: str, module: str) -> str:
    return f"{module}, {dataset.partition('@')[0]}\nn = {n}, {corruption}"


def _nothing(title: str, gaps: Gaps) -> Figure:
    return style.nothing_to_draw(title, *(f"{gap['dataset']}: {gap['reason']}" for gap in gaps))
