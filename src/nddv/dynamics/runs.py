"""A realised training path: the trajectory context 𝒯 that the readouts read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from nddv.dynamics.adjoint import Batch, BatchGradient, batch_gradient
from nddv.dynamics.flow import Flow
from nddv.dynamics.looks import Glance
from nddv.dynamics.population import Scores, score
from nddv.dynamics.reweighting import WeightMap
from nddv.dynamics.rows import Rows
from nddv.dynamics.schedule import SCORING, Schedule, Training
from nddv.replay.engine import State
from nddv.replay.optimizers import Optimizer
from nddv.replay.seeds import derive, member_seed


@dataclass(frozen=True)
class Data:
    """Training rows and targets, and the meta set, if there is one."""

    rows: Rows
    y: Tensor
    meta_rows: Rows | None
    meta_y: Tensor | None
    loss: str


class VisitWeights(Sequence[Tensor]):
    """Weights of the batch of every training step, (B,) each, in one piece of memory.

    Thousands of small tensors between the large ones of a step would keep their memory from being
    used again: a run on 100,000 rows took gigabytes.

    total : weights of all steps together.
    """

    def __init__(self, like: Tensor, total: int):
        self._all, self._ends = like.new_empty(total), [0]

    def append(self, weights: Tensor) -> None:
        """Add those of the next step."""
        end = self._ends[-1] + len(weights)
        self._all[self._ends[-1] : end] = weights
        self._ends.append(end)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, step: Any) -> Any:
        if isinstance(step, slice):
            return [self[i] for i in range(*step.indices(len(self)))]
        place = range(len(self))[step]
        return self._all[self._ends[place] : self._ends[place + 1]]


@dataclass
class Run:
    """One training run; members of a model see the same batches and differ in all other draws.

    flat: ψ^K; theta: θ^K; signals: (n,) terminal cost q_i of every point at its latest visit;
    trust: (n,) self-weights of the costs; path, residuals: (n,) minus the costs, and residuals,
    over the looks (`nddv.dynamics.looks`); visit_weights: per training step, (B,) weights of its
    batch; checkpoints: states along the run; glances: how its model looked at the points, for all
    members. `history` has one row per finished epoch.
    """

    flow: Flow
    training: Training
    data: Data
    seed: int
    member: int
    flat: Tensor
    theta: Tensor
    signals: Tensor
    trust: Tensor
    path: Tensor
    residuals: Tensor
    visit_weights: VisitWeights
    checkpoints: list[State] = field(default_factory=list)
    glances: list[Glance] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def own_seed(self) -> int:
        """The seed of everything but the order of the points."""
        return member_seed(self.seed, self.member)

    @property
    def weight_map(self) -> WeightMap:
        return WeightMap(self.training.meta_hidden)

    @cached_property
    def schedule(self) -> Schedule:
        return Schedule(self.training, len(self.data.rows), self.seed, self.member)

    @cached_property
    def optimizer(self) -> Optimizer:
        t, steps = self.training, self.schedule.total_steps
        # the decay of the whole run, whatever its length; a step never takes more than half
        decay = min(t.weight_decay / steps, 0.5 / t.learning_rate)
        step = (t.optimizer, t.learning_rate, decay, t.clip)
        return Optimizer(*step, steps, t.schedule, t.momentum, epsilon=t.epsilon)

    @property
    def steps(self) -> int:
        """Training steps that led to the parameters."""
        return len(self.history) * self.schedule.steps_per_epoch

    def visit(self, step: int) -> tuple[Tensor, Tensor]:
        """Indices (B,) and recorded weights (B,) of training step `step`."""
        index = self.schedule.batches(step // self.schedule.steps_per_epoch)
        position = step % self.schedule.steps_per_epoch
        return index[position].to(self.flat.device), self.visit_weights[step]

    def batch(self, step: int, index: Tensor) -> Batch:
        """The points `index` (B,) with the noise of training step `step`."""
        return Batch(self.data.rows.take(index), self.data.y[index], self.noise(step, len(index)))

    def noise(self, step: int, size: int) -> Tensor:
        """Standard normal (S, B, W) of a training step."""
        return self.schedule.noise(step, self.flow, size, self.flat)

    def weights(self) -> Tensor:
        """The weights of all training points, (n,): meta weights v_i, self-weights, or ones."""
        if self.training.learns_weights:
            return self.weight_map(self.theta, self.signals)
        return self.trust

    def shares(self) -> Tensor:
        """Shares v_i of all training points in the aggregate μ, (n,)."""
        return self.weights() if self.training.learns_weights else torch.ones_like(self.trust)

    def score(self, path: int = 0) -> Scores:
        """One scoring pass with the current parameters; `path` numbers independent noise draws."""
        d = self.data
        seed = derive(self.own_seed, SCORING, path)
        return score(self.flow, self.flat, d.rows, d.y, d.loss, seed, mass=self.shares())


def step_gradient(
    run: Run, flat: Tensor, step: int, index: Tensor, v: Tensor, w: Tensor
) -> BatchGradient:
    """The gradient of one training step at parameters `flat`.

    index: (B,) points of the batch; v: (B,) their recorded weights; w: (B,) their participation.
    With flat (L, P) and w (L, B) there are L runs, which look at the same points with one noise.
    """
    batch = run.batch(step, index)
    if w.ndim > 1:
        batch, v = batch.shared_by(len(w)), v.expand_as(w)
    return weighted_gradient(run, flat, batch, v, w)


def weighted_gradient(run: Run, flat: Tensor, batch: Batch, v: Tensor, w: Tensor) -> BatchGradient:
    """The gradient on a batch: meta weights v enter through μ, self-weights weigh the costs."""
    costs, mass = (w, w * v) if run.training.learns_weights else (w * v, w)
    return batch_gradient(run.flow, flat, batch, costs, mass, run.data.loss, run.training.pairing)
