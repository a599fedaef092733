"""A table that is read in chunks means the same as a table that is read at once."""

import datetime
import gzip
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nddv.tabular.chunks import open_stream
from nddv.tabular.encoding import Rules, learn_encoding, read_target
from nddv.tabular.files import Dialect, TableError, read_table
from nddv.tabular.streaming import stream_table

CHUNKS = [1, 7, 1000]
ROWS = 15


def outcome(function, *arguments, **options):
    """What a function gives, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return function(*arguments, **options)
        except TableError as error:
            return str(error), error.remedies


def at_once(path, target, rules, task="auto", **how):
    """What the command line does with a table in memory."""
    table = read_table(path, **how)
    y = read_target(table, target, task)
    encoding = learn_encoding(table, rules)
    return table, y, encoding, encoding.apply(table)


def compare(path, target, rules, folder, chunk_rows, task="auto", **how):
    """Read a table in both ways; give the error, or None."""
    expected = outcome(at_once, path, target, rules, task, **how)
    found = outcome(stream_table, path, target, task, rules, folder, chunk_rows=chunk_rows, **how)
    assert [entry.name for entry in folder.iterdir() if entry.name.startswith(".")] == []
    if isinstance(expected[0], str):
        assert found == expected
        return expected[0]
    assert not isinstance(found, tuple), found
    table, y, encoding, features = expected
    assert found.n == len(y) == len(found.rows)
    assert found.y.dtype == y.dtype
    assert (found.y == y).all()
    assert found.encoding == encoding
    assert [getattr(n, "remedies", {}) for n in found.encoding.notices] == [
        getattr(n, "remedies", {}) for n in encoding.notices
    ]
    assert found.features == list(features.columns)
    np.testing.assert_array_equal(found.rows[:], features.to_numpy(found.rows.dtype))
    order = np.arange(found.n)[::-3]
    again = found.frame_of(order)
    expected_rows = table.frame.iloc[order]
    assert list(again.columns) == list(expected_rows.columns)
    assert again.astype(str).to_numpy().tolist() == expected_rows.astype(str).to_numpy().tolist()
    return None


# entries of a column of a text file: what is usual, and what may come once
USUAL = {
    "whole": ["1", "2", "3"],
    "real": ["0.5", "-1e3", "7"],
    "zeros": ["007", "01", "1"],
    "flag": ["True", "False"],
    "date": ["2020-01-01", "2021-02-03", "2019-05-06T12:00:00"],
    "word": ["a", "b", "c d", '"two ""quotes"""'],
    "large": ["1", "9999999999999999999", "3"],
    "counter": [str(i) for i in range(ROWS)],
    "names": [f"n{i}" for i in range(ROWS)],
    "empty": [""],
}
ODD = ["", "?", "x", "NA", "inf", "TRUE", "1.5", "-3", "10" * 12, "2020-13-45", '"two\nlines"']


@st.composite
def text_tables(draw):
    """Lines of a text file of 15 rows; the first column is the target."""
    columns = [draw(st.sampled_from([["0", "1"], ["no", "yes"], ["True", "False"], ["0.5", "2"]]))]
    columns += [USUAL[draw(st.sampled_from(sorted(USUAL)))] for _ in range(draw(st.integers(1, 3)))]
    columns = [[usual[i % len(usual)] for i in range(ROWS)] for usual in columns]
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        column = columns[draw(st.sampled_from([*range(1, len(columns)), 0]))]
        column[draw(st.integers(0, ROWS - 1))] = draw(st.sampled_from(ODD))
    header = ["y", *draw(st.permutations(["a", "b", ""]))][: len(columns)]
    blank = draw(st.sampled_from([0, 0, 0, 3]))
    rows = [header, *zip(*columns, strict=True)]
    return "".join(",".join(row) + "\n" for row in rows) + "\n" * blank


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=text_tables(),
    chunk_rows=st.sampled_from([1, 7, 7, 1000]),
    impute=st.booleans(),
    categorical=st.sampled_from([(), (), ("a",)]),
    missing=st.sampled_from([(), ("?",)]),
)
def test_a_text_file(tmp_path_factory, text, chunk_rows, impute, categorical, missing):
    folder = tmp_path_factory.getbasetemp() / "streamed"
    folder.mkdir(exist_ok=True)
    path = folder / "table.csv"
    path.write_text(text)
    known = text.partition("\n")[0].split(",")
    categorical = tuple(name for name in categorical if name in known)
    rules = Rules(("y",), categorical, impute, max_categories=3)
    compare(path, "y", rules, folder, chunk_rows, missing=missing)


# one wrong entry far down a table of ten rows, and what must be said of it
MISTAKES = {
    "x has no entry at row 9 (line 10 of t.csv) and 1 other row": {"x": {8: "", 9: ""}},
    "x is infinite at row 8 (line 9 of t.csv)": {"x": {7: "-inf"}},
    "x holds numbers, but '?' at row 10 (line 11 of t.csv)": {"x": {9: "?"}},
    "x has no entry at row 9 and 1 other row": {"x": {8: "", 9: ""}, "w": {0: '"a\nb"'}},
    "w of t.csv has 10 different words in 10 rows": {"w": {i: f"w{i}" for i in range(10)}},
    "x of t.csv is empty": {"x": dict.fromkeys(range(10), "")},
    "target y is missing at row 7 (line 8 of t.csv)": {"y": {6: ""}},
    "target y is infinite at row 7": {"y": {0: "0.5", 6: "inf"}},
    "target y has 10 different words in 10 rows": {"y": {i: f"w{i}" for i in range(10)}},
}


@pytest.mark.parametrize("chunk_rows", [1, 9, 10])
@pytest.mark.parametrize("said", MISTAKES)
def test_errors_name_the_row_of_the_file(tmp_path, monkeypatch, said, chunk_rows):
    monkeypatch.chdir(tmp_path)
    columns = {"y": ["0", "1"] * 5, "x": [str(i * i) for i in range(10)], "w": ["a", "b"] * 5}
    for name, entries in MISTAKES[said].items():
        for row, entry in entries.items():
            columns[name][row] = entry
    lines = ["y,x,w", *map(",".join, zip(*columns.values(), strict=True))]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    rules = Rules(("y",), max_categories=5)
    error = compare(path, "y", rules, tmp_path, chunk_rows)
    assert said in error.replace("'x'", "x").replace("'w'", "w").replace("'y'", "y").replace(
        str(path), "t.csv"
    )
    assert not (tmp_path / "features.npy").exists()


@pytest.mark.parametrize("chunk_rows", CHUNKS)
@pytest.mark.parametrize(
    "content",
    [
        b"a,y\n1,2\n3,4\n5,6,7\n",
        b"a,y\n1,2,\n3,4,\n5,6,7\n",
        b"a,y\n1,2,3\n3,4,5\n",
        b'a,y\n1,2\n"open,1\n',
        b"a,y\n1,2\n\xff,1\n",
        b"a,y\n",
        b"a,a\n1,2\n",
        b"\n\n",
    ],
)
def test_files_that_are_no_tables(tmp_path, content, chunk_rows):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert compare(path, "y", Rules(("y",)), tmp_path, chunk_rows) is not None


def test_a_file_that_is_cut_short(tmp_path):
    path = tmp_path / "t.csv.gz"
    text = "y,x\n" + "".join(f"{i % 2},{i * i}\n" for i in range(400))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    assert compare(path, "y", Rules(("y",)), tmp_path, 70) is None
    path.write_bytes(path.read_bytes()[:-400])
    assert "cannot be read" in compare(path, "y", Rules(("y",)), tmp_path, 70)


PARQUET = pd.DataFrame(
    {
        "y": ["no", "yes"] * 10,
        "whole": [*range(0, 38, 2), None],  # a whole number until the last row
        "small": np.arange(20, dtype=np.int8) ** 2 % 7,
        "flag": [None, *[True, False, False] * 6, True],
        "word": [None] * 8 + ["007", "8", "x"] * 4,
        "levels": pd.Categorical(["u", "v", "w", "u"] * 5),
        "exact": [Decimal(f"{i % 7}.5") for i in range(20)],
        "day": [datetime.date(2020, 1, 1 + i % 9) for i in range(20)],
        "time": pd.date_range("2020-01-01", periods=20, freq="7h", tz="Europe/Oslo"),
        "span": pd.to_timedelta(np.arange(20) ** 2, "h"),
        "nullable": pd.array([1, None, *range(18)], dtype="Int64"),
        "none": [None] * 20,
    }
).astype({"whole": "Int64"})


@pytest.mark.parametrize("chunk_rows", [3, 7, 1000])
def test_a_parquet_file(tmp_path, chunk_rows):
    path = tmp_path / "t.parquet"
    table = PARQUET.set_index("word")
    table["whole"] = PARQUET["whole"].to_numpy(dtype=float, na_value=np.nan)
    table.to_parquet(path, row_group_size=6)
    for impute in (True, False):
        error = compare(path, "y", Rules(("y",), (), impute), tmp_path, chunk_rows)
        assert (error is None) == impute
    rules = Rules(("y", "none"), ("small", "exact", "flag"), impute=True)
    assert compare(path, "y", rules, tmp_path, chunk_rows) is None
    assert compare(path, "small", Rules(("small",), impute=True), tmp_path, chunk_rows) is None
    assert "holds dates" in compare(path, "time", Rules(("time",)), tmp_path, chunk_rows)
    path.write_bytes(path.read_bytes()[:-50])
    assert "as Parquet" in compare(path, "y", Rules(("y",)), tmp_path, chunk_rows)


def test_whole_numbers_with_gaps_in_a_parquet_file(tmp_path):
    """Arrow has no type of its own for them: a chunk without a gap is whole, another is not."""
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    whole = pyarrow.array([*range(0, 18, 2), None], pyarrow.int32())
    flag = pyarrow.array([True] * 4 + [False] * 5 + [None])
    parquet.write_table(pyarrow.table({"y": [0, 1] * 5, "x": whole, "f": flag}), path)
    for chunk_rows in (1, 4, 100):
        assert compare(path, "y", Rules(("y",), impute=True), tmp_path, chunk_rows) is None
        rules = Rules(("y",), ("x", "f"), impute=True)
        assert compare(path, "y", rules, tmp_path, chunk_rows) is None
        frame = open_stream(path, Dialect(), chunk_rows).rows(range(10))
        assert frame.dtypes.tolist() == [np.int64, np.float64, object]


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.csv.zip"])
def test_other_text_files(tmp_path, name):
    path = tmp_path / name
    frame = pd.DataFrame({"y": [0, 1] * 6, "ä": np.arange(12) ** 2, "w": list("xyz") * 4})
    frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ";", encoding="latin-1")
    how = {"encoding": "latin-1", "separator": None if "tsv" in name else ";"}
    assert compare(path, "y", Rules(("y",)), tmp_path, 5, **how) is None


def test_columns_are_kept_and_rows_found_again(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i % 2},{i * i},{'k' if i == 25 else ''}{i:03d}" for i in range(30)]
    path.write_text("\n".join(["y,x,key", *lines]))
    rules = Rules(("y", "key"))
    streamed = stream_table(path, "y", "auto", rules, tmp_path / "new", keep=["key"], chunk_rows=7)
    keys = [line.split(",")[2] for line in lines]  # words, as the column is read at once
    assert streamed.kept["key"].tolist() == keys
    assert streamed.kept.index.tolist() == list(range(30))
    assert streamed.frame_of([28, 0, 28])["key"].tolist() == ["028", "000", "028"]
    assert streamed.frame_of([]).columns.tolist() == ["y", "x", "key"]
    for beyond in ([30], [-1]):
        with pytest.raises(IndexError, match="from 0 to 29"):
            streamed.frame_of(beyond)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["features.npy"]


def test_numbers_that_float32_confuses_are_stored_as_float64(tmp_path):
    path = tmp_path / "t.csv"

    def stored(numbers):
        pd.DataFrame({"y": [0, 1] * 5, "x": numbers}).to_csv(path, index=False)
        rows = stream_table(path, "y", "auto", Rules(("y",)), tmp_path, chunk_rows=4).rows
        np.testing.assert_allclose(rows[:][:, 0], numbers, rtol=1e-6)
        return rows.dtype

    seconds = 1.7e9 + np.arange(10.0) ** 2
    assert stored(seconds) == np.float64
    assert stored(seconds - 1.7e9) == np.float32
    assert stored(np.arange(10.0) ** 2 * 1e300) == np.float64
    assert stored(np.arange(1, 11.0) ** 2 * 1e-300) == np.float64


def test_a_misspelt_name_is_told_before_the_file_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,x,key\n" + "0,1,2\n" * 9 + "0,1,2,damaged\n")
    cases = [
        ({"target": "lable"}, "'lable' (the target); did you mean 'label'?"),
        ({"rules": Rules(("lable",))}, "'lable' (not a feature)"),
        ({"rules": Rules(categorical=("kye",))}, "'kye' (a category)"),
        ({"keep": ["kye"]}, "'kye' (kept)"),
        ({}, "not a well-formed table"),
    ]
    usual = {"target": "label", "rules": Rules()}
    for options, said in cases:
        with pytest.raises(TableError) as caught:
            stream_table(path, task="auto", folder=tmp_path / "f", **{**usual, **options})
        assert said in str(caught.value)
    assert not (tmp_path / "f").exists()
    with pytest.raises(ValueError, match="chunk_rows must be at least 1"):
        open_stream(path, Dialect(), chunk_rows=0)


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("y,x\n" + "0,1\n1,3\n" * 9)
    table = open_stream(path, Dialect(), chunk_rows=4)
    path.write_text("y,x\n" + "0,1\n1,3\n" * 5)
    with pytest.raises(TableError, match="shorter while it was read"):
        list(table.chunks("reading"))
