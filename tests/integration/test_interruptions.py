"""``nddv value`` on a full disk, in a folder that cannot be written to, and stopped half-way."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
COMMAND = [sys.executable, "-m", "nddv.cli", "value", "data.csv", "--target", "y"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """A working folder with data.csv and an empty folder in it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    features = {f"x{i}": rng.normal(size=200) + y for i in range(3)}
    pd.DataFrame({**features, "constant": 1, "y": y}).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "out").mkdir()
    return tmp_path


def start(folder: Path, command: list[str], **options) -> subprocess.Popen:
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def value_on(folder: Path, mounts: tuple[str, ...], mount: str) -> tuple[str, list[str], int]:
    """Write to a folder mounted in some way: stderr, what is in it afterwards, and the status."""
    value = shlex.join(
        [*COMMAND, "--epochs", "1", "--out", "out/values.csv", "--report", "out/p.html"]
    )
    script = f"{mount} out || exit 99; {value}; status=$?; ls -A out; exit $status"
    process = start(folder, [*mounts, script])
    out, err = process.communicate(timeout=120)
    return err, out.split(), process.returncode


@pytest.mark.parametrize("pages", [1, 12])
def test_a_full_disk_is_said_in_one_line_and_nothing_is_left(folder, private_mounts, pages):
    """Full in the first file, and in the last."""
    err, left, status = value_on(
        folder, private_mounts, f"mount -t tmpfs -o size={4 * pages}k tmpfs"
    )
    assert status == 2
    assert left == []
    (line,) = [line for line in err.splitlines() if not line.startswith("nddv: note: ")]
    name = {1: "values.csv", 12: "p.html"}[pages]
    assert line == (
        f"nddv: error: out/{name} could not be written (No space left on device): make room there,"
        " or write elsewhere, and run again"
    )


def test_a_read_only_folder_is_refused_before_any_work(folder, private_mounts):
    err, left, status = value_on(folder, private_mounts, "mount -t tmpfs -o ro tmpfs")
    assert status == 2
    assert left == []
    assert err == (
        "nddv: error: out/values.csv could not be written: make the folder out writable, "
        "or name a file elsewhere\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_file_beyond_the_limit_is_said_in_one_line_and_nothing_is_left(folder):
    command = [*COMMAND, "--epochs", "1", "--quiet", "--out", "out/values.csv"]
    process = start(folder, ["sh", "-c", f"ulimit -f 1; {shlex.join(command)}"])
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "out/values.csv could not be written (File too large): raise the limit" in err
    assert err.count("\n") == 1
    assert list((folder / "out").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("seconds", [0.2, 3.0])
def test_stopped_half_way_it_leaves_nothing_and_says_so(folder, name, seconds):
    """Stopped while it imports torch, and while it fits."""
    process = start(folder, [*COMMAND, "--epochs", "1000000", "--out", "out/values.csv"])
    assert process.stderr is not None
    try:
        assert process.stderr.readline().startswith("nddv: note: ")  # that a column is constant
        time.sleep(seconds)
        process.send_signal(getattr(signal, name))
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    # Python itself may end by the signal, once all is said.
    assert process.returncode in {130, 143, -signal.SIGINT}
    assert out == ""
    lines = [line for line in err.splitlines() if not line.startswith("nddv: note: ")]
    assert lines == ["nddv: interrupted, nothing written"]
    assert list((folder / "out").iterdir()) == []
