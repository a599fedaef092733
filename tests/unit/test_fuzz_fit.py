"""Inputs to `NDDV.fit`: values that are finite and sum to zero, or an error that says why."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from fuzzing import fuzzed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from nddv import NDDV
from nddv.dynamics.readouts import READOUTS

FITS = 1500
SMALL = {"epochs": 1, "width": 2, "steps": 1, "hidden": 2, "centers": 2, "meta_hidden": 2}

# ------------------------------------------------------------------ features

NUMBERS = st.one_of(
    st.floats(-3, 3, width=32),
    st.sampled_from(
        [0.0, -0.0, 1.0, 1e-300, 1e-40, 1e-30, 1e30, 1e150, 1e300, 5e-324, 2.0**53, -1e6]
    ),
)
STRANGE = st.sampled_from(
    [
        *(np.nan, np.inf, -np.inf, None, "three", "3", b"3", True, 3 + 4j, 10**400, pd.NA, pd.NaT),
        *([1], np.float16(2), np.datetime64("2020-01-01"), object(), {}, "", 1e308),
    ]
)


@st.composite
def matrices(draw):
    """(rows, columns) arrays: plain, of one value, with repeated rows or strange entries."""
    rows = draw(st.one_of(st.integers(10, 14), st.integers(0, 14)))
    columns = draw(st.one_of(st.integers(1, 3), st.integers(0, 3)))
    seed = draw(st.integers(0, 2**32 - 1))
    x = np.random.default_rng(seed).normal(size=(rows, columns))
    kind = draw(st.sampled_from(["plain", "scaled", "constant", "repeated", "few", "drawn"]))
    if kind == "scaled":
        x = x * draw(NUMBERS) + draw(NUMBERS)
    elif kind == "constant" and columns:
        x[:, draw(st.integers(0, columns - 1))] = draw(NUMBERS)
    elif kind == "repeated" and rows:
        x[:] = x[draw(st.integers(0, rows - 1))]
    elif kind == "few":
        x = np.sign(x)
    elif kind == "drawn":
        x = np.array(draw(st.lists(NUMBERS, min_size=x.size, max_size=x.size))).reshape(x.shape)
    return x


def with_strange_entries(draw, x):
    x = x.astype(object)
    for _ in range(draw(st.integers(1, 2))):
        if x.size:
            x.flat[draw(st.integers(0, x.size - 1))] = draw(STRANGE)
    return x


FORMS = (
    *("array", "array", "array", "strange", "strange", "dtype", "dtype", "frame", "mixed frame"),
    *("list", "ragged", "masked", "sparse", "flat", "cube", "order", "read-only", "other"),
)
DTYPES = ["f2", "f4", "f8", "g", "i1", "i8", "u8", "?", "c8", "S3", "U3", "O", "M8[s]", "m8[s]"]


@st.composite
def features(draw):
    """What somebody may hand in as X."""
    x = draw(matrices())
    form = draw(st.sampled_from(FORMS))
    if form == "strange":
        return with_strange_entries(draw, x)
    if form == "dtype":
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind = draw(st.sampled_from(DTYPES))
            return x.astype("i8").astype(kind) if kind[0] in "Mm" else x.astype(kind)
    if form == "frame":
        names = draw(st.sampled_from([None, "a", 1, (1, 2)]))
        columns = None if names is None else [names] * x.shape[1]
        return pd.DataFrame(x, columns=columns)
    if form == "mixed frame":
        frame = pd.DataFrame(with_strange_entries(draw, x))
        return frame.convert_dtypes() if draw(st.booleans()) else frame.infer_objects()
    if form == "list":
        return x.tolist()
    if form == "ragged":
        return [row[: i % 3] for i, row in enumerate(x.tolist())]
    if form == "masked":
        return np.ma.masked_where(np.abs(x) > draw(st.sampled_from([0.1, 2.0, 10.0])), x)
    if form == "sparse":
        make = draw(st.sampled_from([sparse.csr_matrix, sparse.coo_array, sparse.csc_matrix]))
        kind = draw(st.sampled_from(["f4", "f8", "i8", "c8"]))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(x.astype(kind))
    if form == "flat":
        return x.ravel()
    if form == "cube":
        return x[None]
    if form == "order":
        return np.asfortranarray(x)[::-1]
    if form == "read-only":
        x.flags.writeable = False
        return x
    return draw(
        st.sampled_from([None, "X", 3, {}, {"a": [1.0]}, object(), iter([]), pd.Series([1])])
    )


# ------------------------------------------------------------------ targets

LABEL_FORMS = (
    *("codes", "codes", "codes", "words", "bytes", "truths", "numbers", "numbers", "huge", "mixed"),
    *("mixed", "series", "categories", "dates", "column", "one-hot", "complex", "missing", "list"),
    *("nullable", "unsigned", "objects", "many", "other"),
)
LABELS = st.sampled_from([0, 1, 2, -1, "a", "b", "", 1.5, True, False, None, np.nan, b"a", 2**70])


@st.composite
def targets(draw, rows):
    """What somebody may hand in as y."""
    rows = draw(st.sampled_from([rows] * 8 + [rows + 1, 0]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, draw(st.integers(1, 4)), rows)
    form = draw(st.sampled_from(LABEL_FORMS))
    if form == "words":
        return np.array(["no", "yes", "höchstens", ""])[codes]
    if form == "bytes":
        return np.array([b"n", b"y", b"m", b"w"])[codes]
    if form == "truths":
        return codes > 0
    if form == "numbers":
        return rng.normal(size=rows) * draw(st.sampled_from([1.0, 1e-300, 1e300, 1e150]))
    if form == "huge":
        with np.errstate(all="ignore"):
            return codes * draw(st.sampled_from([2**62, 1e308, 2.0**60, -(2**40)]))
    if form == "mixed":
        mixed = np.empty(rows, dtype=object)
        mixed[:] = draw(st.lists(LABELS, min_size=rows, max_size=rows))
        return mixed.tolist() if draw(st.booleans()) else mixed
    if form == "series":
        return pd.Series(codes, index=rng.permutation(rows))
    if form == "categories":
        return pd.Series(pd.Categorical.from_codes(codes, list("abcd")))
    if form == "dates":
        return np.datetime64("2020-01-01") + codes
    if form == "column":
        return codes[:, None]
    if form == "one-hot":
        return np.eye(4)[codes]
    if form == "complex":
        return codes + 1j
    if form == "missing":
        return np.where(codes > 0, codes, np.nan)
    if form == "nullable":
        return pd.Series(codes, dtype="Int64").where(codes > 0)
    if form == "list":
        return codes.tolist()
    if form == "unsigned":
        return codes.astype("u1")
    if form == "objects":
        return codes.astype(object)
    if form == "many":
        return rng.permutation(rows)
    if form == "other":
        return draw(st.sampled_from([None, "y", 3, {}, object(), np.array(1), iter([])]))
    return codes


def rows_of(x):
    shape = getattr(x, "shape", None)
    if shape:
        return shape[0]
    return len(x) if isinstance(x, list) else 12


# ------------------------------------------------------------------ settings

CHOSEN = {
    "readout": list(READOUTS),
    "task": ["classification", "regression"],
    "control": ["mlp", "open_loop"],
    "optimizer": ["adamw"],
    "schedule": ["constant", "cosine"],
    "configuration": ["default", "regression", "paper"],
    "members": [1, 3],
    "inputs": ["plain", "encoded"],
    "max_visits": [1],
    "pairing": ["literal", "exact"],
    "reweighting": ["none", "penalty", "self"],
    "meta_every": [1],
    "batch_size": [1, 5, 10**6],
    "trajectories": [2],
    "layer_trace": [True],
    "checkpoints": ["all", "sqrt"],
    "dtype": ["float64"],
    "nu": [0.5, 2.5, np.inf],
    "random_state": [None, 2**31, np.int64(3)],
    "interaction": [0, 1e3, 1e6],
    "learning_rate": [1e-12, 1e6],
    "diffusion": [0, 1e6],
    "horizon": [1e-9, 1e6],
    "input_energy": [1e-9, 1e6],
    "weight_decay": [1e6],
    "momentum": [0, 0.999999],
    "meta_fraction": [0.5, 1e-9],
    "clip": [1e-9],
    "reach": [1e-9, 1e6],
    "epsilon": [1e-30],
    "meta_learning_rate": [1e6],
    "penalty": [1e6],
    "running_cost": [0, 1e6],
    "device": ["cpu"],
}
WRONG = st.one_of(
    st.sampled_from([None, "x", "", b"x", -1, 0, 1.5, np.nan, np.inf, -np.inf, 10**12, 10**400])
    | st.sampled_from([True, False, [], {}, (1,), 1j, object(), np.zeros(3), np.float64(2), "1"]),
)


@st.composite
def parameters(draw):
    """Usual settings, unusual ones and wrong ones."""
    names = sorted(NDDV().get_params())
    found = dict(SMALL)
    for name in draw(st.lists(st.sampled_from(sorted(CHOSEN)), max_size=3)):
        found[name] = draw(st.sampled_from(CHOSEN[name]))
    if draw(st.booleans()):
        found[draw(st.sampled_from(names))] = draw(WRONG)
    return found


@st.composite
def inputs(draw):
    """Everything that `fit` is told: usual, but for one or two things."""
    odd = draw(st.sets(st.sampled_from(["X", "y", "settings", "sides"]), max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X = draw(features()) if "X" in odd else rng.normal(size=(12, 2))
    rows = rows_of(X)
    y = draw(targets(rows)) if "y" in odd else np.arange(rows) % 2
    sides = {}
    for side in draw(st.sampled_from([("meta",), (), ("valid",), ("meta", "valid")])):
        sides |= {f"X_{side}": X, f"y_{side}": y}
        if "sides" in odd:
            sides[f"X_{side}"] = draw(features())
            sides[f"y_{side}"] = draw(st.one_of(targets(rows_of(sides[f"X_{side}"])), st.none()))
    return draw(parameters()) if "settings" in odd else SMALL, X, y, sides


# ------------------------------------------------------------------ the tests


@pytest.mark.slow
@settings(**fuzzed(FITS))
@given(case=inputs())
def test_values_or_an_error_that_says_why(case, says_why):
    params, X, y, sides = case
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = NDDV(**params).fit(X, y, **sides)
        except (ValueError, FloatingPointError) as error:
            says_why(error)
            return
    held_out = len(model.folds_) > 1
    assert [str(one.message)[:12] for one in told] == ["no meta data"] * held_out
    assert sides.get("X_meta") is None or not held_out
    values = model.values_
    assert values.shape == (rows_of(X),)
    assert np.isfinite(values).all()
    assert abs(values.sum()) <= 1e-9 * max(np.abs(values).sum(), 1e-300)
    assert np.isfinite(model.weights_).all()


def fit(X=None, y=None, **rest):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2)) if X is None else X
    y = np.arange(12) % 2 if y is None else y
    params = {name: rest.pop(name) for name in list(rest) if not name.startswith(("X_", "y_"))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NDDV(**{**SMALL, **params}).fit(X, y, **rest)


def holding(value, dtype=object):
    """Features with one entry that is something else."""
    X = np.random.default_rng(0).normal(size=(12, 2)).astype(dtype)
    X[3, 1] = value
    return X


# What the fuzzing found, each once.
@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"X": holding(10**400)}, "X is not numeric: row 3, column 1 holds 1000"),
        ({"X": [[1.0, 2.0], [3.0]]}, "X is not a table of numbers: give rows of equal length"),
        ({"y": [[0], [1, 2]]}, "y is not a list of labels or numbers"),
        ({"y": np.linspace(-1, 1, 12) * 1e300}, "too large or too close to square: rescale y"),
        ({"y": np.linspace(-1, 1, 12) * 1e-200}, "too large or too close to square: rescale y"),
        (
            {"y": np.linspace(0, 1, 12), "X_meta": holding(0.0, float), "y_meta": list("ab") * 6},
            "y_meta has dtype <U1, but y is numeric",
        ),
        (
            {"y": np.linspace(0, 1, 12), "X_meta": holding(0.0, float), "y_meta": [1e300] * 12},
            "y_meta is far beyond the targets of y in row 0",
        ),
        ({"X": holding(0.0, np.float32) * np.float32(1e-40)}, "no feature varies among the tra"),
        ({"epochs": True}, "epochs must be a positive integer, at most 1,000,000, or .auto., got"),
        (
            {"width": 10**12},
            "width must be a positive integer, at most 1,000,000, got 1000000000000",
        ),
        (
            {"weight_decay": 10**400},
            "weight_decay must be a finite number >= 0, or 'auto', got 1000",
        ),
        ({"members": 0}, "members must be a positive integer, or 'auto', got 0"),
        ({"configuration": np.zeros(3)}, "configuration must be one of 'auto', 'default'"),
        ({"nu": []}, r"nu must be one of 0.5, 1.5, 2.5, inf, got \[\]"),
        ({"layer_trace": "yes"}, "layer_trace must be one of False, True, got 'yes'"),
        ({"control": np.zeros(3)}, "control must be one of 'kan', 'mlp', 'open_loop', got array"),
        ({"readout": "pth"}, "unknown readout 'pth'; did you mean 'path'?"),
        ({"meta_fraction": None}, "meta_fraction must be a finite number"),
        ({"random_state": 2**70}, "random_state must be an integer"),
    ],
)
def test_bad_input_is_named(case, message):
    with pytest.raises(ValueError, match=message):
        fit(**case)


def test_meta_data_of_another_world_are_no_silent_nan():
    X = np.random.default_rng(0).normal(size=(12, 2))
    far = {"X_meta": X * 1e100, "y_meta": np.arange(12) % 2, "reweighting": "none"}
    with pytest.raises(FloatingPointError, match="the loss on the meta data is not finite"):
        fit(X, configuration="paper", **far)
    assert np.isfinite(fit(X, **far).values_).all()  # far values are cut


def test_a_readout_that_is_not_finite_is_refused():
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(FloatingPointError, match="the path readout of this run is not finite"):
        fit(X, epochs=1, learning_rate=1e30)  # the only step begins finite and ends elsewhere
