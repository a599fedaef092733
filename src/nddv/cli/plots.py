"""Plots as SVG for the HTML page: small, sharp in print, and with text for a screen reader."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

INK, FAINT, RULE = "#1c2430", "#667085", "#d9dee7"
BLUE, RED = "#4c78a8", "#d1603d"
RUNS = (BLUE, RED)
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

    def frame(self, x_label: str, y_label: str, title: str, body: Sequence[str]) -> Markup:
        """The drawing: grid, numbers and labels of both axes, and the body on top."""
        parts = [
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" '
            f'font-size="12" fill="{FAINT}" aria-label="{escape(title)}">'
            f"<title>{escape(title)}</title>"
        ]
        for tick in ticks(*self.x):
            x, y = self.at(tick, self.y[0])
            parts.append(f'<text x="{x}" y="{y + 16}" text-anchor="middle">{number(tick)}</text>')
        for tick in ticks(*self.y, count=4):
            x, y = self.at(self.x[0], tick)
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


def histogram(values: NDArray[np.float64], flagged: NDArray[np.bool_]) -> Markup:
    """How the values are spread, the flagged rows in red."""
    lowest, highest = _span(float(values.min()), float(values.max()))
    bins = int(np.clip(2 * len(values) ** (1 / 3), 8, 60))
    edges = np.linspace(lowest, highest, bins + 1)
    kept = np.histogram(values[~flagged], edges)[0]
    low = np.histogram(values[flagged], edges)[0]
    axes = Axes((lowest, highest), (0.0, 1.05 * float((kept + low).max())))
    body = []
    for left, right, first, second in zip(edges, edges[1:], low, kept, strict=False):
        body.append(_bar(axes, left, right, 0, int(first), RED))
        body.append(_bar(axes, left, right, int(first), int(first + second), BLUE))
    if lowest < 0 < highest:
        x, bottom = axes.at(0.0, 0.0)
        body.append(f'<path stroke="{INK}" stroke-dasharray="3 3" d="M{x} {bottom}V{TOP}"/>')
    title = f"Histogram of {len(values)} values, {int(flagged.sum())} of them flagged"
    return axes.frame("value (higher is better, 0 is the mean)", "rows", title, body)


def _bar(axes: Axes, left: float, right: float, low: float, high: float, colour: str) -> str:
    if high <= low:
        return ""
    x0, y0 = axes.at(left, high)
    x1, y1 = axes.at(right, low)
    text = f"{number(left)} to {number(right)}: {int(high - low)} rows"
    return (
        f'<rect fill="{colour}" x="{x0}" y="{y0}" width="{max(x1 - x0 - 0.6, 0.4):.2f}" '
        f'height="{y1 - y0:.2f}"><title>{text}</title></rect>'
    )


def history(record: Mapping[str, Sequence[object]]) -> list[tuple[str, Markup]]:
    """One small plot for every recorded number, by epoch; (name, drawing) each.

    A record that holds several runs one after the other (folds) gives a line a run.
    """
    names = [n for n in record if n not in {"epoch", "fold"} and _is_numeric(record[n])]
    if not names:
        return []
    epochs = np.asarray(record.get("epoch", range(len(record[names[0]]))), dtype=np.float64)
    starts = [0, *(np.flatnonzero(np.diff(epochs) <= 0) + 1), len(epochs)]
    plots = []
    for name in names:
        series = np.asarray(record[name], dtype=np.float64)
        finite = series[np.isfinite(series)]
        if len(series) != len(epochs) or not finite.size:
            continue
        axes = Axes(
            _span(float(epochs.min()), float(epochs.max())),
            _span(float(finite.min()), float(finite.max())),
            width=WIDTH // 2,
            height=200,
        )
        body = [
            _line(axes, epochs[a:b], series[a:b], run)
            for run, (a, b) in enumerate(itertools.pairwise(starts))
        ]
        label = name.replace("_", " ")
        plots.append((label, axes.frame("epoch", label, f"{label} by epoch", body)))
    return plots


def _line(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], run: int) -> str:
    colour = RUNS[run % len(RUNS)]
    points = [axes.at(float(a), float(b)) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
    if len(points) == 1:
        return f'<circle fill="{colour}" cx="{points[0][0]}" cy="{points[0][1]}" r="3"/>'
    path = " ".join(f"{a},{b}" for a, b in points)
    return f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>'


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
