"""Run the benchmarks and write what they print, with the machine, to reports/benchmarks.md.

Ratios within one run come first: they hold on other machines too, seconds do not.

    python benchmarks/run.py [--quick] [--only large together ...]
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

from nddv.support.files import atomic_write
from nddv.support.measuring import versions

FOLDER = Path(__file__).parent
REPORT = FOLDER.parent / "reports" / "benchmarks.md"
RATIO = re.compile(r" / |exponent|ratio|target| x ")
HEAD = """# Benchmarks

Written by `make bench`. Lines with a ratio or a target first, the whole output of each below.

"""


def describe_machine() -> str:
    """Processor, cores, memory, system and versions, in a line each."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"model name\s*: (.*)", information.read_text())
        processor = found.group(1) if found else processor
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"- {processor}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}\n"
        f"- {packages}\n"
        f"- load when started: {os.getloadavg()[0]:.1f} processes\n"
    )


def run(script: Path, quick: bool) -> tuple[str, float]:
    """What a benchmark prints, shown as it comes, and its seconds; a failure ends all."""
    start, lines = time.perf_counter(), []
    command = [sys.executable, str(script), *(["--quick"] if quick else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        raise SystemExit(f"{script.name} failed with code {process.returncode}")
    return "".join(lines), time.perf_counter() - start


def as_markdown(outputs: dict[str, tuple[str, float]], machine: str) -> str:
    """The report: ratios by benchmark, the machine, everything."""
    ratios, whole = [], []
    for name, (text, seconds) in outputs.items():
        chosen = [line.strip() for line in text.splitlines() if RATIO.search(line)]
        ratios.append(f"### {name}\n\n" + "\n".join(f"- {line}" for line in chosen))
        whole.append(f"### {name} ({seconds:.0f} s)\n\n```text\n{text.strip(chr(10))}\n```")
    parts = ["## Ratios", *ratios, f"## Machine\n\n{machine}", "## All that was printed", *whole]
    return HEAD + "\n\n".join(part.strip() for part in parts) + "\n"


def main() -> None:
    scripts = {path.stem.removeprefix("bench_"): path for path in sorted(FOLDER.glob("bench_*.py"))}
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="small sizes, few repetitions")
    arguments.add_argument("--only", nargs="+", choices=list(scripts), default=list(scripts))
    arguments.add_argument("--report", type=Path, default=REPORT, help="default: %(default)s")
    chosen = arguments.parse_args()
    machine = describe_machine()
    outputs = {}
    for name in chosen.only:
        print(f"== {name}", flush=True)
        outputs[name] = run(scripts[name], chosen.quick)
    with atomic_write(chosen.report) as temporary:
        temporary.write_text(as_markdown(outputs, machine), encoding="utf-8")
    print(f"written: {chosen.report}")


if __name__ == "__main__":
    main()
