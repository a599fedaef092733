"""From settings and data to the runs that a fit trains: everything is checked before any work."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nddv.dynamics.choices import LEARNED_WEIGHTS
from nddv.dynamics.flow import Flow
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Data
from nddv.dynamics.schedule import Schedule, Training
from nddv.dynamics.utility import Goal
from nddv.estimator.folds import FoldPlan, held_out_parts, utility_of
from nddv.estimator.settings import SETTINGS, Settings, resolved
from nddv.estimator.validation import (
    check_features,
    check_readout,
    check_size,
    check_targets,
    check_task,
    column_names,
    encode_labels,
    standardise_targets,
)
from nddv.replay.engine import checkpoint_interval
from nddv.replay.seeds import derive
from nddv.support.stored import StoredRows
from nddv.support.wording import InputError, InputWarning

NO_META = (
    "no meta data: {fraction:.0%} of the rows are held out to stand for them, and a second run "
    "values those rows; if you have rows that you trust, give them as meta data"
)
HELD_OUT = 101  # address of the seeds of models that hold rows out
KEEP_ALL_LIMIT = 512e6  # bytes of training states that "auto" keeps for a replay


@dataclass(frozen=True)
class Part:
    """Rows `index` of x (None: all) and their coded targets."""

    x: Any
    targets: NDArray[Any]
    index: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class Targets:
    """How targets are coded: as indices of classes, or on the scale of the training targets."""

    classes: NDArray[Any] | None
    mean: float = 0.0
    scale: float = 1.0

    @classmethod
    def of(cls, y: NDArray[Any], task: str) -> Targets:
        """The coding that the training targets y (n,) call for."""
        if task == "classification":
            return cls(encode_labels(y, "y")[0])
        numbers = y.astype(np.float64)
        return cls(None, float(numbers.mean()), float(numbers.std()))

    @property
    def task(self) -> str:
        return "regression" if self.classes is None else "classification"

    def code(self, y: NDArray[Any], name: str) -> NDArray[Any]:
        """Coded targets (n,) of y."""
        if self.classes is None:
            return standardise_targets(y, self.mean, self.scale, name)
        return encode_labels(y, name, self.classes)[1]


@dataclass(frozen=True)
class Plan:
    """A fit that is still to be made: what is known of the data, and the models to train.

    settings : with nothing left to "auto" that the configuration decides.
    """

    settings: Settings
    seed: int
    targets: Targets
    columns_in: int
    columns: list[str] | None
    folds: list[FoldPlan]

    @property
    def known(self) -> dict[str, Any]:
        """The fitted attributes that do not depend on the runs."""
        known: dict[str, Any] = {
            "task_": self.targets.task,
            "n_features_in_": self.columns_in,
        }
        if self.columns is not None:
            known["feature_names_in_"] = np.array(self.columns, dtype=object)
        if self.targets.classes is not None:
            known["classes_"] = self.targets.classes
        return known


def plan_fit(
    settings: Settings,
    X: Any,
    y: Any,
    X_meta: Any = None,
    y_meta: Any = None,
    X_valid: Any = None,
    y_valid: Any = None,
) -> Plan:
    """Check everything that was given, and lay out the model, or two where rows are held out."""
    settings = resolved(settings)
    seed = settings.random_state
    seed = secrets.randbits(31) if seed is None else int(seed)
    columns = column_names(X)
    x = check_features(X, "X")
    check_size(x)
    labels = check_targets(y, x.shape[0], "y", "X")
    targets = Targets.of(labels, check_task(settings.task, labels))
    check_readout(settings.readout, targets.task)
    if targets.task == "regression" and settings.utility == "probability":
        raise InputError(
            "in regression a target has no probability: leave utility at its default",
            utility=SETTINGS["utility"].default,
        )
    train = Part(x, targets.code(labels, "y"))
    sides = (("meta", X_meta, y_meta), ("valid", X_valid, y_valid))
    meta, valid = (_check_side(*side, x.shape[1], columns, targets) for side in sides)
    parts: Iterable[tuple[Part, Part | None]]
    if meta is None and _holds_out(settings, valid):
        warnings.warn(
            InputWarning(NO_META.format(fraction=settings.meta_fraction), X_meta=None), stacklevel=4
        )
        parts = _two_folds(settings, train, targets, seed)
    else:
        parts = [(train, meta)]
    folds = [_plan_fold(settings, *part, valid or part[1], targets, seed) for part in parts]
    return Plan(settings, seed, targets, x.shape[1], columns, folds)


def plan_without(
    settings: Settings, X: Any, y: Any, held_out: Sequence[NDArray[np.intp]]
) -> list[tuple[FoldPlan, Rows]]:
    """A model for each set of held-out rows, trained on all others; and the rows held out.

    The classes are those of all rows. Each model has draws of its own.
    """
    settings = resolved(settings)
    x = check_features(X, "X")
    labels = check_targets(y, x.shape[0], "y", "X")
    targets = Targets.of(labels, "classification")
    codes, rows = targets.code(labels, "y"), np.arange(x.shape[0])
    plans = []
    for k, held in enumerate(held_out):
        index = np.setdiff1d(rows, held)
        seed = derive(int(settings.random_state or 0), HELD_OUT, k)
        plan = _plan_fold(settings, Part(x, codes[index], index), None, None, targets, seed)
        plans.append((plan, plan.data.rows.like(x, held)))
    return plans


def _holds_out(settings: Settings, valid: Part | None) -> bool:
    """Whether a part of the rows must stand for missing meta data."""
    from nddv.dynamics.readouts import get_readout

    lacks_valid = "valid" in get_readout(settings.readout).needs and valid is None
    return settings.reweighting in LEARNED_WEIGHTS or lacks_valid


def _check_side(
    name: str, X: Any, y: Any, features: int, columns: list[str] | None, targets: Targets
) -> Part | None:
    """Meta or validation data, coded as the training data are; None if not given."""
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise ValueError(f"give both X_{name} and y_{name}, or neither")
    x = check_features(X, f"X_{name}", columns)
    if x.shape[1] != features:
        raise ValueError(f"X_{name} has {x.shape[1]} features, but X has {features}")
    if x.shape[0] == 0:
        raise ValueError(f"X_{name} has no rows")
    labels = check_targets(y, x.shape[0], f"y_{name}", f"X_{name}")
    return Part(x, targets.code(labels, f"y_{name}"))


def _two_folds(
    settings: Settings, train: Part, targets: Targets, seed: int
) -> Iterator[tuple[Part, Part]]:
    """Training points and meta points of two runs, each of which holds out another part."""
    n = len(train.targets)
    groups = np.zeros(n, dtype=int) if targets.classes is None else train.targets
    rng = np.random.default_rng([seed, 1])
    for held_out in held_out_parts(groups, settings.meta_fraction, rng):
        index = np.setdiff1d(np.arange(n), held_out)
        yield (
            Part(train.x, train.targets[index], index),
            Part(train.x, train.targets[held_out], held_out),
        )


def _plan_fold(
    settings: Settings,
    train: Part,
    meta: Part | None,
    valid: Part | None,
    targets: Targets,
    seed: int,
) -> FoldPlan:
    """One model."""
    dtype, device = getattr(torch, settings.dtype), _device(settings.device)
    classes = targets.classes

    def tensor(values: NDArray[Any]) -> torch.Tensor:
        kind = dtype if classes is None else torch.int64
        return torch.as_tensor(values, dtype=kind, device=device)

    encoded = settings.inputs == "encoded"
    rows = Rows.fit(train.x, settings.input_energy, dtype, device, train.index, encoded)

    def side(part: Part | None) -> tuple[Rows | None, torch.Tensor | None]:
        return (
            (None, None) if part is None else (rows.like(part.x, part.index), tensor(part.targets))
        )

    loss = "squared_error" if classes is None else "cross_entropy"
    utility = utility_of(settings.readout, settings.utility, loss) or "log_likelihood"
    aim = None if valid is None else Goal(*side(valid), utility)  # type: ignore[arg-type]
    n = len(train.targets)
    data = Data(rows, tensor(train.targets), *side(meta), loss)
    flow = Flow.of(settings, rows.inputs.count, 1 if classes is None else len(classes))
    training = Training.of(settings, n, stored=isinstance(train.x, StoredRows))
    return FoldPlan(
        flow,
        training,
        data,
        np.arange(n) if train.index is None else train.index,
        aim,
        settings.utility,
        seed,
        settings.trajectories,
        settings.layer_trace,
        _checkpoint_every(settings, flow, Schedule(training, n, seed).total_steps),
    )


def _checkpoint_every(settings: Settings, flow: Flow, steps: int) -> int:
    """Training steps between two states that are kept for a replay."""
    from nddv.dynamics.readouts import get_readout

    moments = 3 if settings.optimizer == "adamw" else 2
    size = sum(flow.sizes) * moments * (4 if settings.dtype == "float32" else 8)
    limit = {"all": np.inf, "sqrt": 0.0, "auto": KEEP_ALL_LIMIT}[settings.checkpoints]
    replays = get_readout(settings.readout).replays
    size *= int(settings.members) + max(0, replays - 1)  # levels are replayed member by member
    if settings.checkpoints == "auto" and not replays:
        limit = 0.0
    return checkpoint_interval(steps, size, limit)


def _device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError('torch sees no GPU here: set device to "auto" or "cpu"', device=None)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)
