"""What tables and figures are made of can be packed, and unpacked elsewhere."""

from __future__ import annotations

import os

import pytest

from nddv.workflow.kept import ARCHIVE, add, kept_files, main, pack, unpack

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


PLACE = "results/evaluation/digits/n60/label10/detection.csv"
CURVE, CEILING = (PLACE.replace("detection", name) for name in ("detection_curve", "ceiling"))
RECORD = "results/values/digits/n60/label10/seed0/{}.json"


def of_run(folder, **scores):
    """A run of these methods: their AUROC, as it is written, and a record of each."""
    rows = [f"digits,{method},0,{i},{auroc}" for i, (method, auroc) in enumerate(scores.items())]
    table = "\n".join(["dataset,method,seed,seconds,auroc", *rows, ""])
    texts = {PLACE: table, CURVE: table.replace("auroc", "found"), CEILING: "dataset,seed\n"}
    for name, text in {**texts, **{RECORD.format(m): m for m in scores}}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_methods_of_another_run_are_added_with_their_records(tmp_path):
    ours = of_run(tmp_path / "ours", loo="0.50", random="0.1")
    theirs = of_run(tmp_path / "theirs", lava="1e-05", random="0.1")
    changed = add(theirs, ours)
    assert {str(path) for path in changed} == {PLACE, CURVE, RECORD.format("lava")}
    lines = (ours / PLACE).read_text(encoding="utf-8").splitlines()
    assert (ours / CURVE).read_text(encoding="utf-8").splitlines()[1:] == lines[1:]
    assert lines[1:] == ["digits,loo,0,0,0.50", "digits,random,0,1,0.1", "digits,lava,0,0,1e-05"]
    assert (ours / RECORD.format("lava")).read_text(encoding="utf-8") == "lava"
    assert (ours / RECORD.format("random")).read_text(encoding="utf-8") == "random"
    # otherwise Snakemake would make the scores anew, from arrays that are not kept
    made = (ours / PLACE).stat().st_mtime_ns
    assert (ours / RECORD.format("lava")).stat().st_mtime_ns <= made


def test_a_run_may_differ_by_the_rounding_of_encoders(tmp_path):
    ours = of_run(tmp_path / "ours", random="0.1")
    add(of_run(tmp_path / "theirs", lava="0.2", random="0.1009"), ours)
    assert "random,0,0,0.1\n" in (ours / PLACE).read_text(encoding="utf-8")


def test_other_problems_of_another_run_are_left(tmp_path):
    ours = of_run(tmp_path / "ours", random="0.1")
    theirs = of_run(tmp_path / "theirs", lava="0.2", random="0.1")
    other = PLACE.replace("digits", "wine")
    (theirs / other).parent.mkdir(parents=True)
    (theirs / other).write_text((theirs / PLACE).read_text(encoding="utf-8"), encoding="utf-8")
    add(theirs, ours)
    assert not (ours / other).exists()


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        ({"lava": "0.2", "random": "0.2"}, "not of the same problem, by the AUROC of random"),
        ({"lava": "0.2", "random": "0.102"}, "not of the same problem, by the AUROC of random"),
        ({"lava": "0.2", "random": ""}, "not of the same problem, by the AUROC of random"),
        ({"lava": "0.2"}, "no method is in both runs"),
        ({"random": "0.1"}, "no method that is new"),
    ],
)
def test_nothing_is_added_that_is_not_of_the_same_problem(theirs, words, tmp_path):
    ours = of_run(tmp_path / "ours", loo="0.5", random="0.1")
    before = (ours / PLACE).read_bytes()
    with pytest.raises(ValueError, match=words):
        add(of_run(tmp_path / "theirs", **theirs), ours)
    assert (ours / PLACE).read_bytes() == before
    assert not (ours / RECORD.format("lava")).exists()


def test_the_command_adds_to_the_run_of_its_folder(tmp_path, monkeypatch, capsys):
    ours = of_run(tmp_path / "ours", random="0.1")
    theirs = of_run(tmp_path / "theirs", lava="0.2", random="0.1")
    monkeypatch.chdir(ours)
    assert main(["add", str(theirs)]) == 0
    assert "3 files of results are new" in capsys.readouterr().out
