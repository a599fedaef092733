"""Titles of methods, looked up when a table or figure shows them."""

from __future__ import annotations

import pandas as pd

from nddv.audit.estimators import PERMUTATIONS, PREDICTED, REUSE, TWO_LEVEL
from nddv.evaluation.ceiling import CEILING
from nddv.methods.registry import get_method
from nddv.replay.choices import REPLAY, TERMINAL, TRACIN

CHANCE = "chance"
EVERY_METHOD = "(every method)"

OTHERS = {
    CEILING: "Ceiling: P(y|x) known",
    CHANCE: "Chance: values without information",
    f"{CHANCE}-everything": "Chance: flag every point",
    "random-order": "Random order",
    "zero": "no score: zero",
    "all": EVERY_METHOD,
    PREDICTED: "Predicted marginals",
    TWO_LEVEL: "Predicted marginals, corrected",
    PERMUTATIONS: "Permutations",
    REUSE: "Maximum sample reuse (MSR)",
    REPLAY: "Replay",
    TRACIN: "TracIn",
    TERMINAL: "Terminal score",
}
"""Of rows that are no methods."""


def title_of(name: str) -> str:
    """The title of a method; a name without an entry is its own title."""
    try:
        return OTHERS.get(name) or get_method(name).title
    except ValueError:
        return name


def with_titles(frame: pd.DataFrame, column: str = "method") -> pd.DataFrame:
    """A frame with ``title`` after the column of methods; a title that was there is replaced."""
    frame = frame.drop(columns="title", errors="ignore")
    titles = {name: title_of(name) for name in frame[column].dropna().unique()}
    frame.insert(frame.columns.get_loc(column) + 1, "title", frame[column].map(titles))
    return frame
