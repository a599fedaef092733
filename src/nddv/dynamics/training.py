"""Training runs (Algorithm 1), one or several at once, and the record that the readouts need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log

import torch
from torch import Tensor

from nddv.dynamics.adjoint import Batch, BatchGradient, batch_gradient
from nddv.dynamics.flow import Flow
from nddv.dynamics.optimizers import Optimizer
from nddv.dynamics.population import Scores, score
from nddv.dynamics.reweighting import MetaProblem, WeightMap, lookahead_gradient, penalty_gradient
from nddv.dynamics.rows import Rows
from nddv.dynamics.schedule import INIT, META, SCORING, Schedule, Training
from nddv.dynamics.seeds import derive, generator

# Points of a batch that an update of θ looks at: they are enough for a direction. An update takes
# about three times as long as a training step on as many points.
LOOKED_AHEAD = 512


@dataclass(frozen=True)
class Data:
    """Training rows and targets, and the meta set."""

    rows: Rows
    y: Tensor
    meta_rows: Rows
    meta_y: Tensor
    loss: str


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
        return Schedule(self.training, len(self.data.rows), self.seed)

    @cached_property
    def optimizer(self) -> Optimizer:
        t = self.training
        step = (t.optimizer, t.learning_rate, t.weight_decay, t.clip)
        decay = (self.schedule.total_steps, t.schedule)
        return Optimizer(*step, *decay, t.momentum, epsilon=t.epsilon)

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

    observe(run, scores) is called after every epoch. With `checkpoint_every` = k the state before
    every k-th step is kept, for the participation readout; None keeps only the first.
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

    Their parameters are stacked, so one operation serves all runs. Otherwise the runs share
    nothing: each gives what it would give alone, to rounding.
    """
    runs = [_start(flow, training, d, s) for d, s in zip(data, seeds, strict=True)]
    stack = _Stack(runs, checkpoint_every)
    for epoch in range(training.epochs):
        batches = zip(*(run.schedule.batches(epoch) for run in runs), strict=True)
        losses = torch.stack([stack.step(indices) for indices in batches])
        stack.hand_over()
        for k, run in enumerate(runs):
            scores = run.score()
            loss = float(losses[..., k].sum()) / len(run.data.rows)
            quality = _quality(run.score_meta(scores), run.data)
            run.history.append({"epoch": epoch, "train_loss": loss, **quality})
            if observers is not None:
                observers[k](run, scores)
    return runs


class _Stack:
    """Parameters, moments and signals of several runs while they are trained."""

    def __init__(self, runs: Sequence[Run], checkpoint_every: int | None):
        self.runs, self.checkpoint_every = runs, checkpoint_every
        self.flat = _stack([run.flat for run in runs])
        self.signals = _stack([run.signals for run in runs])
        self.optimizer, self.reweighting = runs[0].optimizer, _Reweighting(runs)
        self.moments = self.optimizer.init(self.flat)
        self.done = 0

    def step(self, indices: Sequence[Tensor]) -> Tensor:
        """One step of every run, each on its own batch; returns sums (K,) of terminal costs."""
        index = [i.to(self.flat.device) for i in indices]
        batch = _stack_batches(
            [run.batch(self.done, i) for run, i in zip(self.runs, index, strict=True)]
        )
        places = _stack(index)
        v = self.reweighting.weights(self.done, self.flat, batch, self.signals.gather(-1, places))
        self._note(v)
        first = self.runs[0]
        ones, how = torch.ones_like(v), (first.data.loss, first.training.pairing)
        result = batch_gradient(first.flow, self.flat, batch, ones, v, *how)
        self.signals.scatter_(-1, places, result.terminal.costs)
        self.flat, self.moments = self.optimizer.step(
            self.done, self.flat, self.moments, result.gradient
        )
        self.done += 1
        return result.terminal.costs.sum(-1).reshape(-1)

    def _note(self, v: Tensor) -> None:
        """Keep what a replay of this step needs: its weights and, at checkpoints, the state."""
        for run, weights in zip(self.runs, _unstack(v, self.runs), strict=True):
            run.visit_weights.append(weights)
        if self.done == 0 or (self.checkpoint_every and self.done % self.checkpoint_every == 0):
            flat, moments = _unstack(self.flat, self.runs), _unstack(self.moments, self.runs, 1)
            for run, *state in zip(self.runs, flat, moments, strict=True):
                run.checkpoints.append(State(self.done, *state))

    def hand_over(self) -> None:
        """Give every run its part of what was learned."""
        parts = (self.flat, self.reweighting.theta, self.signals)
        learned = zip(*(_unstack(part, self.runs) for part in parts), strict=True)
        for run, own in zip(self.runs, learned, strict=True):
            run.flat, run.theta, run.signals = own


def _stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The tensors of several runs, stacked; a single tensor stays as it is."""
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
    how = (run.data.loss, run.training.pairing)
    return batch_gradient(run.flow, flat, run.batch(step, index), w, w * v, *how)


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

    A hundred meta points cannot tell smaller differences apart, so the very best epoch would be a
    matter of luck. For regression, minus the meta loss stands in for the accuracy.
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
            self._update(step, flat, batch, signals)
        return self.runs[0].weight_map(self.theta, signals)

    def _update(self, step: int, flat: Tensor, batch: Batch, signals: Tensor) -> None:
        first, t = self.runs[0], self.training
        problem = MetaProblem(
            first.flow,
            first.weight_map,
            flat,
            batch.first(LOOKED_AHEAD),
            signals[..., :LOOKED_AHEAD],
            _stack_batches([_meta_batch(run, step) for run in self.runs]),
            first.optimizer.rate(step),
            t.clip,
            first.data.loss,
            t.pairing,
        )
        if t.reweighting == "lookahead":
            gradient = lookahead_gradient(problem, self.theta)
        else:
            gradient = penalty_gradient(problem, self.theta, t.penalty)
        self.theta, self.moments = self.optimizer.step(
            self.updates, self.theta, self.moments, gradient
        )
        self.updates += 1


def _meta_batch(run: Run, step: int) -> Batch:
    """The meta points that the θ update of a step looks at, with their noise."""
    rows, like = run.data.meta_rows, run.flat
    size = min(run.training.meta_batch_size, len(rows))
    draws = generator(run.seed, META, step)
    chosen = torch.randperm(len(rows), generator=draws)[:size].to(like.device)
    shape = (run.flow.steps, size, run.flow.width)
    noise = torch.randn(shape, generator=draws, dtype=like.dtype).to(like.device)
    return Batch(rows.take(chosen), run.data.meta_y[chosen], noise)
