"""Fetching: the first source that has the files, and what is said of those that have not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import sklearn.datasets

from nddv.problems.fetch import FetchError, fetch
from nddv.problems.fetch.fetching import NOT_ALLOWED

CONTENT = b"x,y\n1,2\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PACKAGE = {"kind": "package", "pypi": "name==1.0", "members": ["*"]}


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder named by NDDV_DATA with one table; the cache and the working folder lie apart."""
    folder = tmp_path / "data"
    (folder / "planes").mkdir(parents=True)
    (folder / "planes" / "planes.csv").write_bytes(CONTENT)
    monkeypatch.setenv("NDDV_DATA", str(folder))
    monkeypatch.setenv("NDDV_CACHE", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return folder


def test_a_local_file_stays_where_it_is_and_is_verified(data):
    source = {"kind": "local", "path": "planes/planes.csv", "sha256": SHA256, "read": "csv"}
    found = fetch("planes", [source], progress=False)
    assert (found.folder, found.files) == (data / "planes", ("planes.csv",))
    assert found.source == source
    assert found.record == {
        "kind": "local",
        "where": "NDDV_DATA/planes/planes.csv",
        "sha256": SHA256,
        "verified": True,
        "bytes": len(CONTENT),
        "tries": [],
    }


def test_a_local_file_that_was_altered_is_refused_with_both_checksums(data):
    source = {"kind": "local", "path": "planes/planes.csv", "sha256": SHA256}
    fetch("planes", [source], progress=False)
    altered = CONTENT + b"3,4\n"
    (data / "planes" / "planes.csv").write_bytes(altered)
    wrong = hashlib.sha256(altered).hexdigest()
    with pytest.raises(FetchError, match=f"has SHA-256 {wrong}, but {SHA256} is expected"):
        fetch("planes", [source], progress=False)


def test_a_local_folder_gives_all_its_files_but_hidden_ones(data):
    for name in ("b/2.jpg", "b/1.jpg", "a/1.jpg", "README", ".hidden", ".git/config"):
        path = data / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    source = {"kind": "local", "path": "pictures"}
    found = fetch("pictures", [source], progress=False)
    assert found.folder == data / "pictures"
    assert found.files == ("README", "a/1.jpg", "b/1.jpg", "b/2.jpg")
    assert not found.record["verified"]
    fewer = fetch("pictures", [{**source, "members": ["b/*.jpg"]}], progress=False)
    assert fewer.files == ("b/1.jpg", "b/2.jpg")
    with pytest.raises(FetchError, match="none of the files"):
        fetch("pictures", [{**source, "members": ["c/*"]}], progress=False)


def test_a_file_of_the_user_is_found_from_the_working_folder_or_the_root(data):
    Path("mine.csv").write_bytes(CONTENT)
    found = fetch("mine", [{"kind": "file", "path": "mine.csv"}], progress=False)
    assert (found.folder, found.files) == (Path.cwd(), ("mine.csv",))
    assert found.record["where"] == "mine.csv"
    absolute = str(Path("mine.csv").absolute())
    found = fetch("mine", [{"kind": "file", "path": absolute, "sha256": SHA256}], progress=False)
    assert found.record["verified"]
    with pytest.raises(FetchError, match=r"other.csv: there is no such file"):
        fetch("mine", [{"kind": "file", "path": "other.csv"}], progress=False)


@pytest.mark.parametrize("kind", ["generated", "scikit-learn"])
def test_some_sources_have_nothing_to_fetch(kind):
    found = fetch("planes", [{"kind": kind, "rows": 40768}], progress=False)
    assert (found.folder, found.files) == (None, ())
    assert found.record["sha256"] is None
    assert not found.record["verified"]


def test_the_sources_are_tried_in_order_and_failures_are_recorded(monkeypatch, capsys):
    monkeypatch.delenv("NDDV_DATA")
    sources = [
        {"kind": "local", "path": "planes/planes.csv"},
        PACKAGE,
        {"kind": "generated", "rows": 5},
        {"kind": "scikit-learn"},
    ]
    found = fetch("planes", sources, allowed=["local", "generated", "scikit-learn"])
    assert found.source == sources[2]
    assert json.loads(json.dumps(found.record))["tries"] == [
        {"source": "NDDV_DATA/planes/planes.csv", "error": "NDDV_DATA is not set"},
        {"source": "PyPI name==1.0", "error": NOT_ALLOWED},
    ]
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "planes: not from NDDV_DATA/planes/planes.csv: NDDV_DATA is not set\n"


def test_the_last_failure_lists_every_try_and_what_to_do(capsys):
    sources = [
        {"kind": "local", "path": "nothing.csv"},
        {"kind": "local", "path": "planes/planes.csv", "sha256": "0" * 64},
        PACKAGE,
    ]
    with pytest.raises(FetchError) as caught:
        fetch("planes", sources, allowed=["local"], progress=False)
    lines = str(caught.value).splitlines()
    assert lines[0] == "planes could not be fetched from any of its sources:"
    assert lines[1] == "  NDDV_DATA/nothing.csv: there is no such file or folder"
    assert lines[2].startswith(f"  NDDV_DATA/planes/planes.csv: the content has SHA-256 {SHA256}")
    assert lines[3] == f"  PyPI name==1.0: {NOT_ALLOWED}"
    assert "set NDDV_DATA" in lines[4]
    assert "package index" in lines[4]
    assert capsys.readouterr() == ("", "")


def test_no_sources_at_all_is_an_error():
    with pytest.raises(FetchError, match="no sources"):
        fetch("planes", [], progress=False)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "`kind` must be"),
        ({"kind": "torrent"}, "`kind` must be"),
        ({"kind": "local"}, "with `path`"),
        ({"kind": "local", "path": "../secret"}, "below NDDV_DATA"),
        ({"kind": "local", "path": "a/../../secret"}, "below NDDV_DATA"),
        ({"kind": "local", "path": "/etc/passwd"}, "below NDDV_DATA"),
        ({"kind": "local", "path": "C:\\secret"}, "below NDDV_DATA"),
        ({"kind": "official"}, "`openml` or `urls`"),
        ({"kind": "official", "urls": "http://host/a"}, "`urls` must be a list"),
        ({"kind": "official", "urls": ["file:///etc/passwd"]}, "http or https"),
        ({"kind": "official", "urls": ["https://host/folder/"]}, "that of a file"),
        ({"kind": "official", "urls": ["https://host/x/%2e%2e"]}, "that of a file"),
        ({"kind": "official", "urls": ["https://a/x", "https://b/x"]}, "same file name"),
        (
            {"kind": "official", "urls": ["https://a/x", "https://a/y"], "archive_sha256": "0"},
            "needs one URL",
        ),
        ({"kind": "package", "members": ["*"]}, "`pypi` or `npm`"),
        ({"kind": "package", "pypi": "name==1.0"}, "with `members`"),
        ({**PACKAGE, "members": "*.csv"}, "`members` must be a list"),
        ({**PACKAGE, "pypi": []}, "`pypi` or `npm`"),
        ({**PACKAGE, "pypi": "name"}, "name==version"),
        ({**PACKAGE, "pypi": "--index-url=x==1"}, "name==version"),
        ({**PACKAGE, "pypi": ["a==1", "https://host/b.whl"]}, "name==version"),
        ({"kind": "package", "npm": "name", "members": ["*"]}, "name@version"),
        ({"kind": "package", "npm": "--x@1.0.0", "members": ["*"]}, "name@version"),
    ],
)
def test_a_wrong_entry_is_told_before_anything_is_tried(source, message):
    with pytest.raises(ValueError, match=message) as caught:
        fetch("planes", [{"kind": "generated"}, source], progress=False)
    assert str(caught.value).startswith("planes: ")


def test_openml_becomes_a_parquet_file_with_the_target(monkeypatch, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": pd.Categorical(["N", "P"])})
    calls = []

    def fetch_openml(**arguments):
        calls.append(arguments)
        return SimpleNamespace(frame=frame)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    source = {"kind": "official", "openml": 727}
    for extra in ({}, {"read": "table", "rename": {"y": "target"}}):
        found = fetch("planes", [{**source, **extra}], progress=False)
        assert found.files == ("table.parquet",)
        pd.testing.assert_frame_equal(pd.read_parquet(found.folder / "table.parquet"), frame)
        assert found.record["where"] == "OpenML 727"
        assert not found.record["verified"]
    (arguments,) = calls  # keys that are none of fetch's business do not fetch again
    assert arguments["data_id"] == 727
    assert tmp_path / "cache" in arguments["data_home"].parents  # not in the user's home


def test_a_cache_that_cannot_be_written_is_a_reason_too(data, monkeypatch):
    monkeypatch.setenv("NDDV_CACHE", str(data / "planes" / "planes.csv"))
    with pytest.raises(FetchError, match="PyPI name==1.0: .*planes.csv"):
        fetch("planes", [PACKAGE], progress=False)


@pytest.mark.parametrize(
    "error", [OSError("no route to host"), ValueError("md5 checksum does not match")]
)
def test_a_failure_of_openml_is_a_try_that_failed(monkeypatch, error):
    def fetch_openml(**arguments):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    sources = [{"kind": "official", "openml": 727}, {"kind": "generated"}]
    found = fetch("planes", sources, progress=False)
    assert found.record["tries"] == [
        {"source": "OpenML 727", "error": f"OpenML data set 727: {error}"}
    ]
