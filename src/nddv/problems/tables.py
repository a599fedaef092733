"""A whole data set as numbers: what sources and encoders end in, and problems start from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """A data set before splitting.

    Attributes
    ----------
    X : (rows, d) floats of any width; may be memory-mapped.
    y : (rows,) int64 classes 0..C−1.
    classes : their C names.
    group : (rows,) int64 codes of the group attribute, such as sex, or None where there is none.
    groups : the names of these codes.
    name : of the data set, with its encoder: ``"2dplanes"``, ``"bbc@minilm"``.
    record : source, encoder, checksums. JSON-able.
    """

    X: NDArray[np.floating[Any]]
    y: NDArray[np.int64]
    classes: list[str]
    group: NDArray[np.int64] | None = None
    groups: list[str] = field(default_factory=list)
    name: str = "table"
    record: dict[str, Any] = field(default_factory=dict)
