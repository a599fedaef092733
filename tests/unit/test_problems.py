"""Problems: the formula, the splits, the corruption, and what is stored."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.problems import (
    address,
    corrupt_labels,
    load_corruption,
    load_problem,
    load_table,
    make_problem,
    parse_corruption,
    save_corruption,
    save_problem,
    stratified_splits,
)
from nddv.problems.problem import PARTS
from nddv.problems.sources import BUILT_IN, two_d_planes
from nddv.problems.splits import standardise

SMALL = {"valid": 20, "test": 30, "meta": 10}


def test_2dplanes_follows_its_formula():
    table = two_d_planes(40000, np.random.default_rng(0))
    X, y = table.X, table.y
    assert set(np.unique(X[:, 0])) == {-1.0, 1.0}
    assert all(set(np.unique(X[:, j])) == {-1.0, 0.0, 1.0} for j in range(1, 10))
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)
    # Class P (1) is the lower half: it gets rarer as x2 rises where x1 = 1, as x5 where x1 = −1.
    upper = X[:, 0] > 0
    assert y[upper & (X[:, 1] == -1)].mean() > 0.4 > 0.01 > y[upper & (X[:, 1] == 1)].mean()
    assert y[~upper & (X[:, 4] == 1)].mean() < 0.6 < 0.99 < y[~upper & (X[:, 4] == -1)].mean()
    # The mean of the target is 0 by symmetry, so the classes are about even.
    assert y.mean() == pytest.approx(0.5, abs=0.01)
    # Features 8..10 carry nothing.
    for j in (7, 8, 9):
        assert abs(np.corrcoef(X[:, j], y)[0, 1]) < 0.02


def test_2dplanes_has_the_best_possible_accuracy_of_its_noise():
    """Given the features the class is sure up to ε: P(ε < −|signal|) is the Bayes error."""
    from scipy.stats import norm

    X = two_d_planes(40000, np.random.default_rng(0)).X
    y = two_d_planes(40000, np.random.default_rng(0)).y
    signal = np.where(
        X[:, 0] > 0, 3 + X[:, 1:4] @ [3.0, 2.0, 1.0], -3 + X[:, 4:7] @ [3.0, 2.0, 1.0]
    )
    assert np.mean((signal < 0) != y) == pytest.approx(norm.cdf(-np.abs(signal)).mean(), abs=0.03)


def test_real_2dplanes_agrees_with_the_generated_one(data_folder):
    import pandas as pd

    real = pd.read_csv(data_folder / "2dplanes" / "2dplanes.csv.gz")
    X = real[[f"x{j}" for j in range(1, 11)]].to_numpy(float)
    ours = load_table("2dplanes", BUILT_IN["2dplanes"])
    assert ours.X.shape == X.shape
    positive = (real["binaryClass"] == "P").to_numpy(float)
    assert ours.y.mean() == pytest.approx(positive.mean(), abs=0.01)
    for j in range(10):
        real_correlation = np.corrcoef(X[:, j], positive)[0, 1]
        assert np.corrcoef(ours.X[:, j], ours.y)[0, 1] == pytest.approx(real_correlation, abs=0.02)


def test_same_seed_same_bytes_other_seed_other_rows():
    first, truth = make_problem("2dplanes", 60, "label10", 100, SMALL)
    again, truth_again = make_problem("2dplanes", 60, "label10", 100, SMALL)
    other, _ = make_problem("2dplanes", 60, "label10", 101, SMALL)
    assert first.X_train.tobytes() == again.X_train.tobytes()
    assert first.y_train.tobytes() == again.y_train.tobytes()
    np.testing.assert_array_equal(truth.mask, truth_again.mask)
    assert first.X_train.tobytes() != other.X_train.tobytes()


def test_corruption_changes_training_labels_only():
    noisy, truth = make_problem("digits", 200, "label25", 100, SMALL)
    clean, no_truth = make_problem("digits", 200, "clean", 100, SMALL)
    np.testing.assert_array_equal(noisy.X_train, clean.X_train)
    for part in ("valid", "test", "meta"):
        np.testing.assert_array_equal(getattr(noisy, f"y_{part}"), getattr(clean, f"y_{part}"))
    np.testing.assert_array_equal(truth.y_clean, clean.y_train)
    np.testing.assert_array_equal(truth.mask, noisy.y_train != clean.y_train)
    assert truth.mask.sum() == 50
    assert not no_truth.mask.any()


def test_wrong_labels_are_uniform_over_the_other_classes():
    y = np.zeros(30000, dtype=np.int64)
    noisy, mask = corrupt_labels(y, 0.9, 4, np.random.default_rng(0))
    counts = np.bincount(noisy[mask], minlength=4)
    assert counts[0] == 0
    np.testing.assert_allclose(counts[1:] / mask.sum(), 1 / 3, atol=0.01)


@pytest.mark.parametrize(
    ("name", "expected"), [("clean", ("clean", 0.0)), ("label5", ("label", 0.05))]
)
def test_parse_corruption(name, expected):
    assert parse_corruption(name) == expected


@pytest.mark.parametrize("name", ["label", "label0", "label100", "Label10", "noise10", ""])
def test_unknown_corruption_is_refused(name):
    with pytest.raises(ValueError, match="unknown corruption"):
        parse_corruption(name)
    with pytest.raises(ValueError, match="unknown corruption"):
        address("2dplanes", 10, name, 0)


def test_splits_are_disjoint_stratified_and_exact():
    y = np.repeat([0, 1, 2], [700, 200, 100])
    sizes = {"train": 500, "valid": 100, "test": 333, "meta": 67}
    parts = stratified_splits(y, sizes, np.random.default_rng(0))
    everything = np.concatenate(list(parts.values()))
    assert len(np.unique(everything)) == len(everything) == 1000  # every row, once
    for part, size in sizes.items():
        assert len(parts[part]) == size
        counts = np.bincount(y[parts[part]], minlength=3)
        assert np.abs(counts - size * np.array([0.7, 0.2, 0.1])).max() <= 1
    assert not np.array_equal(parts["train"], np.sort(parts["train"]))


def test_too_few_rows_is_said():
    with pytest.raises(ValueError, match=r"digits: 2060 rows are needed .* only 1797: lower n"):
        make_problem("digits", 2000, "clean", 100, SMALL)


def test_a_class_without_training_points_is_said():
    with pytest.raises(ValueError, match="no training point of class"):
        make_problem("digits", 5, "clean", 100, SMALL)


def test_standardised_by_the_training_part_only():
    problem, _ = make_problem("digits", 300, "clean", 100, SMALL)
    varies = np.ptp(problem.X_train, axis=0) > 0
    assert 0 < varies.sum() < 64  # digits has pixels that are always empty
    np.testing.assert_allclose(problem.X_train.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(problem.X_train.std(axis=0)[varies], 1, atol=1e-5)
    assert abs(problem.X_test.mean(axis=0)[varies]).max() > 1e-3
    for part in PARTS:
        assert getattr(problem, f"X_{part}").dtype == np.float32


def test_a_feature_constant_on_train_is_zero_everywhere():
    train = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]])
    other = np.array([[5.0, 1.0]])
    new_train, new_other = standardise(train, other)
    assert (new_train[:, 0] == 0).all()
    assert (new_other[:, 0] == 0).all()
    assert new_other[0, 1] == new_train[0, 1] != 0


def test_storage_round_trip(tmp_path):
    problem, truth = make_problem("2dplanes", 50, "label10", 100, SMALL)
    save_problem(tmp_path / "problem.npz", problem)
    save_corruption(tmp_path / "corruption.npz", truth)
    loaded, loaded_truth = (
        load_problem(tmp_path / "problem.npz"),
        load_corruption(tmp_path / "corruption.npz"),
    )
    for part in PARTS:
        np.testing.assert_array_equal(getattr(loaded, f"X_{part}"), getattr(problem, f"X_{part}"))
        np.testing.assert_array_equal(getattr(loaded, f"y_{part}"), getattr(problem, f"y_{part}"))
    assert loaded.record == problem.record
    assert loaded.record["address"] == "2dplanes/n50/label10/seed100"
    np.testing.assert_array_equal(loaded_truth.mask, truth.mask)
    with pytest.raises(ValueError, match="lacks X_meta"):
        load_problem(tmp_path / "corruption.npz")


def test_the_truth_is_not_in_the_problem_file(tmp_path):
    problem, _ = make_problem("2dplanes", 50, "label10", 100, SMALL)
    save_problem(tmp_path / "problem.npz", problem)
    with np.load(tmp_path / "problem.npz") as stored:
        assert not {"mask", "y_clean"} & set(stored.files)


def test_unknown_data_set_or_source_is_said():
    with pytest.raises(ValueError, match="built in: 2dplanes, digits"):
        make_problem("3dplanes")
    with pytest.raises(ValueError, match=r"unknown source 'web'; known: generated"):
        make_problem({"name": "2dplanes", "source": "web"})
    with pytest.raises(ValueError, match="its entry says 12"):
        make_problem({"name": "digits", "source": "scikit-learn", "rows": 12})
