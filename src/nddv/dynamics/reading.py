"""Readouts as functions: from a trained run to one sensitivity per training point.

Each takes a `Trained` run and a function to call after every step of a replay, and gives
sensitivities (M, n) in float64, higher for better points, of M = M_traj independent scoring paths
(Corollary numerical_score_error). Their registry is `nddv.dynamics.readouts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from nddv.dynamics.participation import participation as replay
from nddv.dynamics.population import Scores, TimeResolved, score_layers
from nddv.dynamics.rows import Rows
from nddv.dynamics.schedule import SCORING
from nddv.dynamics.seeds import derive
from nddv.dynamics.training import Run, best_epoch
from nddv.values import center

ORIENTATION = -1.0
"""The paper's one global sign. Φ is a loss, so s_i = X_S·∇Φ_i is large where the loss grows along
the point's own direction: a mislabelled point. Values are higher for better points, hence −1."""

Tick = Callable[[], object]


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


class LayerTrace:
    """An observer that keeps the scores φᵏ_{i,t} (Eq. layer_epoch_phi) of every epoch."""

    def __init__(self) -> None:
        self.values: list[Tensor] = []  # per epoch (S+1, n), centered and oriented

    def __call__(self, run: Run, scores: Scores) -> None:
        layers = time_resolved(run, scores)
        self.values.append(center(ORIENTATION * layers.sensitivities.double()))


@dataclass(frozen=True)
class Trained:
    """A trained run with what its readouts need.

    valid, valid_y : data that a utility is measured on; path : observed while the run was trained.
    """

    run: Run
    valid: Rows
    valid_y: Tensor
    trajectories: int
    path: PathIntegral


@torch.no_grad()
def terminal(trained: Trained, tick: Tick) -> Tensor:
    """The paper's score, oriented: s_i = −X_{i,S}·Y_{i,S} of the frozen run (Eq. utility)."""
    return torch.stack([_oriented(trained.run.score(m)) for m in range(trained.trajectories)])


def path(trained: Trained, tick: Tick) -> Tensor:
    """Mean of the standardised terminal scores of all epochs up to the best (`best_epoch`).

    The paper's path-integrated sensitivities, its future work.
    """
    last = best_epoch(trained.run.history)
    return torch.stack(trained.path.epochs[: last + 1]).double().mean(0)


def participation(trained: Trained, tick: Tick) -> Tensor:
    """dU/dw by adjoint replay, each of the M paths with noise of its own in U."""
    t = trained
    derivatives = [replay(t.run, t.valid, t.valid_y, m, tick) for m in range(t.trajectories)]
    return torch.stack([derivative.double() for derivative in derivatives])


def _oriented(scores: Scores) -> Tensor:
    return ORIENTATION * scores.sensitivities.double()


def time_resolved(run: Run, scores: Scores) -> TimeResolved:
    """State–adjoint pairings at every Euler time along the path of `scores`."""
    d = run.data
    seed = derive(run.seed, SCORING, 0)
    return score_layers(run.flow, run.flat, d.rows, d.y, d.loss, seed, scores.aggregates)
