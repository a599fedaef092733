"""Random values: what any method must beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_values(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw n independent standard normal values, shape (n,)."""
    return rng.standard_normal(n)
