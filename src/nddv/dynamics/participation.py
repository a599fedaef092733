"""The participation readout: dU/dw_i through the optimisation steps of the realised run.

Point i takes part with weight w_i (= 1), which scales its cost terms and its share in μ. Training
is z_{k+1} = F_k(z_k, w) on z = (parameters, moments), with the batches, the noise and the meta
weights v of the realised run. To leave i out is to set w_i = 0 and to keep everything else. U is
the validation utility of the trained flow (`nddv.dynamics.utility`). One replay of the run
(`nddv.replay.engine`) gives all n derivatives at once: the quantity the paper formulates ("the
sample-participation derivative of a realized stochastic training path") and the local
sensitivities m_i(C, λ) of its Definition continuous_inclusion at C ∪ {i} = [N], λ = 1.

For deep networks this is known as metagradients (Engstrom et al. 2025, arXiv 2503.13751; MAGIC,
Ilyas & Engstrom 2025, arXiv 2504.16430). Here it is carried through the mean-field flow: the
adjoint freezes the aggregate, as the paper's training does, and the replay differentiates that very
gradient, whose value does depend on μ(w).

At a *level* t all weights are t, and the run is trained again. The derivatives at several levels
make semi-values (`nddv.laws`): ∫ ∂U/∂w_i (t·1) dt is nearly the Shapley value of i in
the game of this run. The runs of all levels see the same batches and are trained, and replayed,
with stacked parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.dynamics.runs import Run, step_gradient
from nddv.dynamics.utility import Goal, evaluate, utility_gradient
from nddv.replay.engine import State, Tick, replay, run_from, stacked
from nddv.replay.optimizers import Optimizer


@dataclass(frozen=True)
class FlowProgram:
    """The training of a run, with its batches, noise and recorded weights."""

    run: Run

    @property
    def steps(self) -> int:
        return self.run.steps

    @property
    def optimizer(self) -> Optimizer:
        return self.run.optimizer

    def points(self, step: int) -> Tensor:
        return self.run.visit(step)[0]

    def gradient(self, flat: Tensor, step: int, weights: Tensor) -> Tensor:
        return step_gradient(self.run, flat, step, *self.run.visit(step), weights).gradient


def train_again(run: Run, weights: Tensor) -> Tensor:
    """Parameters (P,) of training with participation `weights` (n,), all else as in the run."""
    return run_from(FlowProgram(run), run.checkpoints[0], weights, run.steps).flat


@torch.no_grad()
def retrain(run: Run, weights: Tensor, goal: Goal) -> float:
    """U after training again with participation `weights` (n,); see nddv.audit for many at once."""
    return float(evaluate(run, train_again(run, weights), weights, goal).utility)


def participation(run: Run, goal: Goal, path: int = 0, tick: Tick = lambda steps: None) -> Tensor:
    """dU/dw, (n,), by adjoint replay of the run.

    path: number of the noise draw that U is evaluated on; tick: called with the number of steps
    back that were made.
    """
    weights = torch.ones(len(run.data.rows), dtype=run.flat.dtype, device=run.flat.device)
    end = utility_gradient(run, run.flat, weights, goal, path)
    return end.weights + replay(FlowProgram(run), weights, run.checkpoints, end.flat, tick)


def level_participation(
    run: Run,
    goal: Goal,
    levels: Sequence[float] | NDArray[np.float64],
    path: int = 0,
    tick: Tick = lambda steps: None,
) -> Tensor:
    """dU/dw, (L, n), where all points take part with weight t, for each of L levels t.

    A level is a training run of its own, with all else as in the run, and a replay.
    """
    like, n = run.flat, len(run.data.rows)
    t = torch.as_tensor(levels, dtype=like.dtype, device=like.device)
    weights = t.unsqueeze(1).expand(-1, n)
    checkpoints, last = _checkpoints(run, weights)
    ends = [utility_gradient(run, *level, goal, path) for level in zip(last, weights, strict=True)]
    costate = torch.stack([end.flat for end in ends])
    through_training = replay(FlowProgram(run), weights, checkpoints, costate, tick)
    return through_training + torch.stack([end.weights for end in ends])


@torch.no_grad()
def _checkpoints(run: Run, weights: Tensor) -> tuple[list[State], Tensor]:
    """States of training with weights (L, n), where the run has them, and the parameters (L, P)."""
    kept = {state.step for state in run.checkpoints}
    states: list[State] = []

    def keep(state: State) -> None:
        if state.step in kept:
            states.append(state)

    start = stacked(run.checkpoints[0], len(weights))
    last = run_from(FlowProgram(run), start, weights, run.steps, keep)
    return states, last.flat
