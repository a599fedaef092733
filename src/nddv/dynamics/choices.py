"""The names that settings of the dynamics may have. Needs the standard library only."""

from __future__ import annotations

from math import inf

CONTROLS = ("kan", "mlp", "open_loop")
SMOOTHNESS = (0.5, 1.5, 2.5, inf)
OPTIMIZERS = ("sgd", "adamw")
SCHEDULES = ("constant", "linear", "cosine")
PAIRINGS = ("exact", "literal")
REWEIGHTINGS = ("lookahead", "penalty", "none")
