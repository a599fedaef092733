"""The scoring pass: all training points moving together, streamed in chunks.

Points influence each other only through μ_s. So a pass keeps nothing but the states (n, W) of one
Euler time. It reads the rows chunk by chunk, and it drops the intermediate results of a control
after each chunk. Every Euler step goes over the states twice: once for μ_s, once to move them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nddv.dynamics.adjoint import backward
from nddv.dynamics.costs import terminal
from nddv.dynamics.flow import Flow, Parameters, euler_step, mean_state, rollout
from nddv.dynamics.rows import Rows
from nddv.replay.seeds import NormalSource, normal

CHUNK = 2048  # rows; intermediate results of a control then fit in the processor caches
SMALLEST_CHUNK = 16  # see NormalSource


@dataclass(frozen=True)
class Scores:
    """Results of a pass: sensitivities s_i and costs Φ_i, (n,); outputs (n, C); the path of μ."""

    sensitivities: Tensor
    costs: Tensor
    outputs: Tensor
    aggregates: list[Tensor]


def chunks(n: int) -> Iterator[slice]:
    """Slices that cover range(n). None has fewer than SMALLEST_CHUNK rows, unless n has."""
    start = 0
    while start < n:
        stop = n if n - start < CHUNK + SMALLEST_CHUNK else start + CHUNK
        yield slice(start, stop)
        start = stop


def encode(flow: Flow, encoder: Sequence[Tensor], rows: Rows) -> Tensor:
    """Initial states (n, W)."""
    return torch.cat([flow.encoder.forward(encoder, rows.take(c))[0] for c in chunks(len(rows))])


def population_path(
    flow: Flow,
    params: Parameters,
    rows: Rows,
    seed: int,
    aggregate: Callable[[int, Tensor], Tensor],
) -> tuple[list[Tensor], list[Tensor]]:
    """States X_0 … X_S of all rows, (n, W) each, and the aggregates μ_0 … μ_{S−1} that drove them.

    aggregate(s, X_s) gives μ_s.
    """
    states, aggregates = [encode(flow, params.encoder, rows)], []
    for s in range(flow.steps):
        x, control = states[-1], params.controls[s]
        mu = aggregate(s, x)
        noise = normal(seed, s, x.shape, x.dtype, x.device)
        moved = [
            euler_step(flow, x[c], mu, flow.controller.forward(control, x[c])[0], noise[c])
            for c in chunks(len(x))
        ]
        states.append(torch.cat(moved))
        aggregates.append(mu)
    return states, aggregates


def score(
    flow: Flow,
    flat: Tensor,
    rows: Rows,
    y: Tensor,
    loss: str,
    seed: int,
    mass: Tensor | None = None,
    aggregates: Sequence[Tensor] | None = None,
) -> Scores:
    """Terminal sensitivities s_i = X_{i,S}·∇_xΦ_i = −X_{i,S}·Y_{i,S} (Eq. utility) of all rows.

    mass: (n,) shares v_i in the rows' own aggregate; or `aggregates`, a path made by other points.
    """
    params = flow.unpack(flat)
    x, path = flat.new_empty((len(rows), flow.width)), []
    for c in chunks(len(x)):
        x[c] = flow.encoder.forward(params.encoder, rows.take(c))[0]
    for s, control in enumerate(params.controls):
        mu = mean_state(mass, x) if mass is not None else aggregates[s]  # type: ignore[index]
        noise = NormalSource(seed, s, flat.dtype, flat.device)
        for c in chunks(len(x)):
            moved = flow.controller.forward(control, x[c])[0]
            x[c] = euler_step(flow, x[c], mu, moved, noise.draw(x[c].shape))
        path.append(mu)
    ends = []
    for c in chunks(len(x)):
        end = terminal(params.head, x[c], y[c], loss)
        ends.append(((x[c] * end.gradients).sum(1), end.costs, end.outputs))
    sensitivities, costs, outputs = (torch.cat(part) for part in zip(*ends, strict=True))
    return Scores(sensitivities, costs, outputs, path)


def score_layers(
    flow: Flow,
    flat: Tensor,
    rows: Rows,
    y: Tensor,
    loss: str,
    seed: int,
    aggregates: Sequence[Tensor],
) -> Tensor:
    """−X_{i,t}·Y_{i,t} at every Euler time t = 0 … S, (S+1, n) (Eq. layer_epoch_phi), μ frozen."""
    params = flow.unpack(flat)
    sources = [NormalSource(seed, s, flat.dtype, flat.device) for s in range(flow.steps)]
    pairings = []
    for c in chunks(len(rows)):
        x0, _ = flow.encoder.forward(params.encoder, rows.take(c))
        noise = torch.stack([source.draw(x0.shape) for source in sources])
        path = rollout(flow, params.controls, x0, noise, aggregates=aggregates)
        end = terminal(params.head, path.states[-1], y[c], loss)
        costates = backward(flow, params.controls, path, -end.gradients).costates
        pairings.append(
            torch.stack([-(x * p).sum(1) for x, p in zip(path.states, costates, strict=True)])
        )
    return torch.cat(pairings, dim=1)


@torch.no_grad()
def adjoint_growth(flow: Flow, flat: Tensor, rows: Rows, y: Tensor, loss: str) -> float:
    """max_i ‖Y_{i,0}‖/‖Y_{i,S}‖ of the first rows, at most `CHUNK`, which move together.

    The growth is that of the recursion alone: its Y_{i,0} starts from Y_{i,S} and leaves out the
    running cost, which adds to the co-state even of points whose Y_{i,S} has vanished.
    """
    params, first = flow.unpack(flat), slice(0, min(len(rows), CHUNK))
    x0, _ = flow.encoder.forward(params.encoder, rows.take(first))
    still = x0.new_zeros(1).expand(flow.steps, *x0.shape)
    path = rollout(flow, params.controls, x0, still, mass=x0.new_ones(len(x0)))
    end = terminal(params.head, path.states[-1], y[first], loss)
    free = replace(flow, running_cost=0.0)
    start = backward(free, params.controls, path, -end.gradients).costates[0].norm(dim=1)
    last = end.gradients.norm(dim=1).clamp_min(torch.finfo(flat.dtype).tiny)
    return float((start / last).max())
