"""The names that settings of a training run may have. Needs the standard library only."""

from __future__ import annotations

OPTIMIZERS = ("sgd", "adamw")
SCHEDULES = ("constant", "linear", "cosine")
