"""How a run is trained, and when it sees which points with which noise."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

import torch
from torch import Tensor

from nddv.dynamics.flow import Flow
from nddv.dynamics.seeds import derive, generator, normal

# addresses of a run's random draws
INIT, ORDER, NOISE, META, SCORING = range(5)

STORED_BLOCK = 256  # rows on disk that are read together: half a megabyte of 500 features


@dataclass(frozen=True)
class Training:
    """How a run is trained: the settings of `nddv.estimator.settings` that it depends on.

    Where n and `epochs` would need more than `max_steps`, batches grow instead: the cost of a run
    is then that of looking at n·`epochs` points.
    """

    epochs: int
    batch_size: int
    max_steps: int
    block_size: int
    optimizer: str
    learning_rate: float
    schedule: str
    weight_decay: float
    momentum: float
    epsilon: float
    clip: float
    pairing: str
    reweighting: str
    meta_every: int
    meta_batch_size: int
    meta_hidden: int
    meta_learning_rate: float
    penalty: float

    @classmethod
    def of(cls, settings: Any, stored: bool = False) -> Training:
        """The training of some settings; `stored`: the rows are on disk."""
        own = {f.name: getattr(settings, f.name) for f in fields(cls)}
        if own["block_size"] == "auto":
            own["block_size"] = STORED_BLOCK if stored else 1
        return cls(**own)


@dataclass(frozen=True)
class Schedule:
    """The batches and noise of a run, each of which can be drawn again alone."""

    training: Training
    n: int
    seed: int

    @property
    def steps_per_epoch(self) -> int:
        t = self.training
        return min(ceil(self.n / t.batch_size), max(1, t.max_steps // t.epochs))

    @property
    def total_steps(self) -> int:
        return self.training.epochs * self.steps_per_epoch

    def batches(self, epoch: int) -> tuple[Tensor, ...]:
        """Index sets of one epoch, of sizes that differ by at most one: no short last batch."""
        return _batches(self, epoch)

    def noise(self, step: int, flow: Flow, size: int, like: Tensor) -> Tensor:
        """Standard normal (S, B, W) of one training step."""
        shape = (flow.steps, size, flow.width)
        return normal(self._noise_seed, step, shape, like.dtype, like.device)

    @cached_property
    def _noise_seed(self) -> int:
        return derive(self.seed, NOISE)


@lru_cache(maxsize=2)  # the replay asks for the batches of an epoch one by one
def _batches(schedule: Schedule, epoch: int) -> tuple[Tensor, ...]:
    draws = generator(schedule.seed, ORDER, epoch)
    order = _shuffled_blocks(schedule.n, schedule.training.block_size, draws)
    return order.tensor_split(schedule.steps_per_epoch)


def _shuffled_blocks(n: int, size: int, draws: torch.Generator) -> Tensor:
    """range(n) in shuffled blocks of `size`, cut at another place each time they are drawn."""
    if size == 1:
        return torch.randperm(n, generator=draws)
    offset = int(torch.randint(size, (1,), generator=draws))
    starts = torch.arange(-offset, n, size)
    starts = starts[torch.randperm(len(starts), generator=draws)]
    order = (starts.unsqueeze(1) + torch.arange(size)).flatten()
    return order[(order >= 0) & (order < n)]
