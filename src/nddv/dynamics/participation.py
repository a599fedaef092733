"""The participation readout: dU/dw_i through the optimisation steps of the realised run.

Point i takes part with weight w_i (= 1), which scales its cost terms and its share in μ. Training
is z_{k+1} = F_k(z_k, w) on z = (parameters, moments), with the batches, the noise and the meta
weights v of the realised run. To leave i out is to set w_i = 0 and to keep everything else. U is
the validation utility of the trained flow (`nddv.dynamics.utility`). Starting from λ_K = ∂U/∂z_K,
one vector–Jacobian product per step,

    (λ_k, dU/dw +=) = λ_{k+1} ∂F_k/∂(z_k, w),

gives all n derivatives at once: the quantity the paper formulates ("the sample-participation
derivative of a realized stochastic training path") and the local sensitivities m_i(C, λ) of its
Definition continuous_inclusion at C ∪ {i} = [N], λ = 1.

For deep networks this is known as metagradients by replay (Engstrom et al. 2025, arXiv 2503.13751;
MAGIC, Ilyas & Engstrom 2025, arXiv 2504.16430). Here it is carried through the mean-field flow: the
adjoint freezes the aggregate, as the paper's training does, and the replay differentiates that very
gradient, whose value does depend on μ(w).

At a *level* t all weights are t, and the run is trained again. The derivatives at several levels
make semi-values (`nddv.laws`): ∫ ∂U/∂w_i (t·1) dt is nearly the Shapley value of i in
the game of this run. The runs of all levels see the same batches and are trained, and replayed,
with stacked parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.dynamics.runs import Run, State, step_gradient
from nddv.dynamics.utility import Goal, evaluate, utility_gradient

Tick = Callable[[int], object]


def advance(run: Run, state: State, index: Tensor, v: Tensor, weights: Tensor) -> State:
    """F_k: one training step from `state` with participation `weights` (n,), or stacked (L, n)."""
    gradient = step_gradient(run, state.flat, state.step, index, v, weights[..., index]).gradient
    flat, moments = run.optimizer.step(state.step, state.flat, state.moments, gradient)
    return State(state.step + 1, flat, moments)


def train_again(run: Run, weights: Tensor) -> Tensor:
    """Parameters (P,) of training with participation `weights` (n,), all else as in the run."""
    state = run.checkpoints[0]
    for step in range(run.steps):
        state = advance(run, state, *run.visit(step), weights)
    return state.flat


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
    return _replay(run, weights, run.checkpoints, (end.flat, end.weights), tick)


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
    costates = torch.stack([end.flat for end in ends]), torch.stack([end.weights for end in ends])
    return _replay(run, weights, checkpoints, costates, tick)


@torch.no_grad()
def _checkpoints(run: Run, weights: Tensor) -> tuple[list[State], Tensor]:
    """States of training with weights (L, n), where the run has them, and the parameters (L, P)."""
    kept, count = {state.step for state in run.checkpoints}, len(weights)
    first = run.checkpoints[0]
    state = State(0, first.flat.expand(count, -1), first.moments.unsqueeze(1).expand(-1, count, -1))
    states = []
    for step in range(run.steps):
        if step in kept:
            states.append(state)
        state = advance(run, state, *run.visit(step), weights)
    return states, state.flat


def _replay(
    run: Run,
    weights: Tensor,
    checkpoints: Sequence[State],
    costates: tuple[Tensor, Tensor],
    tick: Tick,
) -> Tensor:
    """dU/dw, shaped as weights are: (n,), or (L, n) of stacked runs.

    costates: derivatives of U by the last parameters, and by the weights at the end.
    """
    costate, total = costates
    moments_costate = torch.zeros_like(checkpoints[0].moments)
    stop, runs = run.steps, weights.shape[:-1].numel()
    for checkpoint in reversed([c for c in checkpoints if c.step < stop]):
        for state in reversed(_segment(run, checkpoint, stop, weights)):
            index, v = run.visit(state.step)
            costate, moments_costate, dw = _pullback(
                run, state, index, v, weights[..., index], costate, moments_costate
            )
            total[..., index] += dw
            tick(runs)
        stop = checkpoint.step
    return total


@torch.no_grad()
def _segment(run: Run, start: State, stop: int, weights: Tensor) -> list[State]:
    """States of steps start.step … stop−1, recomputed from a checkpoint."""
    states = [start]
    while states[-1].step + 1 < stop:
        states.append(advance(run, states[-1], *run.visit(states[-1].step), weights))
    return states


def _pullback(
    run: Run,
    state: State,
    index: Tensor,
    v: Tensor,
    weights: Tensor,
    costate: Tensor,
    moments_costate: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """One step back: co-states of parameters and moments, and this batch's share of dU/dw."""
    with torch.enable_grad():
        flat = state.flat.detach().requires_grad_()
        w = weights.detach().clone().requires_grad_()
        gradient = step_gradient(run, flat, state.step, index, v, w).gradient
    dflat, dmoments, dgradient = run.optimizer.pullback(
        state.step, state.flat, state.moments, gradient.detach(), costate, moments_costate
    )
    through, dw = torch.autograd.grad(gradient, (flat, w), dgradient)
    return dflat + through, dmoments, dw


def checkpoint_interval(total_steps: int, bytes_per_state: int, memory_limit: float) -> int:
    """1 (keep every state) if that fits the limit, else √K: O(√K) states, one more forward run."""
    return 1 if total_steps * bytes_per_state <= memory_limit else max(1, isqrt(total_steps))
