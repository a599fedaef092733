"""Several models fitted at once: the seeds of an experiment, or its noise rates.

A batch of 64 points does not fill a GPU, and on a processor a good part of a step is the start of
its operations. Models that share sizes and settings are therefore trained in step, with their
parameters stacked (`nddv.dynamics.training.train_together`). One model is a group of one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from nddv.dynamics.runs import Run
from nddv.estimator.folds import train_folds
from nddv.estimator.planning import Plan, plan_fit
from nddv.estimator.results import Fitted, fitted_attributes

if TYPE_CHECKING:
    from nddv.estimator.nddv import NDDV


def fit_together(
    models: Sequence[NDDV], data: Sequence[Mapping[str, Any]], progress: bool = False
) -> list[NDDV]:
    """Fit each model to its data, all at once; the models, as `fit` would leave them, to rounding.

    Parameters
    ----------
    models : estimators. Those that agree in all settings but `random_state`, and whose data have
        the same sizes, are trained in step; others in groups of their own.
    data : for each model the arguments of `fit`: X and y, and if there are any X_meta and so on.

    Notes
    -----
    `record_["seconds"]` is the model's share of the time of its group, whose size is
    `record_["fitted_together"]`.
    """
    if len(models) != len(data):
        raise ValueError(f"{len(models)} models need as many data sets, not {len(data)}")
    if len({id(model) for model in models}) != len(models):
        raise ValueError("the same model is given twice: make one for each data set")
    for group in fit_groups(models, data, progress):
        for model in group:
            model.record_["fitted_together"] = len(group)
    return list(models)


def fit_groups(
    models: Sequence[NDDV], data: Sequence[Mapping[str, Any]], progress: bool
) -> list[list[NDDV]]:
    """Fit models to their data; gives those that were trained in step, group by group."""
    groups: dict[Any, list[tuple[NDDV, Plan]]] = {}
    total = 0
    for model, arguments in zip(models, data, strict=True):
        for name in Fitted.__annotations__:  # of an earlier fit
            model.__dict__.pop(name, None)
        plan = plan_fit(model, **arguments)
        total += sum(fold.training.epochs * fold.training.members for fold in plan.folds)
        groups.setdefault(tuple(fold.shape for fold in plan.folds), []).append((model, plan))
    with tqdm(total=total, desc="training", unit="step", disable=not progress) as bar:
        for group in groups.values():
            _fit_group(group, bar)
    return [[model for model, _ in group] for group in groups.values()]


def _fit_group(group: Sequence[tuple[NDDV, Plan]], bar: tqdm) -> None:
    start = time.perf_counter()

    def count(run: Run) -> None:
        bar.set_postfix(loss=f"{run.history[-1]['train_loss']:.3f}", refresh=False)
        bar.update()

    plans = zip(*(plan.folds for _, plan in group), strict=True)
    trained = [train_folds(same, count) for same in plans]
    for (model, plan), *folds in zip(group, *trained, strict=True):
        model.__dict__.update(fitted_attributes(plan, folds, bar))
    seconds = (time.perf_counter() - start) / len(group)
    for model, _ in group:
        model.record_["seconds"] = round(seconds, 4)
