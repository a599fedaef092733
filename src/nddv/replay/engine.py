"""Replay: the derivative of a utility by the weights of training points, through all steps.

Training is z_{k+1} = F_k(z_k, w) on z = (parameters, moments), where point i takes part with the
weight w_i. Batches and noise of a step are the same whenever it is repeated. With U a function of
the last parameters, and λ_K = ∂U/∂z_K, one vector–Jacobian product a step,

    (λ_k, dU/dw +=) = λ_{k+1} ∂F_k/∂(z_k, w),

gives dU/dw for all points at once (Engstrom et al. 2025, arXiv 2503.13751). States between
checkpoints are computed again, from the first on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Protocol

import torch
from torch import Tensor

from nddv.replay.optimizers import Optimizer

Tick = Callable[[int], object]


@dataclass(frozen=True)
class State:
    """Parameters and optimiser moments before training step number `step`.

    Of one run (P,) and (R, P); of L runs that are stacked (L, P) and (R, L, P).
    """

    step: int
    flat: Tensor
    moments: Tensor


class Program(Protocol):
    """A training run that can be repeated, with other weights of its points."""

    @property
    def steps(self) -> int:
        """How many there are."""

    @property
    def optimizer(self) -> Optimizer:
        """What turns a gradient into a step."""

    def points(self, step: int) -> Tensor:
        """Indices (B,) of the points of a step."""

    def gradient(self, flat: Tensor, step: int, weights: Tensor) -> Tensor:
        """The gradient of a step at parameters, where its points have weights (B,).

        It can be differentiated by both. Stacked, for stacked parameters and weights (L, B).
        """


def advance(program: Program, state: State, weights: Tensor) -> State:
    """F_k: one training step from `state` with weights (n,), or stacked (L, n)."""
    of_batch = weights[..., program.points(state.step)]
    gradient = program.gradient(state.flat, state.step, of_batch)
    flat, moments = program.optimizer.step(state.step, state.flat, state.moments, gradient)
    return State(state.step + 1, flat, moments)


def run_from(
    program: Program,
    state: State,
    weights: Tensor,
    stop: int,
    keep: Callable[[State], object] = lambda state: None,
) -> State:
    """The state before step `stop`; `keep` is called with every state before a step is made."""
    while state.step < stop:
        keep(state)
        state = advance(program, state, weights)
    return state


def stacked(state: State, runs: int) -> State:
    """The same state for several runs."""
    moments = state.moments.unsqueeze(1).expand(-1, runs, -1)
    return State(state.step, state.flat.expand(runs, -1), moments)


def replay(
    program: Program,
    weights: Tensor,
    checkpoints: Sequence[State],
    costate: Tensor,
    tick: Tick = lambda steps: None,
) -> Tensor:
    """Derivatives of U by weights, shaped as these are: (n,), or (L, n) of stacked runs.

    checkpoints : states of the run with these weights, the first of them before step 0.
    costate : ∂U/∂ of the last parameters.
    tick : called with the number of steps back that were made.
    """
    total = torch.zeros_like(weights)
    moments_costate = torch.zeros_like(checkpoints[0].moments)
    stop, runs = program.steps, weights.shape[:-1].numel()
    for checkpoint in reversed([c for c in checkpoints if c.step < stop]):
        for state in reversed(_segment(program, checkpoint, weights, stop)):
            points = program.points(state.step)
            costate, moments_costate, dw = _pullback(
                program, state, weights[..., points], costate, moments_costate
            )
            total[..., points] += dw
            tick(runs)
        stop = checkpoint.step
    return total


@torch.no_grad()
def _segment(program: Program, start: State, weights: Tensor, stop: int) -> list[State]:
    """States of steps start.step … stop−1, computed again from a checkpoint."""
    states: list[State] = []
    last = run_from(program, start, weights, stop - 1, states.append)
    return [*states, last]


def _pullback(
    program: Program, state: State, weights: Tensor, costate: Tensor, moments_costate: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One step back: co-states of parameters and moments, and this batch's share of dU/dw."""
    with torch.enable_grad():
        flat = state.flat.detach().requires_grad_()
        w = weights.detach().clone().requires_grad_()
        gradient = program.gradient(flat, state.step, w)
    dflat, dmoments, dgradient = program.optimizer.pullback(
        state.step, state.flat, state.moments, gradient.detach(), costate, moments_costate
    )
    through, dw = torch.autograd.grad(gradient, (flat, w), dgradient)
    return dflat + through, dmoments, dw


def checkpoint_interval(total_steps: int, bytes_per_state: int, memory_limit: float) -> int:
    """1 (keep every state) if that fits the limit, else √K: O(√K) states, one more forward run."""
    return 1 if total_steps * bytes_per_state <= memory_limit else max(1, isqrt(total_steps))
