"""The names that settings and scores of a training run have. Needs the standard library only."""

from __future__ import annotations

OPTIMIZERS = ("sgd", "adamw")
SCHEDULES = ("constant", "linear", "cosine")

LEVELS = 4
"""Levels of participation of a semi-value whose law has a density; eight rank no better."""

REPLAY, TRACIN, TERMINAL = "replay", "tracin", "terminal-pairing"
"""Scores of a training run."""
