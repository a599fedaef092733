"""Every term of the bridge budget against an independent computation, and the inequality."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from nddv import NDDV
from nddv.audit.bridge import (
    TERMS,
    InclusionPaths,
    bridge_budget,
    inclusion_paths,
    lipschitz,
    local_terms,
)
from nddv.audit.retraining import RetrainedGame
from nddv.dynamics.costs import terminal
from nddv.dynamics.participation import train_again
from nddv.dynamics.utility import evaluate
from nddv.estimator.folds import single_fold
from nddv.problems import make_problem

N = 50
POINTS = [0, 7, 21]
SMALL = {"width": 6, "hidden": 5, "centers": 4, "steps": 2, "epochs": 6, "batch_size": 16}


def fitted(**settings) -> NDDV:
    problem, _ = make_problem("2dplanes", N, "label10", 100, {"valid": 60, "test": 10, "meta": 30})
    how = {"readout": "participation", "dtype": "float64", "random_state": 100}
    model = NDDV(**{**SMALL, **how, **settings})
    side = (problem.X_meta, problem.y_meta, problem.X_valid, problem.y_valid)
    return model.fit(problem.X_train, problem.y_train, *side)


@pytest.fixture(scope="module")
def model() -> NDDV:
    return fitted()


@pytest.fixture(scope="module")
def coalitions() -> np.ndarray:
    """Everyone, half of the points, a tenth, nobody."""
    draws = np.random.default_rng(100).random((2, N))
    return np.stack([np.ones(N), draws[0] < 0.5, draws[1] < 0.1, np.zeros(N)]).astype(float)


@pytest.fixture(scope="module")
def table(model: NDDV, coalitions: np.ndarray) -> pd.DataFrame:
    return bridge_budget(model, POINTS, coalitions, readouts=("terminal", "participation"))


def weights_of(row, coalitions: np.ndarray, lam: float) -> np.ndarray:
    weights = coalitions[row.coalition].copy()
    weights[row.point] = lam
    return weights


def test_the_inequality_and_its_parts_hold(table: pd.DataFrame) -> None:
    assert len(table) == 2 * len(POINTS) * 4
    assert table["holds"].all()
    assert (table["gap"] <= table["budget"]).all()
    assert (table["local_gap"] <= table["curvature"]).all()
    calibrated = table["calibration"] + table["residual"] + table["scale"]
    assert (table["adjoint_gap"] <= calibrated + 1e-12).all()
    assert table["budget"].to_numpy() == pytest.approx(table[list(TERMS)].sum(axis=1).to_numpy())


def test_marginals_and_their_integral(table, model, coalitions) -> None:
    """Δ is that of the game, and ∫m dλ = Δ (Eq. continuous_marginal_identity)."""
    game = RetrainedGame(model)
    for row in table.itertuples():
        ends = np.stack([weights_of(row, coalitions, lam) for lam in (1.0, 0.0)])
        with_point, without = game.utilities(ends)
        assert row.marginal == pytest.approx(with_point - without, abs=1e-12)
        assert row.size == (ends[1] > 0).sum()
    assert (table["integral_error"] < 1e-3 * table["marginal"].abs().max()).all()


def test_local_terms_by_central_differences(table, model, coalitions) -> None:
    """m, ρ, Γ' and ‖r‖ from retrainings at λ₀ ± h, with the terminal map of λ₀ in g."""
    fold, h = single_fold(model), 1e-5
    run = fold.run

    def retrained(row, lam):
        w = torch.as_tensor(weights_of(row, coalitions, lam))
        flat = train_again(run, w)
        found = evaluate(run, flat, w, fold.goal)
        return float(found.utility), found.population[-1][row.point], run.flow.unpack(flat).head

    for row in table[table["readout"] == "terminal"].iloc[::2].itertuples():
        (up, x_up, _), (down, x_down, _) = (retrained(row, 0.5 + s) for s in (h, -h))
        _, x, head = retrained(row, 0.5)
        y = run.data.y[row.point : row.point + 1]

        def g(state, head=head, y=y):
            return -float(terminal(head, state[None], y, "cross_entropy").costs)

        def calibrated(utility, state, g=g):
            return utility - g(state)

        slope = (up - down) / (2 * h)
        tangent = (x_up - x_down) / (2 * h)
        rho = float(tangent @ x / (x @ x))
        assert row.local == pytest.approx(slope, abs=1e-7)
        assert row.rho == pytest.approx(rho, abs=1e-6)
        assert row.radial == pytest.approx((g(x * (1 + h)) - g(x * (1 - h))) / (2 * h), abs=1e-7)
        gamma = (calibrated(up, x_up) - calibrated(down, x_down)) / (2 * h)
        assert row.calibration == pytest.approx(abs(gamma), abs=1e-7)
        basis = torch.eye(len(x), dtype=x.dtype)
        gradient = [(g(x + h * e) - g(x - h * e)) / (2 * h) for e in basis]
        residual = np.linalg.norm(gradient) * float((tangent - rho * x).norm())
        assert row.residual == pytest.approx(residual, abs=1e-6)


def test_at_the_whole_run_the_readouts_are_local(model: NDDV) -> None:
    """C ∪ i = [N], λ₀ = 1: no context term for terminal, and m is the participation readout."""
    table = bridge_budget(model, POINTS, np.ones((1, N)), lambda0=1.0, intervals=2)
    assert table["context"].to_numpy() == pytest.approx(0.0, abs=1e-10)
    assert table["local"].to_numpy() == pytest.approx(model.sensitivities_[POINTS], abs=1e-10)
    assert table["curvature"].to_numpy() == pytest.approx(table["lipschitz"].to_numpy() / 2)


def test_the_path_of_a_point_does_not_depend_on_its_own_entry(model: NDDV) -> None:
    fold, grid = single_fold(model), np.array([0.0, 1.0])
    with_it, without = np.ones((1, N)), np.ones((1, N))
    without[0, 7] = 0.0
    first, second = (inclusion_paths(fold, [7], c, grid) for c in (with_it, without))
    assert np.array_equal(first.utilities, second.utilities)
    assert np.array_equal(first.tangents, second.tangents)


def test_lipschitz_constants() -> None:
    """Of a line, exact; of λ², whose chords fall short by h, made good by the coarser grid."""
    grid = np.linspace(0, 1, 9)
    slopes = np.stack([3 - 4 * grid, grid**2, np.zeros(9), np.exp(2 * grid)])
    found = lipschitz(grid, slopes)
    assert found[:3] == pytest.approx([4.0, 2.0, 0.0], abs=1e-12)
    assert found[3] == pytest.approx(2 * np.exp(2), rel=0.03)


def test_a_closed_form() -> None:
    """U = λ², X = (1 + λ, 2), ∇g = (1, 0) at every λ, and a state of zero."""
    grid = np.linspace(0, 1, 5)
    states = np.stack([1 + grid, np.full(5, 2.0)], axis=1)
    tangents, gradients = np.tile([1.0, 0.0], (2, 5, 1)), np.tile([1.0, 0.0], (2, 5, 1))
    paths = InclusionPaths(
        grid,
        np.tile(grid**2, (2, 1)),
        np.tile(2 * grid, (2, 1)),
        np.stack([states, np.zeros((5, 2))]),
        tangents,
        gradients,
    )
    terms = local_terms(paths, 2)
    rho = 1.5 / (1.5**2 + 4)
    assert terms["marginal"] == pytest.approx([1, 1])
    assert terms["curvature"] == pytest.approx([0.5, 0.5])  # L/4
    assert terms["rho"] == pytest.approx([rho, 0])
    assert terms["radial"] == pytest.approx([1.5, 0])
    assert terms["scale"] == pytest.approx([(1 - rho) * 1.5, 0])
    assert terms["residual"] == pytest.approx([np.hypot(1 - rho * 1.5, rho * 2), 1])
    assert terms["calibration"] == pytest.approx([0, 0])
    assert terms["integral_error"] == pytest.approx([0, 0])


def test_errors_say_what_to_do(model: NDDV) -> None:
    everyone = np.ones((1, N))
    with pytest.raises(ValueError, match="multiple of 1/4"):
        bridge_budget(model, POINTS, everyone, lambda0=0.3, intervals=4)
    with pytest.raises(ValueError, match="even"):
        bridge_budget(model, POINTS, everyone, intervals=5)
    with pytest.raises(ValueError, match=r"\(c, 50\), got \(50,\)"):
        bridge_budget(model, POINTS, np.ones(N))
    with pytest.raises(ValueError, match="from 0 to 49"):
        bridge_budget(model, [50], everyone)
    with pytest.raises(ValueError, match="float64"):
        bridge_budget(fitted(dtype="float32", epochs=1), POINTS, everyone)
