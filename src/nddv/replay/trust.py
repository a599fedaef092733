"""How far the derivatives of a run can be trusted: they are held against retraining."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

Array = NDArray[np.float64]

GROUP = 0.05
"""Share of the points that a group has."""

STEP = 0.1
"""Length of the steps along which a run is to be smooth."""

LEAST_RANK, LEAST_SMOOTHNESS = 0.7, 0.7
"""Below these, advice is given."""

ADVICE = (
    "lower the learning rate, take a smoother activation (GELU or SiLU for ReLU), a larger epsilon "
    "of AdamW, or average the values of several runs"
)


@dataclass(frozen=True)
class Trust:
    """Predicted changes of the utility beside those of retraining without groups of points.

    Attributes
    ----------
    predicted, actual : (k,) changes.
    smoothness : of the run, at most 1 (metasmoothness of Engstrom et al. 2025): whether outputs go
        on in the direction in which they began to move as the weights of points move on.
    """

    predicted: Array
    actual: Array
    smoothness: float

    @property
    def spearman(self) -> float:
        """Rank correlation of predicted and actual changes; NaN where it is not defined."""
        if len(self.actual) < 3 or np.ptp(self.actual) == 0 or np.ptp(self.predicted) == 0:
            return float("nan")
        return float(spearmanr(self.predicted, self.actual).statistic)

    @property
    def ratio(self) -> float:
        """Predicted over actual changes, by least squares; 1 is right."""
        square = float(self.actual @ self.actual)
        return float(self.predicted @ self.actual) / square if square else float("nan")

    @property
    def spread(self) -> float:
        """Root mean square of predicted − actual, over that of actual."""
        scale = float(np.sqrt(np.square(self.actual).mean()))
        error = float(np.sqrt(np.square(self.predicted - self.actual).mean()))
        return error / scale if scale else float("nan")

    @property
    def good(self) -> bool:
        """Whether ranks and smoothness are as they should be."""
        return self.spearman >= LEAST_RANK and self.smoothness >= LEAST_SMOOTHNESS

    def __str__(self) -> str:
        line = (
            f"retrained without {len(self.actual)} groups of points: Spearman "
            f"{self.spearman:.2f}, predicted/actual {self.ratio:.2f} ± {self.spread:.2f}; "
            f"smoothness {self.smoothness:.2f}"
        )
        return line if self.good else f"{line}. Trust these values little: {ADVICE}"

    def as_record(self) -> dict[str, float | bool | str]:
        """For the record of values."""
        names = ("spearman", "ratio", "spread", "smoothness")
        numbers = {name: round(float(getattr(self, name)), 4) for name in names}
        return {**numbers, "groups": len(self.actual), "good": self.good, "line": str(self)}


def random_groups(n: int, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Groups (count, n) of a twentieth of the points, at least one."""
    size = max(1, round(GROUP * n))
    return np.argsort(rng.random((count, n)), axis=1) < size


def smoothness(outputs: Callable[[Array], Array], n: int, rng: np.random.Generator) -> float:
    """Metasmoothness of the outputs (m,) of training with weights (n,).

    Two steps in a random direction of the weights: of the changes that the first makes, the share
    by length that the second goes on with, minus the share that it turns back.
    """
    direction = rng.random(n)
    at = [outputs(1.0 - step * STEP * direction) for step in range(3)]
    first, second = at[1] - at[0], at[2] - at[1]
    total = float(np.abs(first).sum())
    return float((np.abs(first) * np.sign(first) * np.sign(second)).sum()) / total if total else 1.0
