"""Plots of the HTML page as SVG: small, sharp in print, and with text for a screen reader."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

INK, FAINT, RULE = "#1c2430", "#667085", "#d9dee7"
BLUE, RED = "#4c78a8", "#d1603d"
RUNS = (("#2a7f62", "solid"), ("#7b4fa3", "dashed"))  # neither blue nor red
MAX_BINS = 60
WIDTH, HEIGHT = 640, 240

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "nddv",
    "text.parse_math": False,
    "figure.constrained_layout.use": True,
    "figure.frameon": False,
    "font.size": 12,
    "axes.edgecolor": INK,
    "axes.labelcolor": FAINT,
    **dict.fromkeys(["axes.spines.left", "axes.spines.right", "axes.spines.top"], False),
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": RULE,
    **{"xtick.bottom": False, "ytick.left": False},
    **{"xtick.labelcolor": FAINT, "ytick.labelcolor": FAINT},
}


def histogram(
    values: NDArray[np.float64], flagged: NDArray[np.bool_], hint: str = "higher is better"
) -> Markup:
    """How the values are spread, the flagged rows in red."""
    lowest, highest = _span(float(values.min()), float(values.max()))
    edges = np.linspace(lowest, highest, _bin_count(values) + 1)
    title = f"Histogram of {len(values)} values, {int(flagged.sum())} of them flagged"
    return _histogram(values, flagged, edges, f"value ({hint}, 0 is the mean)", title)


def probabilities(p_wrong: NDArray[np.float64]) -> Markup:
    """How many labels are wrong with which probability; in red those above one half."""
    above = p_wrong > 0.5
    title = f"Histogram of {len(p_wrong)} probabilities, {int(above.sum())} of them above one half"
    label = "probability that the label is wrong"
    return _histogram(p_wrong, above, np.linspace(0, 1, 21), label, title)


def _histogram(
    values: NDArray[np.float64],
    flagged: NDArray[np.bool_],
    edges: NDArray[np.float64],
    label: str,
    title: str,
) -> Markup:
    """Rows by value, the flagged ones in red.

    Where one bar would dwarf the others the rows are counted on a logarithmic axis, log(1 + count).
    """
    lowest, highest = float(edges[0]), float(edges[-1])
    low, kept = (np.histogram(values[part], edges)[0] for part in (flagged, ~flagged))
    counts = low + kept
    dwarfing = counts.max() > 10 * np.median(counts[counts > 0])
    with mpl.rc_context(STYLE):
        figure, panel = _panel(WIDTH, HEIGHT, label)
        panel.set_ylabel("rows, logarithmic" if dwarfing else "rows")
        hints: dict[str, str] = {}
        for bottom, heights, colour in ((0 * low, low, RED), (low, kept, BLUE)):
            look: Any = {"align": "edge", "color": colour, "edgecolor": "white", "linewidth": 0.6}
            bars = panel.bar(edges[:-1], heights, np.diff(edges), bottom, **look)
            for bar, height, ends in zip(bars, heights, itertools.pairwise(edges), strict=True):
                name, rows = f"bar-{len(hints)}", f"{height} row{'' if height == 1 else 's'}"
                hints[name] = f"{' to '.join(map(number, ends))}: {rows}"
                bar.set(gid=name, visible=height > 0)
        if dwarfing:
            panel.set_yscale("function", functions=(np.log1p, np.expm1))
            panel.set_yticks([0, *(10**k for k in range(len(str(counts.max()))))])
        panel.set(xlim=(lowest, highest), ylim=(0, 1.05 * counts.max()))
        if lowest < 0 < highest:
            panel.axvline(0, color=INK, linewidth=1, linestyle=(0, (3, 3)))
        return _svg(figure, title, hints)


def _bin_count(values: NDArray[np.float64]) -> int:
    """As many bins as Freedman and Diaconis advise, but between 8 and `MAX_BINS`."""
    lower, upper = np.percentile(values, [25, 75])
    width = 2 * (upper - lower) / len(values) ** (1 / 3)
    span = float(np.ptp(values))
    if width <= span / MAX_BINS:
        return MAX_BINS if span > 0 else 8
    return max(8, math.ceil(span / width))


def curve(record: Mapping[str, Any]) -> Markup:
    """The predicted utility by the number of dropped rows, up to a half, and what was measured."""
    predicted = np.asarray(record["predicted"][: len(record["order"]) // 2 + 1])
    with mpl.rc_context(STYLE):
        figure, panel = _panel(WIDTH, HEIGHT, "rows dropped, the lowest first", "utility")
        panel.plot(predicted, color=BLUE, gid="line")
        panel.axvline(record["best"], color=INK, linewidth=1, linestyle=(0, (3, 3)))
        hints = {}
        for k, (count, found) in enumerate(zip(record["checked"], record["measured"], strict=True)):
            hints[f"mark-{k}"] = f"without {count} rows: {number(found)}"
            panel.plot([count], [found], "o", color=RED, gid=f"mark-{k}")
        panel.set_xlim(0, max(len(predicted) - 1, 1))
        return _svg(figure, f"Utility by dropped rows; highest at {record['best']}", hints)


def history(record: Mapping[str, Sequence[object]]) -> list[tuple[str, Markup]]:
    """One small plot for every recorded number, by epoch; (name, drawing) each.

    A record that holds several runs one after the other (folds) gives a line a run.
    """
    rows, plots = _rows(record), []
    for name in rows.columns.drop(["epoch", "run"], errors="ignore"):
        label = name.replace("_", " ")
        drawn = rows[["epoch", "run"]].assign(y=rows[name])
        with mpl.rc_context(STYLE):
            figure, panel = _panel(WIDTH // 2, 200, "epoch", label)
            panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            panel.yaxis.set_major_locator(MaxNLocator(5))
            panel.set_xlim(_span(rows["epoch"].min(), rows["epoch"].max()))
            for k, run in drawn.dropna(subset="y").groupby("run"):
                _draw_run(panel, run, *RUNS[int(k) % len(RUNS)])
            plots.append((label, _svg(figure, f"{label} by epoch")))
    return plots


def _draw_run(panel: Axes, run: pd.DataFrame, colour: str, line: Any) -> None:
    """A line (epoch, y); a single point is a dot."""
    if len(run) == 1:
        dot = pd.concat([run, run])  # a line of no length, but with round ends
        look: Any = {"linewidth": 6, "solid_capstyle": "round", "gid": "dot"}
        panel.plot(dot["epoch"], dot["y"], color=colour, **look)
        return
    panel.plot(run["epoch"], run["y"], color=colour, linestyle=line, linewidth=2, gid="line")


def run_looks(record: Mapping[str, Sequence[object]]) -> list[tuple[str, str]]:
    """Colour and line style of every run of a history; none where there is one run only."""
    runs = _rows(record)["run"].nunique()
    return [RUNS[run % len(RUNS)] for run in range(runs)] if runs > 1 else []


def _rows(record: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """What is numeric in a history, by epoch and run: where epochs start anew."""
    columns = {name: pd.Series(list(entries), dtype=object) for name, entries in record.items()}
    rows = pd.DataFrame(columns).apply(pd.to_numeric, errors="coerce")
    rows = rows.replace([np.inf, -np.inf], np.nan).dropna(axis=1, how="all")
    if "epoch" not in rows:
        rows["epoch"] = range(len(rows))
    return rows.assign(run=(rows["epoch"].diff() <= 0).cumsum())


def number(x: float) -> str:
    """A number as short as its meaning allows, with a true minus sign."""
    return f"{x:.4g}".replace("-", "−")


def _span(low: float, high: float) -> tuple[float, float]:
    """An interval that is never empty, nor too small for an axis."""
    if high - low > max(1e-12 * max(abs(low), abs(high)), 1e-250):
        return low, high
    margin = abs(low) * 0.5 or 0.5
    return low - margin, high + margin


def _panel(width: int, height: int, x_label: str, y_label: str = "") -> tuple[Figure, Axes]:
    """A figure of so many pixels with one panel."""
    figure = Figure(figsize=(width / 72, height / 72))
    panel = figure.subplots()
    panel.set(xlabel=x_label, ylabel=y_label)
    panel.patch.set_visible(False)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(lambda x, _: number(x))
    return figure, panel


def _svg(figure: Figure, title: str, hints: Mapping[str, str] | None = None) -> Markup:
    """The drawing as a part of a page: in the page's fonts, without ids and addresses.

    hints : what parts of the drawing, by their names, say when pointed at.
    """
    file = StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())
    box = root.attrib["viewBox"]
    root.attrib = {"id": "plot", "viewBox": box, "role": "img", "aria-label": title}
    said = {"plot": title, **(hints or {})}
    for node in list(root.iter()):
        node.tag = node.tag.rpartition("}")[2]  # a page knows the names of SVG
        for child in [child for child in node if child.tag.endswith(("}metadata", "}defs"))]:
            node.remove(child)
        node.attrib.pop("clip-path", None)
        name = node.attrib.pop("id", "")
        if name in said or name in ("line", "dot"):
            node.set("class", name.partition("-")[0])
        if name in said:
            node.insert(0, ElementTree.Element("title"))
            node[0].text = said[name]
    return Markup(ElementTree.tostring(root, encoding="unicode"))
