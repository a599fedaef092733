"""The names that settings of a training run may have. Needs the standard library only."""

from __future__ import annotations

OPTIMIZERS = ("sgd", "adamw")
SCHEDULES = ("constant", "linear", "cosine")

LEVELS = 4
"""Levels of participation of a semi-value whose law has a density; eight rank no better."""
