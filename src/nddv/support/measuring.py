"""What a record says of a run: its time, its memory, and the versions that it ran with."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RECORDED_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "torch")


def versions() -> dict[str, str]:
    """Versions of Python and of the numerical packages that are installed."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    # once: the metadata of five packages take as long to read as a small model to fit
    found = {"python": platform.python_version()}
    for package in RECORDED_PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@dataclass
class Measurement:
    """Wall-clock seconds of a block, and the peak memory of the process meanwhile."""

    seconds: float = 0.0
    peak_memory_mb: float = 0.0

    def as_record(self) -> dict[str, float]:
        """Give both numbers, rounded, for a JSON record."""
        return {
            "seconds": round(self.seconds, 4),
            "peak_memory_mb": round(self.peak_memory_mb, 1),
        }


_measuring: list[Measurement] = []


@contextmanager
def measure() -> Iterator[Measurement]:
    """Measure the block; read the result after it has ended. Blocks may be inside each other."""
    measurement = Measurement()
    _note_peak()
    _forget_peak()
    _measuring.append(measurement)
    start = time.perf_counter()
    try:
        yield measurement
    finally:
        measurement.seconds = time.perf_counter() - start
        _note_peak()
        _measuring.remove(measurement)


def _note_peak() -> None:
    """Tell all measurements that are under way how much memory there was since the last one."""
    peak = _peak_memory_mb()
    for measurement in _measuring:
        measurement.peak_memory_mb = max(peak, measurement.peak_memory_mb)


def _forget_peak() -> None:
    """Begin the peak anew where the system can (Linux); elsewhere it is that of the process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_memory_mb() -> float:
    """Peak resident memory of this process; NaN where the system does not tell (Windows)."""
    # Not getrusage, if it can be helped: on Linux it begins with the peak of the parent process.
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return int(found[1]) / 1024
    try:
        import resource
    except ImportError:
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)
