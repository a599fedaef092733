"""The profile of SLURM on a real SLURM: one node, on this machine, for the time of these tests.

Root starts it where it is installed (install_slurm.sh, beside this file). Its configuration has to
be in /etc: job steps do not hand on SLURM_CONF. A SLURM that is there already is left alone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from nddv.values import load_values

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "munged", "runuser")
CONFIGURATION = Path("/etc/slurm/slurm.conf")
GPUS = CONFIGURATION.with_name("gres.conf")
OURS = "# Written by a test of nddv, and removed after it.\n"
LOCK = Path("/run/nddv-test-slurm.lock")

# The GPU is /dev/null. Memory is looked at every second, and who has too much is killed.
TEMPLATE = (
    OURS
    + """ClusterName=nddv
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=20000 Gres=gpu:1
PartitionName=tests Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
)

FOLDER = "results/values/2dplanes/n60/label10"
ALSO = "results/values/2dplanes/n60/label30"
SEEDS = (100, 101)
# Takes 2500 MB, where the first attempt has 2000; there it waits until it is killed.
GREEDY = """

def small_loss(X):
    import pathlib
    import time

    import numpy as np

    again = pathlib.Path("again")
    first = not again.exists()
    again.touch()
    held = np.ones(2500 * 2**17)
    time.sleep(60 if first else 0)
    return np.arange(len(X)) * held[0]
"""
BUG = "\n\ndef make_problem(*address, **options):\n    raise KeyError('a bug')\n"


def why_not() -> str | None:
    """Why SLURM cannot be started here; None if it can."""
    if os.name != "posix" or os.geteuid() != 0:
        return "SLURM is started by root only"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"SLURM is not installed, there is no {', '.join(missing)}: see install_slurm.sh"
    if not CONFIGURATION.parent.is_dir():
        return f"SLURM is installed, but there is no {CONFIGURATION.parent}"
    for path in (CONFIGURATION, GPUS):
        if path.exists() and not path.read_text().startswith(OURS):
            return f"{path} is not ours: there is a SLURM here already, which is left alone"
    if not Path("/etc/munge/munge.key").exists():
        return "munge, which signs the messages of SLURM, has no key"
    return None


@contextmanager
def running_slurm(folder: Path) -> Iterator[None]:
    """SLURM, started in a folder. Whatever happens, it is stopped and its configuration removed."""
    host = socket.gethostname().partition(".")[0]
    with ExitStack() as after:
        after.enter_context(FileLock(LOCK, timeout=300))
        stop_slurm()  # what a test that was killed has left
        start_munge(after)
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        after.callback(stop_slurm)
        CONFIGURATION.write_text(TEMPLATE.format(folder=folder, host=host))
        GPUS.write_text(f"{OURS}NodeName={host} Name=gpu File=/dev/null\n")
        for daemon in ("slurmctld", "slurmd"):
            subprocess.run([daemon, "-c"], check=True, capture_output=True, timeout=30)
        wait_for(lambda: said("sinfo", "--noheader", "--format=%T").strip() == "idle", "its node")
        yield


def start_munge(after: ExitStack) -> None:
    """Start munge, unless it runs already."""
    if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode == 0:
        return
    Path("/run/munge").mkdir(exist_ok=True)
    shutil.chown("/run/munge", "munge", "munge")
    subprocess.run(["runuser", "-u", "munge", "--", "munged", "--force"], check=True, timeout=30)
    after.callback(stop, Path("/run/munge/munged.pid"), "munged")


def stop_slurm() -> None:
    """End the jobs and the daemons of our configuration, if there is one, and remove it."""
    if CONFIGURATION.exists() and CONFIGURATION.read_text().startswith(OURS):
        found = re.findall(r"^Slurm\w+PidFile=(.+)$", CONFIGURATION.read_text(), re.MULTILINE)
        if all(Path(file).exists() for file in found):
            said("scancel", "--user=root")
        for file in map(Path, found):
            stop(file, file.stem)
        CONFIGURATION.unlink()
    if GPUS.exists() and GPUS.read_text().startswith(OURS):
        GPUS.unlink()


def stop(file: Path, name: str) -> None:
    """End a daemon by the file of its process, if that is still its own."""
    with suppress(FileNotFoundError, ProcessLookupError):
        process = Path("/proc", file.read_text().strip())
        if (process / "comm").read_text().strip() == name:
            os.kill(int(process.name), signal.SIGTERM)
            wait_for(lambda: not process.exists(), f"the end of {name}")


def said(*command: str) -> str:
    """What a command writes."""
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Ask again until it is true, for half a minute."""
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.1)


@dataclass(frozen=True)
class Run:
    """A run of Snakemake on SLURM: its folder, its output, and the records of its jobs."""

    folder: Path
    output: str
    jobs: list[dict[str, str]]

    def of(self, rule: str) -> list[dict[str, str]]:
        """The jobs of SLURM that ran jobs of a rule, in order."""
        return [job for job in self.jobs if job["Comment"].endswith(f"_{rule}")]


@pytest.fixture(scope="module")
def run(another_copy, tmp_path_factory) -> Run:
    """Values by SLURM, of which one job wants too much memory at first; and a bug in another."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    if reason := why_not():
        pytest.skip(reason)
    another_copy.snakemake(
        *(
            f"{folder.replace('values', 'problems')}/seed100/problem.npz"
            for folder in (FOLDER, ALSO)
        )
    )
    another_copy.append("baselines/loss.py", GREEDY)
    another_copy.append("problems/make.py", BUG)
    values = [f"{folder}/seed100/nddv-path.npz" for folder in (FOLDER, ALSO)]
    with ExitStack() as slurm:
        try:
            slurm.enter_context(running_slurm(tmp_path_factory.mktemp("slurm")))
        except (OSError, subprocess.SubprocessError, Timeout) as error:
            pytest.skip(f"SLURM does not start here: {error}")
        done = another_copy.snakemake(
            *values,
            f"{FOLDER}/seed100/small-loss.npz",
            "results/problems/2dplanes/n60/label20/seed100/problem.npz",
            *("--workflow-profile", "profiles/slurm", "--cores", "1", "--retries", "1"),
            *("--default-resources", "slurm_partition=tests", "--latency-wait", "5"),
            *("--slurm-init-seconds-before-status-checks", "1"),
            *("--seconds-between-status-checks", "1"),
            *("--rerun-triggers", "mtime"),  # the problems that are there are good
            check=False,
        )
        records = said("scontrol", "show", "job", "--oneliner").splitlines()
    assert all(record.startswith("JobId=") for record in records), done.stdout
    jobs = [dict(re.findall(r"(\S+?)=(\S*)", record)) for record in records]
    return Run(another_copy.folder, done.stdout, sorted(jobs, key=lambda job: int(job["JobId"])))


@pytest.mark.slow
def test_values_are_made_on_slurm(run):
    made = [(FOLDER, "nddv-path"), (FOLDER, "small-loss"), (ALSO, "nddv-path")]
    for seed in SEEDS:
        for folder, method in made:
            values = load_values(run.folder / folder / f"seed{seed}" / f"{method}.npz")
            assert values.values.shape == (60,), run.output


@pytest.mark.slow
def test_short_jobs_are_submitted_as_one_that_asks_for_a_gpu(run):
    (job,) = run.of("value_nddv")  # both problems
    assert job["TresPerJob"] == "gres:gpu:1"
    assert job["NumCPUs"] == "1"
    assert job["TimeLimit"] == "00:40:00"  # one after another
    assert job["Partition"] == "tests"
    assert all("TresPerJob" not in job for job in run.of("value_baseline"))


@pytest.mark.slow
def test_a_job_that_slurm_kills_for_its_memory_is_run_again_with_more(run):
    first, second = run.of("value_baseline")
    assert (first["MinMemoryNode"], second["MinMemoryNode"]) == ("2000M", "4000M")
    assert (first["JobState"], second["JobState"]) == ("FAILED", "COMPLETED")
    assert "exceeded memory limit" in run.output


@pytest.mark.slow
def test_the_log_of_a_failed_job_is_shown(run):
    assert [job["JobState"] for job in run.of("make_problems")] == ["FAILED", "FAILED"]
    assert "KeyError: 'a bug'" in run.output
    log = "results/logs/make_problems/2dplanes/n60/label20.log"
    assert "KeyError: 'a bug'" in (run.folder / log).read_text()
    assert log in run.output


@pytest.mark.slow
def test_nothing_of_it_is_left(run):
    assert not CONFIGURATION.exists()
    assert not GPUS.exists()
    assert said("pgrep", "-x", "slurmctld") == ""
