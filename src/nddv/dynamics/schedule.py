"""How a run is trained, and when it sees which points with which noise."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

import torch
from torch import Tensor

from nddv.dynamics.choices import REWEIGHTINGS
from nddv.dynamics.flow import Flow
from nddv.dynamics.seeds import derive, generator, normal

# addresses of a run's random draws
INIT, ORDER, NOISE, META, SCORING = range(5)

STORED_BLOCK = 256  # rows on disk that are read together: half a megabyte of 500 features


@dataclass(frozen=True)
class Training:
    """How a run is trained. Field names are those of `nddv.NDDV`.

    max_steps : optimiser steps at most. Where n and `epochs` would need more of them, batches grow
        instead: the cost of a run is then that of looking at n·`epochs` points.
    block_size : rows that stay together when the order of an epoch is drawn. 1 shuffles all rows;
        larger blocks let rows that are stored on disk be read in contiguous pieces.
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

    def __post_init__(self) -> None:
        if self.reweighting not in REWEIGHTINGS:
            raise ValueError(
                f"unknown reweighting {self.reweighting!r}: choose one of {REWEIGHTINGS}"
            )


@dataclass(frozen=True)
class Schedule:
    """The batches and noise of a run, each of which can be drawn again alone."""

    n: int
    batch_size: int
    epochs: int
    seed: int
    max_steps: int
    block_size: int

    @classmethod
    def of(cls, training: Training, n: int, seed: int) -> Schedule:
        """The schedule of a run on n points."""
        t = training
        return cls(n, t.batch_size, t.epochs, seed, t.max_steps, t.block_size)

    @property
    def steps_per_epoch(self) -> int:
        return min(ceil(self.n / self.batch_size), max(1, self.max_steps // self.epochs))

    @property
    def total_steps(self) -> int:
        return self.epochs * self.steps_per_epoch

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
    order = _shuffled_blocks(schedule.n, schedule.block_size, draws)
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
