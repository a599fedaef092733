"""Work ahead: a thread prepares the next input while the current one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Input = TypeVar("Input")
Output = TypeVar("Output")


def ahead(function: Callable[[Input], Output], inputs: Iterable[Input]) -> Iterator[Output]:
    """Give ``function(x)`` for every ``x`` in order, computed one step ahead in a thread.

    At most two outputs exist at a time. An error of ``function`` is raised instead of its output.
    """
    pending: Future[Output] | None = None
    with ThreadPoolExecutor(max_workers=1) as pool:
        for x in inputs:
            following = pool.submit(function, x)
            if pending is not None:
                yield pending.result()
            pending = following
        if pending is not None:
            yield pending.result()
