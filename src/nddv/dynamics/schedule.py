"""How a run is trained, and when it sees which points with which noise."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

import torch
from torch import Tensor

from nddv.dynamics.choices import LEARNED_WEIGHTS
from nddv.dynamics.flow import Flow
from nddv.replay.seeds import derive, generator, member_seed, normal

# addresses of a run's random draws
INIT, ORDER, NOISE, META, SCORING = range(5)

FEWEST_EPOCHS = 5  # of a run on very many points
STORED_BLOCK = 256  # rows on disk that are read together: half a megabyte of 500 features


@dataclass(frozen=True)
class Training:
    """How a model is trained: the settings of `nddv.estimator.settings` that it depends on.

    Where n and `epochs` would need more than `max_steps`, batches grow instead. Where n, `epochs`
    and `members` would need more than `max_visits` looks at points, there are fewer members, though
    not fewer than two of several, and then fewer epochs.
    """

    members: int
    epochs: int
    batch_size: int
    max_steps: int
    max_visits: int
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
    def of(cls, settings: Any, n: int, stored: bool = False) -> Training:
        """The training of some settings on n points; `stored`: the rows are on disk."""
        own = {f.name: getattr(settings, f.name) for f in fields(cls)}
        if own["block_size"] == "auto":
            own["block_size"] = STORED_BLOCK if stored else 1
        looks = own["max_visits"] // n
        own["members"] = max(min(own["members"], 2), min(own["members"], looks // own["epochs"]))
        own["epochs"] = min(own["epochs"], max(FEWEST_EPOCHS, looks // own["members"]))
        return cls(**own)

    @property
    def learns_weights(self) -> bool:
        """Whether the weights of points are learned on meta data."""
        return self.reweighting in LEARNED_WEIGHTS

    @property
    def alone(self) -> bool:
        """Whether models are trained one by one: the members of each fill a stack."""
        return self.members > 1 or self.reweighting == "self"


@dataclass(frozen=True)
class Schedule:
    """The batches and noise of a run, each of which can be drawn again alone.

    Members of a model share the batches.
    """

    training: Training
    n: int
    seed: int
    member: int = 0

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
        return derive(member_seed(self.seed, self.member), NOISE)


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
