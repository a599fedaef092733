"""Time, memory and versions of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nddv
from nddv.support.measuring import measure, versions


def test_measure_and_versions():
    with measure() as block:
        sum(range(1000))
    assert block.seconds > 0
    assert block.peak_memory_mb > 1
    assert versions()["numpy"] == np.__version__


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can begin the peak anew")
def test_memory_is_that_of_the_block():
    """Not that of an earlier block, and an outer block has what an inner one took."""
    with measure() as large:
        np.ones(30_000_000).sum()
        with measure() as small:
            pass
    with measure() as outer, measure() as inner:
        np.ones(30_000_000).sum()
    assert large.peak_memory_mb > small.peak_memory_mb + 200
    assert outer.peak_memory_mb >= inner.peak_memory_mb > small.peak_memory_mb + 200


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the peak of the process is not known"
)
def test_memory_is_not_that_of_the_process_that_started_this_one():
    code = (
        "from nddv.support.measuring import measure\n"
        "with measure() as m: pass\nprint(m.peak_memory_mb)"
    )
    held = np.ones(30_000_000)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(nddv.__path__[0]).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert held.nbytes > 200 * 2**20
    assert 1 < float(done.stdout) < 200
