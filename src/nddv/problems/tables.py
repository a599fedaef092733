"""A whole data set as numbers: the result of sources and encoders, the start of problems."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.support.files import atomic_write, load_arrays, save_arrays


@dataclass(frozen=True)
class Table:
    """A data set before splitting.

    Attributes
    ----------
    X : (rows, d) floats of any width; may be memory-mapped.
    y : (rows,) int64 classes 0..C−1, or float64 targets of a regression.
    classes : their C names; none in a regression.
    group : (rows,) int64 codes of the group attribute, such as sex, or None.
    groups : the names of these codes.
    name : of the data set, with its encoder: ``"2dplanes"``, ``"bbc@minilm"``.
    record : source, encoder, checksums. JSON-able.
    """

    X: NDArray[np.floating[Any]]
    y: NDArray[Any]
    classes: list[str]
    group: NDArray[np.int64] | None = None
    groups: list[str] = field(default_factory=list)
    name: str = "table"
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """Targets with classes are a classification, without a regression."""
        return "classification" if self.classes else "regression"


def save_table(folder: str | Path, table: Table) -> None:
    """Write ``features.npy``, which can be memory-mapped, and ``labels.npz`` into a folder."""
    group = {} if table.group is None else {"group": table.group}
    with atomic_write(Path(folder, "features.npy")) as temporary:
        np.save(temporary, table.X)
    about = {key: getattr(table, key) for key in ("name", "classes", "groups", "record")}
    description = np.array(json.dumps(about, sort_keys=True))
    save_arrays(Path(folder, "labels.npz"), y=table.y, **group, description=description)


def load_table(folder: str | Path) -> Table:
    """Read what :func:`save_table` wrote; the features stay on disk until they are used."""
    folder = Path(folder)
    arrays = load_arrays(folder / "labels.npz")
    try:
        X = np.load(folder / "features.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(
            f"{folder / 'features.npy'} cannot be read ({error}); delete it and run again"
        ) from error
    if len(X) != len(arrays["y"]):
        raise ValueError(f"{folder}: {len(X)} rows of features for {len(arrays['y'])} labels")
    description = json.loads(str(arrays["description"]))
    return Table(X, arrays["y"], group=arrays.get("group"), **description)
