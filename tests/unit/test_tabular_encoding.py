"""Encoding: each kind of column becomes the right numbers, and is never guessed at silently."""

import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nddv.cli.arguments import explain
from nddv.tabular.encoding import Rules, learn_encoding, read_target
from nddv.tabular.files import FileTable, TableError


def table_of(frame: pd.DataFrame | dict, text: bool = True) -> FileTable:
    return FileTable(Path("t.csv"), pd.DataFrame(frame), text=text)


def encode(frame: pd.DataFrame | dict, text: bool = True, **rules) -> pd.DataFrame:
    table = table_of(frame, text)
    return learn_encoding(table, Rules(**rules)).apply(table)


def test_numbers_flags_and_nullable_types():
    frame = encode(
        {
            "whole": [1, 2, 3],
            "real": [0.5, 1.5, 9.0],
            "flag": [True, False, True],
            "nullable": pd.array([1, 2, 4], dtype="Int64"),
            "maybe": pd.array([True, False, False], dtype="boolean"),
            "exact": [Decimal("1.5"), Decimal(2), Decimal(3)],
            "object": np.array([True, False, True], dtype=object),
        }
    )
    assert frame.dtypes.eq(np.float64).all()
    assert frame["flag"].tolist() == [1, 0, 1]
    assert frame["exact"].tolist() == [1.5, 2, 3]
    assert frame["nullable"].tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    "days",
    [
        ["2024-01-01", "2024-01-03", "2024-01-02T12:00:00"],
        pd.to_datetime(["2024-01-01", "2024-01-03", "2024-01-02 12:00"], format="ISO8601"),
        pd.to_datetime(
            ["2024-01-01", "2024-01-03", "2024-01-02 12:00"], format="ISO8601", utc=True
        ),
    ],
)
def test_dates_become_days_since_the_first(days):
    assert encode({"when": days})["when"].tolist() == [0, 2, 1.5]


def test_date_objects_and_durations():
    dates = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), datetime.date(2024, 2, 1)]
    assert encode({"when": dates})["when"].tolist() == [0, 1, 31]
    assert encode({"long": pd.to_timedelta([1, 2, 4], "D")})["long"].tolist() == [1, 2, 4]


def test_categories_become_one_column_a_level():
    frame = encode({"city": ["Oslo", "Rome", "Bern", "Oslo"], "sex": ["f", "m", "f", "m"]})
    assert list(frame.columns) == ["city=Bern", "city=Oslo", "city=Rome", "sex=m"]
    assert frame["city=Oslo"].tolist() == [1, 0, 0, 1]
    assert (frame.filter(like="city=").sum(axis=1) == 1).all()


def test_numbers_can_be_taken_as_categories():
    frame = encode({"code": [3, 1, 2, 1]}, categorical=("code",))
    assert list(frame.columns) == ["code=1", "code=2", "code=3"]


def test_rare_levels_beyond_the_cap_are_pooled_with_a_notice():
    words = ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d", "e"]
    table = table_of({"w": words})
    encoding = learn_encoding(table, Rules(max_categories=3))
    frame = encoding.apply(table)
    assert list(frame.columns) == ["w=a", "w=b", "w=c", "w=(other)"]
    assert frame["w=(other)"].sum() == 2
    assert "5 levels" in encoding.notices[0]
    assert "2 rows" in encoding.notices[0]


def test_identifiers_are_refused_with_a_remedy():
    names = {"name": [f"n{i}" for i in range(60)], "x": range(60)}
    with pytest.raises(TableError, match="60 different words in 60 rows") as caught:
        encode(names)
    assert caught.value.remedies == {"id": "name", "drop": "name"}
    assert list(encode(names, ignore=("name",)).columns) == ["x"]


def test_row_counters():
    table = table_of({"Unnamed: 0": range(4), "key": range(10, 14), "x": [3.0, 1.0, 2.0, 2.5]})
    encoding = learn_encoding(table, Rules())
    assert [c.name for c in encoding.columns] == ["key", "x"]
    assert "dropped" in encoding.notices[0]
    assert encoding.notices[1].remedies == {"id": "key", "drop": "key"}


def test_constant_columns_are_dropped_with_a_notice():
    table = table_of({"one": [1, 1, 1], "word": ["a"] * 3, "x": [1, 2, 4]})
    encoding = learn_encoding(table, Rules())
    assert list(encoding.apply(table).columns) == ["x"]
    assert encoding.notices == ["2 columns ('one', 'word') do not vary: dropped"]
    with pytest.raises(TableError, match="nothing is left"):
        encode({"one": [1, 1, 1]})


def test_missing_entries_are_named_with_row_and_remedy():
    frame = {"x": [1.0, 2.0, np.nan, np.nan], "w": ["a", "b", "a", "b"]}
    with pytest.raises(TableError) as caught:
        encode(frame)
    message = str(caught.value)
    for part in ("'x'", "row 3 (line 4 of t.csv)", "1 other row"):
        assert part in message
    assert caught.value.remedies == {"drop": "x", "missing": "impute"}
    with pytest.raises(TableError, match="'x' of t.csv is empty"):
        encode({"x": [np.nan] * 3, "z": [1, 2, 4]})
    with pytest.raises(TableError, match="'w' has no entry at row 2"):
        encode({"w": ["a", None, "b"]})


def test_imputation_says_where():
    frame = encode({"x": [1.0, np.nan, 3.0, 5.0], "w": ["a", None, "a", "b"]}, impute=True)
    assert frame["x"].tolist() == [1, 3, 3, 5]
    assert frame["x (missing)"].tolist() == [0, 1, 0, 0]
    assert frame["w=(missing)"].tolist() == [0, 1, 0, 0]
    # a constant with gaps carries information: where the gaps are
    assert encode({"c": [2.0, np.nan, 2.0]}, impute=True)["c (missing)"].tolist() == [0, 1, 0]
    assert list(encode({"e": [np.nan] * 3, "x": [1, 2, 4]}, impute=True).columns) == ["x"]


def test_flags_and_dates_with_gaps_are_imputed():
    gaps = {"f": [True, None, False, True], "d": ["2024-01-01", None, "2024-01-05", "2024-01-03"]}
    frame = encode(gaps, impute=True)
    assert frame["f"].tolist() == [1, 1, 0, 1]
    assert frame["d"].tolist() == [0, 2, 4, 2]


def test_whole_numbers_beyond_any_float_are_infinite():
    with pytest.raises(TableError, match="'x' is infinite at row 2"):
        encode({"x": [1, 10**400, 3]})


def test_infinite_entries_are_refused_even_when_imputing():
    with pytest.raises(TableError, match="'x' is infinite at row 2"):
        encode({"x": [1.0, np.inf, 2.0]}, impute=True)


def test_a_word_among_numbers_is_not_taken_for_a_category():
    with pytest.raises(TableError, match=r"'\?' at row 3") as caught:
        encode({"x": ["1", "2", "?", "4"]})
    assert caught.value.remedies == {"na": "?", "categorical": "x"}
    assert encode({"x": ["1", "2", "A", "4"]}, categorical=("x",)).shape == (4, 4)
    assert encode({"x": ["1", "2", "A", "4"]}, text=False).shape == (4, 4)  # typed as words


def test_entries_that_are_no_data():
    with pytest.raises(TableError, match="'x' of t.csv holds entries of type list"):
        encode({"x": [[1], [2, 3], [4]]}, text=False)


def test_meta_tables_are_encoded_like_the_valued_table():
    encoding = learn_encoding(
        table_of(
            {"x": [1.0, 2.0, 4.0], "w": ["a", "b", "c"], "d": ["2024-01-01"] * 2 + ["2024-01-09"]}
        ),
        Rules(impute=True),
    )
    meta = table_of(
        {"w": ["c", "new"], "x": [np.nan, 7.0], "d": ["2024-01-02", "2023-12-31"], "q": 1}
    )
    frame = encoding.apply(meta)
    assert frame["x"].tolist() == [2, 7]
    assert frame["d"].tolist() == [1, -1]
    assert frame[["w=a", "w=b", "w=c"]].to_numpy().tolist() == [[0, 0, 1], [0, 0, 0]]
    assert "'new'" in encoding.notices[-1]
    with pytest.raises(TableError, match="no column 'w'"):
        encoding.apply(table_of({"x": [1.0], "d": ["2024-01-01"]}))
    with pytest.raises(TableError, match="'x' of t.csv does not hold numbers"):
        encoding.apply(table_of({"x": ["one"], "w": ["a"], "d": ["2024-01-01"]}))
    with pytest.raises(TableError, match="'d' of t.csv does not hold dates"):
        encoding.apply(table_of({"x": [1.0], "w": ["a"], "d": ["yesterday"]}))
    with pytest.raises(TableError, match="'d' of t.csv does not hold dates"):  # 2024: no date
        encoding.apply(table_of({"x": [1.0], "w": ["a"], "d": [2024]}))


def test_what_the_command_line_suggests_can_be_typed():
    for frame, end in (
        ({"a b": [[1], [2]], "x": [1, 2]}, "(--drop 'a b')"),
        ({"a b": ["1", "2", "two\nlines"]}, "(--na 'two lines' or --categorical 'a b')"),
    ):
        with pytest.raises(TableError) as caught:
            encode(frame)
        assert "--" not in str(caught.value)
        assert explain(caught.value).endswith(end)


def test_a_new_level_of_a_two_level_column_is_announced_as_what_it_becomes():
    encoding = learn_encoding(table_of({"w": ["a", "b", "a"]}), Rules())
    assert encoding.apply(table_of({"w": ["c", "b"]}))["w=b"].tolist() == [0, 1]
    assert encoding.notices[-1].endswith("encoded as 'a'")


def test_targets():
    assert read_target(table_of({"y": ["a", "b", "a"]}), "y", "auto").tolist() == ["a", "b", "a"]
    whole = read_target(table_of({"y": [0.0, 1.0, 1.0]}), "y", "auto")
    assert whole.dtype == np.int64
    assert read_target(table_of({"y": [0.5, 1.0]}), "y", "auto").dtype == np.float64
    assert read_target(table_of({"y": [True, False]}), "y", "auto").dtype == bool
    categorical = pd.Series([2, 1, 2], dtype="category")
    assert read_target(table_of({"y": categorical}), "y", "auto").tolist() == ["2", "1", "2"]


@pytest.mark.parametrize(
    ("target", "task", "message"),
    [
        ([1.0, np.nan, 2.0], "auto", "missing at row 2.*cannot be imputed"),
        ([1.0, np.inf, 2.0], "regression", "infinite at row 2"),
        (["a", "b", "a"], "regression", "not numeric"),
        (["a", "b", "c"], "auto", "3 different words in 3 rows: not classes"),
        (pd.to_datetime(["2024-01-01"] * 3), "auto", "holds dates"),
    ],
)
def test_bad_targets(target, task, message):
    with pytest.raises(TableError, match=message):
        read_target(table_of({"y": target}), "y", task)


@given(
    numbers=st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=20),
    words=st.lists(st.sampled_from(["a", "b", "c d", "é", "="]), min_size=4, max_size=20),
)
def test_encoding_depends_on_no_order_of_rows(numbers, words):
    n = min(len(numbers), len(words))
    frame = pd.DataFrame({"x": numbers[:n], "w": words[:n], "z": np.arange(n) ** 2.0})
    straight = encode(frame)
    turned = encode(frame.iloc[::-1].reset_index(drop=True))
    assert np.isfinite(straight.to_numpy()).all()
    pd.testing.assert_frame_equal(straight, turned.iloc[::-1].reset_index(drop=True))


def test_constant_columns_can_be_kept():
    frame = {"one": [1, 1, 1], "a": [1, 2, 4], "word": ["x", "x", "x"]}
    assert list(encode(frame, keep_constant=True)) == ["one", "a", "word=x"]
    assert list(encode(frame)) == ["a"]
