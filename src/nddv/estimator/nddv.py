"""The scikit-learn style estimator `NDDV` and the one-call form `value`."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from nddv.dynamics.flow import Flow
from nddv.dynamics.participation import checkpoint_interval
from nddv.dynamics.readouts import center, time_resolved
from nddv.dynamics.rows import Rows
from nddv.dynamics.schedule import Schedule, Training
from nddv.dynamics.training import Data, Run, best_epoch
from nddv.estimator.folds import Fold, FoldPlan, assemble, held_out_parts, train_folds
from nddv.estimator.validation import (
    check_features,
    check_finite,
    check_settings,
    check_size,
    check_targets,
    check_task,
    column_names,
    encode_labels,
    standardise_targets,
)
from nddv.support.measuring import versions
from nddv.support.stored import StoredRows
from nddv.values import Values

DTYPES = {"float32": torch.float32, "float64": torch.float64}
NO_META = (
    "no meta data: {fraction:.0%} of the rows are held out to stand for them, and a second run "
    "values those rows; if you have rows that you trust, give them as X_meta and y_meta"
)
STORED_BLOCK = 256  # rows on disk that are read together: half a megabyte of 500 features
KEEP_ALL_LIMIT = 512e6  # bytes of training states that "auto" keeps for the participation readout


class NDDV(BaseEstimator):
    """Neural dynamic data valuation: a value for every training point from one training run.

    The points move as controlled stochastic states that interact through a weighted mean; the
    adjoint of that flow turns each point's part in it into a score (Algorithm 1 of the paper).

    Parameters
    ----------
    readout : how the run becomes values. "path" (default): the terminal sensitivity integrated
        along training; "terminal": the paper's score at the frozen end; "participation": the exact
        derivative of validation log-likelihood with respect to each point's weight in training.
    task : "classification", "regression" or "auto" (regression for targets with fractions). In
        regression, where the loss is not monotone along the state, "terminal" and "path" are
        sensitivities without a meaning of good or bad: use "participation" to find bad rows.
    input_energy, width, steps, horizon, interaction, diffusion, running_cost, control, hidden,
    centers, reach, nu : the flow, see `nddv.dynamics.flow.Flow`.
    epochs, batch_size, max_steps, optimizer, learning_rate, schedule, weight_decay, momentum,
    epsilon, clip, pairing, reweighting, meta_every, meta_batch_size, meta_hidden,
    meta_learning_rate, penalty : the training, see `nddv.dynamics.schedule.Training`.
    block_size : rows that stay together when they are shuffled; "auto": 1 for data in memory, 256
        for rows on disk (`nddv.open_rows`), which are then read in contiguous pieces.
    trajectories : M_traj, independent scoring paths; with 2 or more, `stderr_` is available.
    layer_trace : keep the time-resolved scores of every epoch as `trace_`, (epochs, steps+1, n).
    meta_fraction : part of the training points held out in turn when no meta data are given.
    checkpoints : training states kept for "participation": "all", "sqrt" (O(√K) states, one more
        forward run), or "auto" ("all" for that readout while it fits half a gigabyte, else "sqrt").
    dtype : "float32" or "float64".
    random_state : int, or None for fresh entropy (recorded in `record_`).
    device : "auto" (a GPU where there is one), "cpu" or "cuda".
    progress : show a progress bar on stderr.

    Attributes
    ----------
    values_ : (n,) centred values φ, higher is better; they sum to zero (Eq. dynamic_dv).
    sensitivities_ : (n,) the same before centring, higher is better.
    stderr_ : (n,) Monte-Carlo standard errors of values_, or None for one trajectory.
    weights_ : (n,) meta weights v_i.
    history_ : dict of lists, one entry an epoch (epochs of a second fold follow the first's).
    classes_ : class labels (classification). n_features_in_, feature_names_in_ as in scikit-learn.
    record_ : settings, seconds, versions, best epoch, growth of the adjoint.

    Examples
    --------
    >>> import numpy as np, nddv
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)); y = (X[:, 0] > 0).astype(int); y[:10] = 1 - y[:10]
    >>> values = nddv.NDDV(epochs=5).fit(X, y).values_
    >>> bool(values[:10].mean() < values[10:].mean())
    True
    """

    def __init__(
        self,
        readout: str = "path",
        task: str = "auto",
        *,
        input_energy: float = 40.0,
        width: int = 32,
        steps: int = 3,
        horizon: float = 1.0,
        interaction: float = 1.0,
        diffusion: float = 0.01,
        running_cost: float = 0.01,
        control: str = "kan",
        hidden: int = 25,
        centers: int = 8,
        reach: float = 2.0,
        nu: float = 1.5,
        epochs: int = 20,
        batch_size: int = 64,
        max_steps: int = 5000,
        block_size: int | str = "auto",
        optimizer: str = "sgd",
        learning_rate: float = 0.05,
        schedule: str = "linear",
        weight_decay: float = 0.1,
        momentum: float = 0.9,
        epsilon: float = 1e-4,
        clip: float = 1.0,
        pairing: str = "exact",
        reweighting: str = "lookahead",
        meta_every: int = 10,
        meta_batch_size: int = 64,
        meta_hidden: int = 16,
        meta_learning_rate: float = 0.01,
        penalty: float = 10.0,
        trajectories: int = 1,
        layer_trace: bool = False,
        meta_fraction: float = 0.2,
        checkpoints: str = "auto",
        dtype: str = "float32",
        random_state: int | None = 0,
        device: str = "auto",
        progress: bool = False,
    ):
        self.readout = readout
        self.task = task
        self.input_energy = input_energy
        self.width = width
        self.steps = steps
        self.horizon = horizon
        self.interaction = interaction
        self.diffusion = diffusion
        self.running_cost = running_cost
        self.control = control
        self.hidden = hidden
        self.centers = centers
        self.reach = reach
        self.nu = nu
        self.epochs = epochs
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.block_size = block_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.momentum = momentum
        self.epsilon = epsilon
        self.clip = clip
        self.pairing = pairing
        self.reweighting = reweighting
        self.meta_every = meta_every
        self.meta_batch_size = meta_batch_size
        self.meta_hidden = meta_hidden
        self.meta_learning_rate = meta_learning_rate
        self.penalty = penalty
        self.trajectories = trajectories
        self.layer_trace = layer_trace
        self.meta_fraction = meta_fraction
        self.checkpoints = checkpoints
        self.dtype = dtype
        self.random_state = random_state
        self.device = device
        self.progress = progress

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        X: Any,
        y: Any,
        X_meta: Any = None,
        y_meta: Any = None,
        X_valid: Any = None,
        y_valid: Any = None,
    ) -> NDDV:
        """Train one flow on (X, y) and value its points.

        Parameters
        ----------
        X, y : (n, d) training features (array, data frame, scipy sparse rows, or rows on disk:
            `nddv.open_rows`) and (n,) labels of any dtype, or numbers for regression.
        X_meta, y_meta : clean data that the meta weights and the best epoch are chosen on. Without
            them a stratified part of the training points is held out, and a second run, which
            holds another part out, values those points (and only those).
        X_valid, y_valid : data that the utility of "participation" is measured on; default: meta.

        Raises
        ------
        ValueError : a setting, or the data, cannot be used; it says which, and why.
        FloatingPointError : the training, or a readout of it, left the finite numbers.
        """
        start = time.perf_counter()
        plans = self._plan(X, y, X_meta, y_meta, X_valid, y_valid)
        with self._progress(len(plans)) as bar:
            folds = [train_folds([plan], epoch_counter(bar))[0] for plan in plans]
            self._finish(folds, bar)
        self.record_["seconds"] = round(time.perf_counter() - start, 4)
        return self

    def _plan(
        self, X: Any, y: Any, X_meta: Any, y_meta: Any, X_valid: Any, y_valid: Any
    ) -> list[FoldPlan]:
        """Check everything that was given, and lay out the run, or the two without meta data."""
        self._forget()
        check_settings(self.get_params(deep=False))
        self._seed = secrets.randbits(31) if self.random_state is None else int(self.random_state)
        x, targets = self._check_training(X, y)
        meta = self._check_side("meta", X_meta, y_meta)
        valid = self._check_side("valid", X_valid, y_valid)
        if meta is not None:
            return [self._plan_fold(x, targets, None, meta, valid or meta)]
        warnings.warn(NO_META.format(fraction=self.meta_fraction), stacklevel=3)
        return list(self._plan_two_folds(x, targets, valid))

    def _finish(self, folds: list[Fold], bar: tqdm) -> None:
        """Read the values out of trained runs."""
        self._folds = folds
        self._set_results(self._sensitivities(self.readout, bar))
        self.record_ = self._make_record()

    def readout_values(self, readout: str) -> NDArray[np.float64]:
        """Values (n,) under any readout of the same fitted run or runs."""
        return centre(self.readout_sensitivities(readout))

    def readout_sensitivities(self, readout: str) -> NDArray[np.float64]:
        """Values (n,) before centring: for "participation" in units of the utility."""
        check_is_fitted(self, "values_")
        with self._progress(folds=0) as bar:
            return np.asarray(self._sensitivities(readout, bar).mean(0))

    # ------------------------------------------------------------------ checks

    def _forget(self) -> None:
        """Drop what an earlier fit left behind."""
        for name in [n for n in vars(self) if n.endswith("_") or n.startswith("_")]:
            delattr(self, name)

    def _check_training(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Set the fitted attributes that describe the data; return features and coded targets."""
        names = column_names(X)
        x = check_features(X, "X")
        check_size(x)
        labels = check_targets(y, x.shape[0], "y", "X")
        self.task_ = check_task(self.task, labels)
        self.n_features_in_ = x.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        if self.task_ == "classification":
            self.classes_, codes = encode_labels(labels, "y")
            return x, codes
        numbers = labels.astype(np.float64)
        self._target_mean, self._target_scale = float(numbers.mean()), float(numbers.std())
        return x, standardise_targets(numbers, self._target_mean, self._target_scale, "y")

    def _check_side(self, name: str, X: Any, y: Any) -> Side | None:
        """Meta or validation data, coded as the training data are; None if not given."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError(f"give both X_{name} and y_{name}, or neither")
        columns = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        x = check_features(X, f"X_{name}", columns)
        if x.shape[1] != self.n_features_in_:
            raise ValueError(f"X_{name} has {x.shape[1]} features, but X has {self.n_features_in_}")
        if x.shape[0] == 0:
            raise ValueError(f"X_{name} has no rows")
        labels = check_targets(y, x.shape[0], f"y_{name}", f"X_{name}")
        if self.task_ == "classification":
            return Side(x, encode_labels(labels, f"y_{name}", self.classes_)[1])
        mean, scale = self._target_mean, self._target_scale
        return Side(x, standardise_targets(labels, mean, scale, f"y_{name}"))

    # ------------------------------------------------------------------ runs

    def _plan_fold(
        self,
        x: Any,
        targets: NDArray[Any],
        index: NDArray[np.intp] | None,
        meta: Side,
        valid: Side,
    ) -> FoldPlan:
        """One run on the training points `index`, or on all of them."""
        dtype, device = DTYPES[self.dtype], _device(self.device)
        classification = self.task_ == "classification"

        def tensor(values: NDArray[Any]) -> torch.Tensor:
            kind = torch.int64 if classification else dtype
            return torch.as_tensor(values, dtype=kind, device=device)

        rows = Rows.fit(x, self.input_energy, dtype, device, index)
        if index is None:
            index = np.arange(len(targets))
        loss = "cross_entropy" if classification else "squared_error"
        meta_rows = rows.like(meta.x, meta.index)
        data = Data(rows, tensor(targets[index]), meta_rows, tensor(meta.targets), loss)
        outputs = len(self.classes_) if classification else 1
        flow = Flow(features=self.n_features_in_, outputs=outputs, **self._parameters_of(Flow))
        settings = self._parameters_of(Training)
        if self.block_size == "auto":
            settings["block_size"] = STORED_BLOCK if isinstance(x, StoredRows) else 1
        training = Training(**settings)
        return FoldPlan(
            flow,
            training,
            data,
            index,
            rows.like(valid.x, valid.index),
            tensor(valid.targets),
            self._seed,
            self.trajectories,
            self.layer_trace,
            self._checkpoint_every(flow, training, len(index)),
        )

    def _plan_two_folds(
        self, x: Any, targets: NDArray[Any], valid: Side | None
    ) -> Iterator[FoldPlan]:
        """Two runs, each with another part of the training points as its meta set."""
        groups = targets if self.task_ == "classification" else np.zeros(len(targets), dtype=int)
        rng = np.random.default_rng([self._seed, 1])
        for part in held_out_parts(groups, self.meta_fraction, rng):
            index = np.setdiff1d(np.arange(len(targets)), part)
            meta = Side(x, targets[part], part)
            yield self._plan_fold(x, targets, index, meta, valid or meta)

    def _parameters_of(self, kind: type) -> dict[str, Any]:
        own = self.get_params(deep=False)
        return {f.name: own[f.name] for f in fields(kind) if f.name in own}

    def _checkpoint_every(self, flow: Flow, training: Training, n: int) -> int:
        steps = Schedule.of(training, n, self._seed).total_steps
        moments = 3 if self.optimizer == "adamw" else 2
        size = sum(flow.sizes) * moments * (4 if self.dtype == "float32" else 8)
        limit = {"all": np.inf, "sqrt": 0.0, "auto": KEEP_ALL_LIMIT}[self.checkpoints]
        if self.checkpoints == "auto" and self.readout != "participation":
            limit = 0.0
        return checkpoint_interval(steps, size, limit)

    # ------------------------------------------------------------------ reading out

    def _sensitivities(self, readout: str, bar: tqdm) -> NDArray[np.float64]:
        """Oriented sensitivities (M, n) of all training points."""
        if readout == "participation":
            bar.set_description("replaying")
            bar.reset(total=self.trajectories * sum(fold.run.steps for fold in self._folds))
        parts = [f.sensitivities(readout, self.trajectories, bar.update) for f in self._folds]
        return check_finite(assemble(self._folds, parts), readout)

    def _set_results(self, sensitivities: NDArray[np.float64]) -> None:
        """Set the fitted attributes from sensitivities (M, n)."""
        m = len(sensitivities)
        self.sensitivities_ = sensitivities.mean(0)
        self.values_ = centre(self.sensitivities_)
        spread = centre(sensitivities).std(axis=0, ddof=1) if m > 1 else None
        self.stderr_ = None if spread is None else spread / np.sqrt(m)
        weights = [fold.run.weights().double().numpy(force=True) for fold in self._folds]
        self.weights_ = assemble(self._folds, weights)
        rows = [row for fold in self._folds for row in fold.run.history]
        self.history_ = {key: [row[key] for row in rows] for key in rows[0]}
        if self.layer_trace:
            traces = [torch.stack(f.trace.values).numpy(force=True) for f in self._folds if f.trace]
            self.trace_ = assemble(self._folds, traces)

    def _make_record(self) -> dict[str, Any]:
        runs = [fold.run for fold in self._folds]
        with torch.no_grad():
            growth = max(time_resolved(run, run.score()).adjoint_growth for run in runs)
        return {
            "method": "nddv",
            "readout": self.readout,
            "seed": self._seed,
            "task": self.task_,
            "n": len(self.values_),
            "d": int(self.n_features_in_),
            "meta": "given" if len(runs) == 1 else "held out (two folds)",
            "best_epoch": [best_epoch(run.history) for run in runs],
            "adjoint_growth": growth,
            "weight_range": float(np.ptp(self.weights_)),
            "device": str(runs[0].flat.device),
            "params": {name: _plain(v) for name, v in self.get_params(deep=False).items()},
            "versions": versions(),
        }

    @contextmanager
    def _progress(self, folds: int) -> Iterator[tqdm]:
        total = folds * self.epochs
        with tqdm(total=total, desc="training", unit="step", disable=not self.progress) as bar:
            yield bar


@dataclass(frozen=True)
class Side:
    """Meta or validation data: rows `index` of x (None: all), and their coded targets."""

    x: Any
    targets: NDArray[Any]
    index: NDArray[np.intp] | None = None


def epoch_counter(bar: tqdm) -> Callable[[Run], None]:
    """What moves a progress bar on after every epoch of a run."""

    def count(run: Run) -> None:
        bar.set_postfix(loss=f"{run.history[-1]['train_loss']:.3f}", refresh=False)
        bar.update()

    return count


def value(
    X: Any,
    y: Any,
    *,
    X_meta: Any = None,
    y_meta: Any = None,
    X_valid: Any = None,
    y_valid: Any = None,
    **params: Any,
) -> Values:
    """Value the rows of (X, y) in one call; `params` are those of `NDDV`."""
    model = NDDV(**params).fit(X, y, X_meta, y_meta, X_valid, y_valid)
    return Values(model.values_, model.stderr_, model.record_)


def centre(sensitivities: NDArray[np.float64]) -> NDArray[np.float64]:
    """φ of sensitivities, along the last axis (Eq. dynamic_dv)."""
    return np.asarray(center(torch.as_tensor(sensitivities)).numpy())


def _plain(setting: Any) -> Any:
    """A setting as JSON can hold it."""
    if isinstance(setting, np.generic):
        setting = setting.item()
    return "inf" if setting == np.inf else setting


def _device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError('device="cuda", but torch sees no GPU here: use device="auto" or "cpu"')
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)
