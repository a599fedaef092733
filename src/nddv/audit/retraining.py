"""Retraining the NDDV model itself, many times at once.

A retraining repeats a realised run with other participation weights. Initial parameters, batches,
noise and recorded weights v stay the same; point i's costs and its share in μ are scaled by w_i. To
leave i out is to set w_i = 0. The divisor of a batch stays its size, so nothing else changes.

All retrainings see the same batches, so they are one program over stacked parameters
(`torch.func.vmap`). On one thread at n = 300, a retraining with KAN controls takes half the time
that it takes alone, nearly all of it in bases and matrix products. With MLP controls it takes a
fifth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nddv.coalitions.game import walk_prefixes
from nddv.dynamics.participation import train_again
from nddv.dynamics.population import CHUNK
from nddv.dynamics.runs import Run
from nddv.dynamics.utility import Goal, evaluate
from nddv.estimator.folds import single_fold
from nddv.estimator.nddv import NDDV

AT_ONCE = 32  # a larger stack does not make a model cheaper
CHUNK_ELEMENTS = 16_000_000  # numbers in the largest array of a chunk of models


def models_at_once(run: Run) -> int:
    """How many models of this run's size to stack."""
    flow = run.flow
    points = min(max(len(run.data.rows), 1), CHUNK)
    per_model = points * (flow.centers + 1) * max(flow.width, flow.hidden)
    return max(1, min(AT_ONCE, CHUNK_ELEMENTS // per_model))


def map_many(
    run: Run, function: Callable[..., tuple[Tensor, ...]], *stacked: Tensor
) -> list[Tensor]:
    """Apply a function of one retraining to the rows of stacked arguments, in chunks of models.

    Noise is drawn by its address in the run (`nddv.dynamics.seeds`), so all models have the same.
    """
    many = torch.func.vmap(function, randomness="same")
    pieces = [s.split(models_at_once(run)) for s in stacked]
    parts = [many(*piece) for piece in zip(*pieces, strict=True)]
    return [torch.cat(results) for results in zip(*parts, strict=True)]


@torch.no_grad()
def retrain_many(run: Run, weights: Tensor, goal: Goal) -> Tensor:
    """Utilities (B,) of training again with participation weights (B, n).

    Equal to `nddv.dynamics.participation.retrain` of each row to rounding.
    """

    def worth(w: Tensor) -> tuple[Tensor]:
        return (evaluate(run, train_again(run, w), w, goal).utility,)

    (utilities,) = map_many(run, worth, weights)
    return utilities


class RetrainedGame:
    """The game of a fitted model: the utility of a coalition is that of the model retrained on it.

    Weights may be fractions. The empty coalition is defined: training on nothing only applies
    weight decay to the initial parameters, with μ = 0.

    Parameters
    ----------
    model : of one member (configuration "paper"), fitted with meta data, so that it has one run.
    utility : "log_likelihood" or "probability"; by default what the model's readout derives.
    """

    def __init__(self, model: NDDV, utility: str | None = None):
        fold = single_fold(model)
        self.run, self.goal = fold.run, replace(fold.goal, measure=utility or fold.goal.measure)
        self.n = len(fold.index)

    def utilities(self, weights: NDArray[np.generic]) -> NDArray[np.float64]:
        """Utilities (B,) of coalitions of weights (B, n)."""
        coalitions = np.asarray(weights)
        if coalitions.ndim != 2 or coalitions.shape[1] != self.n:
            raise ValueError(f"weights must have shape (B, {self.n}), got {coalitions.shape}")
        if not (coalitions >= 0).all():
            raise ValueError("weights must be numbers that are not negative")
        if len(coalitions) == 0:
            return np.empty(0)
        flat = self.run.flat
        w = torch.as_tensor(coalitions, device=flat.device).to(flat.dtype)
        utilities = retrain_many(self.run, w, self.goal)
        return np.asarray(utilities.double().numpy(force=True))

    def walk(
        self, orders: NDArray[np.intp], tolerance: float = 0.0
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Utilities of all prefixes of orders of the points; see ``walk_prefixes``."""
        stride = max(1, models_at_once(self.run) // len(orders))
        return walk_prefixes(self.utilities, orders, tolerance, stride)


def sampled_shapley(
    game: RetrainedGame, points: ArrayLike, coalitions: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shapley values (P,) of some points, from their marginals at the same coalitions, and errors.

    The shares of the coalitions are stratified on [0, 1], which the standard errors (P,) leave out
    of account: they are a little too large.
    """
    if coalitions < 2:
        raise ValueError(f"a standard error needs at least two coalitions, got {coalitions}")
    chosen = np.asarray(points, dtype=np.intp)
    shares = (np.arange(coalitions) + rng.random(coalitions)) / coalitions
    members = rng.random((coalitions, game.n)) < shares[:, None]
    # each coalition as it is, and with every point in turn moved in or out
    weights = np.repeat(members[:, None], len(chosen) + 1, axis=1)
    weights[:, 1 + np.arange(len(chosen)), chosen] ^= True
    utilities = game.utilities(weights.reshape(-1, game.n)).reshape(coalitions, -1)
    marginals = utilities[:, 1:] - utilities[:, :1]
    marginals *= np.where(members[:, chosen], -1.0, 1.0)
    return marginals.mean(axis=0), marginals.std(axis=0, ddof=1) / np.sqrt(coalitions)


def leave_one_out_retrained(model: NDDV, points: ArrayLike) -> NDArray[np.float64]:
    """U(N) − U(N∖i), (len(points),), by retraining the model without each of the points."""
    game = RetrainedGame(model)
    chosen = np.asarray(points, dtype=np.intp)
    weights = np.ones((len(chosen) + 1, game.n))
    weights[np.arange(len(chosen)), chosen] = 0.0
    utilities = game.utilities(weights)
    return np.asarray(utilities[-1] - utilities[:-1])
