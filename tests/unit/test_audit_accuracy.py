"""Estimators of semi-values against enumeration, the clock, and a reference with known noise."""

from __future__ import annotations

from itertools import count
from math import comb

import numpy as np
import pytest

from nddv.audit import accuracy, clocked
from nddv.audit.accuracy import (
    COLUMNS,
    Reference,
    compare_semivalues,
    disattenuated,
    make_reference,
    pearson,
    seconds_to_target,
)
from nddv.audit.clocked import Trail, draw_marginals, reuse_samples, walk_orders
from nddv.audit.context import Gaps, all_gaps
from nddv.audit.estimators import CERTIFYING, ESTIMATORS, PERMUTATIONS, TARGET
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.sampling import corrected_cells, predicted_cells
from nddv.laws import LAWS
from nddv.methods.valuation import logistic_game
from nddv.problems import make_problem

SEED, N = 100, 8


def play():
    rng = np.random.default_rng(SEED)
    X, V = rng.normal(size=(N, 2)), rng.normal(size=(30, 2))
    y, of_valid = (np.array(a[:, 0] + 0.3 * rng.normal(size=len(a)) > 0, int) for a in (X, V))
    y[:2] = 0, 1
    return LogisticGame(X, y, V, of_valid, 2, utility="probability")


def enumerated(law):
    """Semi-values (n,) from the utilities of all coalitions."""
    bits = 1 << np.arange(N)
    members = (np.arange(2**N)[:, None] & bits) > 0
    utilities = play().utilities(members)
    code = np.arange(2**N)[:, None]
    marginals = utilities[code | bits] - utilities[code & ~bits]
    sizes = members.sum(axis=1)
    probability = law.sizes(N)[sizes] / [comb(N, k) for k in sizes]
    return probability @ marginals


@pytest.fixture
def ticks(monkeypatch):
    """A clock that goes on by one whenever somebody looks at it."""
    steps = count()
    monkeypatch.setattr(clocked, "process_time", lambda: float(next(steps)))


def rng():
    return np.random.default_rng(SEED)


TRAILS = {
    "orders": ("shapley", lambda t: walk_orders(play, LAWS["shapley"], rng(), t)),
    "orders of Beta": ("beta", lambda t: walk_orders(play, LAWS["beta"], rng(), t)),
    "reuse": ("banzhaf", lambda t: reuse_samples(play, rng(), t)),
    "corrected": (
        "shapley",
        lambda t: draw_marginals(play, LAWS["shapley"], corrected_cells, rng(), t),
    ),
    "corrected, Banzhaf": (
        "banzhaf",
        lambda t: draw_marginals(play, LAWS["banzhaf"], corrected_cells, rng(), t),
    ),
}


@pytest.mark.parametrize("name", TRAILS)
def test_estimators_come_to_the_enumerated_values(ticks, name):
    law, trail = TRAILS[name][0], TRAILS[name][1](80.0 if "corrected" in name else 400.0)
    snapshot, truth = trail.at(), enumerated(LAWS[law])
    assert snapshot.draws == len(trail.moments) > 100
    assert (snapshot.stderr > 0).all()
    assert (np.abs(snapshot.values - truth) <= 4 * snapshot.stderr + 1e-6).all()
    if law != "beta":  # whose orders are noisy
        assert pearson(snapshot.values, truth) > 0.9


def test_shapley_values_of_orders_sum_to_the_utility_of_all(ticks):
    ends = play().utilities(np.array([[False] * N, [True] * N]))
    trail = walk_orders(play, LAWS["shapley"], rng(), 20.0)
    for seconds in (trail.ready(), np.inf):
        assert trail.at(seconds).values.sum() == pytest.approx(ends[1] - ends[0])


@pytest.mark.parametrize("name", TRAILS)
def test_a_look_back_is_what_a_shorter_run_has(monkeypatch, name):
    def run(seconds):
        steps = count()
        monkeypatch.setattr(clocked, "process_time", lambda: float(next(steps)))
        return TRAILS[name][1](seconds)

    long, short = run(60.0), run(40.0)
    before, after = long.at(short.moments[-1]), short.at()
    assert before.draws == after.draws < len(long.moments)
    np.testing.assert_array_equal(before.values, after.values)
    np.testing.assert_array_equal(before.stderr, after.stderr)
    for mine, other in zip(before.cells, after.cells, strict=True):
        np.testing.assert_array_equal(mine.all_draws(), other.all_draws())


def test_intervals_of_orders_are_those_of_their_mean(ticks):
    snapshot = walk_orders(play, LAWS["shapley"], rng(), 60.0).at()
    pairs, gaps = all_gaps(snapshot.cells)
    (cell,) = snapshot.cells
    draws = cell.all_draws()[..., 0]
    gap = draws[:, pairs[5][0]] - draws[:, pairs[5][1]]
    assert gaps.gap[5] == pytest.approx(gap.mean())
    assert gaps.stderr[5] == pytest.approx(gap.std(ddof=1) / np.sqrt(len(gap)))
    assert gaps.freedom[5] == pytest.approx(len(gap) - 1)


@pytest.mark.parametrize("name", TRAILS)
def test_without_time_there_is_enough_for_errors_and_nothing_before(ticks, name):
    trail = TRAILS[name][1](0.0)
    assert trail.at(0.0) is None
    assert trail.at(trail.ready()) is not None
    assert np.isfinite(trail.at().stderr).all()


def test_reliability_ends_a_run_before_its_time(ticks):
    arguments = (play, LAWS["shapley"], predicted_cells, rng(), 10_000.0)
    assert len(draw_marginals(*arguments, reliability=0.5).moments) < 1000


def known(values, share):
    return Reference(values, share, Gaps(*np.zeros((3, 1))))


def test_the_noise_of_the_reference_is_taken_out_and_that_of_the_estimator_stays():
    draws = np.random.default_rng(SEED)
    truth, noise, own = draws.normal(size=(3, 200_000))
    noisy, estimate = truth + 0.5 * noise, truth + own
    row = known(noisy, 0.8).near(estimate)
    assert row["pearson"] < 0.65
    assert row["disattenuated"] == pytest.approx(np.sqrt(0.5), abs=0.01)
    assert row["spearman"] < row["disattenuated"]
    assert known(noisy, 0.8).square(-estimate) == pytest.approx(-0.5, abs=0.01)
    assert np.isnan(disattenuated(0.3, 0.0))
    assert np.isnan(pearson(np.ones(3), np.arange(3.0)))


def noisy_trail(truth, noise, seconds):
    """Values with errors of variance noise/seconds, a draw a second."""
    errors = np.random.default_rng(SEED).normal(size=(seconds, len(truth))) * np.sqrt(noise)

    def view(draws):
        error = np.full(len(truth), np.sqrt(noise / draws))
        return truth + errors[:draws].mean(axis=0), error, ()

    return Trail(np.arange(1.0, seconds + 1), view)


@pytest.mark.parametrize(("seconds", "extrapolated"), [(400, False), (20, True)])
def test_the_price_of_precision_is_seen_or_extrapolated(seconds, extrapolated):
    truth = np.random.default_rng(0).normal(size=3000)
    noise = truth.var() * (1 - TARGET) / TARGET * 100  # so that 100 seconds are enough
    row = seconds_to_target(noisy_trail(truth, noise, seconds), known(truth, 1.0))
    assert row["extrapolated"] == extrapolated
    assert row["to_target"] == pytest.approx(100, rel=0.2)


def test_what_is_wrong_but_precise_has_no_price():
    truth, other = np.random.default_rng(0).normal(size=(2, 500))
    row = seconds_to_target(noisy_trail(truth + other, 1e-6, 10), known(truth, 1.0))
    assert "to_target" not in row
    assert row["gap"].endswith("after 10.0 s; its own noise is not why")


def test_a_problem_is_compared_and_its_frames_are_complete(ticks):
    problem, _ = make_problem("2dplanes", 30, "label10", SEED, {"valid": 20, "test": 5, "meta": 5})
    laws = {"shapley": {"methods": ["shapley-level", "knn-shapley"]}, "banzhaf": {"methods": []}}
    reference = {"reliability": 0.95, "seconds": 60.0}
    frames, record = compare_semivalues(problem, SEED, laws, [0.5, 60.0], reference, 0.05)
    assert {name: list(frame) for name, frame in frames.items()} == COLUMNS
    rows = frames["accuracy"].set_index(["method", "semivalue", "budget"]).sort_index()
    assert set(rows.index.get_level_values(0)) == {*ESTIMATORS, "shapley-level", "knn-shapley"}
    early, late = (rows.xs(budget, level="budget") for budget in (0.5, 60.0))
    assert early["pearson"].isna().all()
    assert early["gap"].str.match(r"no values before \d").all()
    assert (late["gap"] == "").all()
    assert (late["disattenuated"] > 0.5).all()
    assert (rows["reference_reliability"].dropna() >= 0.95).all()
    assert record["references"]["shapley"]["reliability"] >= 0.95
    shares = frames["shares"]
    assert set(shares["method"]) == set(CERTIFYING)
    certain = shares.dropna(subset="pairs")
    assert (certain["pairs"] == 30 * 29 / 2).all()
    assert (certain["certified_all"] <= certain["certified_one"]).all()
    assert (certain["agreement"].dropna() > 0.9).all()
    assert set(frames["seconds"]["method"]) == set(rows.index.get_level_values(0))


def test_a_method_without_values_is_a_gap(ticks):
    problem, _ = make_problem("2dplanes", 30, "label10", SEED, {"valid": 20, "test": 5, "meta": 5})
    one_class = np.zeros_like(problem.y_train)
    found = known(np.arange(30.0), 1.0)
    changed = type(problem)(**{**vars(problem), "y_train": one_class})
    row = accuracy._valued("shapley-level", changed, SEED, {}, found)
    assert "one class" in row["gap"]
    assert accuracy._seconds_of_method(row) == {"method": "shapley-level", "gap": row["gap"]}


def test_the_reference_has_other_draws_than_the_estimators(ticks):
    problem, _ = make_problem("2dplanes", 30, "label10", SEED, {"valid": 20, "test": 5, "meta": 5})

    def game():
        return logistic_game(problem, utility="probability")

    limits = {"reliability": 0.999, "seconds": 50.0}
    reference, _ = make_reference(game, LAWS["shapley"], SEED, limits)
    trails = dict(accuracy._trails(game, LAWS["shapley"], SEED, 50.0))
    assert PERMUTATIONS in trails
    for trail in trails.values():
        assert not np.allclose(trail.at().values, reference.values, rtol=1e-6)
