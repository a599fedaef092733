"""Runs on all training points, or on folds of them where no meta data are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from nddv.dynamics.flow import Flow
from nddv.dynamics.population import Scores
from nddv.dynamics.reading import LayerTrace, PathIntegral, Tick, Trained
from nddv.dynamics.rows import Rows
from nddv.dynamics.schedule import Training
from nddv.dynamics.training import Data, Observer, Run, train_together
from nddv.support.wording import InputError

if TYPE_CHECKING:
    from nddv.estimator.nddv import NDDV

# What a loss that is not finite means, and what to look at first.
SCALE = "are they on the scale of X and y? if so, "
DIVERGED = (
    ("train_loss", "training diverged", ""),
    ("meta_loss", "the loss on the meta data is not finite", SCALE),
)


@dataclass(frozen=True)
class Fold(Trained):
    """A run on the training points `index`, and what its readouts need."""

    index: NDArray[np.intp]
    trace: LayerTrace | None

    def sensitivities(self, readout: str, tick: Tick = lambda: None) -> NDArray[np.float64]:
        """Oriented sensitivities (M, len(index)) under one readout."""
        # imported here, so that a new title in the registry is no change of what computes values
        from nddv.dynamics.readouts import get_readout

        read = get_readout(readout).load()
        return np.asarray(read(self, tick).numpy(force=True), dtype=np.float64)


@dataclass(frozen=True)
class FoldPlan:
    """A run that is still to be trained, with everything that it takes."""

    flow: Flow
    training: Training
    data: Data
    index: NDArray[np.intp]
    valid: Rows
    valid_y: Tensor
    seed: int
    trajectories: int
    layer_trace: bool
    checkpoint_every: int

    @property
    def shape(self) -> tuple[Any, ...]:
        """Runs that agree in this can be trained together."""
        data = self.data
        sizes = (len(data.rows), len(data.meta_rows), data.loss, data.rows.dtype)
        return (self.flow, self.training, self.checkpoint_every, *sizes)


def train_folds(plans: Sequence[FoldPlan], on_epoch: Callable[[Run], None]) -> list[Fold]:
    """Train runs of one shape together, observing what the readouts need.

    on_epoch(run) is called after every epoch of every run. A run that diverges is an error.
    """
    first = plans[0]
    paths = [PathIntegral(plan.trajectories) for plan in plans]
    traces = [LayerTrace() if plan.layer_trace else None for plan in plans]

    def observer(path: PathIntegral, trace: LayerTrace | None) -> Observer:
        def observe(run: Run, scores: Scores) -> None:
            for loss, problem, remedy in DIVERGED:
                if not np.isfinite(run.history[-1][loss]):
                    rate = f"lower learning_rate (now {first.training.learning_rate})"
                    raise FloatingPointError(
                        f"{problem} in epoch {len(run.history)}: {remedy}{rate}"
                    )
            path(run, scores)
            if trace is not None:
                trace(run, scores)
            on_epoch(run)

        return observe

    runs = train_together(
        first.flow,
        first.training,
        [plan.data for plan in plans],
        [plan.seed for plan in plans],
        [observer(*each) for each in zip(paths, traces, strict=True)],
        first.checkpoint_every,
    )
    return [
        Fold(run, plan.valid, plan.valid_y, plan.trajectories, path, plan.index, trace)
        for run, plan, path, trace in zip(runs, plans, paths, traces, strict=True)
    ]


def held_out_parts(
    groups: NDArray[Any], fraction: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Two disjoint stratified parts of the points; a class of fewer than three stays in training.

    groups: (n,) class codes.
    """
    parts: tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]] = ([], [])
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        size = min(max(1, round(fraction * len(members))), (len(members) - 1) // 2)
        parts[0].append(members[:size])
        parts[1].append(members[size : 2 * size])
    first, second = (np.sort(np.concatenate(p)) for p in parts)
    if len(first) == 0:
        raise InputError(
            "no class has three points, so none can be held out: give meta data", X_meta=None
        )
    return first, second


def assemble(folds: Sequence[Fold], parts: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Join (…, len(index)) arrays: the first fold's; the second's for what the first held out."""
    n = 1 + max(int(fold.index.max()) for fold in folds)
    whole = np.empty((*parts[0].shape[:-1], n))
    for fold, part in reversed(list(zip(folds, parts, strict=True))):
        whole[..., fold.index] = part
    return whole


def single_fold(model: NDDV) -> Fold:
    """The run that a fitted model's values are about.

    Without meta data a model has two runs, neither of which holds all points: an error.
    """
    if not hasattr(model, "folds_"):
        raise ValueError("the model is not fitted: call fit first")
    if len(model.folds_) > 1:
        raise ValueError(
            "the model was fitted without meta data, by two runs on parts of the points, so that "
            "there is no one run to repeat: fit it with X_meta and y_meta"
        )
    return model.folds_[0]
