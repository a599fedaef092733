"""From trained runs to the fitted attributes of an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from nddv.dynamics.population import adjoint_growth
from nddv.dynamics.runs import Run
from nddv.estimator.folds import Fold, assemble
from nddv.estimator.planning import Plan
from nddv.estimator.settings import SETTINGS
from nddv.support.measuring import versions
from nddv.values import center

Floats = NDArray[np.float64]


class Fitted:
    """The attributes that `fit` gives an estimator."""

    task_: str
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    classes_: NDArray[Any]
    values_: Floats
    sensitivities_: Floats
    stderr_: Floats | None
    weights_: Floats
    history_: dict[str, list[float]]
    trace_: Floats
    record_: dict[str, Any]
    folds_: list[Fold]


def read_out(folds: Sequence[Fold], readout: str, bar: tqdm) -> Floats:
    """Oriented sensitivities (R, n) of all training points under one readout."""
    # imported here, so that a new title in the registry is no change of what computes values
    from nddv.dynamics.readouts import get_readout

    replays = get_readout(readout).replays
    if replays:
        bar.set_description("replaying")
        steps = [run.steps for fold in folds for run, _ in fold.paths]
        bar.reset(total=replays * sum(steps))
    parts = [fold.sensitivities(readout, bar.update) for fold in folds]
    sensitivities = assemble(folds, parts)
    if not (np.abs(sensitivities) < 1e300).all():
        raise FloatingPointError(
            f"the {readout} readout of this run is not finite: lower learning_rate, interaction, "
            "diffusion or horizon"
        )
    return sensitivities


def values_of(sensitivities: Floats) -> Floats:
    """φ of sensitivities, along the last axis (Eq. dynamic_dv), summed as torch does."""
    return np.asarray(center(torch.as_tensor(sensitivities)).numpy())


def fitted_attributes(plan: Plan, folds: list[Fold], bar: tqdm) -> dict[str, Any]:
    """Those of `Fitted`, by name."""
    by_path = read_out(folds, plan.settings.readout, bar)
    m = len(by_path)
    sensitivities = by_path.mean(0)
    weights = [fold.runs[0].weights().double().numpy(force=True) for fold in folds]
    fitted = {
        **plan.known,
        "folds_": folds,
        "sensitivities_": sensitivities,
        "values_": values_of(sensitivities),
        "stderr_": values_of(by_path).std(axis=0, ddof=1) / np.sqrt(m) if m > 1 else None,
        "weights_": assemble(folds, weights),
        "history_": _history(folds),
    }
    if plan.settings.layer_trace:
        traces = [torch.stack(f.trace.values).numpy(force=True) for f in folds if f.trace]
        fitted["trace_"] = assemble(folds, traces)
    return {**fitted, "record_": _record(plan, fitted)}


def _history(folds: Sequence[Fold]) -> dict[str, list[float]]:
    """One entry an epoch, the mean of the members; those of a second fold follow the first's."""
    rows = [row for fold in folds for row in zip(*(run.history for run in fold.runs), strict=True)]
    return {
        key: [sum(member[key] for member in row) / len(row) for row in rows] for key in rows[0][0]
    }


def _record(plan: Plan, fitted: dict[str, Any]) -> dict[str, Any]:
    """What was run and how it went; JSON can hold it."""
    runs = [fold.runs[0] for fold in fitted["folds_"]]
    training = runs[0].training
    settings = {name: _plain(getattr(plan.settings, name)) for name in sorted(SETTINGS)}
    return {
        "method": "nddv",
        "readout": plan.settings.readout,
        "utility": fitted["folds_"][0].utility_of(plan.settings.readout),
        "configuration": plan.settings.configuration,
        "seed": plan.seed,
        "task": fitted["task_"],
        "n": len(fitted["values_"]),
        "d": int(fitted["n_features_in_"]),
        "inputs": runs[0].flow.features,
        "members": int(training.members),
        "epochs": int(training.epochs),
        "meta": _meta(runs),
        "adjoint_growth": max(map(_growth, runs)),
        "weight_range": float(np.ptp(fitted["weights_"])),
        "device": str(runs[0].flat.device),
        "params": settings,
        "versions": versions(),
    }


def _growth(run: Run) -> float:
    return adjoint_growth(run.flow, run.flat, run.data.rows, run.data.y, run.data.loss)


def _meta(runs: Sequence[Run]) -> str:
    """Where the meta data came from, in words."""
    if len(runs) > 1:
        return "held out (two folds)"
    return "none" if runs[0].data.meta_rows is None else "given"


def _plain(setting: Any) -> Any:
    """A setting as JSON can hold it."""
    if isinstance(setting, np.generic):
        setting = setting.item()
    return "inf" if setting == np.inf else setting
