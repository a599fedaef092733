"""Features of users, as checks of whole tables read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from nddv.estimator.validation import check_features
from nddv.support.stored import StoredRows
from nddv.support.wording import InputError
from nddv.tabular.files import FileTable

LARGEST = 200_000_000  # entries that are held in memory: 1.6 GB


def as_table(frame: pd.DataFrame, name: str) -> FileTable:
    """A frame as the encoding of columns reads it; `name` stands for it in errors."""
    return FileTable(Path(name), frame.rename(columns=str).reset_index(drop=True), text=False)


def small_enough(X: Any) -> bool:
    """Whether features (n, d) fit in memory as checks of whole tables need them."""
    return bool(np.prod(X.shape, dtype=float) <= LARGEST) if hasattr(X, "shape") else True


def dense_rows(X: Any, least: int, purpose: str) -> NDArray[np.float64]:
    """Finite features (n, d) in memory, of at least so many rows; sparse ones are filled in."""
    checked = check_features(X, "X")
    n, d = checked.shape
    if n < least:
        raise InputError(f"X has {n} rows: {purpose} needs at least {least}")
    if n * d > LARGEST:
        raise InputError(
            f"X has {n} × {d} entries, and {purpose} holds at most {LARGEST:,} in memory: "
            "check a part of the rows"
        )
    if sparse.issparse(checked):
        checked = checked.toarray()
    elif isinstance(checked, StoredRows):
        checked = checked[:]
    return np.asarray(checked, dtype=np.float64)
