"""The participation readout: dU/dw_i through the optimisation steps of the realised run.

Point i takes part with weight w_i (= 1), which scales its cost terms and its share in μ. Training
is z_{k+1} = F_k(z_k, w) on z = (parameters, moments), with the batches, the noise and the meta
weights v of the realised run. To leave i out is to set w_i = 0 and to keep everything else. U is
the validation utility (mean log-likelihood) of the trained flow; the training population drives the
validation points. Starting from λ_K = ∂U/∂z_K, one vector–Jacobian product per step,

    (λ_k, dU/dw +=) = λ_{k+1} ∂F_k/∂(z_k, w),

gives all n derivatives at once: the quantity the paper formulates ("the sample-participation
derivative of a realized stochastic training path") and the local sensitivities m_i(C, λ) of its
Definition continuous_inclusion at C ∪ {i} = [N], λ = 1.

For deep networks this is known as metagradients by replay (Engstrom et al. 2025, arXiv 2503.13751;
MAGIC, Ilyas & Engstrom 2025, arXiv 2504.16430). Here it is carried through the mean-field flow: the
adjoint freezes the aggregate, as the paper's training does, and the replay differentiates that very
gradient, whose value does depend on μ(w).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt

import torch
from torch import Tensor

from nddv.dynamics.costs import Terminal, terminal
from nddv.dynamics.flow import Flow, Path, flatten, rollout
from nddv.dynamics.population import chunks, population_path
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Run, State, step_gradient
from nddv.dynamics.schedule import SCORING
from nddv.dynamics.seeds import derive, normal

VALID_NOISE = 2


@dataclass(frozen=True)
class UtilityGradient:
    """U and its derivatives with respect to parameters, (P,), and participation weights, (n,)."""

    utility: float
    flat: Tensor
    weights: Tensor


@dataclass(frozen=True)
class Evaluation:
    """What U is made of: S+1 states (n, W) of the training points, and the validation points.

    moved: Euler path of the m validation points; end: their terminal costs, (m,), and outputs.
    """

    population: list[Tensor]
    moved: Path
    end: Terminal

    @property
    def utility(self) -> Tensor:
        """U, the mean validation log-likelihood: minus the mean terminal cost."""
        return -self.end.costs.mean()


def evaluate(
    run: Run, flat: Tensor, weights: Tensor, valid: Rows, valid_y: Tensor, path: int = 0
) -> Evaluation:
    """The flow with parameters `flat` (P,) and participation `weights` (n,) on validation points.

    The aggregate of the training population drives the validation points; point i has the share
    w_i v_i in it. Training points are streamed, and only their states are kept.
    """
    flow, data, n = run.flow, run.data, len(run.data.rows)
    params, mass = flow.unpack(flat), weights * run.shares()
    seed = derive(run.own_seed, SCORING, path)
    population, aggregates = population_path(
        flow, params, data.rows, seed, lambda s, x: mass @ x / n
    )
    seed = derive(run.own_seed, SCORING, path, VALID_NOISE)
    shape = (len(valid), flow.width)
    noise = [normal(seed, s, shape, flat.dtype, flat.device) for s in range(flow.steps)]
    x0, _ = flow.encoder.forward(params.encoder, valid.take(slice(0, len(valid))))
    moved = rollout(flow, params.controls, x0, torch.stack(noise), aggregates=aggregates)
    end = terminal(params.head, moved.states[-1], valid_y, data.loss)
    return Evaluation(population, moved, end)


@torch.no_grad()
def utility_gradient(
    run: Run, flat: Tensor, weights: Tensor, valid: Rows, valid_y: Tensor, path: int = 0
) -> UtilityGradient:
    """U of `evaluate` and its derivatives.

    Here the aggregate μ is not frozen: its dependence on the states is differentiated too.
    """
    flow, data = run.flow, run.data
    params, n, a_dt = flow.unpack(flat), len(data.rows), flow.interaction * flow.dt
    v = run.shares()
    mass = weights * v
    evaluation = evaluate(run, flat, weights, valid, valid_y, path)
    population, moved, end = evaluation.population, evaluation.moved, evaluation.end
    valid_x = valid.take(slice(0, len(valid)))
    residuals = -end.residuals / len(valid)
    head = [moved.states[-1].T @ residuals, residuals.sum(0)]
    # co-states of U: q of the validation points, p of the training points
    q, p = -end.gradients / len(valid), torch.zeros_like(population[-1])
    dweights, dcontrols = torch.zeros_like(weights), []
    for s in reversed(range(flow.steps)):
        dmu = a_dt * (q.sum(0) + p.sum(0))
        dq, gradients = flow.controller.pullback(params.controls[s], moved.caches[s], flow.dt * q)
        q = (1 - a_dt) * q + dq
        dp, by_population = _stream_pullback(flow, params.controls[s], population[s], flow.dt * p)
        p = (1 - a_dt) * p + dp + torch.outer(mass / n, dmu)
        dweights += v * (population[s] @ dmu) / n
        dcontrols.append([g + h for g, h in zip(gradients, by_population, strict=True)])
    encoder = [valid_x.T @ q, q.sum(0) + p.sum(0)]
    for c in chunks(n):
        encoder[0] = encoder[0] + data.rows.take(c).T @ p[c]
    controls = [g for step in reversed(dcontrols) for g in step]
    gradient = flatten([*encoder, *controls, *head])
    return UtilityGradient(float(evaluation.utility), gradient, dweights)


def _stream_pullback(
    flow: Flow, control: Sequence[Tensor], x: Tensor, dy: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """Pull (n, W) cotangents back through a control, chunk by chunk."""
    dx, total = torch.empty_like(x), [torch.zeros_like(parameter) for parameter in control]
    for c in chunks(len(x)):
        _, cache = flow.controller.forward(control, x[c])
        dx[c], gradients = flow.controller.pullback(control, cache, dy[c])
        for t, g in zip(total, gradients, strict=True):
            t += g
    return dx, total


def advance(run: Run, state: State, index: Tensor, v: Tensor, weights: Tensor) -> State:
    """F_k: one training step from `state` with participation `weights` (n,)."""
    gradient = step_gradient(run, state.flat, state.step, index, v, weights[index]).gradient
    flat, moments = run.optimizer.step(state.step, state.flat, state.moments, gradient)
    return State(state.step + 1, flat, moments)


def train_again(run: Run, weights: Tensor) -> Tensor:
    """Parameters (P,) of training with participation `weights` (n,), all else as in the run."""
    state = run.checkpoints[0]
    for step in range(run.steps):
        state = advance(run, state, *run.visit(step), weights)
    return state.flat


@torch.no_grad()
def retrain(run: Run, weights: Tensor, valid: Rows, valid_y: Tensor) -> float:
    """U after training again with participation `weights` (n,); see nddv.audit for many at once."""
    return float(evaluate(run, train_again(run, weights), weights, valid, valid_y).utility)


def participation(
    run: Run, valid: Rows, valid_y: Tensor, path: int = 0, tick: Callable[[], object] = lambda: None
) -> Tensor:
    """dU/dw, (n,), by adjoint replay of the run.

    path: number of the noise draw that U is evaluated on; tick: called after every step back.
    """
    ones = torch.ones(len(run.data.rows), dtype=run.flat.dtype, device=run.flat.device)
    end = utility_gradient(run, run.flat, ones, valid, valid_y, path)
    costate, total = end.flat, end.weights
    moments_costate = torch.zeros_like(run.checkpoints[0].moments)
    stop = run.steps
    for checkpoint in reversed([c for c in run.checkpoints if c.step < stop]):
        for state in reversed(_segment(run, checkpoint, stop, ones)):
            index, v = run.visit(state.step)
            costate, moments_costate, dw = _pullback(run, state, index, v, costate, moments_costate)
            total[index] += dw
            tick()
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
    run: Run, state: State, index: Tensor, v: Tensor, costate: Tensor, moments_costate: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One step back: co-states of parameters and moments, and this batch's share of dU/dw."""
    with torch.enable_grad():
        flat = state.flat.detach().requires_grad_()
        w = torch.ones_like(v).requires_grad_()
        gradient = step_gradient(run, flat, state.step, index, v, w).gradient
    dflat, dmoments, dgradient = run.optimizer.pullback(
        state.step, state.flat, state.moments, gradient.detach(), costate, moments_costate
    )
    through, dw = torch.autograd.grad(gradient, (flat, w), dgradient)
    return dflat + through, dmoments, dw


def checkpoint_interval(total_steps: int, bytes_per_state: int, memory_limit: float) -> int:
    """1 (keep every state) if that fits the limit, else √K: O(√K) states, one more forward run."""
    return 1 if total_steps * bytes_per_state <= memory_limit else max(1, isqrt(total_steps))
