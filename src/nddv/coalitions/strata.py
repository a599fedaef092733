"""Coalitions by their size: octaves, and draws from the law of a semi-value within each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nddv.laws import Law

NEGLIGIBLE = 1e-12
"""An octave that a law visits with a smaller probability is left out."""


@dataclass(frozen=True)
class Stratum:
    """The coalitions of n points whose sizes are in one octave."""

    n: int
    sizes: NDArray[np.intp]  # (s,)
    weight: float  # probability of the octave under the law
    shares: NDArray[np.float64]  # (s,) probabilities of the sizes, given the octave

    @property
    def single(self) -> bool:
        """Whether there is only one coalition: no point, or all."""
        return len(self.sizes) == 1 and self.sizes[0] in (0, self.n)

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Members (count, n) of independent coalitions."""
        sizes = rng.choice(self.sizes, size=count, p=self.shares)
        ranks = rng.permuted(np.broadcast_to(np.arange(self.n), (count, self.n)), axis=1)
        return ranks < sizes[:, None]


def octaves(law: Law, n: int, factor: int = 2, least: float = 0.0) -> list[Stratum]:
    """Sizes 0, 1, 2–3, 4–7, … below n, and n, with their weights under a law.

    factor : by which the sizes grow from one stratum to the next.
    least : weight of a stratum, below which it joins the next one (never 0 or n).
    """
    probabilities = law.sizes(n)
    steps = int(np.log(max(n, 2)) / np.log(factor)) + 2
    starts = [0, *(factor**k for k in range(steps) if factor**k < n), n]
    strata, waiting = [], np.arange(0)
    for first, last in zip(starts, [*starts[1:], n + 1], strict=True):
        sizes = np.concatenate([waiting, np.arange(first, last)])
        weight = float(probabilities[sizes].sum())
        if weight < least and first > 0 and last < n:
            waiting = sizes
            continue
        waiting = np.arange(0)
        if weight > NEGLIGIBLE:
            strata.append(Stratum(n, sizes, weight, probabilities[sizes] / weight))
    return strata
