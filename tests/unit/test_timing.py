"""Run times: data, time-outs, gaps, repetitions. No test depends on how fast the machine is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from nddv.timing import runs as timing
from nddv.timing.runs import (
    DONE,
    GAP,
    TIMED_OUT,
    run_alone,
    synthetic_problem,
    time_method,
    time_repeats,
    valid_rows,
)

SMALL = {"n": 60, "features": 4, "seed": 100, "timeout": 600}


def answer_of(program, timeout=600.0, threads=1):
    """The answer of a process that runs a program instead of a method."""
    return run_alone([sys.executable, "-c", program], {}, timeout, threads)


@pytest.mark.parametrize(("valid", "rows"), [("fixed", 100), ("none", 100), ("tenth", 25)])
def test_synthetic_data_have_the_sizes_of_their_regime(valid, rows):
    problem = synthetic_problem(250, 7, valid, 100)
    assert problem.X_train.shape == (250, 7)
    assert problem.X_train.dtype == np.float32
    assert problem.X_valid.shape == (rows, 7) == (valid_rows(valid, 250), 7)
    assert len(problem.y_meta) == len(problem.y_test) == 100


@pytest.mark.parametrize("features", [2, 300])
def test_labels_are_as_hard_for_any_number_of_features(features):
    problem = synthetic_problem(4000, features, "fixed", 100)
    assert 0.45 < problem.y_train.mean() < 0.55
    # The direction is not told, but half of the points find it.
    half = slice(2000)
    direction = (problem.X_train[half] * (2 * problem.y_train[half, None] - 1)).mean(axis=0)
    right = (problem.X_train[2000:] @ direction > 0) == (problem.y_train[2000:] == 1)
    assert 0.75 < right.mean() < 0.9


def test_synthetic_data_follow_their_seed_and_size():
    one, same, other = (synthetic_problem(50, 3, "fixed", seed).X_train for seed in (100, 100, 101))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_unknown_regimes_and_time_outs_are_refused():
    with pytest.raises(ValueError, match="fixed, tenth, none, got 'half'"):
        valid_rows("half", 100)
    with pytest.raises(ValueError, match="timeout must be positive"):
        time_method("random", valid="none", settings={}, **{**SMALL, "timeout": 0})
    with pytest.raises(ValueError, match="repeats must be at least 1"):
        time_repeats(0, 1, method="random", valid="none", settings={}, **SMALL)


def test_a_method_is_timed():
    row = time_method("knn-shapley", valid="tenth", settings={"k": 3}, threads=1, **SMALL)
    assert (row["status"], row["gap"]) == (DONE, "")
    assert row["valid_rows"] == 6
    assert row["seconds"] > 0
    assert row["peak_memory_mb"] > 20


def test_a_time_out_ends_the_process_and_what_it_started(tmp_path):
    ids = tmp_path / "ids"
    program = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(ids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    assert answer_of(program, timeout=0.1) == {"status": TIMED_OUT}
    for process in map(int, ids.read_text().split()):
        assert _ends(process)


def _ends(process, patience=10.0):
    """Whether a process is gone, or about to be; an orphan may wait for its adopter as a zombie."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
        ).stdout
        if not found.strip() or found.startswith("Z"):
            return True
        time.sleep(0.05)
    return False


def test_a_time_out_counts_from_when_the_process_is_ready():
    program = (
        "import json, time\n"
        "time.sleep(2.5)\n"
        "print('ready', flush=True)\n"
        "print(json.dumps({'status': 'done'}))\n"
    )
    # Nothing but the end of an interpreter has to fit into the time-out; the sleep would not.
    assert answer_of(program, timeout=2.4) == {"status": DONE}


def test_a_slow_method_times_out():
    settings = {"max_permutations": 100, "tolerance": 0.0}
    row = time_method("data-shapley", 2000, 20, "fixed", 100, settings, timeout=0.05)
    assert row["status"] == TIMED_OUT
    assert np.isnan(row["seconds"])
    assert row["timeout"] == 0.05


def test_threads_are_pinned():
    program = (
        "import json, os\n"
        "print(json.dumps({k: v for k, v in os.environ.items() if 'NUM_THREADS' in k}))\n"
    )
    found = answer_of(program, threads=3)
    assert {found[name] for name in timing.THREAD_VARIABLES} == {"3"}


def test_an_answer_without_being_ready_is_an_answer():
    assert answer_of('print(\'{"status": "gap"}\')') == {"status": GAP}


def test_a_process_that_the_system_ends_is_a_gap():
    found = answer_of("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert found["status"] == GAP
    assert "memory" in found["gap"]


def test_a_process_that_fails_is_an_error():
    with pytest.raises(RuntimeError, match="failed with code 3"):
        answer_of("raise SystemExit(3)")


def test_a_method_without_values_is_a_gap():
    # more features than points
    row = time_method("eigen-value", 20, 30, "none", 100, {}, 600)
    assert row["status"] == GAP
    assert row["gap"].startswith("NoValues: ")
    assert np.isnan(row["seconds"])


def test_what_a_machine_cannot_do_is_a_gap_and_a_bug_is_none(monkeypatch):
    request = {"method": "odv:DataBanzhaf", "n": 20, "features": 2, "valid": "fixed", "seed": 100}
    request["settings"] = {}

    def fails(error):
        def warm_up(*_):
            raise error

        return warm_up

    for error in (ImportError("no opendataval"), MemoryError("2 GB"), MEMORY_OF_TORCH):
        monkeypatch.setattr(timing, "_warm_up", fails(error))
        found = timing._answer(request, lambda: None)
        assert found == {"status": GAP, "gap": f"{type(error).__name__}: {error}"}
    own = {**request, "method": "knn-shapley"}
    monkeypatch.setattr(timing, "_warm_up", fails(ImportError("no torch")))
    with pytest.raises(ImportError, match="no torch"):
        timing._answer(own, lambda: None)
    monkeypatch.setattr(timing, "_warm_up", fails(RuntimeError("shapes")))
    with pytest.raises(RuntimeError, match="shapes"):
        timing._answer(request, lambda: None)


MEMORY_OF_TORCH = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 1 PB")


def test_data_larger_than_the_machine_are_not_made(monkeypatch):
    def started(*_):
        raise AssertionError("a process was started")

    monkeypatch.setattr(timing, "run_alone", started)
    row = time_method("knn-shapley", 10**9, 10**5, "fixed", 100, {}, 600)
    assert row["status"] == GAP
    assert "the data alone take" in row["gap"]


def test_quick_methods_are_repeated_and_others_are_not(monkeypatch):
    answers = {"status": DONE, "seconds": 2.0}
    monkeypatch.setattr(timing, "time_method", lambda **_: dict(answers))
    assert time_repeats(3, 2.0)["repeat"].tolist() == [0, 1, 2]
    assert time_repeats(3, 1.9)["repeat"].tolist() == [0]
    answers.update(status=TIMED_OUT, seconds=np.nan)
    assert time_repeats(3, 60)["repeat"].tolist() == [0]


def test_the_module_is_a_program_that_says_when_it_is_ready_and_answers():
    request = {"method": "random", "n": 30, "features": 2, "valid": "none", "seed": 100}
    command = [sys.executable, "-m", "nddv.timing.runs"]
    environment = {**os.environ, "PYTHONPATH": str(timing.LIBRARY)}
    done = subprocess.run(
        [*command, json.dumps({**request, "settings": {}})],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    ready, answer = done.stdout.splitlines()
    assert ready == "ready"
    assert json.loads(answer)["status"] == DONE
