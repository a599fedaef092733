"""How figures look, what their panels share, and how they are written to files.

A figure is readable without the code that made it, in print, and with any colour vision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nddv.dynamics.readouts import READOUTS
from nddv.reporting.flat import flattened
from nddv.reporting.titles import title_of
from nddv.support.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe–Ito: told apart by readers with any colour vision; line styles help in print.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
STYLES = ["-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (9, 2))]
MARKERS = ["o", "s", "D", "v", "P", "X", "*"]
GREY = "0.75"  # of methods that do not stand out
CHANCE: dict[str, Any] = {"color": "0.2", "linestyle": ":", "linewidth": 1}

WIDTH = 7.0  # inches: that of a page, so that sizes of letters are those in print
SMALL = 7.0  # points, of all letters but headings

# Letters stay letters, which editors and searches can read; fixed ids and no date, so that the same
# data give the same bytes.
STYLE: Any = {
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "nddv",
    "font.size": SMALL,
    "axes.titlesize": 8,
    "figure.titlesize": 9.5,
    "figure.constrained_layout.use": True,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.92",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
}
METADATA = {".pdf": {"CreationDate": None}, ".png": {"Software": None}, ".svg": {"Date": None}}


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draw a figure in the style of all."""

    @wraps(draw)
    def drawn(*frames: Any, **named: Any) -> Figure:
        with mpl.rc_context(STYLE):
            return draw(*frames, **named)

    return drawn


def save_figure(figure: Figure, paths: Sequence[str | Path]) -> None:
    """Write a figure to each path, in the format of its suffix."""
    with mpl.rc_context(STYLE):
        for path in map(Path, paths):
            with atomic_write(path) as temporary:
                figure.savefig(temporary, dpi=180, metadata=METADATA[path.suffix])
                if path.suffix == ".png":  # a third of the size
                    flattened(temporary).save(temporary, "PNG", optimize=True)


# ------------------------------------------------------------------ looks of methods


@dataclass(frozen=True)
class Look:
    """How a method is told apart: colour, line style, marker, and whether the marker is filled."""

    colour: str
    style: Any = "-"
    marker: str = "o"
    filled: bool = True

    def line(self, **more: Any) -> dict[str, Any]:
        """The arguments of a line without markers."""
        return {"color": self.colour, "linestyle": self.style, **more}

    def marked(self, **more: Any) -> dict[str, Any]:
        """The arguments of a line with markers, or of error bars."""
        inside = self.colour if self.filled else "white"
        return self.line(marker=self.marker, markerfacecolor=inside, **more)


OF_READOUTS = {f"nddv-{r.name}": Look(r.colour, r.style, r.marker) for r in READOUTS.values()}

LOOKS: dict[str, Look] = {
    **{m: look for m, look in OF_READOUTS.items() if not READOUTS[m.removeprefix("nddv-")].law},
    "data-oob": Look(COLOURS[5], STYLES[0], "D"),
    "data-oob-trees": Look(COLOURS[3], STYLES[3], "d"),
    "knn-shapley": Look(COLOURS[4], STYLES[4], "v"),
    "small-loss": Look(COLOURS[6], STYLES[1], "x"),
}
"""The methods that stand out among many: no semi-values of runs; the last is a control."""


def nth(k: int) -> Look:
    """The look of the k-th of things that are no methods."""
    return Look(COLOURS[k % len(COLOURS)], marker=MARKERS[k % len(MARKERS)])


def looks_of(methods: Iterable[str], most: int | None = None) -> dict[str, Look]:
    """A look for each method; of more than ``most``, for those that stand out only."""
    methods = list(methods)
    known = {method: look for method, look in LOOKS.items() if method in methods}
    if most is not None and len(methods) > most:
        return known
    known |= {method: OF_READOUTS[method] for method in methods if method in OF_READOUTS}
    reserved = {**LOOKS, **OF_READOUTS}.values()
    taken = {(look.colour, mark) for look in reserved for mark in (look.style, look.marker)}
    free = [
        Look(colour, style, marker)
        for (i, style), (j, colour) in product(enumerate(STYLES), enumerate(COLOURS))
        if not taken & {(colour, style), (colour, marker := MARKERS[(i + j) % len(MARKERS)])}
    ]
    used = {look.colour for look in known.values()}
    free.sort(key=lambda look: look.colour in used)
    others = [method for method in methods if method not in known]
    return known | dict(zip(others, cycle(free), strict=False))


# ------------------------------------------------------------------ parts of panels


def pick(rows: pd.DataFrame, columns: Sequence[str], entries: Iterable[Any]) -> pd.DataFrame:
    """The rows that have these entries in these columns."""
    return rows[(rows[list(columns)] == list(entries)).all(axis=1)]


def key(label: str, **look: Any) -> Line2D:
    """A key of a legend."""
    return Line2D([], [], label=label, **look)


def chance(label: str = "chance") -> Line2D:
    """The key of chance."""
    return key(label, **CHANCE)


def other_methods() -> Line2D:
    """The key of methods that do not stand out."""
    return key("other methods", color=GREY, linewidth=0.8)


def method_keys(looks: Mapping[str, Look], *, marked: bool = False, **more: Any) -> list[Line2D]:
    """Keys of methods by their titles."""
    drawn = {m: look.marked(**more) if marked else look.line(**more) for m, look in looks.items()}
    return [key(title_of(method), **look) for method, look in drawn.items()]


def legend_below(figure: Any, keys: list[Any], columns: int, title: str = "") -> None:
    """A legend below all panels of a figure, or of a part of one."""
    figure.legend(handles=keys, loc="outside lower center", ncols=columns, title=title or None)


def say(panel: Axes, x: float, y: float, text: str, **look: Any) -> None:
    """Text at a place of the panel, from (0, 0) to (1, 1)."""
    panel.text(x, y, text, transform=panel.transAxes, **{"ha": "center", "va": "center"} | look)


def draw_mean(
    panel: Axes, curve: pd.DataFrame, look: Look, alpha: float = 0.12, **more: Any
) -> None:
    """A line (``mean`` by the index) with a band of ± ``std`` where there is one."""
    panel.plot(curve.index, curve["mean"], **look.line(**more))
    low, high = (curve["mean"] + side * curve["std"] for side in (-1, 1))
    panel.fill_between(curve.index, low, high, color=look.colour, alpha=alpha, linewidth=0)


def draw_methods(
    panel: Axes, rows: pd.DataFrame, x: str, y: str, looks: Mapping[str, Look]
) -> None:
    """Means of methods over seeds: thin grey lines, and those with a look on top, with bands."""
    means = rows.groupby(["method", x], sort=False)[y].agg(["mean", "std"])
    for method in rows["method"].unique():
        if method not in looks:
            panel.plot(means.loc[method]["mean"], color=GREY, linewidth=0.6)
    for i, (method, look) in enumerate(looks.items()):
        if method in means.index:
            draw_mean(panel, means.loc[method], look, zorder=3 - i / 100)


def same_height(panels: Sequence[Axes]) -> None:
    """The same limits for panels that are compared."""
    low, high = zip(*(panel.get_ylim() for panel in panels), strict=True)
    for panel in panels:
        panel.set_ylim(min(low), max(high))


def hide(panels: Iterable[Axes]) -> None:
    """Leave places of a grid empty."""
    for panel in panels:
        panel.set_visible(False)


def nothing_to_draw(title: str, *paragraphs: str) -> Figure:
    """A page that says why there is nothing to draw."""
    figure = Figure(figsize=(WIDTH, 1.2 + 0.4 * len(paragraphs)))
    figure.suptitle(title)
    text = "\n\n".join(paragraphs)
    figure.text(0.5, 0.45, text, ha="center", va="center", color="0.25")
    return figure
