"""Detection against the share of corrupted points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import nddv.reporting.figures.style as style
from nddv.dynamics.readouts import READOUTS
from nddv.problems.addresses import parse_corruption, split_regime
from nddv.reporting.frames import NOT_RUN, PROBLEM, Gaps, in_paper, over_seeds, without_variants
from nddv.reporting.titles import title_of

KINDS = {"label": "a. Noisy-label detection", "feature": "b. Noisy-feature detection"}
MEASURES = {"f1_budget": "F1, budget-matched", "area": "recall-AUC"}
PANEL = ["dataset", "n", "kind"]
BEST: dict[str, Any] = {"color": "0.55", "linewidth": 0.8}

SIDEWAYS = 0.45  # per cent between methods at one rate, so that their spreads can be seen
LIMITS = (0.0, 50.0)  # per cent
RATES = (5, 10, 20, 30, 40, 45)  # per cent, of the paper

LEFT_OUT = {"knn-shapley", "nddv-residual"}  # as in the paper; and for regression only
LOOKS_IMAGENET100 = {
    **{method: look for method, look in style.LOOKS.items() if method not in LEFT_OUT},
    "ghostsuite": style.LOOKS["knn-shapley"],
    "lossval": style.Look("0.35", style.STYLES[1], "P"),
}
MLP = ":control=mlp"
PRINTED = {"nddv-terminal": "NDDV", "data-oob": "Data-OOB"}


@dataclass(frozen=True)
class Cast:
    """Who is drawn: the titles of all methods, and the looks of those that stand out."""

    titles: Mapping[str, str]
    looks: Mapping[str, style.Look]

    @classmethod
    def of(cls, rows: pd.DataFrame, looks: Mapping[str, style.Look], **titles: str) -> Cast:
        """The methods that there are rows of; some have titles of their own here."""
        known = {name: titles.get(name, title_of(name)) for name in rows["method"].unique()}
        return cls(known, {name: look for name, look in looks.items() if name in known})

    @property
    def others(self) -> dict[str, str]:
        """Titles of the methods that do not stand out."""
        return {name: title for name, title in self.titles.items() if name not in self.looks}


@style.styled
def noise_levels(scores: pd.DataFrame, published: pd.DataFrame, gaps: Gaps = ()) -> Figure:
    """Draw F1 against the noise rate, a panel per data set (fig:feature_label_noise_exp).

    Parameters
    ----------
    scores : as :func:`nddv.evaluation.collect.detection_tables` writes them, of all problems;
        mixed corruptions, and variants of NDDV, are left out. May be without rows and columns.
    published : the paper's numbers by rate (tab:label_noise_proportion and
        tab:feature_noise_proportion); those of NDDV and Data-OOB are drawn on the data set that
        they are read as.
    gaps : problems that could not be run.
    """
    title = "Detection of corrupted points against the share that is corrupted"
    rows = without_variants(_by_rate(scores))
    printed = _with_rates(published[published["method"].isin(PRINTED)])
    return _draw(title, rows, Cast.of(rows, style.LOOKS), gaps, printed=printed)


@style.styled
def noise_levels_structured(scores: pd.DataFrame, gaps: Gaps = ()) -> Figure:
    """Draw the structured realisation against the MLP control (fig:noise_interpretability_exp).

    The structured control (eqn:kan_control) is the default, so it is that of the plain readouts;
    the methods ``<readout>:control=mlp`` have a multilayer perceptron instead. Scores and gaps are
    as of :func:`noise_levels`.
    """
    title = "The structured (KAN) control of NDDV, and a multilayer perceptron in its place"
    looks: dict[str, style.Look] = {}
    titles: dict[str, str] = {}
    for method in (f"nddv-{name}" for name, readout in READOUTS.items() if readout.variant):
        looks[method] = replace(style.LOOKS[method], style="-")
        looks[method + MLP] = replace(style.LOOKS[method], style="--", filled=False)
        short = title_of(method).partition(" (")[0]
        titles |= {method: f"{short}: KAN", method + MLP: f"{short}: MLP"}
    looks["small-loss"] = replace(style.LOOKS["small-loss"], style=style.STYLES[3])
    rows = _by_rate(scores)
    rows = rows[rows["method"].isin(looks)]
    return _draw(title, rows, Cast.of(rows, looks, **titles), gaps)


@style.styled
def imagenet100_curves(scores: pd.DataFrame, gaps: Gaps = (), n: int = 1000) -> Figure:
    """Draw F1 and recall-AUC on ImageNet100 against the noise rate (fig:imagenet100_f1_recall).

    Parameters
    ----------
    scores, gaps : as of :func:`noise_levels`; other data sets and sizes are left out.
    n : training points; the paper does not print them for this figure.
    """
    title = f"ImageNet100, n = {n}: detection against the share that is corrupted"
    rows = without_variants(_by_rate(scores))
    rows = rows[rows["dataset"].map(in_paper).eq("imagenet100") & rows["n"].eq(n)]
    gaps = [gap for gap in gaps if in_paper(gap["dataset"]) == "imagenet100"]
    names = list(rows["dataset"].unique())
    if len(names) > 1:
        raise ValueError(f"{', '.join(names)}: one figure can show one encoder only")
    if names:  # gaps of what is drawn; where nothing is, all are named
        gaps = [{**gap, "dataset": names[0]} for gap in gaps if gap["n"] == n]
    return _draw(title, rows, Cast.of(rows, LOOKS_IMAGENET100), gaps, list(MEASURES))


def _with_rates(problems: pd.DataFrame | Gaps) -> pd.DataFrame:
    """Rows with their kind and rate (%); mixed or other corruptions and regimes are left out."""
    rows = pd.DataFrame(problems)
    rows = rows.reindex(columns=list(dict.fromkeys([*rows, *PROBLEM, "reason"])))
    usual = [split_regime(name)[1] is None for name in rows["corruption"]]
    rows = rows[pd.Series(usual, index=rows.index, dtype=bool)]
    kinds = [parse_corruption(name) for name in rows["corruption"]]
    rates = [100 * sum(rates.values()) for rates in kinds]
    rows = rows.assign(kind=["+".join(names) for names in kinds], rate=rates)
    return rows[rows["kind"].isin(KINDS)]


def _by_rate(scores: pd.DataFrame) -> pd.DataFrame:
    """Means and spreads over seeds by data set, n, kind, rate and method, lowest rate first."""
    read = ["method", "seed", *MEASURES]
    absent = [name for name in [*PROBLEM, *read] if name not in scores]
    if len(scores) and absent:
        raise ValueError(f"scores without the column {', '.join(absent)}")
    rows = _with_rates(scores.reindex(columns=list(dict.fromkeys([*scores, *read]))))
    keys = [*PANEL, "rate", "method"]
    return over_seeds(rows, keys, list(MEASURES)).sort_values("rate", kind="stable")


def _draw(
    title: str,
    rows: pd.DataFrame,
    cast: Cast,
    gaps: Gaps,
    measures: Sequence[str] = ("f1_budget",),
    printed: pd.DataFrame | None = None,
) -> Figure:
    """Two blocks of panels, of label and of feature noise, over one legend."""
    if rows.empty:
        return _nothing_run(title, gaps)
    absent = _with_rates(gaps)
    of_data = pd.concat([frame[["dataset", "n"]] for frame in (rows, absent) if len(frame)])
    problems = of_data.astype({"n": int}).drop_duplicates().itertuples(index=False, name=None)
    shown = [(*problem, measure) for problem in problems for measure in measures]
    across = 4 if len(shown) > 6 else 2 if len(shown) == 4 else min(len(shown), 3)
    down = -(-len(shown) // across)
    keys = [style.key(cast.titles[method], **look.marked()) for method, look in cast.looks.items()]
    keys += [style.other_methods()] if cast.others else []
    keys.append(style.chance())
    if printed is not None:
        named = PRINTED.items()
        keys += [style.key(f"{name} as printed in the paper", **_hollow(m)) for m, name in named]
    keys += [style.key("best possible recall-AUC", **BEST)] if "area" in measures else []
    others = fill(f"other methods: {', '.join(cast.others.values())}", 125) if cast.others else ""
    foot = 0.155 * (2 + -(-len(keys) // 3) + len(others.splitlines()))
    heights = [1.75 * down + 0.5, 1.75 * down + 0.5, foot]
    figure = Figure(figsize=(style.WIDTH, sum(heights) + 0.3))
    *blocks, bottom = figure.subfigures(3, 1, squeeze=False, height_ratios=heights).ravel()
    for block, kind in zip(blocks, KINDS, strict=True):
        panels = block.subplots(down, across, squeeze=False, sharex=True, sharey=len(measures) == 1)
        for panel, (dataset, n, measure) in zip(panels.ravel(), shown, strict=False):
            own, lost = (style.pick(frame, PANEL, (dataset, n, kind)) for frame in (rows, absent))
            said = _draw_methods(panel, own, lost, cast, 108 // across, measure)
            heading = "\n".join([f"{dataset}, n = {n}", *said])
            panel.set_title(heading, fontsize=style.SMALL if said else None)
            _draw_bounds(panel, measure)
            if printed is not None:
                points = style.pick(printed, PANEL, (in_paper(dataset), n, kind))
                for method, part in points.groupby("method", sort=False):
                    panel.plot(part["rate"], part["f1"], **_hollow(str(method)))
            panel.set(xlim=LIMITS, xticks=RATES)
            if len(measures) > 1 or panel in panels[:, 0]:
                panel.set_ylabel(MEASURES[measure])
        for panel, (_, _, measure) in zip(panels.ravel(), shown, strict=False):
            high = (0, max(0.6, panel.get_ylim()[1]))  # after all, for they may share it
            panel.set_ylim((0.45, 1.02) if measure == "area" else high)
        style.hide(panels.ravel()[len(shown) :])
        for column in panels.T:  # numbers below the lowest panel
            [panel for panel in column if panel.get_visible()][-1].tick_params(labelbottom=True)
            column[-1].set_xlabel("points corrupted (%)")
        block.suptitle(KINDS[kind], fontsize=8.5, x=0.01, ha="left", weight="bold")
    seeds = int(rows["runs"].max())
    spread = f"bars: ± 1 standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    about = f"means; {spread}; methods are set a little apart sideways"
    bottom.legend(handles=keys, loc="upper center", ncols=3, title=about)
    bottom.text(0.5, 0.02, others, ha="center", va="bottom", color="0.35")
    figure.suptitle(title)
    return figure


def _draw_methods(
    panel: Axes, own: pd.DataFrame, lost: pd.DataFrame, cast: Cast, letters: int, measure: str
) -> list[str]:
    """The methods of one data set and kind of noise; gives lines on what was not run.

    ``letters``: how many fit into a line.
    """
    said = []
    for reason, rates in lost.groupby("reason", sort=False)["rate"]:
        where = "" if own.empty else f" at {_per_cent(rates)}"
        said.append(f"not run{where}: {reason}")
    if own.empty:
        text = fill("; ".join(said) or NOT_RUN, letters - 4)
        style.say(panel, 0.5, 0.9, text, va="top", color="0.35")
        return []
    for method in cast.others:
        curve = own[own["method"] == method]
        panel.plot(curve["rate"], curve[measure], color=style.GREY, linewidth=0.6, marker=".", ms=2)
    if absent := [cast.titles[name] for name in cast.looks if name not in set(own["method"])]:
        said.append(f"not run: {'; '.join(absent)}")
    for i, (method, look) in enumerate(cast.looks.items()):
        curve = own[own["method"] == method]
        empty = curve[measure].isna()
        if empty.any():
            said.append(f"{cast.titles[method]}: no values at {_per_cent(curve['rate'][empty])}")
        curve = curve[~empty]
        at = curve["rate"] + SIDEWAYS * (i - (len(cast.looks) - 1) / 2)
        drawn = look.marked(elinewidth=0.8, zorder=4 - i / 10)
        panel.errorbar(at, curve[measure], curve[f"{measure}_sd"].fillna(0.0), **drawn)
    return [fill(text, letters) for text in said]


def _per_cent(rates: pd.Series) -> str:
    return ", ".join(f"{rate:g}" for rate in sorted(set(rates))) + "\N{NO-BREAK SPACE}%"


def _draw_bounds(panel: Axes, measure: str) -> None:
    """Chance, and for the area the best possible.

    Flagging r of the points at random finds r of the corrupted ones: F1 = r.
    """
    rates = np.array(LIMITS) / 100
    if measure == "area":
        panel.plot(LIMITS, [0.5, 0.5], **style.CHANCE)
        panel.plot(LIMITS, 1 - rates / 2, **BEST, zorder=1)
    else:
        panel.plot(LIMITS, rates, **style.CHANCE)


def _hollow(method: str) -> dict[str, Any]:
    """The look of the paper's numbers."""
    look = replace(style.LOOKS[method], style="none").marked(markersize=6.5, markeredgewidth=1)
    return look | {"markerfacecolor": "none", "zorder": 5}


def _nothing_run(title: str, gaps: Gaps) -> Figure:
    """A page that says why there is nothing to draw."""
    lines = ["Nothing to draw: no problem of this figure was run."]
    rows = pd.DataFrame(gaps, columns=[*PROBLEM, "reason"]).astype(str)
    for reason, of_reason in rows.groupby("reason", sort=False):
        named = [
            f"{dataset}, n = {n} ({', '.join(part['corruption'])})"
            for (dataset, n), part in of_reason.groupby(["dataset", "n"], sort=False)
        ]
        lines.append(fill(f"{'; '.join(named)}: {reason}", 100))
    return style.nothing_to_draw(title, *lines, *([] if gaps else [f"They are {NOT_RUN}."]))
