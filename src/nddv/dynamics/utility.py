"""The utility of a trained flow on validation points, and its derivatives.

The training population drives the validation points, so that a utility depends on the parameters
and, through the aggregate, on the participation weights w of the training points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nddv.dynamics.costs import Terminal, terminal
from nddv.dynamics.flow import Flow, Path, flatten, rollout
from nddv.dynamics.population import chunks, population_path
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Run
from nddv.dynamics.schedule import SCORING
from nddv.dynamics.seeds import derive, normal

VALID_NOISE = 2


@dataclass(frozen=True)
class Goal:
    """What a utility is measured on, m validation points, and how.

    measure : "log_likelihood" is minus the mean terminal cost Φ, so in regression minus half the
        mean squared error; "probability" is the mean of exp(−Φ), the probability of the label.
    """

    rows: Rows
    y: Tensor
    measure: str = "log_likelihood"

    def of(self, costs: Tensor) -> Tensor:
        """The utility of terminal costs (m,)."""
        return (-costs if self.measure == "log_likelihood" else (-costs).exp()).mean()

    def slopes(self, costs: Tensor) -> Tensor:
        """Minus the derivatives (m,) of the utility by the costs; none is negative."""
        each = torch.ones_like(costs) if self.measure == "log_likelihood" else (-costs).exp()
        return each / len(costs)


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

    utility: Tensor
    population: list[Tensor]
    moved: Path
    end: Terminal


def evaluate(run: Run, flat: Tensor, weights: Tensor, goal: Goal, path: int = 0) -> Evaluation:
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
    valid = goal.rows
    shape = (len(valid), flow.width)
    noise = [normal(seed, s, shape, flat.dtype, flat.device) for s in range(flow.steps)]
    x0, _ = flow.encoder.forward(params.encoder, valid.take(slice(0, len(valid))))
    moved = rollout(flow, params.controls, x0, torch.stack(noise), aggregates=aggregates)
    end = terminal(params.head, moved.states[-1], goal.y, data.loss)
    return Evaluation(goal.of(end.costs), population, moved, end)


@torch.no_grad()
def utility_gradient(
    run: Run, flat: Tensor, weights: Tensor, goal: Goal, path: int = 0
) -> UtilityGradient:
    """U of `evaluate` and its derivatives.

    Here the aggregate μ is not frozen: its dependence on the states is differentiated too.
    """
    flow, data = run.flow, run.data
    params, n, a_dt = flow.unpack(flat), len(data.rows), flow.interaction * flow.dt
    v = run.shares()
    mass = weights * v
    evaluation = evaluate(run, flat, weights, goal, path)
    population, moved, end = evaluation.population, evaluation.moved, evaluation.end
    valid_x = goal.rows.take(slice(0, len(goal.rows)))
    slopes = goal.slopes(end.costs).unsqueeze(1)
    residuals = -end.residuals * slopes
    head = [moved.states[-1].T @ residuals, residuals.sum(0)]
    # co-states of U: q of the validation points, p of the training points
    q, p = -end.gradients * slopes, torch.zeros_like(population[-1])
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
