"""Class-conditional detection: gaps between classes against the quality of detection."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import nddv.reporting.figures.style as style
from nddv.reporting.frames import PROBLEM, without_variants
from nddv.reporting.tables.groups import check_once

ACROSS = 4  # problems side by side
GAPS = {"dtpr": "a. largest DTPRGap", "deo": "b. largest DEOGap"}


@style.styled
def class_conditional(rows: pd.DataFrame, partition: str = "label") -> Figure:
    """Draw gaps between classes against the quality of detection (fig class_conditional).

    Two panels for each problem, DTPRGap above DEOGap; a point for each method, at its mean over
    seeds ± 1 sd. The dash at the same TPR is the method's floor: what equal
    treatment of the classes would show. Good methods lie right and at their floor.

    Parameters
    ----------
    rows : summary rows of ``nddv.evaluation.groups``.
    partition : ``"label"`` or ``"clean-label"``.
    """
    rows = without_variants(rows)
    chosen = rows[(rows["partition"] == partition) & (rows["rule"] == "budget")]
    if chosen.empty:
        raise ValueError(f"no gaps to draw: the table has no rows for groups by {partition}")
    check_once(chosen, [*PROBLEM, "method"])
    looks = style.looks_of(chosen["method"].unique())
    problems = list(chosen.groupby(PROBLEM, sort=False))
    columns = min(len(problems), ACROSS)
    blocks = -(-len(problems) // columns)
    entries = -(-(len(looks) + 2) // columns)
    figure = Figure(figsize=(2.45 * columns + 0.3, 4.4 * blocks + 0.17 * entries + 0.3))
    # One pair of panels for each problem: of shape (blocks, columns, the two gaps).
    panels = figure.subplots(2 * blocks, columns, squeeze=False)
    pairs = panels.reshape(blocks, 2, columns).swapaxes(1, 2).reshape(-1, 2)
    for pair, (problem, part) in zip(pairs, problems, strict=False):
        for panel, (gap, name) in zip(pair, GAPS.items(), strict=True):
            _draw_gaps(panel, part, gap, looks)
            panel.set_ylabel(name)
        heading = "{}, n = {},\n{}".format(*problem)
        pair[0].set_title(f"{heading}, {int(part['groups'].max())} classes")
        pair[1].set_xlabel("TPR = F1, matched budget")
    style.hide(pairs[len(problems) :].ravel())
    seeds = chosen["seed"].nunique()
    spread = f" Bars: ± 1 sd over {seeds} seeds." if seeds > 1 else ""
    figure.suptitle(f"Gaps between classes and quality of detection.{spread}")
    dash = {"color": "0.3", "marker": "_", "linestyle": "none"}
    keys = [
        *style.method_keys(looks, marked=True, linestyle="none"),
        style.key("floor: all classes treated alike", **dash),
        style.chance("chance: values without information"),
    ]
    style.legend_below(figure, keys, columns)
    return figure


def _draw_gaps(panel: Axes, rows: pd.DataFrame, gap: str, looks: Mapping[str, style.Look]) -> None:
    floor = f"{gap}_floor"
    by_method = rows.groupby("method", sort=False)[["recall", gap, floor]]
    means, spreads = by_method.mean(), by_method.std(ddof=1)
    for method, mean in means.dropna().iterrows():
        look, spread = looks[str(method)], spreads.loc[method]
        panel.errorbar(
            mean["recall"], mean[gap], spread[gap], spread["recall"],
            **look.marked(linestyle="none", elinewidth=0.7, alpha=0.9, markersize=4.5),
        )  # fmt: skip
        panel.plot(mean["recall"], mean[floor], "_", color=look.colour, markersize=8)
    panel.axhline(np.nanmean(rows[f"{gap}_chance"]), **style.CHANCE)
    panel.set(xlim=(0, 1))
    panel.set_ylim(bottom=0)
