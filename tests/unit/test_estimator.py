"""The scikit-learn style estimator: conventions, results, determinism."""

from __future__ import annotations

import inspect
import json
import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import nddv
from nddv import NDDV, Values
from nddv.dynamics.readouts import READOUTS
from nddv.estimator.settings import CONFIGURATIONS, SETTINGS

FAST = {"epochs": 3, "width": 8, "hidden": 6, "centers": 4, "meta_every": 4}


def table(n: int = 120, seed: int = 0, bad: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Two classes in three features; the first `bad` labels are flipped."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = (x[:, 0] + 0.5 * x[:, 1] > 0).astype(int)
    y[:bad] = 1 - y[:bad]
    return x, y


pytestmark = pytest.mark.filterwarnings("ignore:no meta data")

X, Y = table()
SIDE = table(60, seed=1, bad=0)
OF_CLASSES = [name for name, readout in READOUTS.items() if "classification" in readout.tasks]
OF_TARGETS = [name for name, readout in READOUTS.items() if "regression" in readout.tasks]


@pytest.fixture(scope="module")
def fitted() -> NDDV:
    return NDDV(**FAST).fit(X, Y, *SIDE)


TINY = {"epochs": 2, "width": 4, "steps": 1, "hidden": 4, "centers": 3, "meta_hidden": 4}


@parametrize_with_checks([NDDV(members=2, **TINY), NDDV("terminal", **TINY)])
def test_scikit_learn_accepts_it(estimator: NDDV, check: Callable[[NDDV], None]) -> None:
    check(estimator)


def test_it_is_the_last_step_of_a_pipeline() -> None:
    scaler = StandardScaler().fit(X)
    alone = NDDV(**FAST).fit(scaler.transform(X), Y, scaler.transform(SIDE[0]), SIDE[1])
    pipeline = make_pipeline(StandardScaler(), NDDV(**FAST))
    side = {"nddv__X_meta": scaler.transform(SIDE[0]), "nddv__y_meta": SIDE[1]}
    for _ in range(2):  # the second fit finds what the first left
        assert np.array_equal(pipeline.fit(X, Y, **side)[-1].values_, alone.values_)


def test_fit_drops_what_an_earlier_one_left_and_nothing_else(fitted: NDDV) -> None:
    model = clone(fitted)
    model._foreign, model.foreign_ = 1, 2
    model.fit(X, Y, *SIDE)
    assert (model._foreign, model.foreign_) == (1, 2)
    with pytest.raises(ValueError, match="0 samples"):
        model.fit(X[:0], Y[:0])
    assert not hasattr(model, "values_")
    assert (model._foreign, model.foreign_) == (1, 2)


def test_parameters_are_left_untouched() -> None:
    model = NDDV(readout="terminal", learning_rate=0.2)
    assert model.get_params()["learning_rate"] == 0.2
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "values_")
    model.fit(X, Y, *SIDE)
    assert clone(model).get_params() == copy.get_params()
    assert NDDV().set_params(epochs=7).epochs == 7


def test_every_setting_is_in_the_signature_and_in_the_docstring() -> None:
    signature = inspect.signature(NDDV).parameters
    assert list(signature) == list(SETTINGS)
    assert {name: p.default for name, p in signature.items()} == NDDV().get_params()
    positional = [n for n, p in signature.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == ["readout", "task"]
    for name, setting in SETTINGS.items():
        setting.kind.check(name, setting.default)
        assert f"\n{name} : {setting.kind.words}; default {setting.usual}\n" in NDDV.__doc__
    for readout in READOUTS.values():
        assert readout.meaning in " ".join(NDDV.__doc__.split())


def test_fitted_attributes(fitted: NDDV) -> None:
    n = len(Y)
    for name in ("values_", "sensitivities_", "weights_"):
        assert getattr(fitted, name).shape == (n,)
    assert abs(fitted.values_.sum()) < 1e-9
    raw = fitted.sensitivities_
    assert np.allclose(fitted.values_, (raw - raw.mean()) * n / (n - 1))
    assert ((fitted.weights_ >= 0) & (fitted.weights_ <= 1)).all()
    assert fitted.n_features_in_ == 3
    assert list(fitted.classes_) == [0, 1]
    assert fitted.stderr_.shape == (n,)  # there are several members
    assert fitted.history_["epoch"] == [0, 1, 2]
    assert set(fitted.history_) == {"epoch", "train_loss", "meta_loss", "meta_accuracy"}


def test_record_is_plain_and_complete(fitted: NDDV) -> None:
    record = json.loads(json.dumps(fitted.record_))
    assert record["params"]["epochs"] == 3
    assert record["meta"] == "given"
    assert record["members"] == len(fitted.folds_[0].runs)
    assert record["n"] == len(Y)
    assert record["adjoint_growth"] > 0
    assert record["seconds"] > 0


@pytest.mark.parametrize("readout", OF_CLASSES)
def test_flipped_labels_have_low_values(readout: str) -> None:
    model = NDDV(readout=readout).fit(X, Y, *SIDE)
    flagged = np.argsort(model.values_)[:12]
    assert np.mean(flagged < 12) >= 0.5


def test_the_readout_of_the_fit_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = NDDV("participation", **FAST).fit(X, Y, *SIDE)
    monkeypatch.setattr("nddv.estimator.nddv.read_out", None)
    read = model.readout_sensitivities("participation")
    assert np.array_equal(read, model.sensitivities_)
    read[:] = 0  # the reader's own
    assert model.sensitivities_.any()
    with pytest.raises(TypeError):
        model.readout_sensitivities("terminal")


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_one_fit_serves_all_readouts(configuration: str) -> None:
    """Of one configuration. States that a replay makes again differ by rounding from a stack's."""
    settings = {"configuration": configuration, **FAST}
    model = NDDV("terminal", **settings).fit(X, Y, *SIDE)
    assert np.array_equal(model.readout_values("terminal"), model.values_)
    for readout in ("path", "participation"):
        own = NDDV(readout=readout, **settings).fit(X, Y, *SIDE)
        alone = configuration == "paper" or readout == "path"
        scale = np.abs(own.values_).max()
        apart = np.abs(model.readout_values(readout) - own.values_).max()
        assert apart <= (0 if alone else 1e-4 * scale)


@pytest.mark.parametrize("readout", OF_CLASSES)
def test_same_seed_same_bytes(readout: str) -> None:
    first, second, other = (
        NDDV(readout=readout, random_state=s, **FAST).fit(X, Y).values_ for s in (3, 3, 4)
    )
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != other.tobytes()


def test_no_random_state_is_recorded_and_can_be_repeated() -> None:
    model = NDDV(random_state=None, **FAST).fit(X, Y)
    again = NDDV(random_state=model.record_["seed"], **FAST).fit(X, Y)
    assert np.array_equal(model.values_, again.values_)


def test_global_random_state_is_neither_used_nor_changed() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    torch_before = torch.random.get_rng_state()
    NDDV(**FAST).fit(X, Y)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    assert torch.equal(torch_before, torch.random.get_rng_state())


def test_inputs_of_every_kind_agree() -> None:
    reference = NDDV(**FAST).fit(X, Y, *SIDE).values_
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    side = pd.DataFrame(SIDE[0], columns=["a", "b", "c"])
    as_frame = NDDV(**FAST).fit(frame, pd.Series(Y), side, pd.Series(SIDE[1]))
    assert np.array_equal(as_frame.values_, reference)
    assert list(as_frame.feature_names_in_) == ["a", "b", "c"]
    plain = NDDV(inputs="plain", **FAST).fit(X, Y, *SIDE)  # as those of sparse rows always are
    as_sparse = NDDV(**FAST).fit(sparse.csr_matrix(X), Y, sparse.coo_matrix(SIDE[0]), SIDE[1])
    assert np.allclose(as_sparse.values_, plain.values_, atol=1e-5)
    fortran = NDDV(**FAST).fit(np.asfortranarray(X), Y, *SIDE)
    assert np.array_equal(fortran.values_, reference)
    lists = NDDV(**FAST).fit(X.tolist(), Y.tolist(), SIDE[0].tolist(), SIDE[1].tolist())
    assert np.array_equal(lists.values_, reference)


@pytest.mark.parametrize(
    "names", [["no", "yes"], [False, True], [-1, 5], [0.0, 1.0], [b"a", b"b"]], ids=str
)
def test_labels_of_any_dtype(names: list) -> None:
    reference = NDDV(**FAST).fit(X, Y, *SIDE).values_
    labels, side = np.array(names)[Y], np.array(names)[SIDE[1]]
    model = NDDV(**FAST).fit(X, labels, SIDE[0], side)
    assert list(model.classes_) == names
    assert np.array_equal(model.values_, reference)
    category = pd.Series(labels.astype(object), dtype="category")
    assert np.array_equal(NDDV(**FAST).fit(X, category, SIDE[0], side).values_, reference)


def test_the_input_is_not_changed() -> None:
    x, y = X.copy(), Y.copy()
    NDDV(**FAST).fit(x, y)
    assert np.array_equal(x, X)
    assert np.array_equal(y, Y)


def test_without_meta_data_every_point_is_valued_by_a_run_that_trained_on_it() -> None:
    model = NDDV("terminal", **FAST).fit(X, Y)
    assert model.record_["meta"] == "held out (two folds)"
    assert len(model.history_["epoch"]) == 6
    assert np.isfinite(model.values_).all()
    assert abs(model.values_.sum()) < 1e-9
    first, second = (set(fold.index) for fold in model.folds_)
    assert first | second == set(range(len(Y)))
    assert len(first) == len(second) == 96
    held_out = sorted(set(range(len(Y))) - first)
    assert 0.3 < Y[held_out].mean() < 0.7  # stratified


def test_points_of_both_folds_take_the_first_ones_value() -> None:
    model = NDDV(readout="terminal", **FAST).fit(X, Y)
    first, second = model.folds_
    raw = first.sensitivities("terminal")[0]
    assert np.array_equal(model.sensitivities_[first.index], raw)
    only_second = np.setdiff1d(second.index, first.index)
    other = dict(zip(second.index, second.sensitivities("terminal")[0], strict=True))
    assert np.array_equal(model.sensitivities_[only_second], [other[i] for i in only_second])


def test_missing_meta_data_are_announced() -> None:
    with pytest.warns(UserWarning, match=r"no meta data: 20% of the rows are held out"):
        NDDV("terminal", **FAST).fit(X, Y)


def test_validation_data_define_the_utility() -> None:
    one, other = (
        NDDV(readout="participation", **FAST).fit(X, Y, *SIDE, *valid).values_
        for valid in (table(50, seed=7, bad=0), table(50, seed=8, bad=25))
    )
    assert not np.allclose(one, other)
    path = [NDDV(**FAST).fit(X, Y, *SIDE, *v).values_ for v in ((None, None), table(50, seed=7))]
    assert np.array_equal(*path)


def test_nothing_of_an_earlier_fit_is_left() -> None:
    model = NDDV(layer_trace=True, **FAST).fit(pd.DataFrame(X), Y, SIDE[0], SIDE[1])
    assert hasattr(model, "classes_")
    assert hasattr(model, "trace_")
    model.set_params(layer_trace=False).fit(X, X[:, 0] + 0.5, SIDE[0], SIDE[0][:, 0])
    for name in ("classes_", "trace_", "feature_names_in_"):
        assert not hasattr(model, name)


def test_readout_of_an_unfitted_model() -> None:
    with pytest.raises(NotFittedError):
        NDDV().readout_values("path")


def test_numpy_settings_are_recorded_as_plain_ones() -> None:
    settings = {**FAST, "epochs": np.int64(2), "nu": np.inf, "random_state": np.int32(3)}
    record = NDDV(**settings).fit(X, Y, *SIDE).record_
    assert json.loads(json.dumps(record, allow_nan=False))["params"]["nu"] == "inf"


def test_read_only_integer_and_wide_inputs() -> None:
    frozen = X.copy()
    frozen.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reference = NDDV(**FAST).fit(frozen, Y, *SIDE).values_
    assert np.array_equal(reference, NDDV(**FAST).fit(X, Y, *SIDE).values_)
    scaled = NDDV(**FAST).fit(X * 1e-9 + 1.0, Y, SIDE[0] * 1e-9 + 1.0, SIDE[1]).values_
    assert np.corrcoef(scaled, reference)[0, 1] > 0.99
    for kind in (np.int64, np.float16, ">f8", np.longdouble):
        counts = (X * 100).astype(kind)
        assert np.isfinite(NDDV(**FAST).fit(counts, Y, *SIDE).values_).all()


def test_standard_errors_are_those_of_the_mean() -> None:
    """Sixteen times the trajectories, a quarter of the error."""
    settings = {**FAST, "readout": "terminal", "diffusion": 0.5, "reweighting": "none"}
    many = NDDV(trajectories=400, **settings).fit(X, Y, *SIDE)
    few = NDDV(trajectories=25, **settings).fit(X, Y, *SIDE)
    ratio = np.sqrt(np.mean(few.stderr_**2) / np.mean(many.stderr_**2))
    assert ratio == pytest.approx(4.0, rel=0.15)


def test_regression() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 4))
    y = x @ [1.0, -2.0, 0.5, 0.0] + 0.1 * rng.normal(size=150)
    side = x[100:], y[100:]  # clean: a contaminated utility would reward the outliers
    x, y = x[:100], y[:100].copy()
    y[:10] += 8.0
    for name in OF_TARGETS:
        model = NDDV(readout=name).fit(x, y, *side)
        assert model.task_ == "regression"
        assert not hasattr(model, "classes_")
        assert np.isfinite(model.values_).all()
        if "regression" in READOUTS[name].low_is_bad:
            assert np.mean(np.argsort(model.values_)[:10] < 10) >= 0.8
    assert NDDV(task="regression", **FAST).fit(x, y.round().astype(int)).task_ == "regression"


def test_many_classes() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 10)
    x = np.eye(12)[y] + 0.3 * rng.normal(size=(120, 12))
    model = NDDV(**FAST).fit(x, y)
    assert len(model.classes_) == 12
    assert np.isfinite(model.values_).all()


def test_trajectories_give_standard_errors() -> None:
    for readout in OF_CLASSES:
        model = NDDV(readout=readout, trajectories=3, diffusion=0.3, **FAST).fit(X, Y, *SIDE)
        assert model.stderr_.shape == (len(Y),)
        assert (model.stderr_ > 0).all()


def test_layer_trace() -> None:
    model = NDDV(readout="terminal", layer_trace=True, steps=2, **FAST).fit(X, Y, *SIDE)
    assert model.trace_.shape == (3, 3, len(Y))
    assert np.allclose(model.trace_.sum(axis=-1), 0, atol=1e-6)
    # the last layer of the last epoch is the terminal score
    assert np.allclose(model.trace_[-1, -1], model.values_, atol=1e-5)


def test_options_of_the_method() -> None:
    reference = NDDV("terminal", **FAST).fit(X, Y, *SIDE).values_
    for option in (
        {"control": "mlp"},
        {"control": "open_loop"},
        {"pairing": "exact"},
        {"reweighting": "none"},
        {"reweighting": "penalty"},
        {"optimizer": "adamw", "learning_rate": 3e-3},
        {"dtype": "float64"},
        {"nu": 2.5},
        {"members": 2},
        {"inputs": "encoded"},
    ):
        values = NDDV("terminal", **{**FAST, **option}).fit(X, Y, *SIDE).values_
        assert np.isfinite(values).all()
        assert not np.array_equal(values, reference), option
    ones = NDDV(reweighting="none", **FAST).fit(X, Y, *SIDE).weights_
    assert (ones == 1).all()


def test_checkpointing_gives_the_same_participation() -> None:
    kept, recomputed = (
        NDDV(readout="participation", checkpoints=c, **FAST).fit(X, Y, *SIDE).values_
        for c in ("all", "sqrt")
    )
    assert np.array_equal(kept, recomputed)


def test_pickle_round_trip(fitted: NDDV) -> None:
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert np.array_equal(again.values_, fitted.values_)


def test_one_call_form() -> None:
    found = nddv.value(X, Y, X_meta=SIDE[0], y_meta=SIDE[1], **FAST)
    assert isinstance(found, Values)
    assert np.array_equal(found.values, NDDV(**FAST).fit(X, Y, *SIDE).values_)


def test_progress_bar_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    NDDV(**FAST).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    NDDV(progress=True, readout="participation", **FAST).fit(X, Y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "training" in shown.err
    assert "replaying" in shown.err


def with_entry(array: np.ndarray, where: tuple[int, int], value: float) -> np.ndarray:
    changed = array.astype(float).copy()
    changed[where] = value
    return changed


FRAME = pd.DataFrame(X, columns=["age", "income", "height"])
BAD_INPUTS = {
    "NaN in an array": ((with_entry(X, (7, 2), np.nan), Y), r"X .* row 7, column 2: impute"),
    "infinity": ((with_entry(X, (3, 0), np.inf), Y), r"row 3, column 0"),
    "NaN in a frame": ((FRAME.mask(X[5, 1] == FRAME), Y), r"row 5, column 'income'"),
    "NaN in sparse rows": (
        (sparse.csr_matrix(with_entry(X, (9, 1), np.nan)), Y),
        r"row 9, column 1",
    ),
    "text column": ((FRAME.assign(job="x"), Y), r"column 'job' of X .* not numeric: encode"),
    "text array": ((X.astype(str), Y), r"X has dtype <U"),
    "object array": (
        (np.array([["a", 1.0]] * 20, dtype=object), Y[:20]),
        r"row 0, column 0 holds 'a'",
    ),
    "one class": ((X, np.zeros(len(Y))), r"y has one class only .*at least two classes"),
    "too few rows": ((X[:9], Y[:9]), r"X has 9 samples: valuing needs at least 10"),
    "no rows": ((X[:0], Y[:0]), r"X has 0 samples"),
    "no columns": ((X[:, :0], Y), r"X has 0 feature\(s\)"),
    "row mismatch": ((X, Y[:-1]), r"y has 119 entries, but X has 120 rows"),
    "nothing varies": ((np.ones_like(X), Y), r"no feature of X varies"),
    "missing label": ((X, with_entry(Y[:, None], (4, 0), np.nan)[:, 0]), r"y .* row 4: drop"),
    "None label": ((X, [None, *Y[1:].tolist()]), r"y is missing or infinite in row 0"),
    "mixed labels": (
        (X, np.array(["a", *Y[1:].tolist()], dtype=object)),
        r"y mixes labels of types int, str",
    ),
    "two-dimensional y": ((X, np.stack([Y, Y], axis=1)), r"y must be one-dimensional"),
    "one-dimensional X": ((X[:, 0], Y), r"X must be two-dimensional"),
    "tuples as labels": (
        (X, np.array([*((v, 1) for v in Y), None], dtype=object)[:-1]),
        r"y has labels of type tuple: convert them to numbers or strings",
    ),
    "counts as labels": ((X, np.arange(len(Y)) // 4), r"y has 30 different values in 120 rows"),
    "masked entry": (
        (np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) == 13), Y),
        r"row 4, column 1",
    ),
    "complex column": ((FRAME.assign(z=1j), Y), r"column 'z' of X is complex128"),
    "an identifier as label": ((X, np.arange(len(Y))), r'set task to "regression" or'),
    "unseen meta class": ((X, Y, SIDE[0], SIDE[1] + 1), r"y_meta has the class 2 \(row \d+\)"),
    "meta features": ((X, Y, SIDE[0][:, :2], SIDE[1]), r"X_meta has 2 features, but X has 3"),
    "meta columns": (
        (FRAME, Y, pd.DataFrame(SIDE[0], columns=["age", "height", "income"]), SIDE[1]),
        r"X_meta has the columns age, height, income, but X has age, income, height",
    ),
    "half of the meta data": ((X, Y, SIDE[0]), r"give both X_meta and y_meta"),
    "empty meta data": ((X, Y, SIDE[0][:0], SIDE[1][:0]), r"X_meta has no rows"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_named_with_its_remedy(case: str) -> None:
    arguments, message = BAD_INPUTS[case]
    with pytest.raises(ValueError, match=message):
        NDDV(**FAST).fit(*arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"readout": "loo"}, f"unknown readout 'loo'; known: {', '.join(READOUTS)}"),
        ({"task": "ranking"}, "task must be one of 'auto', 'classification', 'regression', got"),
        ({"control": "cnn"}, "control must be one of 'kan', 'mlp', 'open_loop', got 'cnn'"),
        ({"optimizer": "lion"}, "optimizer must be one of"),
        ({"reweighting": "learned"}, "reweighting must be one of"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"nu": 0.9}, "nu must be one of 0.5, 1.5, 2.5, inf, got 0.9"),
        ({"epochs": 0}, "epochs must be a positive integer"),
        ({"batch_size": 6.5}, "batch_size must be a positive integer"),
        ({"learning_rate": -1.0}, "learning_rate must be a finite number > 0"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number > 0"),
        ({"learning_rate": "fast"}, "learning_rate must be a finite number"),
        ({"diffusion": -0.1}, "diffusion must be a finite number >= 0"),
        ({"momentum": 2.0}, "momentum must be a finite number >= 0 and < 1"),
        ({"centers": 1}, "centers must be an integer of at least 2"),
        ({"random_state": -1}, "random_state must be an integer of at least 0, or None"),
        ({"random_state": 1.5}, "random_state must be an integer of at least 0, or None"),
        ({"meta_fraction": 0.9}, "meta_fraction must be a finite number > 0 and <= 0.5"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NDDV(**{**FAST, **settings}).fit(X, Y)


def test_cuda_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="torch sees no GPU here"):
        NDDV(device="cuda", **FAST).fit(X, Y)


def test_divergence_is_an_error_with_a_remedy() -> None:
    with pytest.raises(FloatingPointError, match="lower learning_rate"):
        NDDV(learning_rate=1e30, weight_decay=0.0, clip=1e30, **FAST).fit(X * 1e3, Y, *SIDE)


def test_constant_and_huge_features_do_no_harm() -> None:
    x = np.column_stack([X, np.full(len(X), 1e9), np.zeros(len(X))])
    side = np.column_stack([SIDE[0], np.full(60, -7.0), np.ones(60)])
    values = NDDV(**FAST).fit(x, Y, side, SIDE[1]).values_
    assert np.isfinite(values).all()


def test_duplicate_rows_and_more_features_than_rows() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(30, 80))
    doubled = np.repeat(wide, 2, axis=0)
    labels = np.repeat(rng.integers(0, 2, 30), 2)
    for readout in OF_CLASSES:
        assert np.isfinite(NDDV(readout=readout, **FAST).fit(doubled, labels).values_).all()
