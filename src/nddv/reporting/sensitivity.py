"""Sensitivity of NDDV to one setting at a time (fig:ablation_study): table and figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from nddv.methods.variants import split_variant
from nddv.problems.addresses import parse_corruption
from nddv.reporting.detection import NOT_RUN, PROBLEM
from nddv.reporting.figures import COLOURS
from nddv.reporting.tables import Provenance, format_numbers, over_seeds, write_measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READOUTS = {"nddv-terminal": "terminal (the paper's score)", "nddv-path": "path-integrated"}
KEYS = [*PROBLEM, "method", "parameter", "setting"]
COLUMNS = [*KEYS, "is_default", "runs", "f1", "f1_sd", "area", "area_sd", "note"]

PANELS = {
    "reweighting": ("a. Sample reweighting", "rule of the weights"),
    "interaction": ("b. Mean-field interaction", "a"),
    "diffusion": ("c. Diffusion scale", "σ"),
    "meta_size": ("d. Meta-set size", "points of the meta set"),
    "meta_hidden": ("e. Meta-network width", "hidden units"),
}

LOOKS: dict[str, dict[str, Any]] = {
    "nddv-terminal": {"color": COLOURS[1], "marker": "s", "linestyle": "--"},
    "nddv-path": {"color": COLOURS[0], "marker": "o", "linestyle": "-"},
}

SMALL = 7.0


def sensitivity_table(scores: pd.DataFrame, defaults: Mapping[str, float | str]) -> pd.DataFrame:
    """Detection with one setting of NDDV changed at a time.

    Parameters
    ----------
    scores : as :func:`nddv.evaluation.collect.detection_tables` writes them, with methods such as
        ``nddv-path:interaction=10``. Other methods, and problems without any of these, are left
        out. May be without rows and columns.
    defaults : the default of every parameter to be shown; it is that of the plain readout.

    Returns
    -------
    One row per problem, readout (``method``), parameter and setting, the default's (``is_default``)
    among them for every parameter: runs, and the means and spreads over seeds of f1
    (budget-matched) and area. Settings are texts, numbers too (``"0.01"``), so that they come back
    from a file as they were; numbers are in order, after words. ``note`` says what failed.
    """
    if scores.empty:
        return pd.DataFrame(columns=COLUMNS)
    rows = _by_setting(scores, {name: _text(default) for name, default in defaults.items()})
    if rows.empty:
        return pd.DataFrame(columns=COLUMNS)
    rows = rows.rename(columns={"f1_budget": "f1"})
    found = over_seeds(rows, [*KEYS, "is_default"], ["f1", "area"])
    reasons = rows.groupby(KEYS, sort=False)["gap"].max()
    told = zip(found["note"], found.join(reasons, on=KEYS)["gap"], strict=True)
    found["note"] = [f"{note}: {gap}" if gap else note for note, gap in told]
    problems, readouts = list(dict.fromkeys(_problems(found))), list(READOUTS)
    place = {name: i for i, name in enumerate(defaults)}
    order = found.assign(
        problem=[problems.index(problem) for problem in _problems(found)],
        readout=found["method"].map(readouts.index),
        place=found["parameter"].map(place),
        number=pd.to_numeric(found["setting"], errors="coerce"),
        learned=found["setting"] != "none",
    )
    order = order.sort_values(
        ["problem", "readout", "place", "number", "learned"], kind="stable", na_position="first"
    )
    return found.loc[order.index, COLUMNS].reset_index(drop=True)


def _text(setting: float | str) -> str:
    """A setting as it is written: 1.0 and 1 are the same."""
    return setting if isinstance(setting, str) else f"{setting:g}"


def _problems(rows: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(rows[PROBLEM].itertuples(index=False, name=None))


def _by_setting(scores: pd.DataFrame, defaults: Mapping[str, str]) -> pd.DataFrame:
    """Scores of the readouts with parameter, setting and is_default; the plain ones of each."""
    own = scores[scores["method"].str.partition(":")[0].isin(READOUTS)]
    pairs = [split_variant(name) for name in own["method"]]
    own = own.assign(
        method=[base for base, _ in pairs],
        parameter=[change.parameter if change else None for _, change in pairs],
        setting=[_text(change.setting) if change else None for _, change in pairs],
        gap=own["gap"].fillna(""),
    )
    changed = own[own["parameter"].isin(defaults)]
    plain = own[own["parameter"].isna()].merge(changed[PROBLEM].drop_duplicates(), on=PROBLEM)
    each = [plain.assign(parameter=name, setting=text) for name, text in defaults.items()]
    rows = pd.concat([*each, changed], ignore_index=True)
    rows["is_default"] = rows["setting"] == rows["parameter"].map(defaults)
    # A variant that is set to the default is the plain readout again.
    return rows.drop_duplicates([*KEYS, "seed"])


HEADINGS = {
    "dataset": "Data set",
    "n": "n",
    "corruption": "Corruption",
    "title": "Readout",
    "parameter": "Parameter",
    "shown": "Setting",
    "runs": "Seeds",
    "f1": "F1, budget-matched",
    "area": "Area under curve",
    "note": "Note",
}

TITLE = "Sensitivity of NDDV to its settings"
ABOUT = (
    "Detection of corrupted points with one setting of NDDV changed at a time; * is the default, "
    "whose row is the same for every parameter."
)


def write_sensitivity(stem: str | Path, table: pd.DataFrame, provenance: Provenance) -> list[Path]:
    """Write the table with its provenance; give the paths."""
    star = np.where(table["is_default"].astype(bool), " *", "")
    shown = table.assign(title=table["method"].map(READOUTS), shown=table["setting"] + star)
    return write_measured(stem, table, format_numbers(shown, HEADINGS), TITLE, ABOUT, provenance)


def sensitivity(table: pd.DataFrame) -> Figure:
    """Draw F1 against each setting, five panels per problem (fig:ablation_study).

    Parameters
    ----------
    table : as :func:`sensitivity_table` gives it, or as it comes back from its file.
    """
    problems = list(dict.fromkeys(_problems(table)))
    if not problems:
        figure = Figure(figsize=(7.0, 1.6), layout="constrained")
        figure.suptitle(TITLE, fontsize=10)
        figure.text(0.5, 0.4, f"Nothing to draw: {NOT_RUN}.", ha="center", fontsize=8)
        return figure
    figure = Figure(figsize=(7.0, 4.1 * len(problems) + 0.3), layout="constrained")
    parts = figure.subfigures(len(problems), 1, squeeze=False).ravel()
    table = table.assign(setting=table["setting"].map(_text))  # numbers alone come back as numbers
    for part, problem in zip(parts, problems, strict=True):
        rows = table[(table[PROBLEM] == list(problem)).all(axis=1)]
        panels = part.subplots(2, 3, sharey=True).ravel()
        chance = sum(parse_corruption(problem[2]).values())
        for panel, (parameter, (heading, unit)) in zip(panels, PANELS.items(), strict=False):
            _draw(panel, rows[rows["parameter"] == parameter], chance)
            panel.set_title(heading, fontsize=8)
            panel.set_xlabel(unit, fontsize=SMALL)
        for panel in (panels[0], panels[3]):
            panel.set_ylabel("F1, budget-matched", fontsize=SMALL)
        panels[0].set_ylim(0, min(1.02, 1.1 * (rows["f1"] + rows["f1_sd"].fillna(0)).max()))
        _legend(panels[-1], chance, int(rows["runs"].max()))
        part.suptitle("{}, n = {}, {}".format(*problem), fontsize=9)
    figure.suptitle(TITLE, fontsize=10)
    return figure


def _draw(panel: Axes, rows: pd.DataFrame, chance: float) -> None:
    """One parameter: settings side by side, those that are numbers joined by a line."""
    panel.axhline(chance, linestyle=":", color="0.2", linewidth=1)
    panel.tick_params(labelsize=SMALL)
    panel.grid(axis="y", color="0.92", linewidth=0.6)
    panel.set_axisbelow(True)
    settings = list(dict.fromkeys(rows["setting"]))
    numbers = pd.to_numeric(pd.Series(settings, dtype=str), errors="coerce")
    if numbers.notna().all():
        settings = [settings[i] for i in numbers.argsort()]
    panel.set_xticks(range(len(settings)), [fill(one.replace("-", "- "), 9) for one in settings])
    panel.set_xlim(-0.6, max(len(settings), 2) - 0.4)
    for default in rows.loc[rows["is_default"].astype(bool), "setting"].unique():
        at = settings.index(default)
        panel.axvspan(at - 0.4, at + 0.4, color="0.92", linewidth=0, zorder=0)
    joined = {} if numbers.notna().all() else {"linestyle": "none"}
    for i, (method, look) in enumerate(LOOKS.items()):
        own = rows[rows["method"] == method]
        places = [settings.index(setting) + (0.06 if i else -0.06) for setting in own["setting"]]
        curve = own.assign(at=places).sort_values("at")
        good = curve[curve["f1"].notna()]
        drawn = {**look, **joined, "linewidth": 1.2, "markersize": 4, "elinewidth": 0.9}
        panel.errorbar(good["at"], good["f1"], good["f1_sd"].fillna(0.0), **drawn)
        for x in curve.loc[curve["f1"].isna(), "at"]:
            upright: dict[str, Any] = {"rotation": 90, "ha": "left" if i else "right"}
            panel.text(x, chance, " no values", color=look["color"], fontsize=SMALL, **upright)
    if len(settings) < 2:
        said = "only the default was run" if settings else NOT_RUN
        middle: dict[str, Any] = {"transform": panel.transAxes, "ha": "center", "va": "top"}
        panel.text(0.5, 0.3, said, **middle, fontsize=SMALL, color="0.35")


def _legend(panel: Axes, chance: float, seeds: int) -> None:
    """The legend, in the place of a sixth panel."""
    panel.set_axis_off()
    keys: list[Any] = [
        Line2D([], [], **LOOKS[method], markersize=4, linewidth=1.2, label=f"NDDV,\n{title}")
        for method, title in READOUTS.items()
    ]
    keys.append(Patch(color="0.92", label="default setting"))
    keys.append(Line2D([], [], linestyle=":", color="0.2", label=f"chance, {chance:g}"))
    spread = f"bars: ± 1 standard deviation\nover {seeds} seeds" if seeds > 1 else "one seed"
    panel.legend(
        handles=keys,
        loc="center",
        fontsize=SMALL,
        frameon=False,
        title=f"means; {spread}",
        title_fontsize=SMALL,
    )
