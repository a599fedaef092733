"""The stability statements of the paper, measured on flows of the library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from nddv.audit.stability import aggregate
from nddv.audit.stability.aggregate import frozen_aggregate
from nddv.audit.stability.contraction import (
    contraction,
    decay_and_noise,
    euler_decay_and_noise,
    extreme_pairs,
    relative_squares,
)
from nddv.audit.stability.discretisation import coarsen, discretisation
from nddv.audit.stability.score_gap import ScoreMap, expected_distances, score_gap_transfer
from nddv.audit.stability.setting import (
    fitted_run,
    fitted_slope,
    populations,
    roll_copies,
    terminal_scores,
    with_slopes,
)
from nddv.audit.stability.stationarity import curvature, stationarity, surrogate
from nddv.dynamics.adjoint import backward
from nddv.dynamics.flow import rollout
from nddv.dynamics.population import encode

# ------------------------------------------------------------------ what the checks share


def test_a_slope_and_its_standard_error():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    exact = fitted_slope(x, 3 * x**-0.5)
    assert exact == pytest.approx((-0.5, 0.0), abs=1e-12)
    rng = np.random.default_rng(100)
    x = np.repeat(x, 5)
    fits = [fitted_slope(x, x**2 * np.exp(0.3 * rng.normal(size=20))) for _ in range(2000)]
    slopes, errors = np.array(fits).T
    assert slopes.mean() == pytest.approx(2.0, abs=0.01)
    assert np.sqrt((errors**2).mean()) == pytest.approx(slopes.std(), rel=0.05)


def test_slopes_are_fitted_for_each_group():
    x = np.array([1.0, 2.0, 4.0])
    frame = pd.concat([pd.DataFrame({"name": k, "x": x, "y": x**k}) for k in (1, 2)])
    found = with_slopes(frame, "name", "x", "y")
    assert found["slope"].to_numpy() == pytest.approx([1, 1, 1, 2, 2, 2])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2], [1, 2], "at least 3"),
        ([1, 2, 3], [1, 2], "at least 3"),
        ([1, 2, 3], [1, 0, 2], "positive"),
        ([1, 2, 3], [1, np.nan, 2], "positive"),
        ([2, 2, 2], [1, 2, 3], "all x are equal"),
    ],
)
def test_slopes_of_unusable_points(x, y, message):
    with pytest.raises(ValueError, match=message):
        fitted_slope(x, y)


@pytest.fixture(scope="module")
def run():
    return fitted_run(100, 30)


def test_the_fitted_flow_knows_the_classes_of_its_points_and_no_more(run):
    assert run.flow.outputs == len(run.data.y.unique())


def test_copies_of_a_population_move_as_the_library_moves_one(run):
    params, mass = run.flow.unpack(run.flat), run.shares()
    x0 = encode(run.flow, params.encoder, run.data.rows)
    draws = torch.Generator().manual_seed(100)
    noise = torch.randn(run.flow.steps, 3, *x0.shape, generator=draws, dtype=x0.dtype)
    states = roll_copies(run.flow, params.controls, x0, mass, noise)
    for k in range(3):
        path = rollout(run.flow, params.controls, x0, noise[:, k], mass=mass)
        for together, alone in zip(states, path.states, strict=True):
            assert torch.allclose(together[k], alone)


def test_populations_come_in_blocks_that_add_up(run):
    params, mass = run.flow.unpack(run.flat), run.shares()
    x0 = encode(run.flow, params.encoder, run.data.rows)
    draws = torch.Generator().manual_seed(100)
    simulated = list(populations(run.flow, params.controls, x0, mass, 7, 3, draws))
    assert [len(states[-1]) for states in simulated] == [3, 3, 1]
    assert all(len(states) == run.flow.steps + 1 for states in simulated)


# ------------------------------------------------------------------ contraction


def test_closed_forms_of_one_and_of_many_euler_steps():
    decay, noise = euler_decay_and_noise(2.0, 0.25, 2)
    assert decay == pytest.approx([1, 0.25, 0.0625])
    assert noise == pytest.approx([0, 0.5, 0.5 + 0.5 * 0.25])
    for a in (0.0, 1.5):
        limit = decay_and_noise(a, np.array([1.0]))
        fine = euler_decay_and_noise(a, 1e-4, 10_000)
        for one, other in zip(limit, fine, strict=True):
            assert other[-1] == pytest.approx(one[0], rel=1e-3)


def test_relative_squares_by_hand():
    states = torch.tensor([[0.0], [1.0], [5.0]]).view(1, 1, 3, 1)
    pairs = extreme_pairs(states[0, 0])
    assert {name: set(pair) for name, pair in pairs.items()} == {
        "far pair": {0, 2},
        "near pair": {0, 1},
    }
    found = relative_squares(states, pairs, torch.tensor([True, True, False]))
    assert found.flatten().tolist() == pytest.approx([25.0, 1.0, 1.5**2])


def test_contraction_is_that_of_the_theorem():
    """Theorem relative_state_contraction, for the Euler scheme without any bias."""
    frame = contraction(points=40, steps=10, copies=2000)
    shared = frame[(frame["control"] == "shared") & (frame["time"] > 0)]
    z = (shared["measured"] - shared["euler"]) / shared["stderr"]
    assert z.abs().max() < 4.5
    # the comparison is sharp enough to see Δt: the formula of the limit is off by far more
    strong = shared[shared["interaction"] == 4.0]
    off = (strong["measured"] - strong["continuous"]) / strong["stderr"]
    assert off.abs().max() > 20
    # without attraction there is only noise, and both formulae are 2t
    free = shared[shared["interaction"] == 0.0]
    np.testing.assert_allclose(free["continuous"], free["euler"])
    fitted = frame[frame["control"] == "fitted"]
    assert len(fitted) == 3 * 11
    assert fitted["euler"].isna().all()
    assert (fitted["measured"] > 0).all()


# ------------------------------------------------------------------ score gaps


@pytest.fixture(scope="module")
def score_maps(run):
    weight, bias = run.flow.unpack(run.flat).head
    # a head with large entries makes a Lipschitz constant that is too small show
    return {k: ScoreMap(3 * weight, bias + 0.5, run.data.y, k) for k in ("shared", "labelled")}


def states_of_size(score_map, size):
    draws = torch.Generator().manual_seed(100)
    shape = (200, len(score_map.labels), len(score_map.weight))
    directions = torch.randn(shape, generator=draws, dtype=torch.float64)
    radii = size * torch.rand(*shape[:2], 1, generator=draws, dtype=torch.float64)
    return directions / directions.norm(dim=2, keepdim=True) * radii


def test_the_labelled_map_is_the_terminal_score(run, score_maps):
    score_map = score_maps["labelled"]
    x = states_of_size(score_map, 2.0)
    expected = terminal_scores((score_map.weight, score_map.bias), x, run.data.y)
    assert torch.allclose(score_map(x), expected)


@pytest.mark.parametrize("kind", ["shared", "labelled"])
def test_slopes_and_constants_of_a_score_map(score_maps, kind):
    score_map = score_maps[kind]
    for size in (0.1, 1.0, 10.0):
        x = states_of_size(score_map, size).requires_grad_()
        (gradient,) = torch.autograd.grad(score_map(x).sum(), x)
        slopes = score_map.slopes(x.detach())
        assert torch.allclose(gradient.norm(dim=2), slopes)
        assert float(slopes.max()) <= score_map.lipschitz(size)
        # every point's map at the states of point 0
        here = x.detach()[:, :1].expand_as(x)
        values = score_map(here)
        gaps = (values.unsqueeze(2) - values.unsqueeze(1)).abs().amax(0)
        assert (gaps <= score_map.heterogeneity(size) + 1e-12).all()
    assert (score_map.heterogeneity(1.0).max() > 0) == (kind == "labelled")


def test_a_lipschitz_constant_by_hand():
    """Two opposite columns of length 3: D = 6, so 3 + 9·radius near zero."""
    weight = torch.tensor([[3.0, -3.0], [0.0, 0.0]], dtype=torch.float64)
    score_map = ScoreMap(weight, torch.zeros(2).double(), torch.tensor([0]), "shared")
    assert score_map.lipschitz(0.01) == pytest.approx(3.09)
    assert score_map.lipschitz(100.0) == pytest.approx(3 + 6 / 2)  # log p has a deviation below 1


def test_varentropy_is_bounded_as_the_lipschitz_constant_assumes():
    rng = np.random.default_rng(100)
    for classes in (2, 3, 10):
        p = rng.dirichlet(np.full(classes, 0.3), size=20_000) + 1e-12
        p /= p.sum(axis=1, keepdims=True)
        mean = (p * np.log(p)).sum(axis=1)
        variance = (p * (np.log(p) - mean[:, None]) ** 2).sum(axis=1)
        assert variance.max() <= 1 + 0.25 * np.log(classes - 1) ** 2


def test_score_gaps_stay_below_their_bound():
    """Corollary score_gap_transfer."""
    frame = score_gap_transfer(interactions=(0.5, 2.0, 8.0), points=60, steps=30, copies=200)
    assert (frame["measured"] + 4 * frame["stderr"] < frame["bound_euler"]).all()
    assert (frame["measured"] + 4 * frame["stderr"] < frame["bound"]).all()
    assert (frame["slope_seen"] <= frame["lipschitz"]).all()
    assert (frame["kappa_part"] > 0).eq(frame["map"] == "labelled").all()
    assert frame.groupby(["map", "interaction"])["size"].sum().eq(60).all()
    for _, part in frame.groupby(["map", "group"]):
        assert part["bound"].is_monotonic_decreasing
    assert np.allclose(frame["ratio"], frame["bound"] / frame["measured"])
    assert np.allclose(frame["stderr"], frame["spread"] / 200**0.5)


def test_expected_distances_are_zero_on_the_diagonal_only(run):
    params = run.flow.unpack(run.flat)
    x0 = encode(run.flow, params.encoder, run.data.rows)
    start = torch.cdist(x0, x0).fill_diagonal_(0.0)  # cdist rounds there
    still = replace(run.flow, interaction=0.0, diffusion=0.0)
    for q in expected_distances(still, x0):
        assert torch.allclose(q, start)
    for q in expected_distances(run.flow, x0):
        assert (q.diagonal() == 0).all()
        assert (q + torch.eye(len(q)) > 0).all()


# ------------------------------------------------------------------ frozen aggregate


def test_the_error_of_an_aggregate_falls_as_one_over_root_n():
    """Proposition frozen_mean_field_stability with fixed weights."""
    sizes = (50, 200, 800, 3200)
    frame = frozen_aggregate(sizes=sizes, reference=50_000, repetitions=40, probes=100)
    slopes = frame.groupby("quantity")["slope"].first()
    assert sorted(slopes.index) == ["aggregate", "co-state", "score", "state"]
    assert slopes.to_numpy() == pytest.approx(-0.5, abs=0.08)
    assert frame.groupby("quantity").size().eq(len(sizes) * 40).all()


def test_the_score_along_an_aggregate_is_that_of_the_final_time(monkeypatch):
    made = []

    def kept(flow, controls, path, end):
        made.append((path.states[-1] * end).sum(1))
        return backward(flow, controls, path, end)

    monkeypatch.setattr(aggregate, "backward", kept)
    frame = frozen_aggregate(sizes=(5, 10, 20), reference=40, repetitions=1, probes=7)
    limit, *others = made
    expected = [float((limit - other).abs().mean()) for other in others]
    assert min(expected) > 0
    found = frame.loc[frame["quantity"] == "score", "error"]
    assert found.to_numpy() == pytest.approx(expected, rel=1e-5)


# ------------------------------------------------------------------ discretisation


def test_coarse_increments_belong_to_the_same_brownian_path():
    fine = torch.randn(12, 5, generator=torch.Generator().manual_seed(100), dtype=torch.float64)
    coarse = coarsen(fine, 4)
    # increments of step h are √h times standard normal numbers
    path = fine.cumsum(0) * (1 / 12) ** 0.5
    assert torch.allclose(coarse.cumsum(0) * (1 / 3) ** 0.5, path[3::4])
    assert coarsen(fine, 1).equal(fine)


@pytest.fixture(scope="module")
def numerical_errors():
    return discretisation(
        refinements=(1, 2, 4, 8),
        reference=64,
        trajectories=(1, 4, 16, 64),
        points=30,
        repetitions=4,
        draws=512,
    )


def test_scores_converge_with_the_time_step(numerical_errors):
    """Corollary numerical_score_error: at least order 1/2; additive noise makes it 1."""
    steps = numerical_errors[numerical_errors["axis"] == "time step"]
    slopes = steps.groupby("quantity")["slope"].first()
    assert sorted(slopes.index) == ["expected score", "score", "state"]
    assert slopes.between(0.9, 1.3).all()
    assert steps["x"].max() == pytest.approx(1 / 3)


def test_scores_converge_with_the_number_of_trajectories(numerical_errors):
    sampling = numerical_errors[numerical_errors["quantity"] == "sampling"]
    assert sampling["slope"].iloc[0] == pytest.approx(-0.5, abs=0.05)
    mean = sampling.groupby("x")[["error", "theory"]].mean()
    assert mean["error"].to_numpy() == pytest.approx(mean["theory"].to_numpy(), rel=0.1)


def test_sampling_does_not_remove_the_error_of_the_time_step(numerical_errors):
    error = numerical_errors.groupby(["quantity", "x"])["error"].mean()
    floor = error["expected score"].iloc[-1]
    assert error["total", 64.0] == pytest.approx(floor, rel=0.1)
    assert error["total", 1.0] ** 2 == pytest.approx(
        error["sampling", 1.0] ** 2 + floor**2, rel=0.1
    )
    assert numerical_errors.loc[numerical_errors["quantity"] == "total", "slope"].isna().all()


def test_sizes_of_the_discretisation_check_must_divide():
    with pytest.raises(ValueError, match="multiple of every M_traj"):
        discretisation(trajectories=(3,), draws=10)
    with pytest.raises(ValueError, match="that all refinements divide"):
        discretisation(refinements=(3,), reference=8)


# ------------------------------------------------------------------ stationarity


@pytest.fixture(scope="module")
def objective():
    return surrogate(100, 10.0)


def test_the_gradient_of_the_surrogate(objective):
    z = objective.start
    gradient = torch.func.grad(objective)(z)
    draws = torch.Generator().manual_seed(100)
    for _ in range(3):
        d = torch.randn(len(z), generator=draws, dtype=z.dtype)
        h = 1e-5
        difference = float(objective(z + h * d) - objective(z - h * d)) / (2 * h)
        assert difference == pytest.approx(float(gradient @ d), rel=1e-5)


def test_the_frozen_adjoint_is_biased_by_the_aggregate_alone(objective):
    z = objective.start + 0.1
    exact = torch.func.grad(objective)(z)
    assert float((objective.frozen_gradient(z, exact) - exact).norm()) > 1e-3
    flow = replace(objective.problem.flow, interaction=0.0)
    apart = replace(objective, problem=replace(objective.problem, flow=flow))
    exact = torch.func.grad(apart)(z)
    assert torch.allclose(apart.frozen_gradient(z, exact), exact)


def test_curvature_is_the_largest_eigenvalue(objective):
    z = objective.start
    hessian = torch.func.hessian(objective)(z)
    largest = float(torch.linalg.eigvalsh(hessian).abs().max())
    found = curvature(objective, z, torch.Generator().manual_seed(100))
    assert 0.9 * largest < found <= largest * (1 + 1e-9)


def test_the_meta_update_becomes_stationary_down_to_its_bias():
    """Proposition first_order_meta_reweighting_stationarity."""
    frame = stationarity(steps=(10, 40, 160), full_rate_steps=160, repetitions=2)
    assert (frame["mean_square"] < frame["bound"]).all()
    assert (frame["least_square"] <= frame["mean_square"]).all()
    slopes = frame.groupby("gradient")["slope"].first()
    assert slopes["exact"] < -0.5
    assert slopes["bias"] > slopes["exact"] + 0.1
    last = frame[frame["steps"] == 160].set_index("gradient")
    beta_square = 0.3**2 * last.loc["bias", "start_square"]
    assert last.loc["bias", "bias_square"] == pytest.approx(beta_square)
    assert beta_square * 0.95 < last.loc["bias", "least_square"] < 1.5 * beta_square
    assert last.loc["bias", "least_square"] < last.loc["bias", "floor"]
    assert last.loc["exact", "least_square"] < 0.2 * beta_square
    assert last.loc["exact", "floor"] == 0
    assert 0 < last.loc["frozen adjoint", "bias_square"] < beta_square
    noise = last.loc["noise"]
    assert (noise["mean_square"] > last.loc["exact", "mean_square"]).all()
    # noise adds L·σ²·η to the bound, and η = 1/(4L)
    added = (noise["bound"] - last.loc["exact", "bound"]) / noise["noise_square"]
    assert added.tolist() == pytest.approx([0.25, 0.25])
