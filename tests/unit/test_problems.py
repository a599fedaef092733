"""Problems: parts, corruption and truth put together, what is stored, and the sources."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from nddv.methods.valuation import value
from nddv.problems import (
    Table,
    Truth,
    address,
    load_problem,
    load_truth,
    make_problem,
    save_problem,
    save_truth,
)
from nddv.problems.sizes import PARTS

SMALL = {"valid": 20, "test": 30, "meta": 10}
CORRUPTIONS = ["label10", "feature10", "gauss10", "label10+feature10+gauss10"]


@pytest.fixture
def table():
    """A table of 400 rows whose first feature is the row number and whose last is constant."""
    rng = np.random.default_rng(100)
    X = np.column_stack([np.arange(400), rng.normal(size=(400, 3)), np.full(400, 7.0)])
    return Table(
        X,
        rng.permutation(np.repeat([0, 1, 2], [200, 120, 80])),
        classes=["a", "b", "c"],
        group=rng.integers(0, 2, 400),
        groups=["f", "m"],
        name="toy@coder",
        record={"source": "test"},
    )


@pytest.fixture
def regression(table):
    """The same table with a real-valued target, which tells the row."""
    return replace(table, y=np.arange(400) / 3.0, classes=[])


def arrays_of(problem):
    return {f"{name}_{part}": getattr(problem, f"{name}_{part}") for part in PARTS for name in "Xy"}


def changed_arrays(one, other):
    """Names of the arrays that differ between two problems."""
    first, second = arrays_of(one), arrays_of(other)
    return {name for name in first if first[name].tobytes() != second[name].tobytes()}


def test_same_seed_same_bytes_other_seed_other_rows(table):
    mixed = "label10+feature10+gauss10"
    first, truth = make_problem(table, 60, mixed, 100, SMALL, corrupt_valid=True)
    again, truth_again = make_problem(table, 60, mixed, 100, SMALL, corrupt_valid=True)
    other, _ = make_problem(table, 60, mixed, 101, SMALL)
    assert changed_arrays(first, again) == set()
    np.testing.assert_array_equal(truth.kinds, truth_again.kinds)
    assert changed_arrays(first, other) == set(arrays_of(first))


def test_the_order_of_the_sizes_does_not_matter(table):
    one, _ = make_problem(table, 60, "clean", 100, SMALL)
    other, _ = make_problem(table, 60, "clean", 100, dict(reversed(SMALL.items())))
    assert changed_arrays(one, other) == set()


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corruption_changes_the_training_part_only(table, name):
    noisy, truth = make_problem(table, 200, name, 100, SMALL)
    clean, nothing = make_problem(table, 200, "clean", 100, SMALL)
    changed = {"X_train", "y_train"} if "+" in name else {f"{'y' if 'lab' in name else 'X'}_train"}
    assert changed_arrays(noisy, clean) == changed
    differs = (noisy.X_train != clean.X_train).any(axis=1) | (noisy.y_train != clean.y_train)
    np.testing.assert_array_equal(truth.mask, differs)
    np.testing.assert_array_equal(truth.y_clean, clean.y_train)
    assert truth.record["corrupted"] == dict.fromkeys(truth.record["rates"], 20)
    assert truth.record["kinds"] == ["clean", "label", "feature", "gauss", "target"]
    assert noisy.record["valid"] == "clean"
    assert not nothing.mask.any()


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_validation_part_is_corrupted_when_asked_for(table, name):
    plain, truth = make_problem(table, 100, name, 100, {**SMALL, "valid": 0.5})
    asked, same_truth = make_problem(table, 100, name, 100, {**SMALL, "valid": 0.5}, False, True)
    assert changed_arrays(plain, asked) <= {"X_valid", "y_valid"}
    np.testing.assert_array_equal(truth.kinds, same_truth.kinds)
    differs = (plain.X_valid != asked.X_valid).any(axis=1) | (plain.y_valid != asked.y_valid)
    assert differs.sum() == 5 * len(truth.record["rates"])
    assert (plain.record["valid"], asked.record["valid"]) == ("clean", "corrupted")


def test_the_released_regime_corrupts_validation_and_splits_meta_by_class_0(table):
    sizes = {**SMALL, "valid": 50}
    noisy, truth = make_problem(table, 200, "label10@released", 100, sizes)
    clean, _ = make_problem(table, 200, "clean@released", 100, sizes)
    assert changed_arrays(noisy, clean) == {"y_train", "y_valid"}
    assert (noisy.y_valid != clean.y_valid).sum() == 5
    np.testing.assert_array_equal(truth.mask, noisy.y_train != clean.y_train)
    assert truth.mask.sum() == 20
    assert np.count_nonzero(noisy.y_meta == 0) == 5
    assert noisy.record["address"] == "toy@coder/n200/label10@released/seed100"
    assert noisy.record["corruption"] == "label10@released"
    assert (noisy.record["valid"], clean.record["valid"]) == ("corrupted", "clean")
    with pytest.raises(ValueError, match="draws none twice"):
        make_problem(table, 390, "label10@released", 100, SMALL, resample=True)


def test_the_released_regime_needs_classes(regression):
    with pytest.raises(ValueError, match="toy@coder: the regime of 'target10@released' splits by"):
        make_problem(regression, 60, "target10@released", 100, SMALL)


def test_clean_data_has_a_clean_validation_part_in_either_regime(table):
    problem, _ = make_problem(table, 60, "clean", 100, SMALL, corrupt_valid=True)
    assert problem.record["valid"] == "clean"


def test_the_truth_tells_rows_groups_and_labels(table):
    problem, truth = make_problem(table, 100, "label10", 100, SMALL)
    np.testing.assert_array_equal(truth.y_clean, table.y[truth.rows_train])
    np.testing.assert_array_equal(truth.group, table.group[truth.rows_train])
    assert truth.record["groups"] == ["f", "m"]
    # Feature 0 is the row number; standardising keeps its order.
    np.testing.assert_array_equal(np.argsort(problem.X_train[:, 0]), np.argsort(truth.rows_train))
    assert make_problem(replace(table, group=None), 100, "label10", 100, SMALL)[1].group is None


def test_parts_are_standardised_by_clean_training_rows(table):
    problem, truth = make_problem(table, 200, "feature30", 100, SMALL)
    clean = ~truth.mask
    rows = table.X[truth.rows_train]
    expected = (rows - rows.mean(axis=0)) / np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1)
    np.testing.assert_allclose(problem.X_train[clean], expected[clean], rtol=1e-5, atol=1e-6)
    assert not any(getattr(problem, f"X_{part}")[:, 4].any() for part in PARTS)
    assert {array.dtype for array in arrays_of(problem).values()} == {
        np.dtype(np.float32),
        np.dtype(np.int64),
    }


def test_only_the_drawn_rows_are_read(table):
    read = []

    class Spy:
        """Features that tell which rows are asked for, and can be had in no other way."""

        def __getitem__(self, rows):
            read.extend(rows.tolist())
            return table.X[rows]

    _, truth = make_problem(replace(table, X=Spy()), 60, "label10", 100, SMALL)
    assert len(read) == len(set(read)) == 120
    assert set(truth.rows_train.tolist()) <= set(read)


def test_features_on_disk_give_the_same_problem(table, tmp_path):
    np.save(tmp_path / "features.npy", table.X.astype(np.float16))
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    on_disk, _ = make_problem(replace(table, X=mapped), 60, "feature10", 100, SMALL)
    in_memory, _ = make_problem(
        replace(table, X=table.X.astype(np.float16)), 60, "feature10", 100, SMALL
    )
    assert changed_arrays(on_disk, in_memory) == set()
    assert type(on_disk.X_train) is np.ndarray


def test_resampling_is_explicit_and_recorded(table):
    with pytest.raises(ValueError, match=r"toy@coder: 660 rows are needed .* `resample: true`"):
        make_problem(table, 600, "clean", 100, SMALL)
    problem, truth = make_problem(table, 600, "label10", 100, SMALL, resample=True)
    assert problem.record["resampled"] is True
    assert problem.record["sizes"] == {"train": 600, **SMALL}
    distinct = problem.record["distinct"]
    assert sum(distinct.values()) == 400
    assert distinct["train"] == len(np.unique(truth.rows_train)) < 600
    # Feature 0 tells the row.
    drawn = [np.unique(getattr(problem, f"X_{part}")[:, 0]) for part in PARTS]
    assert len(np.unique(np.concatenate(drawn))) == 400


def test_resampling_where_rows_suffice_changes_nothing(table):
    plain, _ = make_problem(table, 60, "label10", 100, SMALL)
    allowed, _ = make_problem(table, 60, "label10", 100, SMALL, resample=True)
    assert changed_arrays(plain, allowed) == set()
    assert allowed.record["resampled"] is False
    assert allowed.record["distinct"] == {"train": 60, **SMALL}


def test_wrong_requests_are_said(table):
    with pytest.raises(ValueError, match="toy@coder: n=2 leaves no training point of class c"):
        make_problem(table, 2, "clean", 100, SMALL)
    with pytest.raises(ValueError, match="the seed must not be negative, got -1"):
        make_problem(table, 60, "clean", -1, SMALL)
    with pytest.raises(ValueError, match="unknown corruption 'noise10'"):
        make_problem(table, 60, "noise10", 100, SMALL)
    with pytest.raises(ValueError, match="unknown corruption 'noise10'"):
        address("toy", 60, "noise10", 100)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_missing_feature_is_said(table, value):
    X = table.X.copy()
    X[:, 2] = value
    with pytest.raises(ValueError, match=rf"toy@coder: feature 2 of row \d+ is {value}"):
        make_problem(replace(table, X=X), 60, "clean", 100, SMALL)


def test_storage_round_trip(table, tmp_path):
    problem, truth = make_problem(table, 50, "label10+gauss10", 100, SMALL)
    save_problem(tmp_path / "problem.npz", problem)
    save_truth(tmp_path / "truth.npz", truth)
    loaded = load_problem(tmp_path / "problem.npz")
    assert changed_arrays(loaded, problem) == set()
    assert loaded.record == problem.record
    assert loaded.record["address"] == "toy@coder/n50/label10+gauss10/seed100"
    assert loaded.record["source"] == "test"
    loaded_truth = load_truth(tmp_path / "truth.npz")
    for name in ("kinds", "mask", "y_clean", "rows_train", "group"):
        np.testing.assert_array_equal(getattr(loaded_truth, name), getattr(truth, name))
    assert loaded_truth.record == truth.record


def test_a_truth_without_groups_is_stored_without(tmp_path):
    truth = Truth(np.zeros(3, np.int8), np.zeros(3, np.int64), np.arange(3))
    save_truth(tmp_path / "truth.npz", truth)
    assert load_truth(tmp_path / "truth.npz").group is None


def test_a_file_of_something_else_is_said(table, tmp_path):
    problem, truth = make_problem(table, 50, "label10", 100, SMALL)
    save_problem(tmp_path / "problem.npz", problem)
    save_truth(tmp_path / "truth.npz", truth)
    with pytest.raises(ValueError, match=r"truth.npz lacks X_meta"):
        load_problem(tmp_path / "truth.npz")
    with pytest.raises(ValueError, match=r"problem.npz lacks kinds, rows_train, y_clean"):
        load_truth(tmp_path / "problem.npz")


def test_arrays_that_do_not_fit_are_said(table):
    problem, truth = make_problem(table, 50, "label10", 100, SMALL)
    with pytest.raises(ValueError, match="the test part has shapes"):
        replace(problem, y_test=problem.y_test[1:])
    with pytest.raises(ValueError, match=r"group has shape \(1,\), but there are 50 kinds"):
        replace(truth, group=np.zeros(1, np.int64))


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("corrupt_valid", [False, True])
def test_the_problem_file_tells_nothing_of_the_truth(table, tmp_path, name, corrupt_valid):
    """Its record is that of the clean problem, which knows no mask, but for the names."""
    problem, _ = make_problem(table, 100, name, 100, SMALL, corrupt_valid=corrupt_valid)
    clean, _ = make_problem(table, 100, "clean", 100, SMALL)
    save_problem(tmp_path / "problem.npz", problem)
    with np.load(tmp_path / "problem.npz") as stored:
        assert set(stored.files) == {*arrays_of(problem), "record"}
        record = json.loads(str(stored["record"]))
    names = {
        "corruption": "clean",
        "address": "toy@coder/n100/clean/seed100",
        "valid": "clean",
    }
    assert record["valid"] == ("corrupted" if corrupt_valid else "clean")
    assert {**record, **names} == clean.record


def test_methods_are_given_the_problem_and_no_truth(table, monkeypatch):
    given = {}

    def rule(problem, seed, X, y, X_valid, y_valid, n, rng):
        given.update(locals())
        return np.zeros(n)

    monkeypatch.setattr("nddv.baselines.chance.random_values", rule)
    problem, _ = make_problem(table, 50, "label10", 100, SMALL)
    value("random", problem, 100)
    assert given["problem"] is problem
    assert given["X"] is problem.X_train
    assert given["y"] is problem.y_train
    assert given["X_valid"] is problem.X_valid
    assert given["y_valid"] is problem.y_valid
    assert isinstance(given["rng"], np.random.Generator)
    for wish in ("truth", "mask", "kinds", "y_clean"):  # nobody can ask for the truth
        code = f"def rule({wish}): raise AssertionError"
        scope = {}
        exec(code, scope)
        monkeypatch.setattr("nddv.baselines.chance.random_values", scope["rule"])
        with pytest.raises(TypeError, match=wish):
            value("random", problem, 100)


def test_a_regression_problem_has_real_targets(regression, tmp_path):
    problem, truth = make_problem(regression, 200, "target10", 100, SMALL)
    assert problem.record["task"] == "regression"
    assert problem.record["classes"] == []
    assert {getattr(problem, f"y_{part}").dtype for part in PARTS} == {np.dtype(np.float64)}
    np.testing.assert_array_equal(truth.y_clean, regression.y[truth.rows_train])
    np.testing.assert_array_equal(truth.mask, problem.y_train != truth.y_clean)
    assert set(problem.y_train) <= set(truth.y_clean)
    assert truth.record["corrupted"] == {"target": 20}
    save_problem(tmp_path / "problem.npz", problem)
    save_truth(tmp_path / "truth.npz", truth)
    assert changed_arrays(load_problem(tmp_path / "problem.npz"), problem) == set()
    np.testing.assert_array_equal(load_truth(tmp_path / "truth.npz").y_clean, truth.y_clean)


def test_wrong_targets_change_nothing_else_and_follow_the_seed(regression):
    noisy, truth = make_problem(regression, 200, "target10", 100, SMALL)
    again, _ = make_problem(regression, 200, "target10", 100, SMALL)
    clean, _ = make_problem(regression, 200, "clean", 100, SMALL)
    other, _ = make_problem(regression, 200, "target10", 101, SMALL)
    valid, _ = make_problem(
        regression, 200, "target10", 100, {**SMALL, "valid": 20}, corrupt_valid=True
    )
    assert changed_arrays(noisy, again) == set()
    assert changed_arrays(noisy, clean) == {"y_train"}
    assert changed_arrays(noisy, other) == set(arrays_of(noisy))
    assert changed_arrays(noisy, valid) == {"y_valid"}
    both, kinds = make_problem(regression, 200, "feature10+target10", 100, SMALL)
    assert changed_arrays(both, clean) == {"X_train", "y_train"}
    assert np.bincount(kinds.kinds).tolist() == [160, 0, 20, 0, 20]
    assert truth.mask.sum() == 20


def test_a_corruption_must_fit_the_task(table, regression):
    with pytest.raises(ValueError, match="toy@coder: label noise is for classification"):
        make_problem(regression, 60, "label10", 100, SMALL)
    with pytest.raises(ValueError, match="toy@coder: target noise is for regression"):
        make_problem(table, 60, "target10", 100, SMALL)


@pytest.mark.parametrize("name", ["fire_target", "houses"])
def test_regressions_that_need_no_file(name, monkeypatch):
    monkeypatch.delenv("NDDV_DATA", raising=False)
    problem, truth = make_problem(name, 100, "target10", 100)
    assert problem.record["task"] == "regression"
    assert truth.mask.sum() == 10


def test_unknown_data_set_is_said():
    with pytest.raises(ValueError, match="unknown data set '3dplanes'; did you mean '2dplanes'"):
        make_problem("3dplanes")
