"""Exact and near duplicates, and their labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nddv.checks import duplicates
from nddv.checks.duplicates import find_duplicates
from nddv.support.wording import InputError

SEED = 100


def normal(n=300, d=5, seed=SEED):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_exact_duplicates_by_hand():
    X = np.array([[0.0, 1], [2, 3], [-0.0, 1], [2, 3], [4, 5], [2, 3]])
    check = find_duplicates(X, list("abaabb"))
    assert check.group.tolist() == [0, 1, 0, 1, -1, 1]
    assert check.exact.tolist() == [True, True, True, True, False, True]
    assert check.conflicting.tolist() == [False, True, False, True, False, True]
    frame = check.groups()
    assert frame["group"].tolist() == [0, 1]
    assert frame["rows"].tolist() == [[0, 2], [1, 3, 5]]
    assert frame["exact"].tolist() == [True, True]
    assert frame["labels"].tolist() == [["a"], ["b", "a"]]
    assert frame["conflict"].tolist() == [False, True]


def test_near_duplicates_join_their_group():
    X = normal()
    X[10] = X[20]
    X[30] = X[20] + 1e-3
    X[40] = X[50] + 1e-3
    check = find_duplicates(X, np.arange(300) % 2)
    assert np.flatnonzero(check.group == 0).tolist() == [10, 20, 30]
    assert np.flatnonzero(check.group == 1).tolist() == [40, 50]
    assert np.flatnonzero(check.exact).tolist() == [10, 20]
    assert (check.group >= 0).sum() == 5
    assert check.groups()["exact"].tolist() == [False, False]
    assert not check.conflicting.any()
    assert not check.expected


def test_near_duplicates_in_one_column():
    X = normal(300, 1)
    X[40] = X[50] + 1e-9
    assert np.flatnonzero(find_duplicates(X).group >= 0).tolist() == [40, 50]


@pytest.mark.parametrize("d", [4, 40, 600])
def test_near_duplicates_are_found_in_narrow_and_wide_tables(d):
    X = normal(400, d)
    X[:20] = X[200:220] + 0.01 * normal(20, d, 1)
    check = find_duplicates(X)
    assert (check.group[:20] == check.group[200:220]).all()
    assert (check.group >= 0).sum() == 40
    assert find_duplicates(X, near=0).group.max() == -1


@pytest.mark.parametrize("kind", ["normal", "uniform", "heavy", "line", "low rank"])
def test_clean_tables_have_none(kind):
    """Of 10 tables with 400 rows each, at most two rows by chance."""
    rng = np.random.default_rng(SEED)
    draw = {
        "normal": lambda: rng.normal(size=(400, 8)),
        "uniform": lambda: rng.random((400, 2)),
        "heavy": lambda: rng.standard_t(2, size=(400, 3)),
        "line": lambda: rng.normal(size=(400, 1)),
        "low rank": lambda: rng.normal(size=(400, 3)) @ rng.normal(size=(3, 30)),
    }[kind]
    assert sum((find_duplicates(draw()).group >= 0).sum() for _ in range(10)) <= 2


def test_equal_rows_of_discrete_tables_are_expected_and_neighbours_no_duplicates():
    X = np.random.default_rng(SEED).integers(0, 3, (300, 5))
    check = find_duplicates(X)
    assert check.expected
    assert check.exact.any()
    np.testing.assert_array_equal(check.exact, check.group >= 0)


def test_near_duplicates_agree_in_columns_that_are_not_continuous():
    X = np.column_stack([normal(), np.random.default_rng(1).integers(0, 3, 300)])
    X[10] = X[20] + [*[1e-3] * 5, 0]
    X[30] = X[40] + [*[1e-3] * 5, 1]
    check = find_duplicates(X)
    assert np.flatnonzero(check.group >= 0).tolist() == [10, 20]


def test_a_search_in_few_axes_and_chunks_finds_the_same(monkeypatch):
    X = normal(200, 8)
    X[:5] = X[100:105] + 0.01
    whole = find_duplicates(X)
    monkeypatch.setattr(duplicates, "DIRECTIONS", 3)
    monkeypatch.setattr(duplicates, "CHUNK_ELEMENTS", 50)
    np.testing.assert_array_equal(find_duplicates(X).group, whole.group)
    assert (whole.group >= 0).sum() == 10


def test_both_searches_have_one_scale(monkeypatch):
    """Pairs at all distances: those that count do not depend on how neighbours are looked for."""
    X = normal(800, 4)
    apart = np.geomspace(3e-3, 0.05, 100)[:, None]
    X[:100] = X[400:500] + apart * normal(100, 4, 1) / 2
    whole = find_duplicates(X)
    monkeypatch.setattr(duplicates, "DIRECTIONS", 3)
    np.testing.assert_array_equal(find_duplicates(X).group, whole.group)
    assert 50 < (whole.group >= 0).sum() < 180


def test_few_different_rows_have_no_surroundings_to_be_nearer_than():
    X = normal(22, 3)
    X[1] = X[0] + 1e-6
    assert find_duplicates(X).group[:2].tolist() == [0, 0]
    X[18:] = X[14:18]  # 18 different rows are left
    check = find_duplicates(X)
    assert check.group[:2].tolist() == [-1, -1]
    assert (check.group >= 0).sum() == 8


def test_groups_do_not_depend_on_the_order_of_rows():
    X = normal()
    X[:30] = X[100:130] + 1e-3
    order = np.random.default_rng(0).permutation(300)
    before, after = find_duplicates(X).group[order], find_duplicates(X[order]).group
    np.testing.assert_array_equal(before < 0, after < 0)
    same = before[:, None] == before[None]
    np.testing.assert_array_equal(same, after[:, None] == after[None])


def test_tables_without_duplicates_have_an_empty_frame():
    frame = find_duplicates(normal(30), np.zeros(30)).groups()
    assert frame.columns.tolist() == ["group", "rows", "exact", "labels", "conflict"]
    assert len(frame) == 0
    assert find_duplicates(np.ones((1, 2))).group.tolist() == [-1]
    assert find_duplicates(pd.DataFrame({"a": [1, 1]})).groups()["labels"].tolist() == [[]]


def test_errors_say_what_to_do():
    with pytest.raises(InputError, match="near must be at least 0 and below 1, got 1.5"):
        find_duplicates(normal(), near=1.5)
    with pytest.raises(ValueError, match="y has 3 entries, but X has 300 rows"):
        find_duplicates(normal(), [1, 2, 3])
    with pytest.raises(ValueError, match="column 'a' of X is .*not numeric"):
        find_duplicates(pd.DataFrame({"a": ["x", "y"]}))
    with pytest.raises(InputError, match="X has 0 rows: a search for duplicates needs at least 1"):
        find_duplicates(np.empty((0, 2)))
