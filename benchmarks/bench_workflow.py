"""What the command line and the workflow cost before any work is done.

1. Start-up: `nddv --help` beside a bare interpreter.
2. The workflow of config/config.yaml: reading it, a dry run in an empty folder, and a run of which
   everything is up to date, in seconds and for a thousand jobs.

Beside the seconds on the clock stand those of the processor, which other programs disturb less.

For the last run, the outputs of all jobs are made as empty files in a temporary folder, and
Snakemake is told that they are its own: that takes a minute or two.

    python benchmarks/bench_workflow.py [--quick]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
ALL_CHANGES = ["mtime", "params", "input", "software-env", "code"]
# Snakemake's own option, but without its rest of a tenth of a second after every job.
TOUCH = """
import sys
from snakemake.cli import main
from snakemake.executors.touch import Executor

Executor.SLEEPING_TIME = 0
main(sys.argv[1:])
"""


@dataclass(frozen=True)
class Run:
    """Seconds of a process on the clock and of the processor, and what it said."""

    seconds: float
    processor: float
    said: str


def run(*words: str, folder: Path = ROOT) -> Run:
    """Run Python; a process that fails is an error."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    spent, after = time.perf_counter() - start, os.times()
    if done.returncode:
        raise SystemExit(f"python {' '.join(words)} failed:\n{done.stdout[-2000:]}")
    processor = sum(after[2:4]) - sum(before[2:4])  # user and system, of ended children
    return Run(spent, processor, done.stdout)


def start_up(repetitions: int) -> None:
    """Interleaved repetitions, so that a noisy machine disturbs all alike."""
    commands = {
        "python -c pass": ["-c", "pass"],
        "import nddv": ["-c", "import nddv"],
        "nddv --help": ["-m", "nddv.cli", "--help"],
        "nddv value --help": ["-m", "nddv.cli", "value", "--help"],
    }
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(repetitions):
        for name, words in commands.items():
            runs[name].append(run(*words))
    spent = {name: median(one.seconds for one in found) for name, found in runs.items()}
    print(f"start-up, median of {repetitions}")
    for name, seconds in spent.items():
        processor = median(one.processor for one in runs[name])
        ratio = seconds / spent["python -c pass"]
        target = "   (target <= 0.5 s)" if name.startswith("nddv") else ""
        print(f"  {name:18} {seconds:6.2f} s {processor:6.2f} s CPU {ratio:6.1f} x{target}")


def make_outputs(folder: Path, options: list[str]) -> None:
    """Leave the folder as a finished run would, but for the content of the files."""
    listed = run("-m", "snakemake", *options, "--summary", folder=folder).said
    rows = [line.split("\t") for line in listed.splitlines()]
    for row in rows[rows.index(next(row for row in rows if row[0] == "output_file")) + 1 :]:
        path = folder / row[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    run("-c", TOUCH, *options, "--touch", "--forceall", "--quiet", "all", folder=folder)


def workflow(*configuration: Path) -> None:
    """Times of a workflow in a folder of its own; ``configuration`` is laid over the full one."""
    options = ["--snakefile", str(ROOT / "Snakefile"), "--cores", "1"]
    if configuration:
        options += ["--configfile", *map(str, configuration)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reading = run("-m", "snakemake", *options, "--list-rules", folder=folder)
        dry = run("-m", "snakemake", *options, "--dry-run", folder=folder)
        jobs = int(re.findall(r"^total +(\d+)", dry.said, flags=re.MULTILINE)[0])
        print(f"workflow of {jobs} jobs")
        print(f"  {'read':18} {reading.seconds:6.1f} s {reading.processor:6.1f} s CPU")
        print_time("dry run", dry, jobs)
        make_outputs(folder, options)
        triggers = ["--rerun-triggers", *ALL_CHANGES]
        nothing = run("-m", "snakemake", *options, *triggers, folder=folder)
        if "Nothing to be done" not in nothing.said or "missing provenance" in nothing.said:
            raise SystemExit(f"not up to date:\n{nothing.said[-2000:]}")
        print_time("nothing to be done", nothing, jobs, "   (target <= 15 s)")


def print_time(name: str, found: Run, jobs: int, target: str = "") -> None:
    times = f"{found.seconds:6.1f} s {found.processor:6.1f} s CPU"
    print(f"  {name:18} {times} {1000 * found.seconds / jobs:6.1f} s for 1000 jobs{target}")


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the embedded part, fewer repetitions")
    quick = parser.parse_args().quick
    start_up(3 if quick else 11)
    embedded = [ROOT / "config" / f"{name}.yaml" for name in ("config", "embedded", "quick")]
    workflow(*(embedded if quick else []))


if __name__ == "__main__":
    main()
