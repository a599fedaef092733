"""Checks of what users hand in. Every error names the place and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from nddv.laws import find_law
from nddv.support.stored import StoredRows
from nddv.support.wording import InputError, one_line, shown

MINIMUM_ROWS = 10
PIECE = 16384  # rows that are looked at together
FARTHEST = 1e12  # standard deviations of y that other targets may lie away


class NotNumeric(ValueError, TypeError):
    """An entry of the features is no number; numpy and scikit-learn raise a TypeError for some."""


def check_features(x: Any, name: str, columns: list[str] | None = None) -> Any:
    """A finite (n, d) matrix: float32 or float64 numpy, scipy CSR, or rows on disk.

    What is one of these already is not copied.

    columns: names that a table must have, in order (those it was fitted on).
    """
    names = column_names(x)
    if columns is not None and names is not None and names != columns:
        raise ValueError(
            f"{name} has the columns {_short(names)}, but X has {_short(columns)}: "
            "give the same columns in the same order"
        )
    if isinstance(x, pd.DataFrame):
        x = _frame_to_array(x, name)
    elif np.ma.isMaskedArray(x):
        x = np.ma.filled(x.astype(np.float64), np.nan)
    if sparse.issparse(x):
        x = x.tocsr()
        if x.dtype.kind not in "fiub":
            raise ValueError(f"{name} is a sparse matrix of dtype {x.dtype}: make it numeric")
        x = x.astype(_precision(x.dtype), copy=False)
        values = x.data
    else:
        x = x if isinstance(x, StoredRows) else _dense(x, name)
        values = x
    if x.shape[1] == 0:
        raise ValueError(
            f"{name} has 0 feature(s) (shape={x.shape}) while a minimum of 1 is required."
        )
    pieces = (slice(i, i + PIECE) for i in range(0, len(values), PIECE))
    bad = next((piece for piece in pieces if not np.isfinite(values[piece]).all()), None)
    if bad is not None:
        row, column = _first_bad(x, bad)
        label = names[column] if names is not None else column
        raise ValueError(
            f"{name} has a missing or infinite value in row {row}, column {label!r}: "
            "impute it or drop the row"
        )
    return x


def check_targets(y: Any, rows: int, name: str, of: str) -> NDArray[Any]:
    """A one-dimensional array of `rows` labels or numbers without missing entries."""
    if y is None:
        raise ValueError(f"valuing requires y to be passed, but the target {name} is None")
    try:
        array = y.to_numpy() if isinstance(y, (pd.Series, pd.Index)) else np.asarray(y)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is not a list of labels or numbers") from None
    if array.dtype == object and array.ndim == 1:
        array = pd.Series(array).infer_objects().to_numpy()  # numbers that came as objects
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if len(array) != rows:
        raise ValueError(f"{name} has {len(array)} entries, but {of} has {rows} rows")
    missing = np.asarray(pd.isna(array))
    if array.dtype.kind == "f":
        missing |= ~np.isfinite(array)
    if missing.any():
        raise ValueError(
            f"{name} is missing or infinite in row {int(missing.argmax())}: "
            "drop the row or fill the label in"
        )
    return array


def check_readout(name: str, task: str) -> None:
    """Raise for a readout that is not defined for the task."""
    # imported here, so that a new title in the registry is no change of what computes values
    from nddv.dynamics.readouts import get_readout

    readout = get_readout(name)
    if readout.law:
        find_law(readout.law)  # α and β of a Beta Shapley
    if task not in readout.tasks:
        raise InputError(
            f"the readout {name} is for {' and '.join(sorted(readout.tasks))}, but the targets "
            f"call for {task}: take another, such as path",
            readout="path",
        )


def check_task(task: str, y: NDArray[Any]) -> str:
    """Decide between classification and regression."""
    if task == "auto":
        # measurements have fractions; all floats are whole from 2^53 on, where none are codes
        continuous = y.dtype.kind == "f" and ((y != np.trunc(y)) | (np.abs(y) >= 2**53)).any()
        task = "regression" if continuous else "classification"
        distinct = len(np.unique(_comparable(y)))
        if not continuous and distinct > max(20, len(y) // 10):
            raise InputError(
                f"y has {distinct} different values in {len(y)} rows: set task to "
                '"regression" or "classification"',
                task=None,
            )
    if task == "regression":
        if y.dtype.kind not in "fiub":
            raise ValueError(f"regression needs numeric targets, got dtype {y.dtype}")
        with np.errstate(all="ignore"):
            numbers = y.astype(np.float64)
            equal, spread = numbers.min() == numbers.max(), numbers.std()
        if equal:
            raise ValueError("all targets are equal: there is nothing to learn")
        if not 0 < spread < np.inf:
            raise ValueError("the targets are too large or too close to square: rescale y")
    return task


def standardise_targets(
    y: NDArray[Any], mean: float, scale: float, name: str
) -> NDArray[np.float64]:
    """Targets of a regression on the scale of the training targets."""
    if y.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {y.dtype}, but y is numeric: make it numeric")
    with np.errstate(all="ignore"):
        standard = (y.astype(np.float64) - mean) / scale
    far = ~(np.abs(standard) < FARTHEST)
    if far.any():
        row = int(far.argmax())
        raise ValueError(f"{name} is far beyond the targets of y in row {row}: correct or rescale")
    return np.asarray(standard)


def encode_labels(
    y: NDArray[Any], name: str, classes: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Classes in sorted order, and labels as their indices; unseen classes are refused."""
    comparable = _comparable(y)
    if classes is None:
        classes, codes = np.unique(comparable, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{name} has one class only ({_plain(classes[0])!r}): "
                "valuing needs at least two classes"
            )
        return classes, codes.astype(np.int64)
    known = np.isin(comparable, classes)
    if not known.all():
        row = int((~known).argmax())
        raise ValueError(
            f"{name} has the class {_plain(comparable[row])!r} (row {row}), which is not in y "
            f"({_short(list(classes))}): drop those rows or add examples to y"
        )
    return classes, np.searchsorted(classes, comparable).astype(np.int64)


def check_size(x: Any) -> None:
    """Enough rows of X, and something that varies."""
    if x.shape[0] < MINIMUM_ROWS:
        samples = "1 sample" if x.shape[0] == 1 else f"{x.shape[0]} samples"
        raise ValueError(f"X has {samples}: valuing needs at least {MINIMUM_ROWS}")
    if isinstance(x, StoredRows):
        return  # whether they vary is seen when they are read to be standardised
    low, high = x.min(axis=0), x.max(axis=0)
    if sparse.issparse(x):
        low, high = low.toarray(), high.toarray()
    if not np.any(low != high):
        raise ValueError("no feature of X varies: there is nothing to learn from")


def _comparable(y: NDArray[Any]) -> NDArray[Any]:
    """Labels that can be sorted: numbers, booleans or strings; other objects are refused."""
    if y.dtype != object:
        return y
    kinds = {type(v) for v in y}
    if kinds in ({str}, {bytes}):
        return np.array(list(y))
    named = ", ".join(sorted(k.__name__ for k in kinds))
    if len(kinds) > 1:
        raise ValueError(f"y mixes labels of types {named}: convert them to one type")
    raise ValueError(f"y has labels of type {named}: convert them to numbers or strings")


def _precision(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """float32 for what it holds exactly, float64 for the rest."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64


def column_names(x: Any) -> list[str] | None:
    """Names of a data frame's columns; None for arrays."""
    return [str(c) for c in x.columns] if isinstance(x, pd.DataFrame) else None


def _frame_to_array(x: pd.DataFrame, name: str) -> NDArray[Any]:
    for position, column in enumerate(x.columns):
        kind = x.dtypes.iloc[position]
        if not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_complex_dtype(kind):
            raise ValueError(
                f"column {str(column)!r} of {name} is {kind}, not numeric: encode it as numbers"
            )
    return x.to_numpy(dtype=np.float64, na_value=np.nan)


def _dense(x: Any, name: str) -> NDArray[Any]:
    try:
        x = np.asarray(x)
    except (TypeError, ValueError):  # rows of different lengths, or what is no array at all
        raise ValueError(f"{name} is not a table of numbers: give rows of equal length") from None
    if x.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional (rows, features), got shape {x.shape}")
    if x.dtype == object:
        try:
            x = x.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            row, column = _first_not_numeric(x)
            raise NotNumeric(
                f"{name} is not numeric: row {row}, column {column} holds "
                f"{shown(x[row, column])} ({one_line(error)})"
            ) from None
    if x.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {x.dtype}")
    if x.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {x.dtype}: make it numeric")
    return np.ascontiguousarray(x, dtype=_precision(x.dtype))


def _first_not_numeric(x: NDArray[Any]) -> tuple[int, int]:
    for (row, column), value in np.ndenumerate(x):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return row, column
    raise AssertionError("every entry is numeric")


def _first_bad(x: Any, piece: slice) -> tuple[int, int]:
    """Row and column of the first number in a piece of the values that is not finite."""
    if sparse.issparse(x):
        x = x.tocoo()
        first = int((~np.isfinite(x.data)).argmax())
        return int(x.row[first]), int(x.col[first])
    row, column = np.argwhere(~np.isfinite(x[piece]))[0]
    return piece.start + int(row), int(column)


def _plain(label: Any) -> Any:
    """A numpy scalar as Python prints it."""
    return label.item() if isinstance(label, np.generic) else label


def _short(items: list[Any], limit: int = 6) -> str:
    shown = ", ".join(str(i) for i in items[:limit])
    return f"{shown}, … ({len(items)} in all)" if len(items) > limit else shown
