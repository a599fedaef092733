"""Training (Algorithm 1): the members of a model, or several models, in step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

import torch
from torch import Tensor

from nddv.dynamics.adjoint import Batch
from nddv.dynamics.costs import terminal
from nddv.dynamics.flow import Flow, rollout
from nddv.dynamics.looks import Looks, crowded, due, newest_share
from nddv.dynamics.population import chunks
from nddv.dynamics.reweighting import MetaProblem, WeightMap, lookahead_gradient, penalty_gradient
from nddv.dynamics.runs import Data, Run, VisitWeights, weighted_gradient
from nddv.dynamics.schedule import INIT, META, Training
from nddv.replay.engine import State
from nddv.replay.optimizers import Optimizer
from nddv.replay.seeds import generator, member_seed

# Points of a batch that an update of θ looks at: they are enough for a direction. An update takes
# about three times as long as a training step on as many points.
LOOKED_AHEAD = 512

Observer = Callable[[Run], None]


def train(
    flow: Flow,
    training: Training,
    data: Data,
    seed: int,
    observe: Observer | None = None,
    checkpoint_every: int | None = None,
) -> list[Run]:
    """Fit the members of one model by Algorithm 1.

    observe(run) is called after every epoch of every member. With `checkpoint_every` = k the state
    before every k-th step is kept, for the participation readout; None keeps only the first.
    """
    observers = None if observe is None else [observe]
    (runs,) = train_together(flow, training, [data], [seed], observers, checkpoint_every)
    return runs


@torch.no_grad()
def train_together(
    flow: Flow,
    training: Training,
    data: Sequence[Data],
    seeds: Sequence[int],
    observers: Sequence[Observer] | None = None,
    checkpoint_every: int | None = None,
) -> list[list[Run]]:
    """Fit a model to each of several data sets of the same shape, as `train` does.

    The parameters of runs that are trained in step are stacked, so one operation serves all. These
    are the members of a model, or, if models have one member each, several models. Models share
    nothing: each gives what it would give alone, to rounding.
    """
    watch = observers or [_ignore] * len(data)
    models = [
        [_start(flow, training, d, seed, m) for m in range(training.members)]
        for d, seed in zip(data, seeds, strict=True)
    ]
    if training.alone:
        for runs, observe in zip(models, watch, strict=True):
            _train_in_step(runs, [observe] * len(runs), checkpoint_every)
    else:
        _train_in_step([runs[0] for runs in models], watch, checkpoint_every)
    return models


def _ignore(run: Run) -> None:
    """Observe nothing."""


def _train_in_step(
    runs: Sequence[Run], observers: Sequence[Observer], checkpoint_every: int | None
) -> None:
    """Train runs of one shape, which learn in place."""
    stack, epochs = _Stack(runs, checkpoint_every), runs[0].training.epochs
    for epoch in range(epochs):
        losses = torch.stack([stack.step(*indices) for indices in stack.batches(epoch)]).sum(0)
        stack.end_epoch(due(epoch, epochs))
        for k, (run, observe) in enumerate(zip(runs, observers, strict=True)):
            row = {"epoch": epoch, "train_loss": float(losses[k]) / len(run.data.rows)}
            run.history.append({**row, **stack.quality(k)})
            observe(run)


class _Stack:
    """Parameters, moments, averages, signals and looks of several runs while they are trained.

    Members of one model look at the same batch; models of one member each have their own.
    """

    def __init__(self, runs: Sequence[Run], checkpoint_every: int | None):
        self.runs, self.checkpoint_every = runs, checkpoint_every
        first = runs[0]
        self.shared = all(run.data is first.data and run.seed == first.seed for run in runs)
        self.flat = _stack([run.flat for run in runs])
        self.signals = _stack([run.signals for run in runs])
        groups = [runs] if self.shared else [[run] for run in runs]
        self.looks = [_looks(group) for group in groups]
        self.optimizer, self.reweighting = runs[0].optimizer, _Reweighting(runs)
        self.moments = self.optimizer.init(self.flat)
        self.average = self.flat.clone()  # of the parameters of late, for the looks
        self.aggregates: Sequence[Tensor] = ()  # of the latest batch
        self.done = 0

    def batches(self, epoch: int) -> Sequence[tuple[Tensor, ...]]:
        """Of every step of an epoch: the points of each run, or those that all look at."""
        of_runs = [self.runs[0]] if self.shared else self.runs
        return list(zip(*(run.schedule.batches(epoch) for run in of_runs), strict=True))

    def step(self, *indices: Tensor) -> Tensor:
        """One step of every run; returns sums (K,) of terminal costs."""
        index = [i.to(self.flat.device) for i in indices]
        batch, places = self._batch(index)
        signals = self.signals.gather(-1, places)
        v = self.reweighting.weights(self.done, self.flat, batch, signals, places)
        self._note(v)
        result = weighted_gradient(self.runs[0], self.flat, batch, v, torch.ones_like(v))
        self.signals.scatter_(-1, places, result.terminal.costs)
        self.aggregates = result.path.aggregates
        self.flat, self.moments = self.optimizer.step(
            self.done, self.flat, self.moments, result.gradient
        )
        self.done += 1
        first = self.runs[0]
        share = newest_share(self.done, first.schedule.steps_per_epoch, first.data.loss)
        self.average.lerp_(self.flat, share)
        return result.terminal.costs.sum(-1).reshape(-1)

    def _batch(self, index: Sequence[Tensor]) -> tuple[Batch, Tensor]:
        """The batch of a step, and the places of its points, (K, B)."""
        if not self.shared or len(self.runs) == 1:
            batches = [run.batch(self.done, i) for run, i in zip(self.runs, index, strict=True)]
            return _stack_batches(batches), _stack(index)
        data, places = self.runs[0].data, index[0].expand(len(self.runs), -1)
        noise = torch.stack([run.noise(self.done, len(index[0])) for run in self.runs], 1)
        return Batch(data.rows.take(index[0]), data.y[places], noise), places

    def _note(self, v: Tensor) -> None:
        """Keep what a replay of this step needs: its weights and, at checkpoints, the state."""
        for run, weights in zip(self.runs, _unstack(v, self.runs), strict=True):
            run.visit_weights.append(weights)
        if self.done == 0 or (self.checkpoint_every and self.done % self.checkpoint_every == 0):
            flat, moments = _unstack(self.flat, self.runs), _unstack(self.moments, self.runs, 1)
            for run, *state in zip(self.runs, flat, moments, strict=True):
                run.checkpoints.append(State(self.done, *state))

    def end_epoch(self, look: bool) -> None:
        """Give every run its part of what was learned, and look at all points if it is time."""
        parts = (self.flat, self.reweighting.theta, self.signals)
        learned = zip(*(_unstack(part, self.runs) for part in parts), strict=True)
        for run, own in zip(self.runs, learned, strict=True):
            run.flat, run.theta, run.signals = own
        if not look:
            return
        averages = self.average.reshape(len(self.looks), -1, self.average.shape[-1])
        for (looks, group), flat in zip(self.looks, averages, strict=True):
            first = group[0]
            looks.take(first.flow, flat, first.data.rows, first.data.y, first.shares())
            for k, run in enumerate(group):
                run.path, run.residuals = -looks.costs[k], looks.residuals[k]
                run.glances = looks.glances
        self.reweighting.look(self.looks[0][0])
        for run in self.runs:
            run.trust = self.reweighting.trust

    def quality(self, k: int) -> dict[str, float]:
        """Loss of run k on its meta data, and accuracy; the latest batch drives them."""
        run = self.runs[k]
        rows, y = run.data.meta_rows, run.data.meta_y
        if rows is None or y is None:
            return {}
        params = run.flow.unpack(run.flat)
        driving = [mu if len(self.runs) == 1 else mu[k] for mu in self.aggregates]
        costs, hits = [], []
        for c in chunks(len(rows)):
            x0, _ = run.flow.encoder.forward(params.encoder, rows.take(c))
            still = x0.new_zeros(1).expand(run.flow.steps, *x0.shape)
            path = rollout(run.flow, params.controls, x0, still, aggregates=driving)
            end = terminal(params.head, path.states[-1], y[c], run.data.loss)
            costs.append(end.costs)
            hits.append(end.outputs.argmax(-1) == y[c])
        quality = {"meta_loss": float(torch.cat(costs).double().mean())}
        if run.data.loss == "cross_entropy":
            quality["meta_accuracy"] = float(torch.cat(hits).double().mean())
        return quality


def _looks(runs: Sequence[Run]) -> tuple[Looks, Sequence[Run]]:
    """Looks of runs at the points that they share."""
    first = runs[0]
    return Looks(first.flat, len(runs), len(first.data.rows), first.data.loss), runs


def _stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """The tensors of several runs, stacked; a single tensor stays as it is."""
    return tensors[0] if len(tensors) == 1 else torch.stack(list(tensors), axis)


def _unstack(tensor: Tensor, runs: Sequence[Run], axis: int = 0) -> Sequence[Tensor]:
    """The parts of a stack that belong to the runs."""
    return [tensor] if len(runs) == 1 else tensor.unbind(axis)


def _stack_batches(batches: Sequence[Batch]) -> Batch:
    noise = _stack([b.noise for b in batches], axis=1)  # time comes first
    return Batch(_stack([b.x for b in batches]), _stack([b.y for b in batches]), noise)


def _start(flow: Flow, training: Training, data: Data, seed: int, member: int) -> Run:
    """A run before its first step."""
    dtype, device = data.rows.dtype, data.rows.device
    own = member_seed(seed, member)
    flat = flow.init(generator(own, INIT), dtype).to(device)
    theta = WeightMap(training.meta_hidden).init(generator(own, INIT, 1), dtype).to(device)
    # before a point's first visit, its signal is the cost of an uninformed prediction
    uninformed = log(flow.outputs) if data.loss == "cross_entropy" else 0.5 * float(data.y.var())
    signals = torch.full((len(data.rows),), uninformed, dtype=dtype, device=device)
    ones, none = torch.ones_like(signals), signals.new_zeros(0)
    visits = VisitWeights(signals, training.epochs * len(signals))
    return Run(flow, training, data, seed, member, flat, theta, signals, ones, none, none, visits)


class _Reweighting:
    """The weights of the batches.

    They are learned by the θ update of Algorithm 1, line 8 (by Adam), or self-weights of the looks
    so far, or ones.
    """

    def __init__(self, runs: Sequence[Run]):
        t = runs[0].training
        self.runs, self.training = runs, t
        self.theta = _stack([run.theta for run in runs])
        self.trust = runs[0].trust  # (n,), for all members
        self.optimizer = Optimizer("adamw", t.meta_learning_rate, 0.0, t.clip, 1)
        self.moments = self.optimizer.init(self.theta)
        self.updates = 0

    def look(self, looks: Looks) -> None:
        """Weigh the points by what the looks so far say of them."""
        data = self.runs[0].data
        # a wrong target pulls at a run of any size
        needed = data.loss == "squared_error" or crowded(data.rows)
        if self.training.reweighting == "self" and needed:
            self.trust = looks.trust().to(self.trust.dtype)

    def weights(
        self, step: int, flat: Tensor, batch: Batch, signals: Tensor, places: Tensor
    ) -> Tensor:
        """Weights of a batch, after an update of θ where one is due; all but flat as (K, B)."""
        if not self.training.learns_weights:
            return self.trust[places]
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
    rows, y, like = run.data.meta_rows, run.data.meta_y, run.flat
    if rows is None or y is None:
        raise ValueError("weights are learned on meta data: give X_meta and y_meta")
    size = min(run.training.meta_batch_size, len(rows))
    draws = generator(run.own_seed, META, step)
    chosen = torch.randperm(len(rows), generator=draws)[:size].to(like.device)
    shape = (run.flow.steps, size, run.flow.width)
    noise = torch.randn(shape, generator=draws, dtype=like.dtype).to(like.device)
    return Batch(rows.take(chosen), y[chosen], noise)
