"""Corruptions: their names, exact counts, what they do, and what they must not reveal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nddv.problems.addresses import (
    KINDS,
    address,
    check_task,
    columns_of,
    parse_corruption,
    split_regime,
)
from nddv.problems.corruption import corrupt

CLEAN, LABEL, FEATURE, GAUSS, TARGET = range(5)
OF_CLASSES = KINDS[1:TARGET]  # the kinds that a classification problem may have


def rng(seed=100):
    return np.random.default_rng(seed)


def points(n, d=5, classes=3):
    """Standard normal features, and classes in turn."""
    return rng(101).normal(size=(n, d)).astype(np.float32), np.arange(n) % classes


def corrupted(name, X, y, varies=None, classes=3, seed=100):
    varies = np.ones(X.shape[1], bool) if varies is None else np.array(varies)
    return corrupt(X, y, parse_corruption(name), varies, classes, rng(seed))


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("clean", {}),
        ("label5", {"label": 0.05}),
        ("feature99", {"feature": 0.99}),
        ("label10+gauss3", {"label": 0.1, "gauss": 0.03}),
        ("label33+feature33+gauss33", {"label": 0.33, "feature": 0.33, "gauss": 0.33}),
        ("feature10+target5", {"feature": 0.1, "target": 0.05}),
    ],
)
def test_a_name_gives_its_rates_in_order(name, rates):
    assert list(parse_corruption(name).items()) == list(rates.items())


@pytest.mark.parametrize(
    "name",
    [
        "label",
        "label0",
        "label05",
        "label100",
        "Label10",
        "noise10",
        "",
        "label10+",
        "label10 ",
        "clean10",
        "clean+label10",
        "label10+label10",
        "label10+label20",
        "label10,feature10",
        "target",
        "targets10",
    ],
)
def test_an_unknown_name_is_refused(name):
    with pytest.raises(ValueError, match="unknown corruption .*(did you mean|use 'clean', or)"):
        parse_corruption(name)


def test_a_mixed_corruption_has_one_name():
    with pytest.raises(ValueError, match=r"write it as 'label5\+feature10\+gauss3'"):
        parse_corruption("gauss3+feature10+label5")


def test_a_regime_stands_behind_the_kinds():
    assert split_regime("label10+feature5@released") == ("label10+feature5", "released")
    assert split_regime("label10") == ("label10", None)
    assert parse_corruption("label10@released") == parse_corruption("label10")
    assert parse_corruption("clean@released") == {}
    assert (
        address("bbc@minilm", 60, "label10@released", 7) == "bbc@minilm/n60/label10@released/seed7"
    )
    for name in ("label10@", "label10@Released", "label10@released@released"):
        with pytest.raises(
            ValueError, match="unknown regime .*use 'label10@released', or 'label10'"
        ):
            split_regime(name)
    with pytest.raises(ValueError, match=r"splits by class, and this is a regression"):
        check_task("target10@released", "regression")
    check_task("feature10@released", "classification")


def test_some_points_must_stay_clean():
    assert sum(parse_corruption("label50+feature49").values()) == pytest.approx(0.99)
    with pytest.raises(ValueError, match="leaves no point clean"):
        parse_corruption("label50+feature50")


@given(
    n=st.integers(100, 400),
    percents=st.lists(st.integers(0, 33), min_size=3, max_size=3).filter(any),
    classes=st.integers(2, 5),
)
def test_counts_are_exact_and_each_kind_does_its_own(n, percents, classes):
    rates = {kind: p / 100 for kind, p in zip(OF_CLASSES, percents, strict=True) if p}
    X, y = points(n, classes=classes)
    new_X, new_y, kinds = corrupt(X, y, rates, np.ones(5, bool), classes, rng())
    for code, kind in enumerate(OF_CLASSES, start=1):
        assert np.sum(kinds == code) == round(rates.get(kind, 0) * n)
    np.testing.assert_array_equal(new_y != y, kinds == LABEL)
    assert new_y.min() >= 0
    assert new_y.max() < classes
    np.testing.assert_array_equal((new_X != X).any(axis=1), kinds >= FEATURE)


def test_what_was_given_is_not_changed():
    X, y = points(100)
    kept = X.copy(), y.copy()
    corrupted("label10+feature10+gauss10", X, y)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


def test_wrong_labels_are_uniform_over_the_other_classes():
    y = np.zeros(30_000, dtype=np.int64)
    _, noisy, kinds = corrupted("label90", np.zeros((30_000, 1), np.float32), y, classes=4)
    counts = np.bincount(noisy[kinds == LABEL], minlength=4)
    assert counts[0] == 0
    np.testing.assert_allclose(counts[1:] / counts.sum(), 1 / 3, atol=0.01)


@pytest.mark.parametrize(("name", "mean", "spread"), [("feature50", 1.0, 0.1), ("gauss50", 0, 1)])
def test_feature_noise_has_its_distribution_in_every_feature(name, mean, spread):
    X, y = points(20_000, d=4)
    new_X, _, kinds = corrupted(name, X, y)
    noise = (new_X - X)[kinds > 0]
    assert new_X.dtype == np.float32
    np.testing.assert_allclose(noise.mean(axis=0), mean, atol=4 * spread / 100)
    np.testing.assert_allclose(noise.std(axis=0), spread, rtol=0.03)
    off_diagonal = np.corrcoef(noise.T) - np.eye(4)
    assert np.abs(off_diagonal).max() < 0.05  # each feature has noise of its own


@pytest.mark.parametrize("name", ["feature20", "gauss20", "label10+feature10+gauss10"])
def test_constant_features_give_no_point_away(name):
    X, y = points(200)
    X[:, 2] = 0.0
    new_X, _, kinds = corrupted(name, X, y, varies=[True, True, False, True, True])
    column = np.ascontiguousarray(new_X[:, 2])
    assert column.tobytes() == bytes(column.nbytes)  # bit for bit: −0.0 would be a sign, too
    assert (new_X[kinds >= FEATURE] != X[kinds >= FEATURE]).sum(axis=1).min() == 4


def test_labels_in_a_mixture_are_those_of_label_noise_alone():
    X, y = points(300)
    _, alone, alone_kinds = corrupted("label10", X, y)
    _, mixed, mixed_kinds = corrupted("label10+feature20", X, y)
    np.testing.assert_array_equal(alone, mixed)
    np.testing.assert_array_equal(alone_kinds == LABEL, mixed_kinds == LABEL)


def test_kinds_at_one_rate_hit_the_same_points():
    """So that a comparison of kinds is a paired one."""
    X, y = points(300)
    chosen = [corrupted(f"{kind}10", X, y)[2] > 0 for kind in KINDS[1:]]
    for other in chosen[1:]:
        np.testing.assert_array_equal(chosen[0], other)
    assert not np.array_equal(chosen[0], corrupted("label10", X, y, seed=102)[2] > 0)


@given(n=st.integers(20, 200), percent=st.integers(5, 95), values=st.integers(2, 300))
def test_wrong_targets_are_those_of_other_points(n, percent, values):
    X, _ = points(n)
    y = rng(102).integers(values, size=n) / 7.0
    y[0], y[1] = -1.0, -2.0  # two targets at least differ
    new_X, new_y, kinds = corrupted(f"target{percent}", X, y)
    assert np.sum(kinds == TARGET) == round(percent / 100 * n)
    np.testing.assert_array_equal(new_y != y, kinds == TARGET)  # no chosen point keeps its target
    assert set(new_y) <= set(y)
    np.testing.assert_array_equal(new_X, X)


def test_wrong_targets_are_uniform_over_the_points_with_another():
    y = np.repeat([0.0, 1.0, 2.0], [10_000, 6000, 4000])
    _, noisy, kinds = corrupted("target90", np.zeros((20_000, 1), np.float32), y)
    of_zeros = noisy[(kinds == TARGET) & (y == 0)]
    assert (of_zeros == 1).mean() == pytest.approx(0.6, abs=0.02)
    assert (of_zeros == 2).mean() == pytest.approx(0.4, abs=0.02)


def test_a_corruption_fits_a_task():
    for name in ("clean", "feature10", "gauss10"):
        check_task(name, "classification")
        check_task(name, "regression")
    check_task("label10", "classification")
    check_task("feature10+target10", "regression")
    with pytest.raises(ValueError, match="label noise is for classification, .* as in 'target10'"):
        check_task("label10+feature10", "regression")
    with pytest.raises(ValueError, match="target noise is for regression, .* as in 'label10'"):
        check_task("target10", "classification")


def test_label_noise_stays_as_it_was():
    """Points that earlier versions chose for a seed: published results rest on them."""
    y = np.array([1, 2, 2, 2, 0, 1, 1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0])
    stream = rng().spawn(2)[1]
    X = np.zeros((20, 1), np.float32)
    _, noisy, kinds = corrupt(X, y, {"label": 0.2}, np.ones(1, bool), 3, stream)
    assert np.flatnonzero(kinds).tolist() == [0, 5, 10, 18]
    assert noisy[kinds > 0].tolist() == [2, 0, 2, 2]


def test_impossible_corruptions_are_said():
    X, y = points(10)
    with pytest.raises(ValueError, match="label noise at rate 0.01 takes 0 of 10 points"):
        corrupted("label1", X, y)
    with pytest.raises(ValueError, match="gauss noise at rate 0.33 takes 1 of 2 points, with 0"):
        corrupted("label33+feature33+gauss33", X[:2], y[:2])
    with pytest.raises(ValueError, match="at least 2 classes, got 1"):
        corrupted("label10", X, np.zeros(10, np.int64), classes=1)
    with pytest.raises(ValueError, match="at least 2 different targets, got 1"):
        corrupted("target10", X, np.full(10, 0.5))


def test_columns_of_an_address():
    parts = {"dataset": "digits", "n": "60", "corruption": "label10"}
    assert columns_of(parts) == {"dataset": "digits", "n": 60, "corruption": "label10"}
    assert columns_of({**parts, "seed": "7", "method": "lava"})["seed"] == 7
