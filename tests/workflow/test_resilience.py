"""A workflow that is killed, stopped, shares its cache, runs out of room or finds damaged files."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")

ADDRESS = "2dplanes/n60/label10"
KNN = f"results/values/{ADDRESS}/seed100/knn-shapley.npz"
NDDV = f"results/values/{ADDRESS}/seed100/nddv-terminal.npz"
MARGINALS = f"results/audits/{ADDRESS}/seed100/marginals.npz"

# Data, problems, values, all audits of utilities, an evaluation, tables and figures. There are
# enough coalitions for the audits to be killed among them.
OVERLAY = {
    "seeds": [100],
    "methods": ["nddv-terminal", "nddv-path", "nddv-participation", "small-loss", "knn-shapley"],
    "audits": {
        "methods": ["nddv-terminal", "nddv-path", "nddv-participation", "small-loss"],
        "marginals": {
            **{"datasets": ["2dplanes"], "n": 60, "corruptions": ["label10"]},
            **{"coalitions": 400, "reliability": 1.0},
        },
        "certificates": {"pairs": 4, "samples": 3},
        "retraining": {
            **{"datasets": ["2dplanes"], "n": 60, "corruptions": ["label10"]},
            **{"points": 6, "coalitions": 2, "pairs": 4, "subsets": 5},
        },
        "bridge": {"datasets": ["2dplanes"]},
    },
}
# Nothing of `scaling` and `semivalues`: they are about time, and all their numbers would differ.
TARGETS = [
    *(f"reports/figures/{name}.png" for name in ("detection_curve", "certificates")),
    *("reports/tables/detection_n60.csv", "reports/tables/rank_correlations.csv"),
    *("reports/tables/certificates.csv", "reports/tables/retraining_fidelity.csv"),
]

KILLS = 5
LONGEST = 12  # files between two kills: all of a run is met by them

# What says how a run went, not what came out of it.
ASIDE = tuple(f"results/{name}/" for name in ("logs", "benchmarks", "checksums"))

# What a run took, which is another in every run; all else must be the same.
COSTS = {"seconds", "seconds_sd", "fit_seconds", "peak_memory_mb", "fits"}
COST_SENTENCE = re.compile(
    r"[\d,]+ coalitions were fitted in .*? is not counted\."
    r"|All coalitions were found in the cache\."
)


def results(project) -> dict[str, object]:
    """All that was made, by its path, without what it cost; logs and the like are left out."""
    made = {}
    for folder in ("results", "reports"):
        for path in sorted((project.folder / folder).rglob("*")):
            name = path.relative_to(project.folder).as_posix()
            if path.is_file() and not name.startswith(ASIDE):
                made[name] = content(path)
    return made


def content(path: Path) -> object:
    if path.suffix == ".json":
        return without_costs(json.loads(path.read_text()))
    if path.suffix == ".csv":
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        return frame.drop(columns=list(COSTS & set(frame))).to_csv()
    if path.suffix in {".md", ".html", ".tex"}:
        return COST_SENTENCE.sub("", path.read_text(encoding="utf-8"))
    return path.read_bytes()


def without_costs(record: object) -> object:
    if isinstance(record, list):
        return [without_costs(one) for one in record]
    if isinstance(record, dict):
        return {key: without_costs(one) for key, one in record.items() if key not in COSTS}
    return COST_SENTENCE.sub("", record) if isinstance(record, str) else record


def assert_same(found: dict[str, object], expected: dict[str, object]) -> None:
    assert sorted(found) == sorted(expected)  # so nothing half-written is left either
    assert [name for name, one in expected.items() if found[name] != one] == []


@pytest.fixture(scope="module")
def undisturbed(another_copy):
    """A project run from beginning to end. Look, do not change."""
    another_copy.snakemake(*TARGETS, overlay=OVERLAY)
    return another_copy


def signal_all(process: subprocess.Popen, number: int) -> None:
    """Send a signal to Snakemake and to all of its jobs, as a terminal does."""
    os.killpg(process.pid, number)


def versions_of_files(project) -> set[tuple[str, int]]:
    """The files of jobs, finished or running, with their times; they come and go meanwhile."""
    found = set()
    for folder in ("results", "reports"):
        for parent, folders, names in os.walk(project.folder / folder):
            if "checksums" in folders:
                folders.remove("checksums")
            for name in names:
                with suppress(FileNotFoundError):
                    path = Path(parent, name)
                    found.add((str(path), path.stat().st_mtime_ns))
    return found


def kill_at_random(project, rng: np.random.Generator) -> bool:
    """Start, and kill after some files were written and a moment; False if it had ended before.

    To count files is to count in the time of the jobs: all moments are met, and there is progress,
    on a slow machine as on a quick one.
    """
    before = versions_of_files(project)
    wanted, moment = int(rng.integers(0, LONGEST)), float(rng.uniform(0, 1.5))
    with (
        (project.folder / "killed.log").open("w") as log,
        project.start(*TARGETS, overlay=OVERLAY, output=log) as process,
    ):
        while process.poll() is None and len(versions_of_files(project) - before) < wanted:
            time.sleep(0.02)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            signal_all(process, signal.SIGKILL)
    said = (project.folder / "killed.log").read_text()
    assert process.returncode in {0, -signal.SIGKILL}, said
    return process.returncode != 0


@pytest.mark.slow
def test_killed_again_and_again_the_results_are_those_of_an_undisturbed_run(fresh, undisturbed):
    rng = np.random.default_rng(2026)
    kills = resumed_after_refusal = 0
    locks = fresh.folder / ".snakemake" / "locks"
    while kills < KILLS:
        if not kill_at_random(fresh, rng):
            shutil.rmtree(fresh.folder / "results" / "audits")  # more to do, and to kill
            shutil.rmtree(fresh.folder / "reports")
            continue
        kills += 1
        if not any(locks.glob("*")):
            continue  # killed before it had begun, or after it had ended
        if not resumed_after_refusal:  # once as a user would do it: it takes two more starts
            resumed_after_refusal = True
            refused = fresh.snakemake(*TARGETS, overlay=OVERLAY, check=False)
            assert refused.returncode != 0
            assert "It can be removed with the --unlock argument" in refused.stdout
            fresh.snakemake("--unlock", overlay=OVERLAY)
            assert not any(locks.glob("*"))
        for lock in locks.glob("*"):
            lock.unlink()
    assert resumed_after_refusal
    fresh.snakemake(*TARGETS, overlay=OVERLAY)
    assert_same(results(fresh), results(undisturbed))
    assert fresh.planned(*TARGETS, overlay=OVERLAY) == set()


@pytest.mark.slow
def test_stopped_by_hand_it_leaves_nothing_half_written_and_goes_on(fresh, undisturbed):
    """Ctrl-C, then what a batch system sends: to Snakemake and to its jobs. No lock is left."""
    expected = results(undisturbed)
    log = fresh.folder / "results" / "logs" / "value_nddv" / f"{ADDRESS}.log"
    for number in (signal.SIGINT, signal.SIGTERM):
        log.unlink(missing_ok=True)
        with fresh.start(NDDV, KNN, overlay=OVERLAY) as process:
            while process.poll() is None and not log.exists():
                time.sleep(0.02)
            signal_all(process, number)
            text, _ = process.communicate(timeout=120)
        assert process.returncode != 0, text
        left = results(fresh)
        assert {path: expected.get(path) for path in left} == left
        assert NDDV not in left
    fresh.snakemake(NDDV, KNN, overlay=OVERLAY)
    made = results(fresh)
    assert {path: expected[path] for path in made} == made


@pytest.mark.slow
def test_two_runs_share_a_cache(undisturbed, tmp_path):
    """The fits of an audit, at the same time."""
    projects = [undisturbed.copy(tmp_path / name) for name in ("first", "second")]
    for project in projects:
        shutil.rmtree(project.folder / "results" / "audits")
    processes = [
        project.start(MARGINALS, overlay=OVERLAY, NDDV_CACHE=str(tmp_path / "shared"))
        for project in projects
    ]
    texts = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], texts
    expected = (undisturbed.folder / MARGINALS).read_bytes()
    for project in projects:
        assert (project.folder / MARGINALS).read_bytes() == expected
    assert list((tmp_path / "shared").rglob("*.sqlite"))
    assert not list((tmp_path / "shared").rglob("*-journal"))


def run_on(project, mounts: tuple[str, ...], mount: str) -> tuple[str, list[str]]:
    """Run, with ``results`` mounted in some way: what is said, and the files there afterwards."""
    (project.folder / "results").mkdir()
    script = f'{mount} results || exit 99; "$@"; status=$?; find results -type f; exit $status'
    with project.start(KNN, overlay=OVERLAY, within=(*mounts, script, "sh")) as process:
        text, _ = process.communicate(timeout=300)
    assert process.returncode == 1, text
    return text, [line for line in text.splitlines() if re.fullmatch(r"results/\S+", line)]


def test_a_full_disk_is_said_and_nothing_half_written_is_left(fresh, private_mounts):
    text, left = run_on(fresh, private_mounts, "mount -t tmpfs -o size=64k tmpfs")
    assert (
        "results/data/2dplanes/features.npy could not be written (No space left on device): "
        "make room there, or write elsewhere, and run again"
    ) in text
    assert [name for name in left if not name.startswith(ASIDE)] == [
        "results/data/2dplanes/files.json"
    ]


def test_a_read_only_folder_is_refused_before_any_job(fresh, private_mounts):
    text, left = run_on(fresh, private_mounts, "mount -t tmpfs -o ro tmpfs")
    assert "results cannot be written to: make it writable, or run elsewhere" in text
    assert "Traceback" not in text
    assert "Files of 2dplanes" not in text
    assert left == []


def flip_bit(path: Path, where: int) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:where] + bytes([whole[where] ^ 1]) + whole[where + 1 :])


def test_a_flipped_bit_is_refused_before_any_work_with_the_remedy_which_works(
    undisturbed, tmp_path
):
    project = undisturbed.copy(tmp_path / "project")
    before = results(project)
    (project.folder / KNN).unlink()
    shutil.rmtree(project.folder / "results" / "problems")  # the features are needed again
    features = project.folder / "results" / "data" / "2dplanes" / "features.npy"
    flip_bit(features, 5000)  # of a number, which stays one
    refused = project.snakemake(KNN, overlay=OVERLAY, check=False)
    assert refused.returncode != 0
    assert (
        "DamagedError: results/data/2dplanes/features.npy is damaged: its bytes are not those that "
        "load_dataset wrote (log: results/logs/load_dataset/2dplanes.log); "
        "delete it and give the same command again\n"
    ) in refused.stdout
    features.unlink()
    project.snakemake(KNN, overlay=OVERLAY)
    assert_same(results(project), before)
    checked = subprocess.run(
        [project.python, "-m", "nddv.support.integrity", str(project.folder)],
        **{"capture_output": True, "text": True, "check": True},
    )
    assert re.search(r" \d\d+ files with a checksum .* 0 damaged; 0 without", checked.stdout)


def test_a_damaged_problem_of_an_older_version_is_named_with_the_remedy_which_works(
    undisturbed, tmp_path
):
    """It has no checksums, but archives have some of their own."""
    project = undisturbed.copy(tmp_path / "project")
    before = results(project)
    shutil.rmtree(project.folder / "results" / "checksums")
    damaged = project.folder / "results" / "problems" / ADDRESS / "seed100" / "problem.npz"
    flip_bit(damaged, 300)  # among X_train
    failed = project.snakemake(KNN, overlay=OVERLAY, check=False)
    assert failed.returncode != 0
    assert f"no checksum is known of {damaged.relative_to(project.folder)}: not" in failed.stdout
    assert "seed100/problem.npz is not a readable .npz file of plain arrays" in failed.stdout
    assert "; delete it and run again" in failed.stdout
    damaged.unlink()
    project.snakemake(KNN, overlay=OVERLAY)
    assert_same(results(project), before)
