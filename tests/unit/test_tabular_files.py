"""Reading files: what is there is read, what is wrong is named with its place and the remedy."""

import gzip
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from nddv.tabular.files import TableError, read_table

FRAME = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": ["x", "y", "z"], "y": [0, 1, 0]})


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV", "t.csv.bz2", "t.tsv"])
def test_text_files_are_read_back(tmp_path, name):
    path = tmp_path / name
    FRAME.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    pd.testing.assert_frame_equal(read_table(path).frame, FRAME)


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.parquet.brotli"])
def test_parquet_files_are_read_back(tmp_path, name):
    path = tmp_path / name
    FRAME.to_parquet(path, compression="brotli" if "brotli" in name else "snappy")
    table = read_table(path)
    pd.testing.assert_frame_equal(table.frame, FRAME)
    assert not table.text


def test_index_of_a_parquet_file_is_a_column_if_it_has_a_name(tmp_path):
    FRAME.set_index("b").to_parquet(tmp_path / "named.parquet")
    FRAME.set_index(pd.Index([7, 8, 9])).to_parquet(tmp_path / "unnamed.parquet")
    assert "b" in read_table(tmp_path / "named.parquet").frame.columns
    assert list(read_table(tmp_path / "unnamed.parquet").frame.columns) == list(FRAME.columns)


def test_byte_order_mark_separator_and_encoding(tmp_path):
    marked = write(tmp_path, "bom.csv", b"\xef\xbb\xbfa,y\n1,2\n")
    assert list(read_table(marked).frame.columns) == ["a", "y"]
    latin = write(tmp_path, "latin.csv", "name;y\nZoë;1\n".encode("latin-1"))
    frame = read_table(latin, separator=";", encoding="latin-1").frame
    assert frame["name"].tolist() == ["Zoë"]


def test_missing_markers_can_be_declared(tmp_path):
    path = write(tmp_path, "t.csv", "a,y\n?,1\n2,0\n")
    assert np.isnan(read_table(path, missing=["?"]).frame["a"].iloc[0])


def test_blank_lines_keep_rows_and_lines_in_step(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "a,y\n1,0\n\n3,1\n\n\n"))
    assert (
        len(table.frame) == 3
    )  # the blank line in the middle is an empty row, those at the end go
    assert table.frame["a"].isna().tolist() == [False, True, False]
    assert table.where(2) == "row 3 (line 4 of t.csv)"


def test_no_line_number_where_entries_span_lines(tmp_path):
    table = read_table(write(tmp_path, "t.csv", 'a,y\n"two\nlines",0\nb,1\n'))
    assert table.where(1) == "row 2"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n\n", "empty|no rows"),
        ("t.csv", b"a,b,y\n", "has a header but no rows"),
        ("t.csv", b"a,a,y\n1,2,3\n", "more than one column named 'a'"),
        ("t.csv", b"a,y\n1,2\n3,4,5\n", "well-formed table: .*line 3"),
        ("t.csv", b"a,y\n1,2,3\n4,5,6\n", "more entries than the header"),
        ("t.csv", b"a,y\n\xff\xfe,1\n", "not utf-8 text .*name its encoding"),
        ("t.csv", b'a,y\n"open,1\n', "well-formed"),
        ("t.csv.gz", b"a,y\n1,2\n", "cannot be read"),
        ("t.csv.gz", gzip.compress(b"a,y\n1,2\n" * 1000, mtime=0)[:40], "cannot be read"),
        ("t.csv.xz", lzma.compress(b"a,y\n1,2\n")[:-9] + bytes(9), "cannot be read"),
        ("t.csv.zip", b"PK\x03\x04 and then nothing", "cannot be read"),
        ("t.csv", b"a,y\n" + b"x" * 5000 + b",1,2,3\n", "more entries than the header"),
        ("t.parquet", b"PAR1 this is not parquet", "cannot be read as Parquet"),
        ("t.parquet", b"a,y\n1,2\n", "cannot be read as Parquet"),
        ("t.xlsx", b"PK", "neither .csv, .tsv"),
        ("t", b"a,y\n1,2\n", "neither .csv, .tsv"),
    ],
)
def test_bad_files_are_refused_with_a_reason(tmp_path, name, content, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(write(tmp_path, name, content))
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_truncated_parquet(tmp_path):
    FRAME.to_parquet(tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        read_table(write(tmp_path, "half.parquet", content[: len(content) // 2]))


def test_duplicated_columns_of_parquet(tmp_path):
    columns = [pyarrow.array([1, 2])] * 2
    pyarrow.parquet.write_table(
        pyarrow.table(columns, names=["a", "a"]), tmp_path / "twice.parquet"
    )
    with pytest.raises(TableError, match="more than one column named 'a'"):
        read_table(tmp_path / "twice.parquet")


def test_messages_are_one_line_and_not_as_long_as_a_strange_file(tmp_path):
    table = read_table(write(tmp_path, "t.csv", f'"a\nb",{"x" * 5000}\n1,2\n'))
    with pytest.raises(TableError, match="it has 'a.*nb', 'xxx.* … .*xxx") as caught:
        table.check_columns(["target"], "the target")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_absent_file_folder_and_encoding(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "nothing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "folder.csv")
    with pytest.raises(TableError, match="'klingon' is no encoding"):
        read_table(write(tmp_path, "t.csv", "a,y\n1,2\n"), encoding="klingon")


def test_unknown_columns_get_a_hint(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "label,size\n1,2\n"))
    with pytest.raises(TableError, match=r"'lable' \(the target\); did you mean 'label'\?"):
        table.check_columns(["lable"], "the target")
    with pytest.raises(TableError, match="it has 'label', 'size'"):
        table.check_columns(["y"], "the target")
    one = read_table(write(tmp_path, "s.csv", "a;y\n1;2\n"))
    with pytest.raises(TableError, match="name the separator") as caught:
        one.check_columns(["target"], "the target")
    assert caught.value.remedies == {"separator": None}
