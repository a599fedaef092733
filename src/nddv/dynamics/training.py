"""Training runs (Algorithm 1), one or several at once, and the record that the readouts need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import ceil, log

import torch
from torch import Tensor

from nddv.dynamics.adjoint import BatchGradient, batch_gradient
from nddv.dynamics.flow import Flow
from nddv.dynamics.optimizers import Optimizer
from nddv.dynamics.population import Scores, score
from nddv.dynamics.reweighting import (
    REWEIGHTINGS,
    Batch,
    MetaProblem,
    WeightMap,
    lookahead_gradient,
    penalty_gradient,
)
from nddv.dynamics.rows import Rows
from nddv.dynamics.seeds import derive, generator, normal

# addresses of a run's random draws
INIT, ORDER, NOISE, META, SCORING = range(5)


@dataclass(frozen=True)
class Training:
    """How a run is trained. Field names are those of `nddv.NDDV`.

    max_steps : optimiser steps at most. Where n and `epochs` would need more of them, batches grow
        instead: the cost of a run is then that of looking at n·`epochs` points.
    block_size : rows that stay together when the order of an epoch is drawn. 1 shuffles all rows;
        larger blocks let rows that are stored on disk be read in contiguous pieces.
    """

    epochs: int = 20
    batch_size: int = 64
    max_steps: int = 5000
    block_size: int = 1
    optimizer: str = "sgd"
    learning_rate: float = 0.05
    schedule: str = "linear"
    weight_decay: float = 0.1
    momentum: float = 0.9
    epsilon: float = 1e-4
    clip: float = 1.0
    pairing: str = "exact"
    reweighting: str = "lookahead"
    meta_every: int = 10
    meta_batch_size: int = 64
    meta_hidden: int = 16
    meta_learning_rate: float = 0.01
    penalty: float = 10.0

    def __post_init__(self) -> None:
        if self.reweighting not in REWEIGHTINGS:
            raise ValueError(
                f"unknown reweighting {self.reweighting!r}: choose one of {REWEIGHTINGS}"
            )


@dataclass(frozen=True)
class Data:
    """Training rows and targets, and the meta set."""

    rows: Rows
    y: Tensor
    meta_rows: Rows
    meta_y: Tensor
    loss: str


@dataclass(frozen=True)
class Schedule:
    """The batches and noise of a run, each of which can be drawn again alone."""

    n: int
    batch_size: int
    epochs: int
    seed: int
    max_steps: int = 5000
    block_size: int = 1

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


@dataclass(frozen=True)
class State:
    """Parameters and optimiser moments before training step number `step`."""

    step: int
    flat: Tensor
    moments: Tensor


@dataclass
class Run:
    """A realised training path: the trajectory context 𝒯 of the readouts.

    flat: ψ^K; theta: θ^K; signals: (n,) latest terminal cost q_i of every point; visit_weights:
    per training step, (B,) weights v_i of its batch; checkpoints: states along the run.
    `history` has one row per finished epoch.
    """

    flow: Flow
    training: Training
    data: Data
    seed: int
    flat: Tensor
    theta: Tensor
    signals: Tensor
    visit_weights: list[Tensor] = field(default_factory=list)
    checkpoints: list[State] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def weight_map(self) -> WeightMap:
        return WeightMap(self.training.meta_hidden)

    @cached_property
    def schedule(self) -> Schedule:
        return Schedule.of(self.training, len(self.data.rows), self.seed)

    @cached_property
    def optimizer(self) -> Optimizer:
        t = self.training
        return Optimizer(
            t.optimizer,
            t.learning_rate,
            t.weight_decay,
            t.clip,
            self.schedule.total_steps,
            t.schedule,
            t.momentum,
            epsilon=t.epsilon,
        )

    @property
    def steps(self) -> int:
        """Training steps that led to the parameters."""
        return len(self.history) * self.schedule.steps_per_epoch

    def visit(self, step: int) -> tuple[Tensor, Tensor]:
        """Indices (B,) and recorded meta weights v (B,) of training step `step`."""
        index = self.schedule.batches(step // self.schedule.steps_per_epoch)
        position = step % self.schedule.steps_per_epoch
        return index[position].to(self.flat.device), self.visit_weights[step]

    def batch(self, step: int, index: Tensor) -> Batch:
        """The points `index` (B,) with the noise of training step `step`."""
        noise = self.schedule.noise(step, self.flow, len(index), self.flat)
        return Batch(self.data.rows.take(index), self.data.y[index], noise)

    def weights(self) -> Tensor:
        """Meta weights v_i of all training points, (n,)."""
        if self.training.reweighting == "none":
            return torch.ones_like(self.signals)
        return self.weight_map(self.theta, self.signals)

    def score(self, path: int = 0) -> Scores:
        """One scoring pass with the current parameters; `path` numbers independent noise draws."""
        d = self.data
        seed = derive(self.seed, SCORING, path)
        return score(self.flow, self.flat, d.rows, d.y, d.loss, seed, mass=self.weights())

    def score_meta(self, scores: Scores) -> Scores:
        """The meta points, driven by the training population of `scores`."""
        d = self.data
        seed = derive(self.seed, SCORING, 0, 1)
        return score(
            self.flow, self.flat, d.meta_rows, d.meta_y, d.loss, seed, aggregates=scores.aggregates
        )


Observer = Callable[[Run, Scores], None]


def train(
    flow: Flow,
    training: Training,
    data: Data,
    seed: int,
    observe: Observer | None = None,
    checkpoint_every: int | None = None,
) -> Run:
    """Fit the flow by Algorithm 1.

    observe(run, scores) is called after every epoch. `checkpoint_every` keeps the state before
    every so manieth step, for the participation readout; None keeps the first only.
    """
    observers = None if observe is None else [observe]
    (run,) = train_together(flow, training, [data], [seed], observers, checkpoint_every)
    return run


@torch.no_grad()
def train_together(
    flow: Flow,
    training: Training,
    data: Sequence[Data],
    seeds: Sequence[int],
    observers: Sequence[Observer] | None = None,
    checkpoint_every: int | None = None,
) -> list[Run]:
    """Fit a flow to each of several data sets of the same shape, as `train` does, all in step.

    The runs share nothing but the clock: their parameters are stacked, so that an operation serves
    all of them, and each gives what it gives alone, to rounding.
    """
    runs = [_start(flow, training, d, s) for d, s in zip(data, seeds, strict=True)]
    flat, signals = _stack([run.flat for run in runs]), _stack([run.signals for run in runs])
    optimizer, reweighting = runs[0].optimizer, _Reweighting(runs)
    moments = optimizer.init(flat)
    step = 0
    for epoch in range(training.epochs):
        loss = torch.zeros_like(signals[..., 0])
        for indices in zip(*(run.schedule.batches(epoch) for run in runs), strict=True):
            index = [i.to(flat.device) for i in indices]
            batch = _stack_batches([run.batch(step, i) for run, i in zip(runs, index, strict=True)])
            places = _stack(index)
            v = reweighting.weights(step, flat, batch, signals.gather(-1, places))
            result = batch_gradient(
                *(flow, flat, batch.x, batch.y, batch.noise, torch.ones_like(v), v),
                *(data[0].loss, training.pairing),
            )
            if step == 0 or (checkpoint_every and step % checkpoint_every == 0):
                states = (_unstack(flat, runs), _unstack(moments, runs, axis=1))
                for run, *state in zip(runs, *states, strict=True):
                    run.checkpoints.append(State(step, *state))
            for run, weights in zip(runs, _unstack(v, runs), strict=True):
                run.visit_weights.append(weights)
            signals.scatter_(-1, places, result.terminal.costs)
            loss += result.terminal.costs.sum(-1)
            flat, moments = optimizer.step(step, flat, moments, result.gradient)
            step += 1
        theta = reweighting.theta
        parts = (_unstack(part, runs) for part in (flat, theta, signals, loss))
        for k, (run, *found, total) in enumerate(zip(runs, *parts, strict=True)):
            run.flat, run.theta, run.signals = found
            scores = run.score()
            mean_loss = float(total) / len(run.data.rows)
            quality = _quality(run.score_meta(scores), run.data)
            run.history.append({"epoch": epoch, "train_loss": mean_loss, **quality})
            if observers is not None:
                observers[k](run, scores)
    return runs


def _stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of several runs, stacked; that of a single run as it is."""
    return tensors[0] if len(tensors) == 1 else torch.stack(list(tensors), axis)


def _unstack(tensor: Tensor, runs: Sequence[Run], axis: int = 0) -> Sequence[Tensor]:
    """The parts of a stack that belong to the runs."""
    return [tensor] if len(runs) == 1 else tensor.unbind(axis)


def _stack_batches(batches: Sequence[Batch]) -> Batch:
    noise = _stack([b.noise for b in batches], axis=1)  # time comes first
    return Batch(_stack([b.x for b in batches]), _stack([b.y for b in batches]), noise)


def _start(flow: Flow, training: Training, data: Data, seed: int) -> Run:
    """A run before its first step."""
    dtype, device = data.rows.dtype, data.rows.device
    flat = flow.init(generator(seed, INIT), dtype).to(device)
    theta = WeightMap(training.meta_hidden).init(generator(seed, INIT, 1), dtype).to(device)
    # before a point's first visit, its signal is the cost of an uninformed prediction
    uninformed = log(flow.outputs) if data.loss == "cross_entropy" else 0.5 * float(data.y.var())
    signals = torch.full((len(data.rows),), uninformed, dtype=dtype, device=device)
    return Run(flow, training, data, seed, flat, theta, signals)


def step_gradient(
    run: Run, flat: Tensor, step: int, index: Tensor, v: Tensor, w: Tensor
) -> BatchGradient:
    """The gradient of one training step at parameters `flat`.

    index: (B,) points of the batch; v: (B,) their meta weights; w: (B,) their participation.
    """
    batch, loss = run.batch(step, index), run.data.loss
    return batch_gradient(
        run.flow, flat, batch.x, batch.y, batch.noise, w, w * v, loss, run.training.pairing
    )


def _quality(on_meta: Scores, data: Data) -> dict[str, float]:
    """Meta loss, meta accuracy for classification, and the standard error of what is compared."""
    compared = on_meta.costs.double()
    quality = {"meta_loss": float(compared.mean())}
    if data.loss == "cross_entropy":
        compared = (on_meta.outputs.argmax(1) == data.meta_y).double()
        quality["meta_accuracy"] = float(compared.mean())
    quality["meta_error"] = float(compared.std(correction=0)) / len(compared) ** 0.5
    return quality


def best_epoch(history: Sequence[dict[str, float]]) -> int:
    """The last epoch whose meta accuracy is within one standard error of the best.

    A hundred meta points cannot tell smaller differences apart, and the very best epoch would be
    a matter of luck. For regression minus the meta loss stands for the accuracy.
    """
    merit = [row.get("meta_accuracy", -row["meta_loss"]) for row in history]
    best = max(range(len(merit)), key=merit.__getitem__)
    enough = merit[best] - history[best]["meta_error"]
    return max(k for k, m in enumerate(merit) if m >= enough)


class _Reweighting:
    """The meta weights of the batches, and the θ update of Algorithm 1, line 8 (by Adam)."""

    def __init__(self, runs: Sequence[Run]):
        t = runs[0].training
        self.runs, self.training = runs, t
        self.theta = _stack([run.theta for run in runs])
        self.optimizer = Optimizer("adamw", t.meta_learning_rate, 0.0, t.clip, 1)
        self.moments = self.optimizer.init(self.theta)
        self.updates = 0

    def weights(self, step: int, flat: Tensor, batch: Batch, signals: Tensor) -> Tensor:
        """v (B,) of a batch with its signals (B,), after an update of θ where one is due."""
        if self.training.reweighting == "none":
            return torch.ones_like(signals)
        if step % self.training.meta_every == 0:
            self._update(self._problem(step, flat, batch, signals))
        return self.runs[0].weight_map(self.theta, signals)

    def _update(self, problem: MetaProblem) -> None:
        if self.training.reweighting == "lookahead":
            gradient = lookahead_gradient(problem, self.theta)
        else:
            gradient = penalty_gradient(problem, self.theta, self.training.penalty)
        self.theta, self.moments = self.optimizer.step(
            self.updates, self.theta, self.moments, gradient
        )
        self.updates += 1

    def _problem(self, step: int, flat: Tensor, batch: Batch, signals: Tensor) -> MetaProblem:
        first, t = self.runs[0], self.training
        return MetaProblem(
            first.flow,
            first.weight_map,
            flat,
            batch,
            signals,
            _stack_batches([_meta_batch(run, step) for run in self.runs]),
            first.optimizer.rate(step),
            t.clip,
            first.data.loss,
            t.pairing,
        )


def _meta_batch(run: Run, step: int) -> Batch:
    """The meta points that the θ update of a step looks at, with their noise."""
    rows, like = run.data.meta_rows, run.flat
    size = min(run.training.meta_batch_size, len(rows))
    draws = generator(run.seed, META, step)
    chosen = torch.randperm(len(rows), generator=draws)[:size].to(like.device)
    shape = (run.flow.steps, size, run.flow.width)
    noise = torch.randn(shape, generator=draws, dtype=like.dtype).to(like.device)
    return Batch(rows.take(chosen), run.data.meta_y[chosen], noise)
