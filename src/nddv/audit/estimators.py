"""Names of the estimators of semi-values that are compared at equal time."""

from __future__ import annotations

PREDICTED, TWO_LEVEL = "predicted-marginals", "two-level-marginals"
PERMUTATIONS, REUSE = "permutations", "sample-reuse"

ESTIMATORS = (PREDICTED, TWO_LEVEL, PERMUTATIONS, REUSE)
"""Those that sample."""

PUBLISHED = (PERMUTATIONS, REUSE)
"""The usual ways: each semi-value has one of them."""

CERTIFYING = (TWO_LEVEL, PERMUTATIONS)
"""Those that are unbiased and have intervals for the gap of two points."""

TARGET = 0.99
"""The squared correlation with the exact values whose price in seconds is asked."""
