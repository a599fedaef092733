"""Readouts: how a realised run becomes one value per training point.

- `terminal`, the paper's score: s_i = −X_{i,S}·Y_{i,S} of the frozen run (Eq. utility).
- `path`: the terminal score after every epoch, standardised over the data set and averaged up to
  the epoch of best meta accuracy (the paper's path-integrated sensitivities, its future work;
  `nddv.dynamics.training.best_epoch` says which epoch that is).
- `participation`: dU/dw_i by adjoint replay (nddv.dynamics.participation).

Each comes with M_traj independent scoring paths (Corollary numerical_score_error): the rows of the
(M, n) arrays below.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from nddv.dynamics.participation import participation
from nddv.dynamics.population import Scores, TimeResolved, score_layers
from nddv.dynamics.rows import Rows
from nddv.dynamics.schedule import SCORING
from nddv.dynamics.seeds import derive
from nddv.dynamics.training import Run, best_epoch

READOUTS = ("terminal", "path", "participation")

ORIENTATION = -1.0
"""The paper's one global sign. Φ is a loss, so s_i = X_S·∇Φ_i is large where the loss grows along
the point's own direction: a mislabelled point. Values are higher for better points, hence −1."""


def center(sensitivities: Tensor) -> Tensor:
    """φ_i = s_i − (N−1)⁻¹ Σ_{j≠i} s_j along the last axis (Eq. dynamic_dv): sums to zero."""
    n = sensitivities.shape[-1]
    return (sensitivities - sensitivities.mean(-1, keepdim=True)) * (n / (n - 1))


def terminal_sensitivities(run: Run, trajectories: int = 1) -> Tensor:
    """Oriented terminal sensitivities of the frozen run, (M, n) in float64."""
    return torch.stack([_oriented(run.score(m)) for m in range(trajectories)])


def _oriented(scores: Scores) -> Tensor:
    return ORIENTATION * scores.sensitivities.double()


class PathIntegral:
    """An observer of training that keeps the standardised terminal scores of every epoch."""

    def __init__(self, trajectories: int = 1):
        self.trajectories = trajectories
        self.epochs: list[Tensor] = []  # (M, n) each

    def __call__(self, run: Run, scores: Scores) -> None:
        paths = [scores, *(run.score(m) for m in range(1, self.trajectories))]
        s = torch.stack([_oriented(p) for p in paths])
        spread = s.std(dim=1, keepdim=True).clamp_min(1e-300)
        s = (s - s.mean(dim=1, keepdim=True)) / spread
        self.epochs.append(s.to(run.flat.dtype))

    def sensitivities(self, run: Run) -> Tensor:
        """Mean score up to the best epoch, (M, n) in float64."""
        last = best_epoch(run.history)
        return torch.stack(self.epochs[: last + 1]).double().mean(0)


class LayerTrace:
    """An observer that keeps the scores φᵏ_{i,t} (Eq. layer_epoch_phi) of every epoch."""

    def __init__(self) -> None:
        self.values: list[Tensor] = []  # per epoch (S+1, n), centred and oriented

    def __call__(self, run: Run, scores: Scores) -> None:
        layers = time_resolved(run, scores)
        self.values.append(center(ORIENTATION * layers.sensitivities.double()))


def time_resolved(run: Run, scores: Scores) -> TimeResolved:
    """State–adjoint pairings at every Euler time along the path of `scores`."""
    d = run.data
    seed = derive(run.seed, SCORING, 0)
    return score_layers(run.flow, run.flat, d.rows, d.y, d.loss, seed, scores.aggregates)


def participation_sensitivities(
    run: Run,
    valid: Rows,
    valid_y: Tensor,
    trajectories: int = 1,
    tick: Callable[[], object] | None = None,
) -> Tensor:
    """dU/dw of M independent evaluation paths of U, (M, n) in float64."""
    return torch.stack(
        [participation(run, valid, valid_y, m, tick).double() for m in range(trajectories)]
    )
