"""How a process behaves as a job: a log, an orderly end, and no device that it was not granted."""

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


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): to be taken like an interruption."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM raise in the block, as Ctrl-C does, so that no temporary file is left."""
    if threading.current_thread() is not threading.main_thread():  # no other may ask for it
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
            with suppress(OSError):  # no room for the log either: what is raised says why
                traceback.print_exc()
            raise
        finally:
            with suppress(OSError):
                sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def hide_gpus_unless(granted: int) -> None:
    """Hide the GPUs of the machine from this process if it was granted none.

    ``device="auto"`` takes a GPU wherever it sees one. To be called before torch asks for GPUs.
    """
    if not granted:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
