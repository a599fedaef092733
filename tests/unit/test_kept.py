"""What tables and figures are made of can be packed, and unpacked elsewhere."""

from __future__ import annotations

import os

import pytest

from nddv.workflow.kept import ARCHIVE, kept_files, main, pack, unpack

KEPT = {
    "results/evaluation/digits/n60/label10/detection.csv": "f1\n0.5\n",
    "results/values/digits/n60/label10/seed0/loo.json": "{}",
    "results/data/digits/summary.json": "{}",
}
LEFT = {
    "results/values/digits/n60/label10/seed0/loo.npz": "array",
    "results/data/digits/files.json": "[]",
    "results/checksums/data/digits/summary.json.json": "{}",
    "results/benchmarks/value.json": "{}",
    "results/quick/results/evaluation/detection.csv": "f1\n",
    "results/evaluation/.detection.csv": "half written",
}


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    for i, (name, text) in enumerate({**KEPT, **LEFT}.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_000_000 + i, 1_000_000.25 + i))
    return folder


@pytest.fixture
def elsewhere(run, tmp_path):
    pack(run)
    folder = tmp_path / "elsewhere"
    (folder / ARCHIVE).parent.mkdir(parents=True)
    (folder / ARCHIVE).write_bytes((run / ARCHIVE).read_bytes())
    return folder


def test_scores_and_records_are_kept_and_nothing_else(run):
    assert {str(path) for path in kept_files(run)} == set(KEPT)


def test_unpacked_files_have_the_same_words_and_times(run, elsewhere):
    assert {str(path) for path in unpack(elsewhere)} == set(KEPT)
    for name, text in KEPT.items():
        assert (elsewhere / name).read_text(encoding="utf-8") == text
        assert (elsewhere / name).stat().st_mtime == (run / name).stat().st_mtime


def test_a_file_that_is_there_stays(elsewhere):
    first = next(iter(KEPT))
    (elsewhere / first).parent.mkdir(parents=True)
    (elsewhere / first).write_text("newer", encoding="utf-8")
    assert first not in map(str, unpack(elsewhere))
    assert (elsewhere / first).read_text(encoding="utf-8") == "newer"


def test_the_same_files_give_the_same_bytes(run):
    pack(run)
    before = (run / ARCHIVE).read_bytes()
    pack(run)
    assert (run / ARCHIVE).read_bytes() == before


@pytest.mark.parametrize(
    ("what", "words"), [("pack", "run the workflow"), ("unpack", "there is no")]
)
def test_where_there_is_nothing_the_error_says_so(what, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main([what])
    assert words in capsys.readouterr().err
