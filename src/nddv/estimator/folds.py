"""Models on all training points, or on folds of them where some must stand for meta data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nddv.dynamics.flow import Flow
from nddv.dynamics.looks import class_scores
from nddv.dynamics.reading import LayerTrace, Trained
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Data, Run
from nddv.dynamics.schedule import Training
from nddv.dynamics.training import Observer, train_together
from nddv.dynamics.utility import Goal
from nddv.estimator.settings import AUTO
from nddv.replay.engine import Tick
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
    """A model of the training points `index`, and what its readouts need.

    utility : the setting. The goal has what it stands for in the readout of the fit.
    """

    index: NDArray[np.intp]
    trace: LayerTrace | None
    utility: str

    @property
    def run(self) -> Run:
        """The one run of the model: with several members there is none that its values are of."""
        if len(self.runs) > 1:
            raise ValueError(
                f"the model has {len(self.runs)} members, so that there is no one run to look at: "
                'fit it with members=1, or with configuration="paper"'
            )
        return self.runs[0]

    def sensitivities(self, readout: str, tick: Tick = lambda steps: None) -> NDArray[np.float64]:
        """Oriented sensitivities (R, len(index)) under one readout."""
        # imported here, so that a new title in the registry is no change of what computes values
        from nddv.dynamics.readouts import get_readout

        read = get_readout(readout).load()
        derives = self.utility_of(readout) is not None
        trained = replace(self, aim=self.goal_of(readout)) if derives else self
        return np.asarray(read(trained, tick).numpy(force=True), dtype=np.float64)

    def class_scores(self, x: Any) -> NDArray[np.float64]:
        """Mean log-probability of every class (m, C) for rows of a checked matrix, or for Rows."""
        first = self.runs[0]
        rows = x if isinstance(x, Rows) else first.data.rows.like(x)
        return np.asarray(class_scores(first.flow, first.glances, rows).numpy(force=True))

    def goal_of(self, readout: str) -> Goal:
        """What a readout derives here, and on which points."""
        return replace(self.goal, measure=self.utility_of(readout) or self.goal.measure)

    def utility_of(self, readout: str) -> str | None:
        """The utility that a readout derives here; None if it derives none."""
        return utility_of(readout, self.utility, self.runs[0].data.loss)


def utility_of(readout: str, given: str, loss: str) -> str | None:
    """The utility that a readout derives: the setting `utility`, or what "auto" stands for."""
    from nddv.dynamics.readouts import get_readout

    own = get_readout(readout).utility
    if own is None:
        return None
    if given != AUTO:
        return given
    return own if loss == "cross_entropy" else "log_likelihood"


@dataclass(frozen=True)
class FoldPlan:
    """A model that is still to be trained, with everything that it takes."""

    flow: Flow
    training: Training
    data: Data
    index: NDArray[np.intp]
    aim: Goal | None
    utility: str
    seed: int
    trajectories: int
    layer_trace: bool
    checkpoint_every: int

    @property
    def shape(self) -> tuple[Any, ...]:
        """Models that agree in this can be trained together."""
        data = self.data
        meta = 0 if data.meta_rows is None else len(data.meta_rows)
        sizes = (len(data.rows), meta, data.loss, data.rows.dtype)
        return (self.flow, self.training, self.checkpoint_every, *sizes)


def train_folds(plans: Sequence[FoldPlan], on_epoch: Callable[[Run], None]) -> list[Fold]:
    """Train models of one shape together, observing what the readouts need.

    on_epoch(run) is called after every epoch of every run. A run that diverges is an error.
    """
    first = plans[0]
    traces = [LayerTrace() if plan.layer_trace else None for plan in plans]

    def observer(trace: LayerTrace | None) -> Observer:
        def observe(run: Run) -> None:
            for loss, problem, remedy in DIVERGED:
                if not np.isfinite(run.history[-1].get(loss, 0.0)):
                    rate = f"lower learning_rate (now {first.training.learning_rate})"
                    raise FloatingPointError(
                        f"{problem} in epoch {len(run.history)}: {remedy}{rate}"
                    )
            if trace is not None:
                trace(run)
            on_epoch(run)

        return observe

    models = train_together(
        first.flow,
        first.training,
        [plan.data for plan in plans],
        [plan.seed for plan in plans],
        [observer(trace) for trace in traces],
        first.checkpoint_every,
    )
    return [
        Fold(runs, plan.aim, plan.trajectories, plan.index, trace, plan.utility)
        for runs, plan, trace in zip(models, plans, traces, strict=True)
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
    """The trained model that the values of an estimator are about.

    Where rows had to be held out there are two, neither of which holds all points: an error.
    """
    if not hasattr(model, "folds_"):
        raise ValueError("the model is not fitted: call fit first")
    if len(model.folds_) > 1:
        raise ValueError(
            "the model was fitted without meta data, on two parts of the points, so that there is "
            "no one run to repeat: fit it with X_meta and y_meta"
        )
    return model.folds_[0]
