"""Several chunks of work at once, each on one thread.

By default torch shares every operation among its threads. The operations of a fit are too short for
that: when other work runs on the same processors, the threads mostly wait for each other. A fit
that takes 50 μs on one thread was seen to take 3 ms on two.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class _Callers:
    """The threads that are in ``workers``, without those of ``apply``."""

    count: int = 0
    allowed: int = 1  # number of threads that torch had before the first of them came
    lock: threading.Lock = field(default_factory=threading.Lock)


_depth = threading.local()  # value: how many uses of ``workers`` the current thread is in
_callers = _Callers()


@contextmanager
def workers(device: str) -> Iterator[int]:
    """Keep each operation of torch on one thread, and give the number of threads free for work.

    This is the number of threads that torch had before, and has again afterwards. It is 1 inside
    another use of ``workers``, and on other devices than the CPU. Several threads may be in here at
    once. Torch keeps the number per thread, but a new thread starts with the number that any thread
    set last. That may be our own 1, so every thread leaves with the number that the first one read.
    """
    with _callers.lock:
        depth = getattr(_depth, "value", 0)
        outermost = depth == 0
        if outermost:
            if _callers.count == 0:
                _callers.allowed = torch.get_num_threads()
            _callers.count += 1
        _depth.value = depth + 1
        allowed = _callers.allowed
        torch.set_num_threads(1)
    try:
        yield allowed if outermost and torch.device(device).type == "cpu" else 1
    finally:
        with _callers.lock:
            _depth.value = depth
            if outermost:
                _callers.count -= 1
                torch.set_num_threads(allowed)


def free_threads(device: str) -> int:
    """How many threads ``workers`` would give here."""
    with workers(device) as threads:
        return threads


def apply(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Results of a function for all items, in their order."""
    items = list(items)
    if threads == 1 or len(items) < 2:  # new threads cost more than a short piece of work
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads, initializer=_join) as pool:
        return list(pool.map(function, items))


def _join() -> None:
    """Make a new thread one of the workers, for all its life."""
    _depth.value = 1
    torch.set_num_threads(1)
