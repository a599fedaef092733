"""Looks at all training points along the training: what `path`, `residual` and self-weights read.

After every second epoch the members look at every point: all points move together, without noise,
and the outputs of the terminal map are compared with the observed labels. Kept are, of K runs and n
points, means over the looks with weights 1, 2, 3, …: later looks know more.

A look takes the average of the parameters of late, not the latest (Polyak and Juditsky 1992). The
latest have just followed a few batches, which the members share, so that their mean would not
cancel it. With the average, training can take larger steps. Regression takes the latest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nddv.dynamics.costs import Terminal, terminal
from nddv.dynamics.flow import Flow, Parameters, Path, rollout
from nddv.dynamics.rows import Rows

LOOK_EVERY = 2  # epochs
TRUST_FROM = 2  # looks before the first self-weights: an earlier one would trust what is easy
TRUST_ALL = 2.0  # points whose label has a mean probability of at least 1/2 keep their weight
ROWS_PER_COLUMN = (
    20  # with more, labels are not learned by heart, and trust would only cost rare rows
)
DRIVING = 512  # points that make the aggregate of a look: eight batches of training
CHUNK = 256  # rows that K models look at together: their intermediate results stay in the caches


def due(epoch: int, epochs: int) -> bool:
    """Whether there is a look after this epoch (from 0)."""
    return (epoch + 1) % LOOK_EVERY == 0 or epoch + 1 == epochs


def newest_share(steps: int, per_epoch: int, loss: str) -> float:
    """Share of the newest parameters in the average, after `steps` training steps.

    The average forgets in the time from one look to the next; at the start, later steps weigh more.
    A regression has no average: it lags behind, and residuals are to be as small as the noise.
    """
    if loss == "squared_error":
        return 1.0
    return max(1.0 / (LOOK_EVERY * per_epoch), 2.0 / (steps + 1))


def crowded(rows: Rows) -> bool:
    """Whether rows are so few for their columns that a run can learn wrong labels by heart."""
    return len(rows) < ROWS_PER_COLUMN * rows.inputs.columns


@dataclass(frozen=True)
class Glance:
    """Models as they look: parameters (K, P), and the S aggregates that drive the rows, (K, W)."""

    flat: Tensor
    aggregates: Sequence[Tensor]


class Looks:
    """Means over the looks so far.

    costs: (K, n) terminal costs Φ_i; residuals: (K, n) of regression, else empty; likelihood:
    (n,) of the observed labels, also over the runs; glances: what looked, for other rows.
    """

    def __init__(self, like: Tensor, runs: int, n: int, loss: str):
        self.regression, self.loss, self.count = loss == "squared_error", loss, 0
        self.costs = like.new_zeros((runs, n), dtype=torch.float64)
        self.residuals = torch.zeros_like(self.costs) if self.regression else self.costs[:, :0]
        self.likelihood = like.new_zeros(n, dtype=torch.float64)
        self.glances: list[Glance] = []

    def take(self, flow: Flow, flat: Tensor, rows: Rows, y: Tensor, shares: Tensor) -> None:
        """Add a look with parameters (K, P) at all rows, whose shares in μ are (n,)."""
        self.glances.append(glance(flow, flat, rows, shares))
        looked = look(flow, self.glances[-1], rows, y, self.loss)
        # of an end only what is needed is kept: its gradients are many
        parts = [(end.costs, end.residuals[..., 0]) for end in looked]
        costs, residuals = (torch.cat(part, -1).double() for part in zip(*parts, strict=True))
        self.count += 1
        # a mean with weights 1 … T: the newest has the share T / (1 + … + T)
        share = 2.0 / (self.count + 1)
        self.costs.lerp_(costs, share)
        if self.regression:
            self.residuals.lerp_(residuals, share)
            # relative to the best fit: exp(−q/σ²), σ² from the median as of a normal residual
            costs = costs / (costs.median(-1, keepdim=True).values / 0.2275).clamp_min(1e-300)
        self.likelihood.lerp_((-costs).exp().mean(0), 1.0 / self.count)

    def trust(self) -> Tensor:
        """Self-weights (n,), float64: min(1, 2 × mean likelihood of the observed label)."""
        if self.count < TRUST_FROM:
            return torch.ones_like(self.likelihood)
        return (TRUST_ALL * self.likelihood).clamp_max(1.0)


def glance(flow: Flow, flat: Tensor, rows: Rows, shares: Tensor) -> Glance:
    """K models with parameters (K, P), ready to look at rows.

    The aggregate is that of at most `DRIVING` training rows, evenly spaced, with their shares v_i.
    """
    n = len(rows)
    chosen = torch.linspace(0, n - 1, min(n, DRIVING), dtype=torch.float64).round().long()
    chosen = chosen.to(flat.device)
    mass = shares[chosen].expand(len(flat), -1)
    path = _move(flow, flow.unpack(flat), rows.take(chosen), mass=mass)
    return Glance(flat.clone(), path.aggregates)


def look(flow: Flow, seen: Glance, rows: Rows, y: Tensor, loss: str) -> Iterator[Terminal]:
    """What K models say of rows, chunk by chunk, without noise."""
    params = flow.unpack(seen.flat)
    for start in range(0, len(rows), CHUNK):
        c = slice(start, min(start + CHUNK, len(rows)))
        path = _move(flow, params, rows.take(c), aggregates=seen.aggregates)
        targets = y[c].expand(len(seen.flat), -1)
        yield terminal(params.head, path.states[-1], targets, loss)


@torch.no_grad()
def class_scores(flow: Flow, glances: Sequence[Glance], rows: Rows) -> Tensor:
    """Mean log-probability of every class for any rows, (m, C), over looks and models.

    Where a row was trained on with label y, the score of y is its `path`, since looks weigh here as
    they do there.
    """
    y = torch.zeros(len(rows), dtype=torch.long, device=glances[0].flat.device)
    total = torch.zeros(len(rows), flow.outputs, dtype=torch.float64, device=y.device)
    for count, seen in enumerate(glances, start=1):
        ends = look(flow, seen, rows, y, "cross_entropy")
        scores = torch.cat([end.outputs.log_softmax(-1).double().mean(0) for end in ends])
        total.lerp_(scores, 2.0 / (count + 1))
    return total


def _move(
    flow: Flow,
    params: Parameters,
    x: Tensor,
    mass: Tensor | None = None,
    aggregates: Sequence[Tensor] | None = None,
) -> Path:
    """The path of rows x (B, d) through K models, without noise."""
    x0, _ = flow.encoder.forward(params.encoder, x)
    still = x0.new_zeros(1).expand(flow.steps, *x0.shape)
    return rollout(flow, params.controls, x0, still, mass=mass, aggregates=aggregates)
