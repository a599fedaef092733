"""Detection against the share of corrupted points: figures over noise rates."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nddv.problems.addresses import parse_corruption
from nddv.reporting.detection import NOT_RUN, without_variants
from nddv.reporting.figures import COLOURS, STYLES
from nddv.reporting.tables import over_seeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

Gaps = Sequence[Mapping[str, Any]]
"""Problems that could not be run: dataset, n, corruption and the reason."""

KINDS = {"label": "a. Noisy-label detection", "feature": "b. Noisy-feature detection"}
READ = ["dataset", "n", "corruption", "method", "title", "seed", "f1_budget", "area"]

WIDTH = 7.0  # inches: that of a page, so that sizes of letters are those in print
SMALL = 7.0
TEXT = 8.0
SIDEWAYS = 0.45  # per cent between methods at one rate, so that their spreads can be seen
LIMITS = (0.0, 50.0)  # per cent
RATES = (5, 10, 20, 30, 40, 45)  # per cent, of the paper


@dataclass(frozen=True)
class Look:
    """How a method is told apart: colour, line style, marker, and whether the marker is filled."""

    colour: str
    style: Any = "-"
    marker: str = "o"
    filled: bool = True

    def line(self, **more: Any) -> dict[str, Any]:
        """The arguments of a line or of error bars."""
        inside = self.colour if self.filled else "white"
        drawn = {"color": self.colour, "linestyle": self.style, "marker": self.marker}
        return {**drawn, "markerfacecolor": inside, "linewidth": 1.2, "markersize": 3.5, **more}


LOOKS = {
    "nddv-path": Look(COLOURS[0], STYLES[0], "o"),
    "nddv-terminal": Look(COLOURS[1], STYLES[1], "s"),
    "nddv-participation": Look(COLOURS[2], STYLES[2], "^"),
    "data-oob": Look(COLOURS[5], STYLES[0], "D"),
    "data-oob-trees": Look(COLOURS[3], STYLES[3], "d"),
    "knn-shapley": Look(COLOURS[4], STYLES[4], "v"),
    "small-loss": Look(COLOURS[6], STYLES[1], "x"),
}
"""The methods that stand out; the last is a control. All others are thin grey lines."""

LOOKS_IMAGENET100 = {
    **{method: LOOKS[method] for method in list(LOOKS)[:5]},
    "ghostsuite": Look(COLOURS[4], STYLES[4], "v"),
    "lossval": Look("0.35", STYLES[1], "P"),
    "small-loss": LOOKS["small-loss"],
}

READOUTS = ("nddv-path", "nddv-terminal", "nddv-participation")
MLP = ":control=mlp"
PRINTED = ("nddv-terminal", "data-oob")


@dataclass(frozen=True)
class Cast:
    """Who is drawn: titles of all methods, and the looks of those that stand out."""

    titles: Mapping[str, str]
    looks: Mapping[str, Look]

    @classmethod
    def of(cls, scores: pd.DataFrame, looks: Mapping[str, Look]) -> Cast:
        """The methods that there are scores of."""
        titles = dict(zip(scores["method"], scores["title"], strict=True))
        return cls(titles, {method: look for method, look in looks.items() if method in titles})

    @property
    def others(self) -> list[str]:
        """Methods that do not stand out."""
        return [method for method in self.titles if method not in self.looks]


def noise_levels(scores: pd.DataFrame, published: pd.DataFrame, gaps: Gaps = ()) -> Figure:
    """Draw F1 against the noise rate, a panel per data set (fig:feature_label_noise_exp).

    Parameters
    ----------
    scores : as :func:`nddv.evaluation.collect.detection_tables` writes them, of all problems;
        mixed corruptions, and variants of NDDV, are left out. May be without rows and columns.
    published : the paper's numbers by rate (tab:label_noise_proportion and
        tab:feature_noise_proportion) as :func:`nddv.reporting.detection.read_published` gives them;
        those of NDDV and Data-OOB are drawn on the data set that they are read as.
    gaps : problems that could not be run.
    """
    title = "Detection of corrupted points against the share that is corrupted"
    rows = _by_rate(without_variants(_checked(scores)), "f1_budget")
    if rows.empty:
        return _nothing_run(title, gaps)
    printed = _with_rates(published[published["method"].isin(PRINTED)])
    return _blocks(title, rows, Cast.of(rows, LOOKS), _with_rates(gaps), printed)


def noise_levels_structured(scores: pd.DataFrame, gaps: Gaps = ()) -> Figure:
    """Draw the structured realisation against the MLP control (fig:noise_interpretability_exp).

    The structured control (eqn:kan_control) is the default, so it is that of the plain readouts;
    the methods ``<readout>:control=mlp`` have a multilayer perceptron instead.

    Parameters
    ----------
    scores, gaps : as of :func:`noise_levels`.
    """
    title = "The structured (KAN) control of NDDV, and a multilayer perceptron in its place"
    looks = {}
    for readout in READOUTS:
        look = LOOKS[readout]
        looks[readout] = Look(look.colour, "-", look.marker)
        looks[readout + MLP] = Look(look.colour, "--", look.marker, filled=False)
    looks["small-loss"] = Look(COLOURS[6], STYLES[3], "x")
    scores = _checked(scores)
    rows = _by_rate(scores[scores["method"].isin(looks)], "f1_budget")
    if rows.empty:
        return _nothing_run(title, gaps)
    names = rows["method"].str.partition(":")[0]
    short = names.map(dict(zip(rows["method"], rows["title"], strict=True))).str.partition(" (")[0]
    control = np.where(rows["method"].str.endswith(MLP), ": MLP", ": KAN")
    structured = names.isin(READOUTS)
    rows["title"] = np.where(structured, short.fillna(names) + control, rows["title"])
    return _blocks(title, rows, Cast.of(rows, looks), _with_rates(gaps))


def imagenet100_curves(scores: pd.DataFrame, gaps: Gaps = (), n: int = 1000) -> Figure:
    """Draw F1 and recall-AUC on ImageNet100 against the noise rate (fig:imagenet100_f1_recall).

    Parameters
    ----------
    scores, gaps : as of :func:`noise_levels`; other data sets and sizes are left out.
    n : training points; the paper does not print them for this figure.
    """
    title = f"ImageNet100, n = {n}: detection against the share that is corrupted"
    scores = without_variants(_checked(scores))
    scores = scores[_is_imagenet100(scores["dataset"]) & scores["n"].eq(n)]
    if scores["dataset"].nunique() > 1:
        names = ", ".join(scores["dataset"].unique())
        raise ValueError(f"{names}: one figure can show one encoder only")
    absent = pd.DataFrame(gaps, columns=["dataset", "n", "corruption", "reason"])
    absent = absent[_is_imagenet100(absent["dataset"])]
    by_rate = {column: _by_rate(scores, column) for column in ("f1_budget", "area")}
    if by_rate["area"].empty:
        return _nothing_run(title, absent.to_dict("records"))
    absent = _with_rates(absent[absent["n"].eq(n)])
    cast = Cast.of(by_rate["area"], LOOKS_IMAGENET100)
    best = Line2D([], [], color="0.55", linewidth=0.8, label="best possible recall-AUC")
    keys = [*_keys(cast), best]
    foot = _foot(cast, keys)
    figure = Figure(figsize=(WIDTH, 4.8 + foot), layout="constrained")
    parts = figure.subfigures(2, 1, squeeze=False, height_ratios=[4.6, foot])
    top, bottom = parts.ravel()
    panels = top.subplots(2, 2, sharex=True, sharey="row")
    for line, (column, rows) in zip(panels, by_rate.items(), strict=True):
        for panel, kind in zip(line, KINDS, strict=True):
            _draw_panel(panel, KINDS[kind], rows, absent, cast, {"kind": kind}, 54)
            if column == "area":
                panel.plot(LIMITS, [0.5, 0.5], ":", color="0.2", linewidth=1)
                most = [1 - rate / 200 for rate in LIMITS]
                panel.plot(LIMITS, most, color="0.55", linewidth=0.8, zorder=1)
            else:
                _draw_chance(panel)
    for panel in panels[1]:
        panel.set_title("")  # what stands above the first row holds for both
    _set_scales(panels)
    panels[0, 0].set_ylabel("F1, budget-matched", fontsize=SMALL)
    panels[0, 0].set_ylim(0, 1.02)
    panels[1, 0].set_ylabel("recall-AUC", fontsize=SMALL)
    panels[1, 0].set_ylim(0.45, 1.02)
    _legend(bottom, cast, keys, int(by_rate["area"]["runs"].max()))
    figure.suptitle(title, fontsize=10)
    return figure


def _checked(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores with the columns that are read; those of no problem at all may have none."""
    if scores.empty:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in READ})
    absent = [name for name in READ if name not in scores]
    if absent:
        raise ValueError(f"scores without the column {', '.join(absent)}")
    return scores


def _is_imagenet100(datasets: pd.Series) -> pd.Series:
    return datasets.astype(str).str.split("@").str[0].eq("imagenet100")


def _single_noise(corruption: str) -> tuple[str, float]:
    """Kind and rate in per cent of a corruption of one kind; of others there is neither."""
    kinds = parse_corruption(corruption)
    if len(kinds) == 1 and set(kinds) <= set(KINDS):
        ((kind, rate),) = kinds.items()
        return kind, 100 * rate
    return "", np.nan


def _with_rates(given: pd.DataFrame | Gaps) -> pd.DataFrame:
    """Rows with their kind and rate (%); those of mixed or other corruptions are left out."""
    rows = pd.DataFrame(given)
    if rows.empty:
        return rows.reindex(columns=["dataset", "n", *rows.columns, "kind", "rate"])
    known = {name: _single_noise(name) for name in rows["corruption"].unique()}
    pairs = [known[name] for name in rows["corruption"]]
    rows = rows.assign(kind=[kind for kind, _ in pairs], rate=[rate for _, rate in pairs])
    return rows[rows["kind"] != ""]


def _by_rate(scores: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean and spread over seeds by data set, n, kind, rate and method, the lowest rate first."""
    keys = ["dataset", "n", "kind", "rate", "method", "title"]
    rows = _with_rates(scores)
    if rows.empty:
        return pd.DataFrame(columns=[*keys, "runs", "mean", "sd"])
    found = over_seeds(rows, keys, [column]).sort_values("rate", kind="stable")
    return found.rename(columns={column: "mean", f"{column}_sd": "sd"})


def _blocks(
    title: str,
    rows: pd.DataFrame,
    cast: Cast,
    gaps: pd.DataFrame,
    printed: pd.DataFrame | None = None,
) -> Figure:
    """Two blocks of panels, of label and of feature noise, over one legend."""
    named = [zip(frame["dataset"], frame["n"].astype(int), strict=True) for frame in (rows, gaps)]
    problems = list(dict.fromkeys(itertools.chain(*named)))
    across = 4 if len(problems) > 6 else 2 if len(problems) == 4 else min(len(problems), 3)
    down = -(-len(problems) // across)
    keys = [*_keys(cast), *([] if printed is None else map(_printed_key, PRINTED))]
    block, foot = 1.75 * down + 0.5, _foot(cast, keys)
    figure = Figure(figsize=(WIDTH, 2 * block + foot + 0.3), layout="constrained")
    heights = [block, block, foot]
    *parts, bottom = figure.subfigures(3, 1, squeeze=False, height_ratios=heights).ravel()
    for part, kind in zip(parts, KINDS, strict=True):
        panels = part.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for panel, (dataset, n) in zip(panels.ravel(), problems, strict=False):
            of = {"dataset": dataset, "n": n, "kind": kind}
            _draw_panel(panel, f"{dataset}, n = {n}", rows, gaps, cast, of, 108 // across)
            _draw_chance(panel)
            if printed is not None:
                _draw_printed(panel, _pick(printed, {**of, "dataset": dataset.split("@")[0]}))
        for panel in panels.ravel()[len(problems) :]:
            panel.set_visible(False)
        _set_scales(panels)
        for panel in panels[:, 0]:
            panel.set_ylabel("F1, budget-matched", fontsize=SMALL)
        panels[0, 0].set_ylim(0, max(0.6, panels[0, 0].get_ylim()[1]))
        part.suptitle(KINDS[kind], fontsize=9, x=0.01, ha="left", weight="bold")
    _legend(bottom, cast, keys, int(rows["runs"].max()))
    figure.suptitle(title, fontsize=10)
    return figure


def _pick(rows: pd.DataFrame, of: Mapping[str, object]) -> pd.DataFrame:
    return rows[(rows[list(of)] == list(of.values())).all(axis=1)]


def _draw_panel(
    panel: Axes,
    heading: str,
    rows: pd.DataFrame,
    gaps: pd.DataFrame,
    cast: Cast,
    of: Mapping[str, object],
    letters: int,
) -> None:
    """The methods of one data set and kind of noise; what was not run is said.

    ``letters``: how many fit into a line of the heading.
    """
    own, lost = _pick(rows, of), _pick(gaps, of)
    said = []
    reasons = lost.groupby("reason", sort=False)["rate"] if len(lost) else []
    for reason, rates in reasons:
        where = "" if own.empty else f" at {_per_cent(rates)}"
        said.append(f"not run{where}: {reason}")
    if own.empty:
        text = fill("; ".join(said) or NOT_RUN, letters - 4)
        middle: dict[str, Any] = {"transform": panel.transAxes, "ha": "center", "va": "top"}
        panel.text(0.5, 0.9, text, **middle, fontsize=SMALL, color="0.35")
        panel.set_title(heading, fontsize=TEXT)
        return
    for method in cast.others:
        curve = own[own["method"] == method]
        panel.plot(curve["rate"], curve["mean"], color="0.75", linewidth=0.6, marker=".", ms=2)
    if absent := [cast.titles[name] for name in cast.looks if name not in set(own["method"])]:
        said.append(f"not run: {'; '.join(absent)}")
    half = (len(cast.looks) - 1) / 2
    for i, (method, look) in enumerate(cast.looks.items()):
        curve = own[own["method"] == method]
        empty = curve["mean"].isna()
        if empty.any():
            said.append(f"{cast.titles[method]}: no values at {_per_cent(curve['rate'][empty])}")
        curve = curve[~empty]
        at = curve["rate"] + SIDEWAYS * (i - half)
        spread = curve["sd"].fillna(0.0)
        panel.errorbar(at, curve["mean"], spread, **look.line(), elinewidth=0.8, zorder=4 - i / 10)
    lines = [heading, *(fill(one, letters) for one in said)]
    panel.set_title("\n".join(lines), fontsize=TEXT if len(lines) == 1 else SMALL)


def _per_cent(rates: pd.Series) -> str:
    return ", ".join(f"{rate:g}" for rate in sorted(set(rates))) + " %"


def _draw_chance(panel: Axes) -> None:
    """Flagging r of the points at random finds r of the corrupted ones: F1 = r."""
    panel.plot(LIMITS, [rate / 100 for rate in LIMITS], ":", color="0.2", linewidth=1)


def _draw_printed(panel: Axes, printed: pd.DataFrame) -> None:
    for method in PRINTED:
        points = printed[printed["method"] == method]
        if len(points):
            panel.plot(points["rate"], points["f1"], **_hollow(method))


def _hollow(method: str) -> dict[str, Any]:
    look = Look(LOOKS[method].colour, "none", LOOKS[method].marker)
    return look.line(markerfacecolor="none", markersize=6.5, markeredgewidth=1.0, zorder=5)


def _printed_key(method: str) -> Line2D:
    name = {"nddv-terminal": "NDDV", "data-oob": "Data-OOB"}[method]
    return Line2D([], [], **_hollow(method), label=f"{name} as printed in the paper")


def _set_scales(panels: np.ndarray[Any, Any]) -> None:
    """Ticks at the paper's rates, with their numbers below the lowest panel of each column."""
    for panel in panels.ravel():
        panel.set_xlim(LIMITS)
        panel.set_xticks(RATES)
        panel.tick_params(labelsize=SMALL)
        panel.grid(color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)
    for column in panels.T:
        lowest = [panel for panel in column if panel.get_visible()][-1]
        lowest.tick_params(labelbottom=True)
    for panel in panels[-1]:
        panel.set_xlabel("points corrupted (%)", fontsize=SMALL)


def _keys(cast: Cast) -> list[Line2D]:
    keys = [
        Line2D([], [], **look.line(), label=cast.titles[method])
        for method, look in cast.looks.items()
    ]
    if cast.others:
        keys.append(Line2D([], [], color="0.75", linewidth=0.8, label="other methods"))
    return [*keys, Line2D([], [], linestyle=":", color="0.2", linewidth=1, label="chance")]


def _names_of_others(cast: Cast) -> str:
    names = ", ".join(cast.titles[method] for method in cast.others)
    return fill(f"other methods: {names}", 125) if names else ""


def _foot(cast: Cast, keys: Sequence[Line2D]) -> float:
    """Height in inches that the legend needs."""
    lines = 2 + -(-len(keys) // 3) + len(_names_of_others(cast).splitlines())
    return 0.155 * lines


def _legend(part: SubFigure, cast: Cast, keys: Sequence[Line2D], seeds: int) -> None:
    """One legend for the whole figure; methods that do not stand out are named below it."""
    spread = f"bars: ± 1 standard deviation over {seeds} seeds" if seeds > 1 else "one seed"
    part.legend(
        handles=keys,
        loc="upper center",
        ncols=3,
        fontsize=SMALL,
        frameon=False,
        title=f"means; {spread}; methods are set a little apart sideways",
        title_fontsize=SMALL,
    )
    look: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": SMALL, "color": "0.35"}
    part.text(0.5, 0.02, _names_of_others(cast), **look)


def _nothing_run(title: str, gaps: Gaps) -> Figure:
    """A page that says why there is nothing to draw."""
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    figure.suptitle(title, fontsize=10)
    said: dict[str, dict[str, list[str]]] = {}
    for gap in gaps:
        problems = said.setdefault(str(gap["reason"]), {})
        problems.setdefault(f"{gap['dataset']}, n = {gap['n']}", []).append(str(gap["corruption"]))
    lines = ["Nothing to draw: no problem of this figure was run."]
    for reason, problems in said.items():
        named = "; ".join(f"{name} ({', '.join(kinds)})" for name, kinds in problems.items())
        lines.append(fill(f"{named}: {reason}", 100))
    text = "\n\n".join(lines if said else [*lines, f"They are {NOT_RUN}."])
    figure.text(0.5, 0.45, text, ha="center", va="center", fontsize=TEXT, color="0.25")
    return figure
