"""A small picture of a few numbers: a row per label, a dot per series, its spread as a line.

It is laid out here as places in percent and drawn by the page, so that it follows the width of the
screen, light or dark, and has letters that can be read and searched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from nddv.reporting.numbers import short, with_spread

STEP = 0.25  # of the marks on an axis of shares and correlations
MOST_TEXTS = 5  # powers of ten that have room for a text each


@dataclass(frozen=True)
class Dots:
    """What a picture shows.

    Attributes
    ----------
    points : ``label``, ``series``, ``value``, and perhaps ``sd``; what has no value is left out.
    axis : what the values are.
    log : whether the axis is logarithmic; otherwise it holds shares or correlations, up to 1.
    """

    points: pd.DataFrame
    axis: str
    log: bool = False


@dataclass(frozen=True)
class Dot:
    """A dot and the line of its spread, from ``low`` to ``low + width``, in percent of the axis."""

    series: int
    place: float
    low: float
    width: float
    text: str


@dataclass(frozen=True)
class Picture:
    """Dots at their places; ``ticks`` are places and texts below them."""

    axis: str
    series: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Dot, ...]], ...]
    ticks: tuple[tuple[float, str], ...]


def lay_out_dots(dots: Dots) -> Picture:
    """The places of everything."""
    points = dots.points[dots.points["value"].notna()].reset_index(drop=True)
    sds = points["sd"].fillna(0.0) if "sd" in points else pd.Series(0.0, index=points.index)
    ends = pd.concat([points["value"] - sds, points["value"] + sds])
    if dots.log:  # a spread as large as its number has no lower end there
        ends = pd.concat([ends[ends > 0], points["value"]])
    ticks = _powers(ends) if dots.log else _steps(ends)
    low, high = ticks[0], ticks[-1]

    def place(value: float) -> float:
        if dots.log:
            value, start, end = (math.log10(max(v, low)) for v in (value, low, high))
        else:
            start, end = low, high
        return round(100 * min(max((value - start) / (end - start), 0.0), 1.0), 2)

    names = list(dict.fromkeys(points["series"]))
    rows: dict[str, list[Dot]] = {}
    for label, series, value, sd in zip(
        points["label"], points["series"], points["value"], sds, strict=True
    ):
        left, right = place(value - sd), place(value + sd)
        text = f"{series}: {with_spread(value, sd) if sd else short(value)}"
        dot = Dot(names.index(series), place(value), left, round(right - left, 2), text)
        rows.setdefault(label, []).append(dot)
    placed = tuple((label, tuple(of_row)) for label, of_row in rows.items())
    texts = _texts_of_powers(ticks) if dots.log else map(_text_of_step, ticks)
    marks = tuple(zip(map(place, ticks), texts, strict=True))
    return Picture(dots.axis, tuple(names), placed, marks)


def _steps(ends: pd.Series) -> Sequence[float]:
    """From 0, or a step below the smallest number, to 1, or a step above the largest."""
    first = min(math.floor(ends.min() / STEP), 0)
    last = max(math.ceil(ends.max() / STEP), round(1 / STEP))
    return [STEP * k for k in range(first, last + 1)]


def _powers(ends: pd.Series) -> Sequence[float]:
    """Powers of ten around positive numbers."""
    first = math.floor(math.log10(ends.min()))
    last = max(math.ceil(math.log10(ends.max())), first + 1)
    return [10.0**k for k in range(first, last + 1)]


def _texts_of_powers(ticks: Sequence[float]) -> list[str]:
    """``0.1``, or nothing at every second of many powers, which would be too dense."""
    every = 1 if len(ticks) <= MOST_TEXTS else 2
    return ["" if index % every else f"{tick:,.6g}" for index, tick in enumerate(ticks)]


def _text_of_step(value: float) -> str:
    """``0.5``; nothing at odd quarters, which would be too dense."""
    odd = abs(value) < 1 and round(value / STEP) % 2
    return "" if odd else f"{value:,.6g}"
