"""What a job wrote is what a later job reads; anything else is refused before any work."""

from __future__ import annotations

import ast
import hashlib
import json
import os
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from types import SimpleNamespace

import pytest

from nddv.support import integrity
from nddv.support.integrity import DamagedError, main
from nddv.support.jobs import job

ROOT = Path(__file__).resolve().parents[2]
FEATURES = "results/data/planes/features.npy"
KEPT = Path("results/checksums/data/planes/features.npy.json")
LOG = "results/logs/load_dataset/planes.log"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@contextmanager
def a_job(read=(), written=(), rule="load_dataset", log=LOG):
    """As Snakemake describes it, with the stderr of a process, which pytest replaces."""
    files = {"input": list(read), "output": list(written)}
    described = SimpleNamespace(rule=rule, log=[log], resources={}, **files)
    with (
        os.fdopen(2, "w", buffering=1, closefd=False) as stderr,
        redirect_stderr(stderr),
        job(described),
    ):
        yield


def run(read=(), written=(), content=b"numbers", error=None, **about):
    """A job that writes the same to all of its files, and may fail then."""
    with a_job(read, written, **about):
        for path in map(Path, written):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if error:
            raise error


def reader(*read):
    """A job that reads; what its log says."""
    log = "results/logs/make_problems/planes.log"
    run(read, ["results/problems/planes.npz"], rule="make_problems", log=log)
    return Path(log).read_text()


def flip(path, bit=1, where=0):
    content = bytearray(Path(path).read_bytes())
    content[where] ^= bit
    Path(path).write_bytes(content)


def test_outputs_below_results_get_checksums_and_no_others():
    run(written=[FEATURES, "reports/tables/planes.csv"])
    assert json.loads(KEPT.read_text()) == {
        "sha256": hashlib.sha256(b"numbers").hexdigest(),
        "size": 7,
        "rule": "load_dataset",
        "log": LOG,
    }
    assert [p for p in Path("results/checksums").rglob("*") if p.is_file()] == [KEPT]


def test_intact_inputs_are_read_and_nothing_is_said():
    Path("own.csv").write_text("a user's own file")
    run(written=[FEATURES])
    assert reader(FEATURES, "own.csv") == ""
    assert Path("results/problems/planes.npz").exists()


@pytest.mark.parametrize("where", [0, 3, 6])
@pytest.mark.parametrize("bit", [1, 128])
def test_a_flipped_bit_is_refused_before_any_work(where, bit):
    run(written=[FEATURES])
    flip(FEATURES, bit, where)
    with pytest.raises(DamagedError) as refused:
        reader(FEATURES)
    assert str(refused.value) == (
        f"{FEATURES} is damaged: its bytes are not those that load_dataset wrote (log: {LOG}); "
        "delete it and give the same command again"
    )
    assert not Path("results/problems").exists()
    assert str(refused.value) in Path("results/logs/make_problems/planes.log").read_text()


def test_another_size_is_found_without_hashing(monkeypatch):
    run(written=[FEATURES])
    Path(FEATURES).write_bytes(b"number")
    monkeypatch.delattr(integrity.hashlib, "file_digest")
    with pytest.raises(DamagedError, match="it has 6 bytes, and load_dataset wrote 7 "):
        reader(FEATURES)


def test_of_several_damaged_files_the_first_is_named_and_the_others_counted():
    several = [f"results/data/planes/{name}" for name in "abc"]
    run(written=several)
    for path in several[1:]:
        flip(path)
    with pytest.raises(DamagedError, match=r"^results/data/planes/b is damaged.*so are 1 others"):
        reader(*several)


def test_a_job_that_runs_again_replaces_its_checksums():
    run(written=[FEATURES])
    run(written=[FEATURES], content=b"other numbers")
    assert reader(FEATURES) == ""


def test_a_job_that_fails_leaves_no_checksum_that_would_accuse_its_files():
    run(written=[FEATURES])
    with pytest.raises(RuntimeError, match="the reason"):
        run(written=[FEATURES], content=b"half", error=RuntimeError("the reason"))
    assert not KEPT.exists()


def test_files_without_a_checksum_are_read_and_the_log_says_so_once():
    several = [f"results/data/planes/{name}" for name in "abc"]
    run(written=several)
    for name in "ab":
        Path(f"results/checksums/data/planes/{name}.json").unlink()
    said = "no checksum is known of results/data/planes/a and 1 other inputs: not checked\n"
    assert reader(*several, *several) == said


def test_a_file_that_was_not_written_is_left_for_snakemake_to_tell():
    with a_job(written=[FEATURES]):
        pass
    assert not KEPT.exists()


def test_a_folder_stands_for_its_files():
    inside = Path("results/items/deep/one")
    with a_job(written=["results/items"]):
        inside.parent.mkdir(parents=True)
        inside.write_bytes(b"numbers")
    assert reader("results/items") == ""
    flip(inside)
    with pytest.raises(DamagedError, match="^results/items/deep/one is damaged"):
        reader("results/items")


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"sha256": "0", "other": 1}', "\xff"])
def test_a_damaged_checksum_is_named_itself(content):
    run(written=[FEATURES])
    KEPT.write_text(content, encoding="latin-1")
    with pytest.raises(DamagedError, match=rf"^{KEPT} is damaged: .*; delete it and give the same"):
        reader(FEATURES)
    KEPT.unlink()
    assert reader(FEATURES).startswith(f"no checksum is known of {FEATURES}: not checked")


def test_all_results_of_a_run_are_checked_by_one_command(capsys, monkeypatch, tmp_path):
    several = [f"results/data/planes/{name}.npy" for name in "abcd"]
    run(written=several, content=b"n" * 500_000)
    assert main([]) == 0
    assert capsys.readouterr().out == (
        "results: 4 files with a checksum (2.0 MB), 0 damaged; 0 without a checksum, "
        "0 deleted since\n"
    )
    flip(several[1], where=77)
    Path(several[2]).unlink()
    Path("results/checksums/data/planes/d.npy.json").unlink()
    Path("results/quick/results").mkdir(parents=True)  # another run
    Path("results/quick/results/other.npy").write_bytes(b"numbers")
    monkeypatch.chdir("results")  # from elsewhere
    assert main([str(tmp_path)]) == 1
    damaged, summary = capsys.readouterr().out.splitlines()
    assert damaged.startswith(f"{tmp_path / several[1]} is damaged: its bytes are not those")
    assert summary == (
        f"{tmp_path / 'results'}: 2 files with a checksum (1.0 MB), 1 damaged; "
        "1 without a checksum, 1 deleted since"
    )


def test_a_run_of_an_older_version_has_nothing_to_check(capsys):
    assert main([]) == 0
    assert "results: 0 files with a checksum (0.0 MB), 0 damaged" in capsys.readouterr().out


def test_every_script_of_the_workflow_works_as_such_a_job():
    scripts = sorted((ROOT / "workflow" / "scripts").glob("*.py"))
    assert len(scripts) > 20
    for script in scripts:
        *before, last = ast.parse(script.read_text()).body
        assert ast.unparse(last).startswith("with job(snakemake):"), script.name
        kinds = (ast.Import, ast.ImportFrom, ast.Expr)  # nothing is read outside of the block
        assert all(isinstance(node, kinds) for node in before), script.name
