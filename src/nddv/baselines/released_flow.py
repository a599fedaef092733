"""The network of the released procedure, and the function whose gradient trains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy, cross_entropy

DIFFUSION = 0.01
HIDDEN = 25
# Each pass evaluates every control three times, on the same states: forward, for the adjoint, and
# for H. Here it is evaluated once, with the momentum that three updates of BatchNorm have together.
MOMENTUM = 1 - (1 - 0.1) ** 3


@dataclass(frozen=True)
class Row:
    """The settings of a run; the defaults are those of the released class.

    Attributes
    ----------
    batch_size : B.
    every : k, every so many batches of an epoch are looked ahead of.
    steps : S, Euler steps of length 1/S.
    weight_decay : of AdamW, until the first look-ahead.
    meta_hidden : width of the weight map.
    head : "softmax" or "sigmoid" of the logits.
    interaction : a, strength of the mean field.
    weighted : weights by the map; 1 without.
    """

    batch_size: int = 32
    every: int = 5
    steps: int = 2
    weight_decay: float = 5e-4
    meta_hidden: int = 10
    head: str = "softmax"
    interaction: float = 1.0
    weighted: bool = True


class Control(nn.Module):
    """ψ_i: BatchNorm of the state, then a perceptron back to its width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width, momentum=MOMENTUM)
        self.layers = nn.Sequential(
            *(nn.Linear(width, HIDDEN), nn.ELU(), nn.Linear(HIDDEN, HIDDEN), nn.ELU()),
            nn.Linear(HIDDEN, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(b, d) to (b, d). One row alone has no spread: it is scaled as outside of training."""
        norm = self.norm
        if self.training and len(x) == 1:
            fixed = (norm.running_mean, norm.running_var, norm.weight, norm.bias)
            return self.layers(nn.functional.batch_norm(x, *fixed, eps=norm.eps))
        return self.layers(norm(x))


class Path(NamedTuple):
    """A batch on its way through the flow.

    Attributes
    ----------
    states : x_0 … x_S, each (b, d), without a graph.
    pushes : ψ_0(x_0) … ψ_{S−1}(x_{S−1}), each (b, d), with their graphs.
    noise : W (b, d).
    """

    states: list[Tensor]
    pushes: list[Tensor]
    noise: Tensor


class Flow(nn.Module):
    """The controls, the linear head, the weight map, and the noise.

    Parameters
    ----------
    width : d, of the features and of the states.
    classes : C.
    row : settings.
    rng : draws the initial parameters, as torch does by default, and the noise.
    """

    def __init__(self, width: int, classes: int, row: Row, rng: np.random.Generator) -> None:
        super().__init__()
        self.row = row
        self.dt = 1 / row.steps
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            self.controls = nn.ModuleList(Control(width) for _ in range(row.steps))
            self.head = nn.Linear(width, classes)
            self.weight_map = nn.Sequential(
                *(nn.Linear(1, row.meta_hidden), nn.ReLU()),
                *(nn.Linear(row.meta_hidden, 1), nn.Sigmoid()),
            )
        self.generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        self.noise = self._draw(row.batch_size, width)

    def _draw(self, rows: int, width: int) -> Tensor:
        return self.dt**0.5 * torch.randn(rows, width, generator=self.generator)

    def learned(self) -> list[nn.Parameter]:
        """The parameters that the optimiser has: of the controls and of the head."""
        return [*self.controls.parameters(), *self.head.parameters()]

    def forward(self, x: Tensor, mean: Tensor | None = None) -> Path:
        """The path of a batch x (b, d), drawn to ``mean`` if it is given.

        The noise is the same at every step, and for every batch of the usual size.
        """
        usual = len(x) == len(self.noise)
        noise = (self.noise if usual else self._draw(*x.shape)).to(x)
        states, pushes = [], []
        for control in self.controls:
            states.append(x.detach().requires_grad_())
            pushes.append(control(states[-1]))
            pull = 0.0 if mean is None else self.row.interaction * (mean - x)
            x = x + (pull + pushes[-1].detach()) * self.dt + DIFFUSION * noise
        return Path([*states, x.detach().requires_grad_()], pushes, noise)

    def output(self, x: Tensor) -> Tensor:
        """The outputs p (b, C) for last states (b, d)."""
        return self.activated(self.head(x))

    def activated(self, logits: Tensor) -> Tensor:
        """The outputs for logits (b, C)."""
        return logits.sigmoid() if self.row.head == "sigmoid" else logits.softmax(1)

    def losses(self, output: Tensor, labels: Tensor) -> Tensor:
        """Losses (b,): binary cross-entropy of the first of two outputs, or p taken for logits."""
        if output.shape[1] == 2:
            first = (labels == 0).to(output)
            return binary_cross_entropy(output[:, 0], first, reduction="none")
        return cross_entropy(output, labels, reduction="none")

    def weights(self, losses: Tensor) -> Tensor:
        """Weights (b,) of points by their losses."""
        if not self.row.weighted:
            return torch.ones_like(losses)
        weights: Tensor = self.weight_map(losses.detach()[:, None])[:, 0]
        return weights


def surrogate(flow: Flow, path: Path, labels: Tensor) -> tuple[Tensor, Tensor]:
    """H of a batch, and the weights (b,) of its points, without a graph.

    With the co-states Y_S = ∂(Σ_b w_b·ℓ_b)/∂x_S and

        Y_i = Y_{i+1} − Δt·∂_x[Y_{i+1}·ψ_i(x)] + Y_{i+1}⊙W²/Δt,

    all constant, H = [Σ_i mean_b Y_{i+1}·ψ_i(x_i) + mean_b p·∂_pΣwℓ − mean_b z·∂_zΣwℓ]/b(S + 2).
    The last two terms have opposite gradients by the head.
    """
    last = path.states[-1]
    logits = flow.head(last)
    output = flow.activated(logits)
    losses = flow.losses(output, labels)
    weights = flow.weights(losses)
    costate, by_output, by_logits = torch.autograd.grad(
        (weights * losses).sum(), (last, output, logits), retain_graph=True
    )
    total = (by_output * output - by_logits * logits).sum(1).mean()
    steps = zip(reversed(path.states[:-1]), reversed(path.pushes), strict=True)
    for state, push in steps:
        pairing = (costate * push).sum(1)
        (slope,) = torch.autograd.grad(pairing.sum(), state, retain_graph=True)
        total = total + pairing.mean()
        costate = costate - flow.dt * slope + costate * path.noise**2 / flow.dt
    return total / (len(labels) * (len(path.pushes) + 2)), weights.detach()
