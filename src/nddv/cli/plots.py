"""Plots as SVG for the HTML page: small, sharp in print, and with text for a screen reader."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

INK, FAINT, RULE = "#1c2430", "#667085", "#d9dee7"
BLUE, RED = "#4c78a8", "#d1603d"
RUNS = (("#2a7f62", ""), ("#7b4fa3", "6 3"))  # colour and dashes, neither blue nor red
MAX_BINS = 60
WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 44


@dataclass(frozen=True)
class Axes:
    """A rectangle of the drawing and the numbers that it spans."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = WIDTH
    height: int = HEIGHT

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point in the drawing."""
        inner_width, inner_height = self.width - LEFT - RIGHT, self.height - TOP - BOTTOM
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return round(LEFT + across * inner_width, 2), round(TOP + (1 - up) * inner_height, 2)

    def frame(
        self,
        x_label: str,
        y_label: str,
        title: str,
        body: Sequence[str],
        y_ticks: Sequence[tuple[float, float]] | None = None,
    ) -> Markup:
        """The drawing: grid, numbers and labels of both axes, and the body on top.

        y_ticks : (place, number to show) each; by default round numbers at their own places.
        """
        if y_ticks is None:
            y_ticks = [(tick, tick) for tick in ticks(*self.y, count=4)]
        parts = [
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" '
            f'font-size="12" fill="{FAINT}" aria-label="{escape(title)}">'
            f"<title>{escape(title)}</title>"
        ]
        for tick in ticks(*self.x):
            x, y = self.at(tick, self.y[0])
            parts.append(f'<text x="{x}" y="{y + 16}" text-anchor="middle">{number(tick)}</text>')
        for place, tick in y_ticks:
            x, y = self.at(self.x[0], place)
            parts.append(f'<path stroke="{RULE}" d="M{x} {y}H{self.width - RIGHT}"/>')
            parts.append(f'<text x="{x - 6}" y="{y + 4}" text-anchor="end">{number(tick)}</text>')
        parts.extend(body)
        bottom = self.height - BOTTOM
        parts.append(f'<path stroke="{INK}" d="M{LEFT} {bottom}H{self.width - RIGHT}"/>')
        middle_x, middle_y = (LEFT + self.width - RIGHT) / 2, (TOP + bottom) / 2
        parts.append(
            f'<text x="{middle_x}" y="{self.height - 8}" text-anchor="middle">'
            f"{escape(x_label)}</text>"
            f'<text x="14" y="{middle_y}" text-anchor="middle" '
            f'transform="rotate(-90 14 {middle_y})">{escape(y_label)}</text></svg>'
        )
        return Markup("".join(parts))  # every text in it was escaped above


def histogram(
    values: NDArray[np.float64], flagged: NDArray[np.bool_], hint: str = "higher is better"
) -> Markup:
    """How the values are spread, the flagged rows in red.

    Where one bar would dwarf the others the rows are counted on a logarithmic axis, log(1 + count).
    """
    lowest, highest = _span(float(values.min()), float(values.max()))
    edges = np.linspace(lowest, highest, _bin_count(values) + 1)
    kept = np.histogram(values[~flagged], edges)[0]
    low = np.histogram(values[flagged], edges)[0]
    counts = kept + low
    dwarfing = counts.max() > 10 * np.median(counts[counts > 0])
    height: Callable[[float], float] = math.log1p if dwarfing else float
    axes = Axes((lowest, highest), (0.0, 1.05 * height(counts.max())))
    body = []
    for left, right, first, both in zip(edges, edges[1:], low, counts, strict=False):
        body.append(_bar(axes, (left, right), (0.0, height(first)), int(first), RED))
        body.append(
            _bar(axes, (left, right), (height(first), height(both)), int(both - first), BLUE)
        )
    if lowest < 0 < highest:
        x, bottom = axes.at(0.0, 0.0)
        body.append(f'<path stroke="{INK}" stroke-dasharray="3 3" d="M{x} {bottom}V{TOP}"/>')
    title = f"Histogram of {len(values)} values, {int(flagged.sum())} of them flagged"
    return axes.frame(
        f"value ({hint}, 0 is the mean)",
        "rows, logarithmic" if dwarfing else "rows",
        title,
        body,
        _log_ticks(int(counts.max())) if dwarfing else None,
    )


def _bin_count(values: NDArray[np.float64]) -> int:
    """As many bins as Freedman and Diaconis advise, but between 8 and `MAX_BINS`."""
    lower, upper = np.percentile(values, [25, 75])
    width = 2 * (upper - lower) / len(values) ** (1 / 3)
    span = float(np.ptp(values))
    if width <= span / MAX_BINS:
        return MAX_BINS if span > 0 else 8
    return max(8, math.ceil(span / width))


def _log_ticks(highest: int) -> list[tuple[float, float]]:
    """0 and the powers of ten up to `highest`, at their places log(1 + count)."""
    counts = [0, *(10**k for k in range(len(str(highest))))]
    return [(math.log1p(c), float(c)) for c in counts]


def _bar(
    axes: Axes, x: tuple[float, float], y: tuple[float, float], count: int, colour: str
) -> str:
    if count == 0:
        return ""
    x0, y0 = axes.at(x[0], y[1])
    x1, y1 = axes.at(x[1], y[0])
    text = f"{number(x[0])} to {number(x[1])}: {count} row{'' if count == 1 else 's'}"
    return (
        f'<rect fill="{colour}" x="{x0}" y="{y0}" width="{max(x1 - x0 - 0.6, 0.4):.2f}" '
        f'height="{y1 - y0:.2f}"><title>{text}</title></rect>'
    )


def history(record: Mapping[str, Sequence[object]]) -> list[tuple[str, Markup]]:
    """One small plot for every recorded number, by epoch; (name, drawing) each.

    A record that holds several runs one after the other (folds) gives a line a run. `meta_error`,
    the standard error of the meta score that chooses the epoch (the accuracy where there is one),
    becomes a band about that score.
    """
    epochs = _epochs(record)
    plots = []
    for name in _curves(record):
        series = np.asarray(record[name], dtype=np.float64)
        error = np.zeros_like(series)
        if name == _with_band(record):
            error = np.asarray(record["meta_error"], dtype=np.float64)
        ends = np.concatenate([series - error, series + error])
        finite = ends[np.isfinite(ends)]
        if len(series) != len(epochs) or not finite.size:
            continue
        axes = Axes(
            _span(float(epochs.min()), float(epochs.max())),
            _span(float(finite.min()), float(finite.max())),
            width=WIDTH // 2,
            height=200,
        )
        body = [
            mark
            for run, part in enumerate(_runs(epochs))
            for mark in (
                _band(axes, epochs[part], series[part], error[part], run),
                _line(axes, epochs[part], series[part], run),
            )
        ]
        label = name.replace("_", " ")
        plots.append((label, axes.frame("epoch", label, f"{label} by epoch", body)))
    return plots


def history_legend(record: Mapping[str, Sequence[object]]) -> Markup:
    """What the lines of `history` stand for; empty where there is one run and no band."""
    if not _curves(record):
        return Markup("")
    runs = _runs(_epochs(record))
    parts = []
    for run in range(len(runs) if len(runs) > 1 else 0):
        sample = (
            '<svg viewBox="0 0 36 12" aria-hidden="true">' + _stroke("0,6 36,6", run) + "</svg>"
        )
        parts.append(f'<span class="legend">{sample}run {run + 1} of {len(runs)}</span>')
    banded = _with_band(record)
    if banded is not None:
        parts.append(f"band: {escape(banded.replace('_', ' '))} ± one standard error")
    return Markup(" ".join(parts))  # the only foreign text in it was escaped above


def _curves(record: Mapping[str, Sequence[object]]) -> list[str]:
    """The names of what is drawn as a curve."""
    skipped = {"epoch", "fold", "meta_error"}
    return [n for n in record if n not in skipped and _is_numeric(record[n])]


def _with_band(record: Mapping[str, Sequence[object]]) -> str | None:
    """The name of the meta score that `meta_error` belongs to."""
    if "meta_error" not in record or not _is_numeric(record["meta_error"]):
        return None
    return next((n for n in ("meta_accuracy", "meta_loss") if n in _curves(record)), None)


def _epochs(record: Mapping[str, Sequence[object]]) -> NDArray[np.float64]:
    length = max((len(record[n]) for n in _curves(record)), default=0)
    return np.asarray(record.get("epoch", range(length)), dtype=np.float64)


def _runs(epochs: NDArray[np.float64]) -> list[slice]:
    """The parts of a history that are runs of their own: epochs start anew."""
    starts = [0, *(int(k) + 1 for k in np.flatnonzero(np.diff(epochs) <= 0)), len(epochs)]
    return [slice(a, b) for a, b in itertools.pairwise(starts)]


def _line(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], run: int) -> str:
    points = [axes.at(float(a), float(b)) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
    if len(points) == 1:
        colour = RUNS[run % len(RUNS)][0]
        return f'<circle fill="{colour}" cx="{points[0][0]}" cy="{points[0][1]}" r="3"/>'
    return _stroke(" ".join(f"{a},{b}" for a, b in points), run)


def _stroke(points: str, run: int) -> str:
    colour, dashes = RUNS[run % len(RUNS)]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dashed} points="{points}"/>'


def _band(
    axes: Axes,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    error: NDArray[np.float64],
    run: int,
) -> str:
    known = np.isfinite(y) & np.isfinite(error)
    if known.sum() < 2 or not error[known].any():
        return ""
    across = np.concatenate([x[known], x[known][::-1]])
    along = np.concatenate([(y - error)[known], (y + error)[known][::-1]])
    places = [axes.at(float(a), float(b)) for a, b in zip(across, along, strict=True)]
    points = " ".join(f"{a},{b}" for a, b in places)
    return f'<polygon fill="{RUNS[run % len(RUNS)][0]}" fill-opacity="0.15" points="{points}"/>'


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Round numbers within [low, high], about `count` of them."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def number(x: float) -> str:
    """A number as short as its meaning allows, with a true minus sign."""
    return f"{x:.4g}".replace("-", "−")


def _span(low: float, high: float) -> tuple[float, float]:
    """An interval that is never empty."""
    if high > low:
        return low, high
    margin = abs(low) * 0.5 or 0.5
    return low - margin, high + margin


def _is_numeric(series: Sequence[object]) -> bool:
    try:
        return np.asarray(series, dtype=np.float64).ndim == 1 and len(series) > 0
    except (TypeError, ValueError):
        return False
