"""What happens inside one NDDV run, as tables: states, co-states, weights and values of all points.

Everything comes from one fitted run of Algorithm 1 (configuration "paper"), along the scoring path
of its values: the flow with the final parameters, and with the aggregate of the points (fig:nddv,
fig:learn_sde, fig:reveal_dv_layer_epoch, fig:reveal_dv). States have many coordinates. The tables
have two: along the first two principal components of the terminal states, at all times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from nddv.dynamics.adjoint import backward
from nddv.dynamics.costs import terminal
from nddv.dynamics.flow import rollout
from nddv.dynamics.population import encode
from nddv.dynamics.runs import Run
from nddv.dynamics.schedule import SCORING
from nddv.estimator.folds import single_fold
from nddv.methods.valuation import fit_nddv
from nddv.problems.problem import Problem, Truth
from nddv.replay.seeds import derive, normal

Floats = NDArray[np.float64]

GRID = 101  # costs at which the weight map is evaluated
DIGITS = 5


class Path(NamedTuple):
    """The scoring path of a fitted run: S Euler steps of n points in W coordinates.

    states, costates: (S+1, n, W) X_t and Y_t; means: (S+1, W) μ_t = N⁻¹ Σ v_i X_{i,t}.
    """

    states: Floats
    costates: Floats
    means: Floats


def trace_run(
    problem: Problem, truth: Truth, seed: int, settings: Mapping[str, Any]
) -> dict[str, pd.DataFrame]:
    """Fit NDDV to a classification problem, and describe the run as tidy frames.

    Parameters
    ----------
    truth : says which points were corrupted; the run does not see it.
    settings : of `nddv.NDDV`, as for its terminal values; tracing the layers changes no value.

    Returns
    -------
    Frames by name; `point` is the position of a point in the training set.

    run : one row: seed, epochs, explained_1 and explained_2 (shares of the terminal variance),
        feature_1 and feature_2 (the columns of `points`, from 1: those that say most about the
        label).
    points : point, corrupted, label (observed), feature_1, feature_2, cost (q_i: the terminal cost
        at the point's last visit in training, from which its weight is computed), weight (v_i),
        terminal and path (values under these readouts, both of this run).
    states : point, step, time, state_1, state_2, costate_1, costate_2: X_t and Y_t along the two
        directions.
    steps : step, time, mean_1, mean_2: μ_t along the same directions.
    epochs : point, epoch (from 1), value: the terminal value φ after every epoch.
    layers : point, step, time, value: φ_t at every Euler time, after the last epoch
        (Eq. layer_epoch_phi).
    weight_map : seed, cost, weight: V_θ on a grid from 0 to the largest cost.
    """
    if problem.record["task"] != "classification":
        raise ValueError(f"trajectories are told of classes, not of {problem.record['task']}")
    if truth.mask.shape != problem.y_train.shape:
        raise ValueError(
            f"the truth is about {len(truth.mask)} points, the problem has {len(problem.y_train)}"
        )
    # the readout of the paper: its configuration has one run, and weights that are learned
    model = fit_nddv(problem, seed, "terminal", {**settings, "layer_trace": True})
    # The problem brings its meta data, so there is one fold, of all points in their order.
    run = single_fold(model).run
    with torch.no_grad():
        path = scoring_path(run)
        weight_map = _weight_map(run)
    axes, explained = principal_directions(path.states[-1], problem.y_train)
    features = informative_features(problem)
    points = pd.DataFrame(
        {
            "corrupted": truth.mask,
            "label": problem.y_train,
            "feature_1": problem.X_train[:, features[0]],
            "feature_2": problem.X_train[:, features[1]],
            "cost": run.signals.double().numpy(force=True),
            "weight": model.weights_,
            "terminal": model.values_,
            "path": model.readout_values("path"),
        }
    )
    summary = {
        "seed": seed,
        "epochs": len(model.trace_),
        "explained_1": explained[0],
        "explained_2": explained[1],
        "feature_1": 1 + features[0],
        "feature_2": 1 + features[1],
    }
    states = {
        f"{name}_{k + 1}": along[..., k]
        for name, along in (("state", path.states @ axes), ("costate", path.costates @ axes))
        for k in range(2)
    }
    means = path.means @ axes
    times = np.linspace(0, run.flow.horizon, run.flow.steps + 1)
    steps = {"step": np.arange(len(times)), "time": times}
    epochs = {"epoch": 1 + np.arange(len(model.trace_))}
    return {
        "run": pd.DataFrame([summary]),
        "points": points.rename_axis("point").reset_index(),
        "states": _long(steps, states),
        "steps": pd.DataFrame({**steps, "mean_1": means[:, 0], "mean_2": means[:, 1]}),
        "epochs": _long(epochs, {"value": model.trace_[:, -1]}),
        "layers": _long(steps, {"value": model.trace_[-1]}),
        "weight_map": weight_map,
    }


def scoring_path(run: Run) -> Path:
    """The path that the terminal readout scores: final parameters, noise, and adjoint."""
    flow, data, mass = run.flow, run.data, run.shares()
    params = flow.unpack(run.flat)
    seed = derive(run.own_seed, SCORING, 0)
    start = encode(flow, params.encoder, data.rows)
    noise = [normal(seed, s, start.shape, start.dtype, start.device) for s in range(flow.steps)]
    path = rollout(flow, params.controls, start, torch.stack(noise), mass=mass)
    end = terminal(params.head, path.states[-1], data.y, data.loss)
    costates = backward(flow, params.controls, path, -end.gradients).costates
    last = mass @ path.states[-1] / len(mass)
    parts = (path.states, costates, [*path.aggregates, last])
    return Path(*(torch.stack(part).double().numpy(force=True) for part in parts))


def principal_directions(states: Floats, labels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """First two principal components (W, 2) of states (n, W), and their shares (2,) of variance.

    They have the sign that makes labels grow.
    """
    centred = states - states.mean(axis=0)
    _, spreads, vectors = np.linalg.svd(centred, full_matrices=False)
    vectors = vectors[:2].T
    slopes = (labels - labels.mean()) @ centred @ vectors
    return vectors * np.where(slopes < 0, -1, 1), spreads[:2] ** 2 / (spreads**2).sum()


def informative_features(problem: Problem) -> tuple[int, int]:
    """The two features whose variance the observed classes explain best, in order."""
    X, y = problem.X_train.astype(np.float64), problem.y_train
    if X.shape[1] < 2:
        raise ValueError("the data have one feature: two are needed to draw them")
    members = np.eye(y.max() + 1)[y]
    means = members.T @ X / np.maximum(members.sum(axis=0), 1)[:, None]
    variance = X.var(axis=0)
    between = means[y].var(axis=0)
    share = np.divide(between, variance, out=np.zeros_like(variance), where=variance > 0)
    first, second = np.argsort(-share, kind="stable")[:2]
    return int(first), int(second)


def significant(frame: pd.DataFrame, digits: int = DIGITS) -> pd.DataFrame:
    """The frame with its floats rounded to significant digits: enough for a drawing."""
    rounded = frame.select_dtypes("float").map(lambda x: float(f"{x:.{digits}g}"))
    return frame.assign(**rounded)


def _weight_map(run: Run) -> pd.DataFrame:
    """V_θ on costs from 0 to the largest; where it is not learned, every share is 1."""
    costs = torch.linspace(0, float(run.signals.max()), GRID, dtype=run.signals.dtype)
    costs = costs.to(run.signals.device)
    fixed = not run.training.learns_weights
    weights = torch.ones_like(costs) if fixed else run.weight_map(run.theta, costs)
    grid = torch.stack([costs, weights], dim=1).double().numpy(force=True)
    # The map of one run says little about the map of another, so figures show several.
    return pd.DataFrame(grid, columns=["cost", "weight"]).assign(seed=run.seed)


def _long(over: Mapping[str, NDArray[Any]], values: Mapping[str, Floats]) -> pd.DataFrame:
    """Rows of values (m, n): point, what tells the m places apart (``over``, (m,)), the values."""
    m, n = next(iter(values.values())).shape
    places = {name: np.repeat(of, n) for name, of in over.items()}
    flat = {name: array.ravel() for name, array in values.items()}
    return pd.DataFrame({"point": np.tile(np.arange(n), m), **places, **flat})
