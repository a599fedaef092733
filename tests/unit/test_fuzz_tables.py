"""Files: a table that can be used, or an error that says what is wrong with the file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzzing import fuzzed
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from nddv.problems.fetch import Fetched
from nddv.problems.readers import Collection, Embeddings, read
from nddv.tabular.encoding import Rules, learn_encoding, read_target
from nddv.tabular.files import FileTable, TableError, read_table

TEXTS, SIDES, ALTERED, ARCHIVES = 2500, 500, 800, 700

# ------------------------------------------------------------------ text files

CELLS = st.one_of(
    st.integers(-5, 5).map(str),
    st.floats(width=32).map(str),
    st.sampled_from(
        [
            *(
                "",
                "a",
                "b",
                "yes",
                "no",
                "NA",
                "nan",
                "inf",
                "-inf",
                "1e400",
                "1,5",
                "True",
                "FALSE",
            ),
            *("2020-01-01", "2020-13-45", "9999-12-31", "0001-01-01", "2020-01-01T10:00:00+02:00"),
            *(
                "10" * 30,
                "0x1F",
                "1_000",
                " 1",
                "é",
                "中",
                "\x00",
                '"',
                "a\nb",
                "a\r",
                "﻿",
                "\ud7ff",
            ),
            *("-0", "1e-320", "9" * 400, "x" * 200, "None", "null", "=1+1", "--", "12:30", "1 000"),
        ]
    ),
    st.text(max_size=4),
)
NAMES = st.one_of(
    st.sampled_from(["a", "b", "y", "", "Unnamed: 0", "a b", "é", "1"]), st.text(max_size=3)
)
ROWS = 12
SEPARATORS = [",", ";", "\t", "|", " "]
ENCODINGS = ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le", "cp1252", "ascii"]


@st.composite
def tables(draw):
    """Rows of words: mostly a table, sometimes ragged."""
    width = draw(st.integers(2, 4))
    header = list("yabc")[:width]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        header[draw(st.integers(0, width - 1))] = draw(NAMES)
    columns = []
    for _ in range(width):
        usual = draw(st.sampled_from(["01", "ab", ["1.5", "2"], ["2020-01-01", "2021-02-03"]]))
        column = [usual[i % 2] for i in range(ROWS)]
        for _ in range(draw(st.integers(0, 3))):
            column[draw(st.integers(0, ROWS - 1))] = draw(CELLS)
        columns.append(column)
    rows = [list(row) for row in zip(*columns, strict=True)]
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(rows) - 1))
        rows[at] = draw(st.sampled_from([rows[at][:-1], [*rows[at], "more"], [], [""]]))
    return [header, *rows[: draw(st.sampled_from([ROWS, ROWS, ROWS, ROWS, 3, 1, 0]))]]


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set('",;|\t\n\r ') else cell


@st.composite
def text_files(draw):
    """Bytes of a text file, and how it is read."""
    kind = draw(st.sampled_from(["table", "table", "table", "table", "lines", "bytes"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", *ENCODINGS]))
    separator = draw(st.sampled_from([",", ",", ",", *SEPARATORS]))
    if kind == "bytes":
        content = draw(st.binary(max_size=60))
    elif kind == "lines":
        content = draw(st.text('01ab,;"\n\r\t\x00 é', max_size=60)).encode(encoding, "replace")
    else:
        quote = draw(st.sampled_from([quoted, quoted, str, '"{}'.format]))
        end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
        rows = [separator.join(map(quote, row)) for row in draw(tables())]
        content = (end.join(rows) + end).encode(encoding, "replace")
    how = {
        "separator": draw(st.sampled_from([*[separator] * 6, None, ";"])),
        "encoding": draw(st.sampled_from([*[encoding] * 8, "utf-8", "klingon"])),
        "missing": draw(st.sampled_from([(), (), ("?",), ("a", "0")])),
    }
    return content, how


def use(table, target="y", task="auto", impute=False, categorical=()):
    """What the command line does with a table, up to the model."""
    y = read_target(table, target, task)
    rules = Rules(ignore=(target,), impute=impute, categorical=categorical, max_categories=5)
    features = learn_encoding(table, rules).apply(table)
    assert len(y) == len(features) == len(table.frame) > 0
    assert np.isfinite(features.to_numpy(dtype=np.float64)).all()
    assert y.dtype.kind in "biufU"
    assert y.dtype.kind != "f" or np.isfinite(y).all()


def checked(path, says_why, draw_target, **how):
    """Read a file and use it; every error must be a TableError that names something."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = read_table(path, **how)
            names = list(table.frame.columns)
            use(table, *draw_target(names))
        except TableError as error:
            says_why(error)


@st.composite
def choices(draw):
    """Which column is the target, and other options."""
    number = draw(st.integers(0, 3))
    task = draw(st.sampled_from(["auto", "classification", "regression"]))
    impute, categorical = draw(st.booleans()), draw(st.booleans())

    def choose(names):
        target = names[number % len(names)]
        others = [name for name in names if name != target]
        return target, task, impute, tuple(others[:1]) if categorical else ()

    return choose


@pytest.mark.slow
@settings(**fuzzed(TEXTS))
@given(file=text_files(), choose=choices())
def test_a_text_file_is_used_or_refused(tmp_path_factory, says_why, file, choose):
    content, how = file
    path = scratch(tmp_path_factory, "table.csv")
    path.write_bytes(content)
    checked(path, says_why, choose, **how)


def scratch(factory, name):
    """One file that all examples of a test write anew."""
    return factory.getbasetemp() / name


@settings(**fuzzed(SIDES))
@given(file=text_files())
def test_another_table_is_encoded_alike_or_refused(tmp_path_factory, says_why, file):
    content, how = file
    path = scratch(tmp_path_factory, "other.csv")
    path.write_bytes(content)
    encoding = learn_encoding(LEARNT, Rules(ignore=("y",), impute="?" in how["missing"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            features = encoding.apply(read_table(path, **how))
        except TableError as error:
            says_why(error)
            return
    assert np.isfinite(features.to_numpy()).all()


# ------------------------------------------------------------------ other files


@st.composite
def alterations(draw):
    """A function that damages bytes: cuts them off, flips some, puts others in."""
    where = draw(st.floats(0, 1, exclude_max=True))
    kind = draw(st.sampled_from(["cut", "flip", "flip", "flip", "insert", "zeros", "none"]))
    value, length = draw(st.integers(1, 255)), draw(st.integers(1, 40))

    def alter(content):
        at = int(where * len(content))
        if kind == "cut":
            return content[:at]
        if kind == "flip":
            return content[:at] + bytes([content[at] ^ value]) + content[at + 1 :]
        if kind == "insert":
            return content[:at] + bytes([value]) * length + content[at:]
        if kind == "zeros":
            return content[:at] + bytes(length) + content[at + length :]
        return content

    return alter


FRAME = pd.DataFrame(
    {
        "y": np.arange(12) % 2,
        "a": np.linspace(0, 1, 12),
        "b": list("xyz") * 4,
        "c": pd.date_range("2020-01-01", periods=12),
        "d": [True, False] * 6,
    }
)
LEARNT = FileTable(Path("learnt.csv"), FRAME[["y", "a", "b", "c"]], text=True)


def in_memory(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def zipped(buffer, name, text):
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)


TABLES = {
    "t.parquet": in_memory(FRAME.to_parquet),
    "t.csv.gz": gzip.compress(FRAME.to_csv(index=False).encode(), mtime=0),
    "t.csv.bz2": bz2.compress(FRAME.to_csv(index=False).encode()),
    "t.csv.xz": lzma.compress(FRAME.to_csv(index=False).encode()),
    "t.csv.zip": in_memory(lambda buffer: zipped(buffer, "t.csv", FRAME.to_csv(index=False))),
}


@settings(**fuzzed(ALTERED))
@given(name=st.sampled_from(sorted(TABLES)), alter=alterations())
def test_a_damaged_table_is_used_or_refused(tmp_path_factory, says_why, name, alter):
    path = scratch(tmp_path_factory, name)
    path.write_bytes(alter(TABLES[name]))
    checked(path, says_why, lambda names: (names[0], "auto", True, ()))


def picture(kind):
    return in_memory(lambda buffer: Image.new("RGB", (4, 4), "red").save(buffer, kind))


def tarred(buffer):
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("cat/1.png", "dog/2.png"):
            member = tarfile.TarInfo(name)
            content = picture("PNG")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


JPEG = np.frombuffer(picture("JPEG"), dtype=np.uint8)
CLASSES = {"classes": list("abcdefghij")}
COLLECTIONS = {
    "embeddings": (
        "e.npz",
        in_memory(lambda b: np.savez(b, emb=np.ones((4, 2), np.float16), label=np.arange(4) % 2)),
        CLASSES,
    ),
    "jpegs": (
        "j.npz",
        in_memory(
            lambda b: np.savez_compressed(
                b, jpeg=JPEG, offsets=[0, len(JPEG)], label=[0], classes=["red"]
            )
        ),
        {},
    ),
    "cifar": ("batch.bin", bytes([3] * 3073 * 2), CLASSES),
    "pictures": ("p.tar", in_memory(tarred), {"label": "([a-z]+)/"}),
    "documents": ("bbc/tech/1.txt", "Fünf Wörter".encode(), {"label": "bbc/([a-z]+)/"}),
    "table": ("t.csv", FRAME.to_csv(index=False).encode(), {}),
}


@settings(**fuzzed(ARCHIVES))
@given(reader=st.sampled_from(sorted(COLLECTIONS)), alter=alterations())
def test_a_damaged_collection_is_read_or_refused(tmp_path_factory, says_why, reader, alter):
    name, content, entry = COLLECTIONS[reader]
    folder = scratch(tmp_path_factory, "collection")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(alter(content))
    fetched = Fetched(folder, (name,), {"kind": "local"}, {})
    try:
        found = read(fetched, {"read": reader, **entry})
        if isinstance(found, Collection):
            assert len(found.items) == len(found.labels)
            assert all(item is not None for item in found.items)
        elif isinstance(found, Embeddings):
            assert len(found.X) == len(found.labels)
    except ValueError as error:
        says_why(error)
