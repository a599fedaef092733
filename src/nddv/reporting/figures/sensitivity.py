"""Sensitivity of NDDV to one setting at a time."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import nddv.reporting.figures.style as style
from nddv.problems.addresses import parse_corruption
from nddv.reporting.frames import NOT_RUN, PROBLEM

TITLE = "Sensitivity of NDDV to its settings"
PANELS = {
    "reweighting": ("a. Sample reweighting", "rule of the weights"),
    "interaction": ("b. Mean-field interaction", "a"),
    "diffusion": ("c. Diffusion scale", "σ"),
    "meta_size": ("d. Meta-set size", "points of the meta set"),
    "meta_hidden": ("e. Meta-network width", "hidden units"),
}
APART = 0.12  # between readouts at one setting
SHADE: dict[str, Any] = {"color": "0.92"}  # of the setting that is usual for all readouts


@style.styled
def sensitivity(table: pd.DataFrame) -> Figure:
    """Draw F1 of the table against each setting, five panels per problem (fig:ablation_study)."""
    if table.empty:
        return style.nothing_to_draw(TITLE, f"Nothing to draw: {NOT_RUN}.")
    looks = style.looks_of(table["method"].unique())
    # numbers alone come back as numbers
    settings = [s if isinstance(s, str) else f"{s:g}" for s in table["setting"]]
    problems = list(table.assign(setting=settings).groupby(PROBLEM, sort=False))
    figure = Figure(figsize=(style.WIDTH, 4.1 * len(problems) + 0.3))
    parts = figure.subfigures(len(problems), 1, squeeze=False).ravel()
    for part, (problem, rows) in zip(parts, problems, strict=True):
        panels = part.subplots(2, 3, sharey=True).ravel()
        chance = sum(parse_corruption(problem[2]).values())
        for panel, (parameter, (heading, unit)) in zip(panels, PANELS.items(), strict=False):
            _draw(panel, rows[rows["parameter"] == parameter], chance, looks)
            panel.set(title=heading, xlabel=unit)
        for panel in (panels[0], panels[3]):
            panel.set_ylabel("F1, budget-matched")
        panels[0].set_ylim(0, min(1.02, 1.1 * (rows["f1"] + rows["f1_sd"].fillna(0)).max()))
        _legend(panels[-1], chance, int(rows["runs"].max()), looks)
        part.suptitle("{}, n = {}, {}".format(*problem), fontsize=8.5)
    figure.suptitle(TITLE)
    return figure


def _draw(panel: Axes, rows: pd.DataFrame, chance: float, looks: Mapping[str, style.Look]) -> None:
    """One parameter: settings side by side, those that are numbers joined by a line."""
    panel.axhline(chance, **style.CHANCE)
    panel.grid(visible=False, axis="x")
    settings = list(dict.fromkeys(rows["setting"]))
    numbers = pd.to_numeric(pd.Series(settings, dtype=str), errors="coerce")
    if numbers.notna().all():
        settings = [settings[i] for i in numbers.argsort()]
    panel.set_xticks(range(len(settings)), [fill(s.replace("-", "- "), 9) for s in settings])
    panel.set_xlim(-0.6, max(len(settings), 2) - 0.4)
    usual = rows[rows["is_default"].astype(bool)].groupby("setting", sort=False)["method"]
    for default, methods in usual.unique().items():
        at = settings.index(default)
        shade = SHADE
        if len(methods) < rows["method"].nunique():  # usual for one readout only
            shade = {"color": looks[methods[0]].colour, "alpha": 0.15}
        panel.axvspan(at - 0.4, at + 0.4, **shade, linewidth=0, zorder=0)
    unjoined = {} if numbers.notna().all() else {"linestyle": "none"}
    for i, (method, look) in enumerate(looks.items()):
        own = rows[rows["method"] == method]
        if own.empty:  # the parameter does nothing to this readout
            continue
        shift = APART * (i - (len(looks) - 1) / 2)
        curve = own.assign(at=[settings.index(s) + shift for s in own["setting"]]).sort_values("at")
        good = curve[curve["f1"].notna()]
        drawn = look.marked(elinewidth=0.9) | unjoined
        panel.errorbar(good["at"], good["f1"], good["f1_sd"].fillna(0.0), **drawn)
        for x in curve.loc[curve["f1"].isna(), "at"]:
            side = "left" if shift > 0 else "right"
            panel.text(x, chance, " no values", color=look.colour, rotation=90, ha=side)
    if len(settings) < 2:
        text = "only the default was run" if settings else NOT_RUN
        style.say(panel, 0.5, 0.3, text, va="top", color="0.35")


def _legend(panel: Axes, chance: float, seeds: int, looks: Mapping[str, style.Look]) -> None:
    """The legend, in the place of a sixth panel."""
    panel.set_axis_off()
    keys: list[Any] = style.method_keys(looks, marked=True)
    for key in keys:
        key.set_label(key.get_label().replace(", ", ",\n", 1))
    shade = Patch(**SHADE, label="default setting\n(coloured: of one readout)")
    keys += [shade, style.chance(f"chance, {chance:g}")]
    spread = f"bars: ± 1 standard deviation\nover {seeds} seeds" if seeds > 1 else "one seed"
    panel.legend(handles=keys, loc="center", title=f"means; {spread}")
