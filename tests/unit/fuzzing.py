"""For tests of fuzzed inputs: how many there are."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

SHARE = 5


def fuzzed(number: int) -> dict[str, Any]:
    """Settings for that many inputs; where they are the same in every run, for a fifth of them.

    What one run accepts, the next accepts: more inputs find more only where they are others, with
    pytest --hypothesis-profile=random.
    """
    same = settings.default.derandomize
    return {
        "max_examples": number // SHARE if same else number,
        "suppress_health_check": list(HealthCheck),
    }
