"""Checks of what users hand in. Every error names the place and the remedy."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from nddv.support.stored import StoredRows
from nddv.support.wording import nearest

MINIMUM_ROWS = 10
PIECE = 16384  # rows that are looked at together
FARTHEST = 1e12  # standard deviations of y that other targets may lie away
FLOAT32_END = 3e38
LARGEST = 1_000_000  # of a setting that counts something: more is a slip, or beyond any memory
TASKS = ("auto", "classification", "regression")
CHOICES: dict[str, tuple[Any, ...]] = {
    "readout": ("terminal", "path", "participation"),
    "task": TASKS,
    "control": ("kan", "mlp", "open_loop"),
    "nu": (0.5, 1.5, 2.5, np.inf),
    "optimizer": ("adamw", "sgd"),
    "schedule": ("constant", "linear", "cosine"),
    "pairing": ("exact", "literal"),
    "reweighting": ("lookahead", "penalty", "none"),
    "checkpoints": ("auto", "all", "sqrt"),
    "dtype": ("float32", "float64"),
    "device": ("auto", "cpu", "cuda"),
    "layer_trace": (False, True),
    "progress": (False, True),
}
POSITIVE_INTEGERS = (
    *("width", "steps", "hidden", "epochs", "batch_size", "trajectories"),
    *("max_steps", "meta_every", "meta_batch_size", "meta_hidden"),
)
POSITIVE = (
    *("horizon", "input_energy", "reach", "learning_rate", "epsilon", "clip"),
    *("meta_learning_rate", "penalty"),
)
NOT_NEGATIVE = ("interaction", "diffusion", "running_cost", "weight_decay", "momentum")


def check_settings(settings: dict[str, Any]) -> None:
    """Settings of the estimator that can be judged without data."""
    for name, known in CHOICES.items():
        _check_choice(name, settings[name], known)
    for name in POSITIVE_INTEGERS:
        if not (_is_integer(settings[name]) and settings[name] > 0):
            raise ValueError(f"{name} must be a positive integer, got {_shown(settings[name])}")
    for name in (*POSITIVE, *NOT_NEGATIVE, "meta_fraction"):
        number = settings[name]
        real = isinstance(number, (int, float, np.integer, np.floating))
        # compared, not converted: a whole number may be too long for a float
        if not real or isinstance(number, bool) or not 0 <= number < FLOAT32_END:
            raise ValueError(f"{name} must be a finite number >= 0, got {_shown(number)}")
        if number == 0 and name in POSITIVE:
            raise ValueError(f"{name} must be positive")
    if not (_is_integer(settings["centers"]) and settings["centers"] > 1):
        raise ValueError(f"centers must be an integer above 1, got {_shown(settings['centers'])}")
    for name in ("centers", *POSITIVE_INTEGERS):
        if settings[name] > LARGEST:
            raise ValueError(f"{name} must be at most {LARGEST:,}, got {_shown(settings[name])}")
    if settings["momentum"] >= 1:
        raise ValueError(f"momentum must be below 1, got {settings['momentum']!r}")
    if not 0 < settings["meta_fraction"] <= 0.5:
        raise ValueError(f"meta_fraction must be in (0, 0.5], got {settings['meta_fraction']!r}")
    block = settings["block_size"]
    whole = _is_integer(block) and 0 < block <= LARGEST
    if not (whole or (isinstance(block, str) and block == "auto")):
        raise ValueError(f'block_size must be a positive integer or "auto", got {_shown(block)}')
    seed = settings["random_state"]
    if seed is not None and not (_is_integer(seed) and 0 <= seed < 2**63):
        raise ValueError(f"random_state must be an integer >= 0 or None, got {_shown(seed)}")


def _check_choice(name: str, value: Any, known: tuple[Any, ...]) -> None:
    # the type is looked at first: an array is neither equal to a word nor unequal
    if isinstance(value, (str, int, float, np.bool_)) and value in known:
        return
    near = nearest(value, map(str, known)) if isinstance(value, str) else None
    if near is not None:
        raise ValueError(f"unknown {name} {value!r}; did you mean {near!r}?")
    names = ", ".join(map(str, known))
    raise ValueError(f"unknown {name} {_shown(value)}: choose one of {names}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """Anything in one short line."""
    try:
        return " ".join(reprlib.repr(value).split())
    except Exception:  # an object may not be able to say what it is
        return f"something of type {type(value).__name__}"


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
        raise ValueError(f"{name} has no columns")
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


def check_task(task: str, y: NDArray[Any]) -> str:
    """Decide between classification and regression."""
    _check_choice("task", task, TASKS)
    if task == "auto":
        continuous = y.dtype.kind == "f" and _has_fractions(y)
        task = "regression" if continuous else "classification"
        distinct = len(np.unique(_comparable(y)))
        if not continuous and distinct > max(20, len(y) // 10):
            raise ValueError(
                f"y has {distinct} different values in {len(y)} rows: say task="
                '"regression" or task="classification"'
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


def _has_fractions(y: NDArray[Any]) -> bool:
    """Whether these are measurements; all floats are whole from 2^53 on, where none are codes."""
    return bool(((y != np.trunc(y)) | (np.abs(y) >= 2**53)).any())


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


def check_finite(sensitivities: NDArray[np.float64], readout: str) -> NDArray[np.float64]:
    """Sensitivities as they are; those of a run that went astray are refused."""
    if not (np.abs(sensitivities) < 1e300).all():
        raise FloatingPointError(
            f"the {readout} readout of this run is not finite: lower learning_rate, interaction, "
            "diffusion or horizon"
        )
    return sensitivities


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


def check_size(x: Any, name: str = "X") -> None:
    """Enough rows, and something that varies."""
    if x.shape[0] < MINIMUM_ROWS:
        raise ValueError(f"{name} has {x.shape[0]} rows: valuing needs at least {MINIMUM_ROWS}")
    if isinstance(x, StoredRows):
        return  # whether they vary is seen when they are read to be standardised
    low, high = x.min(axis=0), x.max(axis=0)
    if sparse.issparse(x):
        low, high = low.toarray(), high.toarray()
    if not np.any(low != high):
        raise ValueError(f"no feature of {name} varies: there is nothing to learn from")


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
                f"column {str(column)!r} of {name} is {kind}, not numeric: "
                "encode it (the command line `nddv value` does so by itself)"
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
        except (TypeError, ValueError, OverflowError):
            row, column = _first_not_numeric(x)
            raise ValueError(
                f"{name} is not numeric: row {row}, column {column} holds {_shown(x[row, column])}"
            ) from None
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
