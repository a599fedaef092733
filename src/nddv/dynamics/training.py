"""One training run (Algorithm 1) and the record of it that the readouts need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import ceil

import torch
from torch import Tensor

from nddv.dynamics.adjoint import batch_gradient
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


def initial_signal(data: Data, outputs: int) -> float:
    """q before a point's first visit: the cost of an uninformed prediction."""
    if data.loss == "cross_entropy":
        return float(torch.log(torch.tensor(float(outputs))))
    return float(0.5 * data.y.var())


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
    dtype, device, n = data.rows.dtype, data.rows.device, len(data.rows)
    flat = flow.init(generator(seed, INIT), dtype).to(device)
    weight_map = WeightMap(training.meta_hidden)
    theta = weight_map.init(generator(seed, INIT, 1), dtype).to(device)
    start_signals = torch.full((n,), initial_signal(data, flow.outputs), dtype=dtype, device=device)
    run = Run(flow, training, data, seed, flat, theta, start_signals)
    schedule, optimizer = run.schedule, run.optimizer
    moments = optimizer.init(flat)
    meta = _MetaUpdate(run)
    step = 0
    for epoch in range(training.epochs):
        losses = torch.zeros((), dtype=dtype, device=device)
        for index in schedule.batches(epoch):
            index = index.to(device)
            batch = Batch(
                data.rows.take(index),
                data.y[index],
                schedule.noise(step, flow, len(index), run.flat),
            )
            signals = run.signals[index]
            if training.reweighting == "none":
                v = torch.ones_like(signals)
            else:
                if step % training.meta_every == 0:
                    meta.update(step, batch, signals)
                v = weight_map(run.theta, signals)
            result = batch_gradient(
                flow,
                run.flat,
                batch.x,
                batch.y,
                batch.noise,
                torch.ones_like(v),
                v,
                data.loss,
                training.pairing,
            )
            if step == 0 or (checkpoint_every and step % checkpoint_every == 0):
                run.checkpoints.append(State(step, run.flat, moments))
            run.signals[index] = result.terminal.costs
            losses += result.terminal.costs.sum()
            run.visit_weights.append(v)
            run.flat, moments = optimizer.step(step, run.flat, moments, result.gradient)
            step += 1
        scores = run.score()
        on_meta = run.score_meta(scores)
        run.history.append(
            {"epoch": epoch, "train_loss": float(losses) / n, **_quality(on_meta, data)}
        )
        if observe is not None:
            observe(run, scores)
    return run


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


class _MetaUpdate:
    """The θ update of Algorithm 1, line 8: Adam on the hypergradient."""

    def __init__(self, run: Run):
        t = run.training
        self.run = run
        self.optimizer = Optimizer("adamw", t.meta_learning_rate, 0.0, t.clip, 1)
        self.moments = self.optimizer.init(run.theta)
        self.count = 0

    def update(self, step: int, batch: Batch, signals: Tensor) -> None:
        run, t, data = self.run, self.run.training, self.run.data
        size = min(t.meta_batch_size, len(data.meta_rows))
        draws = generator(run.seed, META, step)
        index = torch.randperm(len(data.meta_rows), generator=draws)[:size].to(run.flat.device)
        shape = (run.flow.steps, size, run.flow.width)
        noise = torch.randn(shape, generator=draws, dtype=run.flat.dtype).to(run.flat.device)
        problem = MetaProblem(
            run.flow,
            run.weight_map,
            run.flat,
            batch,
            signals,
            Batch(data.meta_rows.take(index), data.meta_y[index], noise),
            run.optimizer.rate(step),
            t.clip,
            data.loss,
            t.pairing,
        )
        if t.reweighting == "lookahead":
            gradient = lookahead_gradient(problem, run.theta)
        else:
            gradient = penalty_gradient(problem, run.theta, t.penalty)
        run.theta, self.moments = self.optimizer.step(self.count, run.theta, self.moments, gradient)
        self.count += 1
