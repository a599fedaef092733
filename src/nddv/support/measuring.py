"""Time, memory and versions of a run, for its record."""

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
    # only once: reading the metadata of five packages takes as long as fitting a small model
    installed = {"python": platform.python_version()}
    for package in RECORDED_PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed


@dataclass
class Measurement:
    """Wall-clock seconds of a block, and the peak memory of the process meanwhile."""

    seconds: float = 0.0
    peak_memory_mb: float = 0.0

    def as_record(self) -> dict[str, float]:
        """Give both numbers, rounded, for a JSON record."""
        memory = round(self.peak_memory_mb, 1)
        return {"seconds": round(self.seconds, 4), "peak_memory_mb": memory}


_measuring: list[Measurement] = []


@contextmanager
def measure() -> Iterator[Measurement]:
    """Measure the block; read the result after its end. Blocks may be nested."""
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
    """Add the peak since the last call to all measurements that are under way."""
    peak = _peak_memory_mb()
    for measurement in _measuring:
        measurement.peak_memory_mb = max(peak, measurement.peak_memory_mb)


def _forget_peak() -> None:
    """Reset the peak if the system can (Linux); otherwise it is the peak of the whole process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_memory_mb() -> float:
    """Peak resident memory of this process; NaN if the system does not say (Windows)."""
    # getrusage is the second choice: on Linux it starts with the peak of the parent process.
    with suppress(OSError):
        stated = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if stated:
            return int(stated[1]) / 1024
    try:
        import resource
    except ImportError:
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def available_memory() -> int | None:
    """Bytes of memory that are free for use; None where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None
