"""The cache: whole entries only, verified on use, cleaned up after killed runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest
from filelock import FileLock

from nddv.problems.fetch import content_sha256
from nddv.problems.fetch.cache import ABANDONED_SECONDS, cached
from nddv.problems.fetch.errors import ArchiveError, ChecksumError, DownloadError
from nddv.support.files import cache_folder

FILES = {"a.txt": b"alpha", "deep/b.txt": b"beta"}


class Builder:
    """Fills an entry with ``FILES``, after what ``before`` does; counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.before = lambda downloads, content: None

    def __call__(self, downloads: Path, content: Path) -> None:
        self.calls += 1
        assert not list(content.iterdir())
        self.before(downloads, content)
        for name, data in FILES.items():
            (content / name).parent.mkdir(exist_ok=True)
            (content / name).write_bytes(data)


@pytest.fixture
def build() -> Builder:
    return Builder()


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NDDV_CACHE", str(tmp_path))
    return tmp_path / "files"


def shown(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_the_checksum_of_one_file_is_that_of_its_bytes(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2
    assert content_sha256(tmp_path, ["x"]) == expected


def test_the_checksum_of_several_files_is_that_of_what_sha256sum_prints(tmp_path):
    sums = {}
    for name, data in (("b", b"2"), ("a/c", b"1"), ("B", b"3")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
        sums[name] = hashlib.sha256(data).hexdigest()
    printed = f"{sums['B']}  B\n{sums['a/c']}  a/c\n{sums['b']}  b\n"
    expected = hashlib.sha256(printed.encode()).hexdigest()
    assert content_sha256(tmp_path, ["b", "a/c", "B"]) == expected


def test_the_cache_lies_where_the_environment_says(tmp_path, monkeypatch):
    assert cache_folder() == tmp_path
    monkeypatch.delenv("NDDV_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/nddv")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/nddv")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == Path("/home/me/Library/Caches/nddv")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert cache_folder() == Path("/local/nddv")


def test_an_entry_is_built_once(build, files):
    folder, sums = cached({"x": 1}, build)
    assert {name: (folder / name).read_bytes() for name in sums} == FILES
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    assert cached({"x": 1}, build) == (folder, sums)
    assert build.calls == 1
    assert cached({"x": 2}, build)[0] != folder
    assert shown(files) == sorted(path.parent.name for path in files.glob("*/content"))


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("in the way")


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: (entry / "content" / "a.txt").write_bytes(b"altered"),
        lambda entry: (entry / "content" / "a.txt").write_bytes(b"al"),
        lambda entry: (entry / "content" / "a.txt").write_bytes(b"alphA"),
        lambda entry: (entry / "content" / "a.txt").write_bytes(b""),
        lambda entry: (entry / "content" / "a.txt").unlink(),
        lambda entry: replace_by_folder(entry / "content" / "a.txt"),
        lambda entry: replace_by_file(entry / "content"),
        lambda entry: replace_by_file(entry),
        lambda entry: (entry / "manifest.json").unlink(),
        lambda entry: (entry / "manifest.json").write_text("{"),
        lambda entry: (entry / "manifest.json").write_text("[]"),
    ],
    ids=[
        *("altered", "cut", "one bit", "empty", "lost", "folder for file", "file for folder"),
        *("file for entry", "no manifest", "half a manifest", "another manifest"),
    ],
)
def test_a_damaged_entry_is_built_again_and_said(build, damage):
    folder, sums = cached({"x": 1}, build)
    damage(folder.parent)
    with pytest.warns(UserWarning, match=f"{folder.parent.name} are refused and fetched again"):
        assert cached({"x": 1}, build) == (folder, sums)
    assert {name: (folder / name).read_bytes() for name in sums} == FILES
    assert build.calls == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cached({"x": 1}, build) == (folder, sums)


def test_content_with_another_checksum_is_refused_with_both(build, files):
    with pytest.raises(ChecksumError) as caught:
        cached({"x": 1}, build, sha256="0" * 64)
    folder, sums = cached({"x": 1}, build)
    found = content_sha256(folder, sums)
    assert f"has SHA-256 {found}, but {'0' * 64} is expected" in str(caught.value)
    assert cached({"x": 1}, build, sha256=found.upper()) == (folder, sums)


def test_cached_content_that_is_not_the_expected_one_is_fetched_again(build):
    build.before = lambda downloads, content: (content / "first.txt").touch()
    old, _ = cached({"x": 1}, build)
    expected = content_sha256(old, FILES)
    build.before = lambda downloads, content: None
    with pytest.warns(UserWarning, match=f"but {expected} is expected"):
        _, sums = cached({"x": 1}, build, sha256=expected)
    assert set(sums) == set(FILES)


@pytest.mark.parametrize(
    ("error", "kept"), [(DownloadError, ["part"]), (ArchiveError, []), (OSError, [])]
)
def test_downloads_are_kept_only_where_the_next_call_can_go_on_from_them(build, files, error, kept):
    def fail(downloads: Path, content: Path) -> None:
        (downloads / "part").touch()
        (content / "half").touch()
        raise error("for a reason")

    build.before = fail
    with pytest.raises(error, match="for a reason"):
        cached({"x": 1}, build)
    found = []
    build.before = lambda downloads, content: found.extend(p.name for p in downloads.iterdir())
    folder, _ = cached({"x": 1}, build)
    assert found == kept
    assert not (folder / "half").exists()
    assert shown(files) == [folder.parent.name]
    assert shown(folder.parent) == ["content", "manifest.json"]


def test_what_killed_runs_left_long_ago_is_removed_unless_in_use(build, files):
    for name, age in (
        ("old", ABANDONED_SECONDS + 60),
        ("used", ABANDONED_SECONDS + 60),
        ("new", 60),
    ):
        work = files / f"{name}.work"
        (work / "downloads").mkdir(parents=True)
        then = work.stat().st_mtime - age
        os.utime(work, (then, then))
    with FileLock(files / "used.lock"):
        folder, _ = cached({"x": 1}, build)
    assert shown(files) == sorted([folder.parent.name, "new.work", "used.work"])
