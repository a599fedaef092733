"""Several chunks of work at once, each on one thread.

Left alone, torch shares every operation among its threads. Those of a fit are too short for that:
beside other work on the same processors the threads mostly wait for each other, and a fit that
takes 50 μs on one thread was seen to take 3 ms on two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def workers(device: str) -> Iterator[int]:
    """Keep torch's operations on one thread each, and give the number of threads free for work.

    That is the number that torch was allowed before, and is afterwards; one if not on a CPU.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads if torch.device(device).type == "cpu" else 1
    finally:
        torch.set_num_threads(threads)


def apply(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Results of a function for all items, in their order."""
    items = list(items)
    if threads == 1 or len(items) < 2:  # new threads cost more than a short piece of work
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))
