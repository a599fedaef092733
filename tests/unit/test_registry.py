"""Names of data sets and encoders, entries and their sources."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nddv.problems.registry import (
    check_name,
    overlaid,
    split_name,
    unavailable,
    usable_sources,
    whole_entry,
)

DATASETS = {
    "planes": {"data": "table"},
    "news": {"data": "text"},
    "mine": {"source": "csv", "path": "mine.csv", "target": "y"},
}
ENCODERS = {"words": {"data": "text"}, "pixels": {"data": "image"}}


def test_a_name_may_carry_an_encoder():
    assert split_name("planes") == ("planes", None)
    assert split_name("news@words") == ("news", "words")


@pytest.mark.parametrize("name", ["planes", "news@words", "mine"])
def test_names_that_fit(name):
    check_name(name, DATASETS, ENCODERS)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plane", "unknown data set 'plane'; did you mean 'planes'"),
        ("xyz", "known: planes, news, mine"),
        ("news", "needs an encoder: write news@ENCODER with one of words"),
        ("news@pixels", "pixels does not encode texts"),
        ("news@word", "unknown encoder 'word'; did you mean 'words'"),
        ("planes@words", "is a table and takes no encoder"),
        ("mine@words", "is a table and takes no encoder"),
    ],
)
def test_names_that_do_not_fit(name, message):
    with pytest.raises(ValueError, match=message):
        check_name(name, DATASETS, ENCODERS)


def test_the_short_form_of_ones_own_table():
    whole = whole_entry({"source": "csv", "path": "mine.csv", "target": "y", "group": "sex"})
    assert whole == {
        "data": "table",
        "target": "y",
        "group": "sex",
        "sources": [{"kind": "file", "path": "mine.csv"}],
    }
    with pytest.raises(ValueError, match="needs the 'path'"):
        whole_entry({"source": "csv", "target": "y"})


def test_ready_embeddings_serve_their_encoder_and_enough_rows_only():
    ready = {"kind": "local", "encoder": "words", "partial": True, "expect": {"rows": 100}}
    raw = {"kind": "package"}
    entry = {"sources": [ready, raw]}
    assert usable_sources(entry, "other") == [raw]
    assert usable_sources(entry, "words") == [raw]  # every row is asked for
    assert usable_sources({**entry, "rows": 101}, "words") == [raw]
    assert usable_sources({**entry, "rows": 100}, "words") == [ready, raw]
    known = {**ready, "first": 100}  # others can be encoded
    assert usable_sources({"sources": [known, raw], "rows": 101}, "words") == [known, raw]
    complete = {**ready, "partial": False}
    assert usable_sources({"sources": [complete, raw]}, "words") == [complete, raw]


def test_keys_of_a_source_win():
    spec = overlaid(
        {"target": "y", "expect": {"rows": 3, "classes": 2}}, {"target": "z", "expect": {"rows": 2}}
    )
    assert spec == {"target": "z", "expect": {"rows": 2, "classes": 2}}


def test_what_cannot_be_had_is_known_without_trying(tmp_path, monkeypatch):
    local = {"sources": [{"kind": "local", "path": "pictures"}]}
    monkeypatch.delenv("NDDV_DATA", raising=False)
    assert "you supply its files (pictures)" in unavailable("x", local, None, ["local"])
    for folder in (str(tmp_path), ""):
        monkeypatch.setenv("NDDV_DATA", folder)
        assert "you supply" in unavailable("x", local, None, ["local"])
    monkeypatch.setenv("NDDV_DATA", str(tmp_path))
    (tmp_path / "pictures").mkdir()
    assert unavailable("x", local, None, ["local"]) is None
    assert "not among those" in unavailable("x", local, None, ["package"])
    either = {"sources": [*local["sources"], {"kind": "official"}]}
    monkeypatch.delenv("NDDV_DATA")
    assert unavailable("x", either, None, ["local", "official"]) is None


def test_an_encoder_that_cannot_be_had_is_told_too(tmp_path, monkeypatch):
    monkeypatch.setenv("NDDV_DATA", str(tmp_path))
    ready = {"kind": "local", "path": "ready.npz", "read": "embeddings", "encoder": "hub"}
    entry = {"data": "text", "sources": [ready, {"kind": "package"}]}
    hub = {"sources": [{"kind": "official"}]}
    allowed = ["local", "package"]
    assert "its encoder: its sources (official)" in unavailable("x@hub", entry, hub, allowed)
    assert unavailable("x@own", entry, {}, allowed) is None  # no weights, none needed
    (tmp_path / "ready.npz").write_text("")
    assert unavailable("x@hub", entry, hub, allowed) is None
    part = {**ready, "partial": True, "first": 100, "expect": {"rows": 100}}
    entry = {"data": "text", "sources": [part, {"kind": "package"}], "rows": 101}
    assert "its encoder: its sources (official)" in unavailable("x@hub", entry, hub, allowed)
    assert unavailable("x@hub", {**entry, "rows": 100}, hub, allowed) is None


def test_the_registry_is_imported_without_numpy():
    """The Snakefile does so, inside Snakemake's own environment."""
    code = "import sys; sys.modules['numpy'] = None; import nddv.problems.registry"
    subprocess.run([sys.executable, "-c", code], check=True)
