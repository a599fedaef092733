"""A job logs what it says, ends in order, and sees only the devices that it was granted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import nddv
from nddv.support.jobs import hide_gpus, job


def test_log_to_catches_everything_on_stderr(tmp_path):
    code = (
        "import os, sys\n"
        "from nddv.support.jobs import log_to\n"
        f"with log_to({str(tmp_path / 'logs' / 'a.log')!r}):\n"
        "    print('from python', file=sys.stderr)\n"
        "    os.write(2, b'from below python\\n')\n"
        "    raise RuntimeError('the reason')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=_environment(), check=False)
    log = (tmp_path / "logs" / "a.log").read_text()
    assert done.returncode == 1
    assert "from python" in log
    assert "from below python" in log
    assert "the reason" in log


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
def test_a_job_that_is_terminated_removes_its_temporary_file_and_logs_it(tmp_path):
    code = (
        "import os, signal, time\n"
        "from nddv.support.files import atomic_write\n"
        "from nddv.support.jobs import log_to\n"
        f"with log_to({str(tmp_path / 'a.log')!r}), atomic_write({str(tmp_path / 'a.txt')!r}):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=_environment(), capture_output=True, check=False
    )
    assert done.returncode != 0
    assert "Terminated" in (tmp_path / "a.log").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["a.log"]


@pytest.mark.parametrize(("granted", "seen"), [({"gpu": 0}, ""), ({"gpu": 1}, "3"), ({}, "3")])
def test_gpus_are_hidden_from_a_job_that_was_granted_none(monkeypatch, tmp_path, granted, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    log, files = [str(tmp_path / "a.log")], {"input": [], "output": []}
    with job(SimpleNamespace(rule="a", log=log, resources=granted, **files)):
        os.write(2, b"said")
        assert os.environ["CUDA_VISIBLE_DEVICES"] == seen
    assert "said" in (tmp_path / "a.log").read_text()


def test_threads_are_as_many_as_a_job_may_use():
    code = (
        "from nddv.support.jobs import use_threads\n"
        "use_threads(1)\n"
        "import torch\n"
        "print(torch.get_num_threads())\n"
    )
    environment = {**_environment(), "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_gpus_can_be_hidden(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    hide_gpus()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def _environment():
    source = str(Path(nddv.__path__[0]).parent)
    return {**os.environ, "PYTHONPATH": source}
