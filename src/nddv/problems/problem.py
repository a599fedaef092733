"""A problem, the truth about it, and their files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.problems.addresses import KINDS
from nddv.problems.sizes import PARTS
from nddv.support.files import load_arrays, save_arrays


@dataclass(frozen=True)
class Problem:
    """What every method sees: training data to value, and the other parts.

    Attributes
    ----------
    X_train : (n, d) float32, standardised, possibly corrupted. ``X_valid``, ``X_test``, ``X_meta``
        are standardised too, with the mean and spread of the clean training part.
    y_train : (n,) int64 classes 0..C−1, or float64 targets of a regression; possibly corrupted.
    record : address, source, task, classes (none in a regression) and sizes; ``valid`` says whether
        the validation part is ``"clean"`` or ``"corrupted"``. Test and meta parts are always clean.
        JSON-able.
    """

    X_train: NDArray[np.float32]
    y_train: NDArray[Any]
    X_valid: NDArray[np.float32]
    y_valid: NDArray[Any]
    X_test: NDArray[np.float32]
    y_test: NDArray[Any]
    X_meta: NDArray[np.float32]
    y_meta: NDArray[Any]
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        width = self.X_train.shape[1:]
        for part in PARTS:
            X, y = getattr(self, f"X_{part}"), getattr(self, f"y_{part}")
            if X.ndim != 2 or X.shape[1:] != width or y.shape != X.shape[:1]:
                raise ValueError(
                    f"the {part} part has shapes {X.shape} and {y.shape}, "
                    f"but the training data have {width} features"
                )


@dataclass(frozen=True)
class Truth:
    """What no method sees: which training points were corrupted, and how.

    Attributes
    ----------
    kinds : (n,) int8, the corruption of each training point, as its position in
        ``record["kinds"]``: 0 clean, 1 label, 2 feature, 3 gauss, 4 target.
    y_clean : (n,) int64 or float64, the labels or targets before corruption.
    rows_train : (n,) int64, the row of the data set of each training point.
    group : (n,) int64 codes of the group attribute, named by ``record["groups"]``, or None.
    record : names of the codes, rates, and how many points were corrupted by each kind. JSON-able.
    """

    kinds: NDArray[np.int8]
    y_clean: NDArray[Any]
    rows_train: NDArray[np.int64]
    group: NDArray[np.int64] | None = None
    record: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("kinds", "y_clean", "rows_train", "group"):
            array = getattr(self, name)
            if array is not None and array.shape != self.kinds.shape:
                raise ValueError(
                    f"{name} has shape {array.shape}, but there are {len(self.kinds)} kinds"
                )

    @property
    def mask(self) -> NDArray[np.bool_]:
        """(n,) bool, True where the training point was corrupted."""
        return self.kinds != KINDS.index("clean")


def save_problem(path: str | Path, problem: Problem) -> None:
    """Write a problem to an ``.npz`` file."""
    _save(path, problem)


def load_problem(path: str | Path) -> Problem:
    """Read a problem written by :func:`save_problem`."""
    return Problem(**_load(path, Problem))


def save_truth(path: str | Path, truth: Truth) -> None:
    """Write the truth about a problem to an ``.npz`` file, which methods do not read."""
    _save(path, truth)


def load_truth(path: str | Path) -> Truth:
    """Read the truth written by :func:`save_truth`."""
    return Truth(**_load(path, Truth))


def _save(path: str | Path, content: Problem | Truth) -> None:
    """Write the arrays of a data class that are not None, and its record as JSON."""
    values = {field.name: getattr(content, field.name) for field in fields(content)}
    values["record"] = np.array(json.dumps(content.record, sort_keys=True))
    save_arrays(path, **{name: value for name, value in values.items() if value is not None})


def _load(path: str | Path, kind: type[Problem] | type[Truth]) -> dict[str, Any]:
    """Read the fields of a data class; only those whose default is None may be absent."""
    arrays: dict[str, Any] = load_arrays(path)
    required = {field.name for field in fields(kind) if field.default is not None}
    missing = sorted(required - set(arrays))
    if missing:
        raise ValueError(f"{path} lacks {', '.join(missing)}: it was written by something else")
    stored = {field.name: arrays[field.name] for field in fields(kind) if field.name in arrays}
    return {**stored, "record": json.loads(str(stored["record"]))}
