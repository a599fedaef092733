"""The functions that a fitted control applies to the coordinates of a state (Eq. kan_control).

For the last panel of the paper's fig:terminal_map_interpretability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.dynamics.flow import mean_state
from nddv.dynamics.layers import KANLayer
from nddv.dynamics.population import population_path
from nddv.dynamics.runs import Run
from nddv.dynamics.schedule import SCORING
from nddv.estimator.folds import single_fold
from nddv.methods.valuation import fit_nddv
from nddv.problems.problem import Problem
from nddv.replay.seeds import derive

BACKGROUND = 250  # an effect is a mean over this many points


@dataclass(frozen=True)
class ScalarMap:
    """f(X) = Σ_q H_q(Σ_p h_{q,p}(X_p)) of P coordinates and Q units (Eq. kan_control).

    inner_weights: ((centers + 1) P, Q); outer_weights: ((centers + 1) Q, 1).
    """

    inner_layer: KANLayer
    outer_layer: KANLayer
    inner_weights: Tensor
    outer_weights: Tensor

    def inner(self, p: int, x: Tensor) -> Tensor:
        """h_{q,p}(x) of all units q: (m,) -> (m, Q)."""
        return _one_input(self.inner_layer, self.inner_weights, p, x)

    def outer(self, q: int, z: Tensor) -> Tensor:
        """H_q(z): (m,) -> (m,)."""
        return _one_input(self.outer_layer, self.outer_weights, q, z)[:, 0]

    def sums(self, states: Tensor) -> Tensor:
        """Σ_p h_{q,p}(X_p): (n, P) -> (n, Q)."""
        return self.inner_layer.forward([self.inner_weights], states)[0]

    def of_sums(self, z: Tensor) -> Tensor:
        """Σ_q H_q(z_q): (n, Q) -> (n,)."""
        return self.outer_layer.forward([self.outer_weights], z)[0][:, 0]


def _one_input(layer: KANLayer, weights: Tensor, k: int, x: Tensor) -> Tensor:
    """The part of a layer's outputs that comes from input number k."""
    own = weights.view(layer.centers + 1, layer.inputs, layer.outputs)[:, k]
    return replace(layer, inputs=1).forward([own], x.unsqueeze(1))[0]


def last_control(run: Run) -> ScalarMap:
    """The part of the margin of the last class that the last control adds: f_ϑ = Δt·w·ψ_{S−1}.

    w is the terminal map's row of that class minus the mean row of the others; in regression it is
    the only row.
    """
    flow = run.flow
    if flow.control != "kan":
        raise ValueError(f"only a KAN control has coordinate functions, this one is {flow.control}")
    params = flow.unpack(run.flat)
    head = params.head[0]
    w = head[:, -1] - head[:, :-1].mean(1) if flow.outputs > 1 else head[:, 0]
    inner_layer, outer_layer = flow.controller.layers  # type: ignore[attr-defined]
    inner, outer = params.controls[-1]
    outer = flow.dt * (outer @ w).unsqueeze(1)
    return ScalarMap(inner_layer, replace(outer_layer, outputs=1), inner, outer)


def last_states(run: Run) -> Tensor:
    """States X_{S−1} (n, W) of the training points in the pass that scores them."""
    mass = run.shares()
    states, _ = population_path(
        run.flow,
        run.flow.unpack(run.flat),
        run.data.rows,
        derive(run.own_seed, SCORING, 0),
        lambda _, x: mean_state(mass, x),
    )
    return states[-2]


def coordinate_effects(scalar: ScalarMap, states: Tensor, grid: Tensor) -> tuple[Tensor, Tensor]:
    """How f changes when one coordinate of a state moves and the others stay.

    states: (n, P); grid: (P, m). Mean and standard deviation over states, (P, m) each, of f with
    X_p = grid_p minus f with X_p at its median. Without interactions the deviation is zero.
    """
    medians = states.median(0).values
    states = states[:BACKGROUND]
    sums = scalar.sums(states)
    means, spreads = [], []
    for p, places in enumerate(grid):
        others = sums - scalar.inner(p, states[:, p])
        own = scalar.inner(p, torch.cat([places, medians[p : p + 1]]))
        moved = others.unsqueeze(1) + own  # (n, m + 1, Q)
        values = scalar.of_sums(moved.flatten(0, 1)).view(moved.shape[:2])
        changes = values[:, :-1] - values[:, -1:]
        means.append(changes.mean(0))
        spreads.append(changes.std(0, correction=0))
    return torch.stack(means), torch.stack(spreads)


@torch.no_grad()
def coordinate_functions(
    problem: Problem, seed: int, settings: Mapping[str, Any], top: int = 3, points: int = 81
) -> dict[str, pd.DataFrame]:
    """Fit NDDV to a problem and take its last control apart, into sums of univariate functions.

    The run is that of the paper's configuration, as in `nddv.anatomy.trajectories`.

    Parameters
    ----------
    settings : of ``nddv.NDDV``; the control must be a KAN.
    top : how many coordinates and units get full curves.
    points : number of points of each curve, over the range of the states.

    Returns
    -------
    Tables by name; each begins with ``dataset``, ``n``, ``corruption`` and ``seed``.

    functions : ``kind``, ``coordinate``, ``unit``, ``x``, ``y``, ``spread``. ``"inner"``: h_{q,p}
        of the strongest coordinates p and all units q. ``"outer"``: H_q of the strongest units.
        ``"effect"``: effects of the strongest coordinates (``coordinate_effects``). Coordinates and
        units are numbered from 1.
    states : ``kind`` (``"coordinate"`` or ``"unit"``), ``number``, ``point``, ``x``, ``label``:
        the points along the strongest coordinates and units.
    strengths : ``kind``, ``number``, ``strength``, ``feature``, ``correlation``, ``additive``,
        ``target``; strongest first. Strength is the standard deviation, over the points, of a
        coordinate's effect or of a unit's H_q. Feature is the column of the data with the highest
        correlation to a coordinate. Additive is the share of the variance of f that the sum of all
        effects explains. Target is the class to whose margin f belongs.
    """
    run = single_fold(fit_nddv(problem, seed, "terminal", settings)).run
    scalar, states = last_control(run), last_states(run)
    sums = scalar.sums(states)
    grid, unit_grid = _grid(states, points), _grid(sums, points)
    effects, spreads = coordinate_effects(scalar, states, grid)
    curves = zip(states.T.numpy(), grid.numpy(), effects.numpy(), strict=True)
    at_states = np.stack([np.interp(*curve) for curve in curves])
    of_units = torch.stack([scalar.outer(q, z) for q, z in enumerate(sums.T)]).numpy()
    whole = scalar.of_sums(sums).numpy()
    resembled = _resembled(problem, states.numpy())
    kinds = [_strengths("coordinate", at_states).join(resembled), _strengths("unit", of_units)]
    strengths = pd.concat(kinds).sort_values(
        ["kind", "strength"], ascending=[True, False], ignore_index=True
    )
    strengths["additive"] = 1 - (whole - at_states.sum(0)).var() / whole.var()
    strengths["target"] = problem.record["classes"][-1]
    chosen = {kind: part["number"].head(top) - 1 for kind, part in strengths.groupby("kind")}

    functions = [
        _curve("inner", grid[p], y, coordinate=p + 1, unit=q + 1)
        for p in chosen["coordinate"]
        for q, y in enumerate(scalar.inner(p, grid[p]).T)
    ]
    for q in chosen["unit"]:
        functions.append(_curve("outer", unit_grid[q], scalar.outer(q, unit_grid[q]), unit=q + 1))
    for p in chosen["coordinate"]:
        effect = _curve("effect", grid[p], effects[p], coordinate=p + 1)
        functions.append(effect.assign(spread=spreads[p].numpy()))
    labels = np.asarray(problem.record["classes"])[problem.y_train]
    where = [
        pd.DataFrame({"kind": kind, "number": k + 1, "x": x[:, k].numpy(), "label": labels})
        for kind, x in (("coordinate", states), ("unit", sums))
        for k in chosen[kind]
    ]
    points_along = pd.concat(where).rename_axis("point").reset_index()
    tables = {"functions": pd.concat(functions), "states": points_along, "strengths": strengths}
    first = {key: problem.record[key] for key in ("dataset", "n", "corruption")} | {"seed": seed}
    return {
        name: table.reset_index(drop=True).assign(**first)[[*first, *table]]
        for name, table in tables.items()
    }


def _grid(x: Tensor, points: int) -> Tensor:
    """Evenly spaced places over the range of each column: (n, P) -> (P, points)."""
    low, high = x.amin(0).unsqueeze(1), x.amax(0).unsqueeze(1)
    return low + (high - low) * torch.linspace(0, 1, points, dtype=x.dtype)


def _curve(kind: str, x: Tensor, y: Tensor, **labels: int) -> pd.DataFrame:
    return pd.DataFrame({"kind": kind, **labels, "x": x.numpy(), "y": y.numpy()})


def _strengths(kind: str, at_states: NDArray[np.floating]) -> pd.DataFrame:
    """Standard deviations over points of the effects (K, n) of coordinates or units."""
    numbers = np.arange(1, len(at_states) + 1)
    return pd.DataFrame({"kind": kind, "number": numbers, "strength": at_states.std(1)})


def _resembled(problem: Problem, states: NDArray[np.floating]) -> pd.DataFrame:
    """The feature with the highest correlation to each coordinate, over the training points."""
    X = problem.X_train
    with np.errstate(invalid="ignore", divide="ignore"):  # features that never vary
        both = np.corrcoef(states, X, rowvar=False)[: states.shape[1], states.shape[1] :]
    both = np.nan_to_num(both)
    best = np.abs(both).argmax(1)
    names = [column["column"] for column in problem.record.get("columns", [])]
    if len(names) != X.shape[1]:  # encoded columns have no names
        names = [f"feature {k + 1}" for k in range(X.shape[1])]
    correlation = both[np.arange(len(best)), best]
    return pd.DataFrame({"feature": [names[k] for k in best], "correlation": correlation})
