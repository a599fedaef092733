"""One training run (Algorithm 1) and the record of it that the readouts need."""

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
    """How a run is trained. Field names are those of `nddv.NDDV`."""

    epochs: int = 20
    batch_size: int = 64
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

    @property
    def steps_per_epoch(self) -> int:
        return ceil(self.n / self.batch_size)

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
    order = torch.randperm(schedule.n, generator=generator(schedule.seed, ORDER, epoch))
    return order.tensor_split(schedule.steps_per_epoch)


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
        training = self.training
        return Schedule(len(self.data.rows), training.batch_size, training.epochs, self.seed)

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


@torch.no_grad()
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
    run = _start(flow, training, data, seed)
    moments = run.optimizer.init(run.flat)
    reweighting = _Reweighting(run)
    step = 0
    for epoch in range(training.epochs):
        loss = torch.zeros_like(run.signals[0])
        for index in run.schedule.batches(epoch):
            index = index.to(run.flat.device)
            v = reweighting.weights(step, index)
            result = step_gradient(run, run.flat, step, index, v, torch.ones_like(v))
            if step == 0 or (checkpoint_every and step % checkpoint_every == 0):
                run.checkpoints.append(State(step, run.flat, moments))
            run.visit_weights.append(v)
            run.signals[index] = result.terminal.costs
            loss += result.terminal.costs.sum()
            run.flat, moments = run.optimizer.step(step, run.flat, moments, result.gradient)
            step += 1
        scores = run.score()
        mean_loss = float(loss) / len(data.rows)
        quality = _quality(run.score_meta(scores), data)
        run.history.append({"epoch": epoch, "train_loss": mean_loss, **quality})
        if observe is not None:
            observe(run, scores)
    return run


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
    data = run.data
    noise = run.schedule.noise(step, run.flow, len(index), flat)
    return batch_gradient(
        run.flow,
        flat,
        data.rows.take(index),
        data.y[index],
        noise,
        w,
        w * v,
        data.loss,
        run.training.pairing,
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

    def __init__(self, run: Run):
        t = run.training
        self.run = run
        self.optimizer = Optimizer("adamw", t.meta_learning_rate, 0.0, t.clip, 1)
        self.moments = self.optimizer.init(run.theta)
        self.updates = 0

    def weights(self, step: int, index: Tensor) -> Tensor:
        """v (B,) of a batch, after an update of θ where one is due."""
        run, signals = self.run, self.run.signals[index]
        if run.training.reweighting == "none":
            return torch.ones_like(signals)
        if step % run.training.meta_every == 0:
            self._update(self._problem(step, index, signals))
        return run.weight_map(run.theta, signals)

    def _update(self, problem: MetaProblem) -> None:
        run = self.run
        if run.training.reweighting == "lookahead":
            gradient = lookahead_gradient(problem, run.theta)
        else:
            gradient = penalty_gradient(problem, run.theta, run.training.penalty)
        run.theta, self.moments = self.optimizer.step(
            self.updates, run.theta, self.moments, gradient
        )
        self.updates += 1

    def _problem(self, step: int, index: Tensor, signals: Tensor) -> MetaProblem:
        run, t, data = self.run, self.run.training, self.run.data
        noise = run.schedule.noise(step, run.flow, len(index), run.flat)
        size = min(t.meta_batch_size, len(data.meta_rows))
        draws = generator(run.seed, META, step)
        chosen = torch.randperm(len(data.meta_rows), generator=draws)[:size].to(run.flat.device)
        shape = (run.flow.steps, size, run.flow.width)
        meta_noise = torch.randn(shape, generator=draws, dtype=run.flat.dtype).to(run.flat.device)
        return MetaProblem(
            run.flow,
            run.weight_map,
            run.flat,
            Batch(data.rows.take(index), data.y[index], noise),
            signals,
            Batch(data.meta_rows.take(chosen), data.meta_y[chosen], meta_noise),
            run.optimizer.rate(step),
            t.clip,
            data.loss,
            t.pairing,
        )
