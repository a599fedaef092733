"""Splits: sizes, disjointness, class shares, resampling; standardisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nddv.problems.sizes import PARTS, part_sizes
from nddv.problems.splits import released_splits, standardise, stratified_splits


def rng(seed=100):
    return np.random.default_rng(seed)


@st.composite
def labels_and_sizes(draw, scarce):
    """Labels of 1 to 12 classes in any order, and sizes that fit them, or do not if ``scarce``."""
    counts = draw(st.lists(st.integers(0, 60), min_size=1, max_size=12))
    counts[-1] = max(counts[-1], 25)
    y = rng(draw(st.integers(100, 200))).permutation(np.repeat(np.arange(len(counts)), counts))
    if scarce:
        # No part is wanted below 1/25 of all, so that every pool has a row of its own.
        sizes = [draw(st.integers(len(y), 8 * len(y))) for _ in PARTS]
    else:
        cuts = draw(st.lists(st.integers(1, len(y)), min_size=4, max_size=4, unique=True))
        sizes = np.diff([0, *sorted(cuts)]).tolist()
    return y, dict(zip(PARTS, sizes, strict=True))


def class_counts(y, rows):
    return np.bincount(y[rows], minlength=y.max() + 1)


@pytest.mark.parametrize(
    ("n", "rows"), [(1000, [1000, 100, 300, 100]), (10_000, [10_000, 1000, 3000, 1000])]
)
def test_shares_give_the_sizes_of_the_paper(n, rows):
    sizes = part_sizes(n, {"meta": 0.1, "test": 0.3, "valid": 0.1})
    assert list(sizes.items()) == list(zip(PARTS, rows, strict=True))


def test_rows_and_shares_mix():
    sizes = part_sizes(40, {"valid": 7, "test": 0.5, "meta": np.int64(3)})
    assert sizes == {"train": 40, "valid": 7, "test": 20, "meta": 3}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"valid": 10, "test": 10}, "must give valid, test, meta, got valid, test"),
        ({"valid": 10, "test": 10, "meta": 10, "tset": 10}, "got valid, test, meta, tset"),
        ({"valid": 10, "test": 10, "meta": 1.0}, "size of the meta part .* got 1.0"),
        ({"valid": 10, "test": 10, "meta": True}, "size of the meta part .* got True"),
        ({"valid": 10, "test": "10", "meta": 10}, "size of the test part .* got '10'"),
        ({"valid": 0, "test": 10, "meta": 10}, "the size 0 of the valid part gives 0 rows"),
        ({"valid": -5, "test": 10, "meta": 10}, "the size -5 of the valid part"),
        ({"valid": 0.001, "test": 10, "meta": 10}, "0.001 of the valid part gives 0 rows at n=50"),
    ],
)
def test_a_wrong_size_is_said(sizes, message):
    with pytest.raises(ValueError, match=message):
        part_sizes(50, sizes)


def test_no_training_points_is_said():
    with pytest.raises(ValueError, match="n, .* must be positive, got 0"):
        part_sizes(0, {"valid": 1, "test": 1, "meta": 1})


@given(labels_and_sizes(scarce=False), st.booleans())
def test_parts_are_disjoint_exact_and_stratified(case, resample):
    y, sizes = case
    parts = stratified_splits(y, sizes, rng(), resample)
    assert {part: len(rows) for part, rows in parts.items()} == sizes
    everything = np.concatenate(list(parts.values()))
    assert len(np.unique(everything)) == len(everything)

    all_counts = class_counts(y, np.arange(len(y)))
    left = class_counts(y, everything)
    assert (np.abs(left - len(everything) * all_counts / len(y)) < 1).all()
    for part in sizes:
        counts = class_counts(y, parts[part])
        assert (np.abs(counts - len(parts[part]) * left / left.sum()) < 1).all()
        left = left - counts


@given(labels_and_sizes(scarce=True))
def test_resampled_parts_are_disjoint_exact_and_use_every_row(case):
    y, sizes = case
    parts = stratified_splits(y, sizes, rng(), resample=True)
    assert {part: len(rows) for part, rows in parts.items()} == sizes
    pools = {part: np.unique(rows) for part, rows in parts.items()}
    everything = np.concatenate(list(pools.values()))
    assert sorted(everything) == list(range(len(y)))  # each row in one pool, and only there
    for part, size in sizes.items():
        fair = len(y) * size / sum(sizes.values())
        assert abs(len(pools[part]) - fair) < 1
        pool_counts = class_counts(y, pools[part])
        expected = size * pool_counts / len(pools[part])
        assert (np.abs(class_counts(y, parts[part]) - expected) < 1).all()


def test_resampling_repeats_rows_evenly_in_expectation():
    y = np.repeat([0, 1], [30, 10])
    parts = stratified_splits(y, dict.fromkeys(PARTS, 4000), rng(), resample=True)
    for rows in parts.values():
        _, times = np.unique(rows, return_counts=True)
        assert len(times) == 10
        np.testing.assert_allclose(times, 400, rtol=0.2)


def test_rows_come_in_random_order():
    y = np.repeat([0, 1], [250, 250])
    for size, resample in ((100, False), (300, True)):
        rows = stratified_splits(y, dict.fromkeys(PARTS, size), rng(), resample)["train"]
        changes = np.count_nonzero(np.diff(y[rows]))
        assert changes > size / 4  # class after class would be 1 change
        assert not np.array_equal(rows, np.sort(rows))


def test_real_numbers_are_not_stratified():
    y = rng().normal(size=50)
    sizes = {"train": 20, "valid": 10, "test": 10, "meta": 10}
    parts = stratified_splits(y, sizes, rng())
    assert {part: len(rows) for part, rows in parts.items()} == sizes
    assert sorted(np.concatenate(list(parts.values()))) == list(range(50))
    same = stratified_splits(np.zeros(50, np.int64), sizes, rng())
    for part in sizes:
        np.testing.assert_array_equal(parts[part], same[part])
    more = stratified_splits(y, {part: 2 * size for part, size in sizes.items()}, rng(), True)
    assert len(more["train"]) == 40
    assert len(np.unique(more["train"])) == 20


def test_too_few_rows_is_said():
    sizes = {"train": 8, "valid": 1, "test": 1, "meta": 1}
    with pytest.raises(ValueError, match=r"11 rows .* \(8 train \+ 1 .* only 10: .*`resample"):
        stratified_splits(np.zeros(10, np.int64), sizes, rng())
    with pytest.raises(ValueError, match="3 rows are too few to give each of train, valid"):
        stratified_splits(np.zeros(3, np.int64), sizes, rng(), resample=True)


def test_draws_stay_as_they_were():
    """Rows that earlier versions drew for a seed: published results rest on them."""
    y = np.repeat([0, 1, 2], [25, 15, 10])
    first_of_seed = rng().spawn(1)[0]
    parts = stratified_splits(y, {"train": 20, "valid": 4, "test": 6, "meta": 4}, first_of_seed)
    train = [25, 44, 47, 46, 11, 32, 28, 43, 0, 5, 7, 34, 3, 19, 6, 9, 29, 23, 38, 10]
    assert parts["train"].tolist() == train
    assert parts["valid"].tolist() == [13, 39, 14, 48]
    assert parts["test"].tolist() == [8, 45, 27, 20, 1, 26]
    assert parts["meta"].tolist() == [18, 22, 40, 35]


def test_standardised_by_the_training_part():
    train, other = rng().normal(3, 2, (200, 4)), rng(101).normal(0, 1, (50, 4))
    new_train, new_other = standardise(train, other)
    assert new_train.dtype == new_other.dtype == np.float32
    np.testing.assert_allclose(new_train.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(new_train.std(axis=0), 1, atol=1e-6)
    expected = (other - train.mean(axis=0)) / train.std(axis=0)
    np.testing.assert_allclose(new_other, expected, rtol=1e-6, atol=1e-7)


def test_a_feature_constant_on_train_is_zero_everywhere():
    train = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]])
    other = np.array([[-5.0, 1.0], [5.0, 2.0]])
    new_train, new_other = standardise(train, other)
    zeros = np.concatenate([new_train[:, 0], new_other[:, 0]])
    assert zeros.tobytes() == bytes(zeros.nbytes)  # no −0.0 either
    np.testing.assert_array_equal(new_other[:, 1], new_train[:2, 1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("value", [1e-3, -1.0, 3e4])
def test_a_difference_of_rounding_is_no_feature(dtype, value):
    near = np.nextafter(dtype(value), dtype(np.inf))
    train = np.full((20, 2), value, dtype)
    train[::2, 0] = near
    train[::2, 1] = dtype(value) * dtype(1.05)  # a small change that is real
    new_train, new_other = standardise(train, np.full((1, 2), 5 * value / 4, dtype))
    assert (new_train[:, 0] == 0).all()
    assert (new_other[:, 0] == 0).all()
    np.testing.assert_allclose(np.abs(new_train[:, 1]), 1, rtol=1e-5)
    assert abs(new_other[0, 1]) < 15


def test_half_precision_is_standardised_in_double():
    """In float16 the squares of these values would overflow, and their mean lose its digits."""
    train = (40_000 + 1000 * rng().integers(-9, 10, (500, 1))).astype(np.float16)
    (new_train,) = standardise(train)
    exact = train.astype(np.float64)
    expected = (exact - exact.mean()) / exact.std()
    np.testing.assert_allclose(new_train, expected, rtol=1e-6, atol=1e-7)


# ------------------------------------------------------------------ the released regime


def test_the_released_meta_part_is_half_class_0_and_the_rest_is_not_stratified():
    y = rng().permutation(np.repeat(np.arange(5), [60, 10, 40, 200, 90]))
    sizes = {"train": 200, "valid": 30, "test": 50, "meta": 41}
    drawn = [released_splits(y, sizes, rng(seed)) for seed in range(100, 140)]
    for rows in drawn:
        assert {part: len(rows[part]) for part in rows} == sizes
        assert len(np.unique(np.concatenate(list(rows.values())))) == sum(sizes.values())
        assert np.count_nonzero(y[rows["meta"]] == 0) == 20
    assert list(drawn[0]) == list(sizes)
    # the counts of a class in the training part vary as draws without order do
    counts = np.array([class_counts(y, rows["train"]) for rows in drawn])
    share = np.array([40, *(np.bincount(y)[1:] * (1 - 21 / 340))]) / 359
    np.testing.assert_allclose(counts.mean(0), 200 * share, atol=2.5)
    assert counts[:, 3].std() > 2
    again = released_splits(y, sizes, rng(100))
    assert all(np.array_equal(again[part], drawn[0][part]) for part in sizes)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((5, 400), "20 meta rows of class 0 are needed, but there are only 5"),
        ((400, 5), "21 meta rows of other classes are needed, but there are only 5"),
        ((100, 100), "321 rows are needed, but there are only 200, and the released regime"),
    ],
)
def test_the_released_regime_refuses_too_few_rows(counts, words):
    sizes = {"train": 200, "valid": 30, "test": 50, "meta": 41}
    with pytest.raises(ValueError, match=words):
        released_splits(np.repeat([0, 1], counts), sizes, rng())
