"""The names that the audits go by. Needs the standard library only."""

from __future__ import annotations

PARTICIPATION = "nddv-participation"
"""The readout whose gaps stratify the pairs, and that leave-one-out retraining checks."""
