"""The problem type, its address, and how it is stored."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.files import load_arrays, save_arrays
from nddv.problems.corruption import Corruption, parse_corruption

PARTS = ("train", "valid", "test", "meta")


@dataclass(frozen=True)
class Problem:
    """What every method is given: training data to value, and the same clean side data for all.

    Attributes
    ----------
    X_train : (n, d) float32, standardised. ``X_valid``, ``X_test``, ``X_meta`` likewise, by the
        mean and spread of the training part.
    y_train : (n,) int64 classes 0..C−1, possibly corrupted; the other parts are clean.
    record : address, source, task, classes and sizes. JSON-able.
    """

    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X_valid: NDArray[np.float32]
    y_valid: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    X_meta: NDArray[np.float32]
    y_meta: NDArray[np.int64]
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


def address(dataset: str, n: int, corruption: str, seed: int) -> str:
    """Name a problem as files, tables and logs do: ``{dataset}/n{n}/{corruption}/seed{seed}``."""
    parse_corruption(corruption)
    return f"{dataset}/n{n}/{corruption}/seed{seed}"


def save_problem(path: str | Path, problem: Problem) -> None:
    """Write a problem to an ``.npz`` file."""
    arrays = {
        f"{name}_{part}": getattr(problem, f"{name}_{part}") for part in PARTS for name in "Xy"
    }
    save_arrays(path, **arrays, record=_as_text(problem.record))


def load_problem(path: str | Path) -> Problem:
    """Read a problem written by :func:`save_problem`."""
    arrays = _load(path, {f"{name}_{part}" for part in PARTS for name in "Xy"})
    return Problem(record=_from_text(arrays.pop("record")), **arrays)


def save_corruption(path: str | Path, corruption: Corruption) -> None:
    """Write the truth about a problem to an ``.npz`` file."""
    record = _as_text(corruption.record)
    save_arrays(path, mask=corruption.mask, y_clean=corruption.y_clean, record=record)


def load_corruption(path: str | Path) -> Corruption:
    """Read a corruption written by :func:`save_corruption`."""
    arrays = _load(path, {"mask", "y_clean"})
    return Corruption(record=_from_text(arrays.pop("record")), **arrays)


def _load(path: str | Path, names: set[str]) -> dict[str, Any]:
    arrays = load_arrays(path)
    missing = sorted((names | {"record"}) - set(arrays))
    if missing:
        raise ValueError(f"{path} lacks {', '.join(missing)}: it was written by something else")
    return {name: arrays[name] for name in names | {"record"}}


def _as_text(record: dict[str, Any]) -> NDArray[np.str_]:
    return np.array(json.dumps(record, sort_keys=True))


def _from_text(array: NDArray[np.str_]) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(str(array))
    return record
