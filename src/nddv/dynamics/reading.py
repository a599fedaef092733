"""Readouts as functions: from a trained model to one sensitivity per training point.

Each takes a `Trained` model and a function to call after every step of a replay, and gives
sensitivities (R, n) in float64, higher for better points: R repetitions, whose mean is the readout
and whose spread its error. They are members of the model or independent scoring paths of a member
(M_traj of Corollary numerical_score_error). Their registry is `nddv.dynamics.readouts`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nddv.dynamics.participation import Tick, level_participation
from nddv.dynamics.participation import participation as replay
from nddv.dynamics.population import score_layers
from nddv.dynamics.runs import Run
from nddv.dynamics.schedule import SCORING
from nddv.dynamics.seeds import derive
from nddv.dynamics.utility import Goal
from nddv.laws import find_law
from nddv.values import center

ORIENTATION = -1.0
"""The paper's one global sign. Φ is a loss, so s_i = X_S·∇Φ_i is large where the loss grows along
the point's own direction: a mislabelled point. Values are higher for better points, hence −1."""


class LayerTrace:
    """An observer that keeps the scores φᵏ_{i,t} (Eq. layer_epoch_phi) of every epoch."""

    def __init__(self) -> None:
        self.values: list[Tensor] = []  # per epoch (S+1, n), centered and oriented

    def __call__(self, run: Run) -> None:
        if run.member == 0:
            self.values.append(center(ORIENTATION * time_resolved(run).double()))


@dataclass(frozen=True)
class Trained:
    """A trained model with what its readouts need.

    runs : its members; aim : what a utility is measured on, if there is anything.
    """

    runs: list[Run]
    aim: Goal | None
    trajectories: int

    @property
    def goal(self) -> Goal:
        """What a utility is measured on."""
        if self.aim is None:
            raise ValueError(
                "a utility is measured: give X_valid and y_valid, or X_meta and y_meta"
            )
        return self.aim

    @property
    def paths(self) -> list[tuple[Run, int]]:
        """Every member with every one of its scoring paths."""
        return [(run, path) for run in self.runs for path in range(self.trajectories)]


@torch.no_grad()
def terminal(trained: Trained, tick: Tick) -> Tensor:
    """The paper's score, oriented: s_i = −X_{i,S}·Y_{i,S} of the frozen run (Eq. utility)."""
    scores = [run.score(path).sensitivities.double() for run, path in trained.paths]
    return ORIENTATION * torch.stack(scores)


def path(trained: Trained, tick: Tick) -> Tensor:
    """Minus the terminal cost Φ_i, averaged along the training of every member.

    The paper's future work asks for path-integrated sensitivities. Its pairing s_i = X_S·∇Φ_i
    vanishes for every label that a run has learned by heart, right or wrong; the cost whose
    gradient it is keeps their order, and is what is integrated here. After every second epoch all
    points are looked at; the looks count with weights 1, 2, 3, … (`nddv.dynamics.looks`).
    """
    return torch.stack([run.path for run in trained.runs])


def residual(trained: Trained, tick: Tick) -> Tensor:
    """Minus the absolute residual of the target over its uncertainty, for regression.

    The residual is averaged over looks and members. Its uncertainty is the spread of a member at
    the point and the spread of all residuals, which the median gives: wrong targets do not widen
    it. Repetitions are the members with the others' uncertainty.
    """
    residuals = torch.stack([run.residuals for run in trained.runs])  # (members, n)
    mean = residuals.mean(0)
    noise = (mean.abs().median() / 0.6745).square().clamp_min(1e-30)
    own = residuals.var(0) if len(residuals) > 1 else torch.zeros_like(mean)
    # the sign of the mean: the repetitions then average to the readout itself
    return -residuals * mean.sign() / (own + noise).sqrt()


def participation(trained: Trained, tick: Tick) -> Tensor:
    """dU/dw by adjoint replay, of every member, each path with noise of its own in U."""
    derivatives = [replay(run, trained.goal, path, tick) for run, path in trained.paths]
    return torch.stack([derivative.double() for derivative in derivatives])


def semivalue(trained: Trained, tick: Tick, law: str, levels: int) -> Tensor:
    """A semi-value in the game of the run itself: dU/dw, averaged over the levels of its law.

    The game: U of training with weight 0 for the points that are left out, with the batches, noise
    and initial parameters of the run.
    """
    t, weights = find_law(law).quadrature(levels)

    def read(run: Run, path: int) -> Tensor:
        derivatives = level_participation(run, trained.goal, t, path, tick).double()
        return torch.as_tensor(weights, device=derivatives.device) @ derivatives

    return torch.stack([read(run, path) for run, path in trained.paths])


def time_resolved(run: Run) -> Tensor:
    """State–adjoint pairings (S+1, n) at every Euler time along the scoring path of a run."""
    d = run.data
    seed = derive(run.own_seed, SCORING, 0)
    aggregates = run.score().aggregates
    return score_layers(run.flow, run.flat, d.rows, d.y, d.loss, seed, aggregates)
