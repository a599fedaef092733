"""The names that settings of the dynamics may have. Needs the standard library only."""

from __future__ import annotations

from math import inf

INPUTS = ("plain", "encoded")
CONTROLS = ("kan", "mlp", "open_loop")
SMOOTHNESS = (0.5, 1.5, 2.5, inf)
PAIRINGS = ("exact", "literal")
LEARNED_WEIGHTS = ("lookahead", "penalty")
REWEIGHTINGS = ("self", *LEARNED_WEIGHTS, "none")
