"""Several models fitted at once: the seeds of an experiment, or its noise rates.

A batch of 64 points does not fill a GPU, and on a processor a good part of a step is the start of
its operations. Models that share sizes and settings are therefore trained in step, with their
parameters stacked (`nddv.dynamics.training.train_together`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tqdm import tqdm

from nddv.estimator.folds import FoldPlan, train_folds
from nddv.estimator.nddv import NDDV, epoch_counter


def fit_together(
    models: Sequence[NDDV], data: Sequence[Mapping[str, Any]], progress: bool = False
) -> list[NDDV]:
    """Fit each model to its data, all at once; the models, as `fit` would leave them, to rounding.

    Parameters
    ----------
    models : estimators. Those that agree in all settings but `random_state`, and whose data have
        the same sizes, are trained in step; others in groups of their own.
    data : for each model the arguments of `fit`: X and y, and as one has them X_meta and so on.

    Notes
    -----
    `record_["seconds"]` is the model's share of the time of its group, whose size is
    `record_["fitted_together"]`.
    """
    if len(models) != len(data):
        raise ValueError(f"{len(models)} models need as many data sets, not {len(data)}")
    if len({id(model) for model in models}) != len(models):
        raise ValueError("the same model is given twice: make one for each data set")
    names = ("X_meta", "y_meta", "X_valid", "y_valid")
    given = [{**dict.fromkeys(names), **arguments} for arguments in data]
    plans = [model._plan(**arguments) for model, arguments in zip(models, given, strict=True)]
    total = sum(model.epochs * len(own) for model, own in zip(models, plans, strict=True))
    with tqdm(total=total, desc="training", unit="step", disable=not progress) as bar:
        for members in _groups(plans):
            _fit_group([models[k] for k in members], [plans[k] for k in members], bar)
    return list(models)


def _groups(plans: Sequence[Sequence[FoldPlan]]) -> list[list[int]]:
    """Positions of the models that can be trained in step."""
    groups: dict[Any, list[int]] = {}
    for position, own in enumerate(plans):
        groups.setdefault(tuple(plan.shape for plan in own), []).append(position)
    return list(groups.values())


def _fit_group(models: Sequence[NDDV], plans: Sequence[Sequence[FoldPlan]], bar: tqdm) -> None:
    start = time.perf_counter()
    by_fold = [train_folds(same, epoch_counter(bar)) for same in zip(*plans, strict=True)]
    for model, *folds in zip(models, *by_fold, strict=True):
        model._finish(folds, bar)
    seconds = (time.perf_counter() - start) / len(models)
    for model in models:
        model.record_.update(seconds=round(seconds, 4), fitted_together=len(models))
