"""Kernels are as smooth as they should be, fits are fits, and a control is the sum of its parts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest
import torch

from nddv.anatomy import kernels
from nddv.anatomy.controls import (
    ScalarMap,
    coordinate_effects,
    coordinate_functions,
    last_control,
    last_states,
)
from nddv.anatomy.kernels import (
    MLP,
    MLP_LONG,
    NAMES,
    PATIENCE,
    REACH,
    TARGETS,
    Comparison,
    compare_regressions,
    kernel_curves,
    models,
    number_of_parameters,
)
from nddv.dynamics.kernels import matern
from nddv.dynamics.layers import KANLayer
from nddv.estimator.folds import single_fold
from nddv.methods.valuation import fit_nddv
from nddv.problems import make_problem

QUICK = Comparison(sizes=(8, 32), repetitions=2, steps=30, rates=(1e-6, 0.05), valid=20, test=50)
EPOCHS = {"epochs": 2}


@pytest.fixture(scope="module")
def problem():
    return make_problem("wine", 60, "label20", 100)[0]


@pytest.fixture(scope="module")
def run(problem):
    return single_fold(fit_nddv(problem, 100, "terminal", EPOCHS)).run


# ------------------------------------------------------------------ kernels


@pytest.fixture(scope="module")
def curves():
    return kernel_curves(100)


def curve(frame, kind, nu):
    return frame.loc[(frame["kind"] == kind) & (frame["nu"] == nu), "y"].to_numpy()


@pytest.mark.parametrize("nu", NAMES)
def test_slopes_and_curvatures_are_derivatives_of_the_kernel(curves, nu):
    x = curves.loc[(curves["kind"] == "kernel") & (curves["nu"] == nu), "x"].to_numpy()
    away = np.abs(x) > 0.05
    for upper, lower in (("kernel", "slope"), ("slope", "curvature")):
        numerical = np.gradient(curve(curves, upper, nu), x)
        difference = numerical - curve(curves, lower, nu)
        assert np.abs(difference[away][1:-1]).max() < 2e-3
    assert np.isnan(curve(curves, "slope", nu)).sum() == (nu == 0.5)


def test_curvature_at_the_centre_tells_the_kernels_apart(curves):
    central = (curves["kind"] == "curvature") & (curves["x"].abs() < 1e-9)
    centre = curves[central].set_index("nu")["y"]
    # −ν/(ν − 1) where ν > 1, −1 in the Gaussian limit
    assert centre[1.5] == pytest.approx(-3)
    assert centre[2.5] == pytest.approx(-5 / 3)
    assert centre[inf] == pytest.approx(-1)


def test_random_functions_have_the_covariance_and_get_smoother():
    x = np.linspace(-1, 1, 41)
    normal = np.random.default_rng(100).normal(size=(41, 4000))
    rough = []
    for nu in NAMES:
        covariance = matern(x[:, None] - x, nu)
        samples = kernels._samples(covariance, normal)
        np.testing.assert_allclose(samples @ samples.T / 4000, covariance, atol=0.08)
        rough.append(np.square(np.diff(samples, 2, axis=0)).mean())
    assert all(before > 2 * after for before, after in pairwise(rough))


# ------------------------------------------------------------------ regression


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_targets_have_mean_zero_and_variance_one(target):
    axis = torch.linspace(-REACH, REACH, 800)
    x = torch.cartesian_prod(*[axis] * target.inputs).view(-1, target.inputs)
    values = target.function(x)
    assert float(values.mean()) == pytest.approx(0, abs=0.01)
    assert float(values.std()) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("inputs", [1, 2, 5])
def test_networks_are_of_one_size(inputs):
    chains = models(inputs)
    sizes = {name: number_of_parameters(chain) for name, chain in chains.items()}
    assert set(sizes) == {*NAMES.values(), MLP, MLP_LONG}
    assert chains["gaussian"].layers[0].outputs == 2 * inputs + 1
    assert max(sizes.values()) - min(sizes.values()) <= (inputs + 2) / 2


def test_one_row_for_every_fit():
    frame = compare_regressions(100, TARGETS[2:4], QUICK)
    keys = ["target", "model", "points", "repetition"]
    assert len(frame) == len(frame.drop_duplicates(keys)) == 2 * 6 * 2 * 2
    steps = frame.groupby("model")["steps"].unique()
    assert steps[MLP] == QUICK.steps
    assert steps[MLP_LONG] == QUICK.steps * PATIENCE[MLP_LONG]
    again = compare_regressions(100, TARGETS[2:4], QUICK)
    assert frame.equals(again)
    assert not frame["rmse"].equals(compare_regressions(101, TARGETS[2:4], QUICK)["rmse"])


def test_the_rate_is_the_best_on_validation_points_and_the_error_that_on_test_points():
    data = kernels._draw(TARGETS[2:3], 1, 100, QUICK)
    chain = models(1)["matern-1/2"]
    rates, errors = kernels._best_of_rates(chain, data, 100, QUICK)
    # each rate alone, judged on the validation points or on the test points
    as_test = replace(data, test_x=data.valid_x, test_y=data.valid_y)
    alone = [replace(QUICK, rates=(rate,)) for rate in QUICK.rates]
    valid = torch.stack([kernels._best_of_rates(chain, as_test, 100, one)[1] for one in alone])
    test = torch.stack([kernels._best_of_rates(chain, data, 100, one)[1] for one in alone])
    best = valid.argmin(0)
    assert set(best.tolist()) == {0, 1}  # eight points may teach less than nothing
    assert rates.tolist() == [QUICK.rates[k] for k in best]
    assert torch.equal(errors, test[best, torch.arange(len(best))])


def test_points_and_targets_of_all_parts_belong_together():
    data = kernels._draw(TARGETS[:3], 1, 100, QUICK)
    parts = ((data.x, data.y), (data.valid_x, data.valid_y), (data.test_x, data.test_y))
    functions = {target.name: target.function for target in TARGETS}
    for (x, y), noise in zip(parts, (QUICK.noise, QUICK.noise, 0.0), strict=True):
        pairs = zip(data.index["target"], x, strict=True)
        clean = torch.stack([functions[target](row) for target, row in pairs])
        assert float((y - clean).square().mean().sqrt()) == pytest.approx(noise, rel=0.25)


def test_all_networks_learn_a_kink_from_many_points():
    settings = replace(QUICK, sizes=(128,), steps=200, rates=(0.05,))
    frame = compare_regressions(100, TARGETS[1:2], settings)
    assert frame["rmse"].max() < 0.25  # 1 would be that of the mean


def test_points_beyond_the_size_of_a_fit_have_no_part_in_it():
    data = kernels._draw(TARGETS[:1], 1, 100, QUICK)
    small = torch.tensor((data.index["points"] == 8).tolist())
    assert torch.allclose(data.weights.sum(1), torch.ones(4))
    y = data.y.clone()
    y[small, 8:] = 1e3
    chain = models(1)["matern-3/2"]
    found = kernels._best_of_rates(chain, data, 100, QUICK)
    changed = kernels._best_of_rates(chain, replace(data, y=y), 100, QUICK)
    assert torch.equal(found[1], changed[1])


# ------------------------------------------------------------------ a fitted control


def test_the_scalar_map_is_what_the_last_control_adds_to_the_margin(run):
    scalar, states = last_control(run), last_states(run)
    params = run.flow.unpack(run.flat)
    control, _ = run.flow.controller.forward(params.controls[-1], states)
    head = params.head[0]
    expected = run.flow.dt * control @ (head[:, 2] - (head[:, 0] + head[:, 1]) / 2)
    sums = scalar.sums(states)
    assert torch.allclose(scalar.of_sums(sums), expected, atol=1e-5)
    inner = sum(scalar.inner(p, states[:, p]) for p in range(run.flow.width))
    assert torch.allclose(inner, sums, atol=1e-5)
    outer = sum(scalar.outer(q, sums[:, q]) for q in range(run.flow.hidden))
    assert torch.allclose(outer, expected, atol=1e-5)


def test_states_are_those_that_are_scored(run):
    states = last_states(run)
    mass = run.shares()
    aggregate = mass @ states / len(states)
    assert torch.allclose(aggregate, run.score().aggregates[-1], atol=1e-6)


def test_effects_of_a_map_without_interactions_are_exact():
    draws = torch.Generator().manual_seed(100)
    inner_layer, outer_layer = KANLayer(3, 3, 5, 2.0, 1.5), KANLayer(3, 1, 5, 2.0, 1.5)
    inner, outer = (
        torch.randn(layer.shapes()[0], generator=draws) for layer in (inner_layer, outer_layer)
    )
    alone = (inner.view(6, 3, 3) * torch.eye(3)).view(18, 3)  # unit q sees coordinate q only
    states = torch.randn((50, 3), generator=draws)
    grid = torch.linspace(-2, 2, 9).expand(3, -1)
    scalar = ScalarMap(inner_layer, outer_layer, alone, outer)
    means, spreads = coordinate_effects(scalar, states, grid)
    assert spreads.max() < 1e-5
    for p, median in enumerate(states.median(0).values):
        at = [scalar.outer(p, scalar.inner(p, x)[:, p]) for x in (grid[p], median.view(1))]
        assert torch.allclose(means[p], at[0] - at[1], atol=1e-5)
    mixed = replace(scalar, inner_weights=inner)
    assert coordinate_effects(mixed, states, grid)[1].max() > 0.1


def test_tables_tell_the_strongest_coordinates_and_units(problem, run):
    tables = coordinate_functions(problem, 100, EPOCHS, top=2, points=21)
    strengths = tables["strengths"][tables["strengths"]["kind"] == "coordinate"]
    assert len(strengths) == run.flow.width
    assert strengths["strength"].is_monotonic_decreasing
    assert strengths["correlation"].abs().between(0, 1).all()
    assert strengths["target"].iloc[0] == problem.record["classes"][-1]
    strongest = strengths["number"].tolist()[:2]
    functions = tables["functions"]
    for kind, rows in {"inner": 2 * 25 * 21, "outer": 2 * 21, "effect": 2 * 21}.items():
        own = functions[functions["kind"] == kind]
        assert len(own) == rows
        assert kind == "outer" or own["coordinate"].unique().tolist() == strongest
    states = last_states(run)[:, strongest[0] - 1]
    own = tables["states"][
        (tables["states"]["kind"] == "coordinate") & (tables["states"]["number"] == strongest[0])
    ]
    np.testing.assert_allclose(own["x"], states)
    effect = functions[(functions["kind"] == "effect") & (functions["coordinate"] == strongest[0])]
    assert np.interp(states.median(), effect["x"], effect["y"]) == pytest.approx(0, abs=2e-3)
    assert list(tables["states"])[:4] == ["dataset", "n", "corruption", "seed"]


def test_a_control_that_is_no_kan_is_refused(problem):
    with pytest.raises(ValueError, match="only a KAN control.*mlp"):
        coordinate_functions(problem, 100, {"epochs": 1, "control": "mlp"})
