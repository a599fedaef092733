"""Run as a job of the workflow: with a log, an orderly end, checked files, and a GPU if granted."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""By which libraries are told how many threads to use."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM); handled like an interruption."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM raise in the block, as Ctrl-C does, so that no temporary file is left."""
    if threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def log_to(path: str | Path) -> Iterator[None]:
    """Send everything the process writes to stderr, tracebacks included, to a log file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 2)
        try:
            with stoppable():
                yield
        except BaseException:
            with suppress(OSError):  # the disk may be full; the raised error says so
                traceback.print_exc()
            raise
        finally:
            with suppress(OSError):
                sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def hide_gpus() -> None:
    """Hide the GPUs of the machine from this process; to be called before torch asks for them.

    ``device="auto"`` takes a GPU wherever it sees one.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


def use_threads(count: int) -> None:
    """Let numpy and torch use so many threads; to be called before they are loaded."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(count)))


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run the block as a job of Snakemake: with its log, and no GPU unless it was granted one.

    Its inputs are compared with their checksums before the block runs, and its outputs get theirs.
    """
    # Late: timings are measured again when this file changes, and need not be for another check.
    from nddv.support.integrity import checked_files

    log = str(snakemake.log[0])
    with log_to(log):
        if snakemake.resources.get("gpu") == 0:  # a rule that uses one, where none is given
            hide_gpus()
        with checked_files(snakemake.input, snakemake.output, snakemake.rule, log):
            yield
