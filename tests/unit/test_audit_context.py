"""Certificates in context: coverage on games with known values, by hand, and for all pairs."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import ttest_ind

from nddv.audit import context
from nddv.audit.context import (
    FAMILIES,
    FIT_ERROR,
    Gaps,
    all_gaps,
    bernstein_radii,
    certified_shares,
    pair_gaps,
    point_gaps,
)
from nddv.coalitions.contexts import Marginals
from nddv.coalitions.sampling import Cell, Limits, sample
from nddv.coalitions.strata import Stratum, octaves
from nddv.laws import LAWS

REPETITIONS = 1000
PAIRS = np.array([[i, j] for i in range(7) for j in range(i + 1, 7)])


class KnownGame:
    """Seven points; utilities of all coalitions, and rough predictions of their marginals."""

    n = 7

    def __init__(self, bias=0.3, seed=100):
        rng = np.random.default_rng(seed)
        self.table = rng.random(2**self.n)
        self.rough = rng.normal(bias, 0.1, size=(2**self.n, self.n))

    def exact(self, members):
        bits = 1 << np.arange(self.n)
        code = (members @ bits)[:, None]
        found = self.table[code | bits] - self.table[code & ~bits]
        return Marginals(found[..., None], np.zeros(len(members), dtype=int))

    def errors(self, members):
        found = self.rough[members @ (1 << np.arange(self.n))]
        return Marginals(found[..., None], np.zeros(len(members), dtype=int))

    def predicted(self, members):
        found = self.exact(members).marginals - self.errors(members).marginals
        return Marginals(found, np.zeros(len(members), dtype=int))

    def cells(self, law):
        cells = []
        for stratum in octaves(law, self.n):
            if stratum.single:
                cells.append(Cell("exact", stratum, self.exact))
            else:
                cells.append(Cell("predicted", stratum, self.predicted))
                cells.append(Cell("errors", stratum, self.errors, cost=5.0))
        return cells

    def semivalues(self, law):
        members = (np.arange(2**self.n)[:, None] >> np.arange(self.n)) % 2 == 1
        sizes = members.sum(axis=1)
        probability = law.sizes(self.n)[sizes] / [comb(self.n, k) for k in sizes]
        return probability @ self.exact(members).marginals[..., 0]


@pytest.mark.parametrize("name", ["shapley", "banzhaf", "beta"])
def test_intervals_cover_known_gaps(name):
    """At least nominal minus two standard errors, over the repetitions of each pair."""
    game, law = KnownGame(), LAWS[name]
    truth = game.semivalues(law)
    gaps = truth[PAIRS[:, 0]] - truth[PAIRS[:, 1]]
    covered, centre = np.zeros(len(PAIRS)), np.zeros(len(PAIRS))
    for seed in range(REPETITIONS):
        found = sample(game.cells(law), np.random.default_rng([100, seed]), Limits(coalitions=120))
        at = pair_gaps(found.cells, PAIRS)
        covered += np.abs(at.gap - gaps) <= at.radius(0.05)
        centre += at.gap - gaps
    error = np.sqrt(0.05 * 0.95 / REPETITIONS)
    assert covered.mean() / REPETITIONS >= 0.95 - 2 * error
    assert covered.min() / REPETITIONS >= 0.95 - 4 * error
    assert covered.mean() / REPETITIONS <= 0.985  # and not by being far too wide
    assert np.abs(centre / REPETITIONS).max() < 0.01  # unbiased, though predictions are not


def test_predictions_alone_would_not_cover():
    game, law = KnownGame(bias=np.linspace(-0.5, 0.5, 7)), LAWS["shapley"]
    truth = game.semivalues(law)
    found = sample(game.cells(law), np.random.default_rng(100), Limits(coalitions=400))
    rough = [cell for cell in found.cells if cell.kind != "errors"]
    whole, alone = pair_gaps(found.cells, [[0, 6]]), pair_gaps(rough, [[0, 6]])
    assert abs(whole.gap[0] - truth[0] + truth[6]) <= 2 * whole.radius(0.05)[0]
    assert abs(alone.gap[0] - truth[0] + truth[6]) > 2 * alone.radius(0.05)[0]


def test_leave_one_out_is_certain_where_values_differ():
    game, law = KnownGame(), LAWS["loo"]
    found = sample(game.cells(law), np.random.default_rng(100), Limits())
    gaps = pair_gaps(found.cells, PAIRS)
    truth = game.semivalues(law)
    np.testing.assert_allclose(gaps.gap, truth[PAIRS[:, 0]] - truth[PAIRS[:, 1]])
    assert not gaps.stderr.any()
    for family in FAMILIES:
        assert gaps.certain(0.05, family).all()
    tie = Gaps(np.array([0.0, 1e-9, 1e-3]), np.zeros(3), np.full(3, np.inf))
    assert tie.certain(0.05).tolist() == [False, False, True]


def test_all_pairs_are_as_pairs_one_by_one(monkeypatch):
    game = KnownGame()
    found = sample(game.cells(LAWS["beta"]), np.random.default_rng(100), Limits(coalitions=150))
    pairs, gaps = all_gaps(found.cells)
    np.testing.assert_array_equal(pairs, PAIRS)
    monkeypatch.setattr(context, "TOGETHER", 200)
    alone = pair_gaps(found.cells, pairs)
    for name, array in vars(gaps).items():
        np.testing.assert_allclose(vars(alone)[name], array, rtol=1e-9)
    points = point_gaps(found.cells, threshold=0.1)
    np.testing.assert_allclose(points.gap, found.values[:, 0] - 0.1)
    np.testing.assert_allclose(points.stderr, found.stderr[:, 0])


def test_two_cells_are_welchs_test():
    """The p-value is that of Welch's test of two means, by scipy."""
    rng = np.random.default_rng(100)
    first, second = rng.normal(0.3, 1, size=(9, 2)), rng.normal(0.0, 3, size=(14, 2))
    half = Stratum(2, np.array([1]), 1.0, np.ones(1))
    cells = [Cell("predicted", half, KnownGame().exact), Cell("errors", half, KnownGame().exact)]
    cells[0].draws, cells[1].draws = list(first[..., None]), list(-second[..., None])
    found = point_gaps(cells)
    expected = ttest_ind(first, second, equal_var=False)
    np.testing.assert_allclose(found.p_values(), expected.pvalue, rtol=1e-9)
    interval = expected.confidence_interval(0.95)
    np.testing.assert_allclose(found.gap - found.radius(0.05), interval.low, rtol=1e-9)


def test_families_by_hand():
    # p-values of .001, .02, .03, .5 with very many degrees of freedom
    z = np.array([3.2905, 2.3263, 2.1701, 0.6745])
    gaps = Gaps(z, np.ones(4), np.full(4, 1e9))
    np.testing.assert_allclose(gaps.p_values(), [0.001, 0.02, 0.03, 0.5], rtol=1e-3)
    assert gaps.certain(0.05).tolist() == [True, True, True, False]
    assert gaps.certain(0.05, "bonferroni").tolist() == [True, False, False, False]
    # .03 ≤ 3/4·.05, so all below are certain too
    assert gaps.certain(0.05, "benjamini-hochberg").tolist() == [True, True, True, False]
    assert not Gaps(0.1 * z, np.ones(4), np.full(4, 1e9)).certain(0.05, "benjamini-hochberg").any()


def test_without_draws_a_gap_is_certain_beyond_the_tolerance_of_fits():
    gaps = Gaps(np.array([1.0, -1.0, 1.01]) * FIT_ERROR, np.zeros(3), np.full(3, np.inf))
    assert gaps.p_values().tolist() == [1.0, 1.0, 0.0]
    np.testing.assert_array_equal(gaps.radius(0.05), FIT_ERROR)
    with pytest.raises(ValueError, match="unknown family 'holm'; known: single, bonferroni"):
        gaps.certain(0.05, "holm")
    with pytest.raises(ValueError, match="alpha"):
        gaps.certain(0.0)


def test_bernstein_covers_and_is_wider():
    game, law = KnownGame(), LAWS["shapley"]
    truth = game.semivalues(law)
    gaps = truth[PAIRS[:, 0]] - truth[PAIRS[:, 1]]
    for seed in range(20):
        found = sample(game.cells(law), np.random.default_rng([100, seed]), Limits(coalitions=200))
        at, radius = (
            pair_gaps(found.cells, PAIRS),
            bernstein_radii(found.cells, PAIRS, (0, 1), 0.05),
        )
        assert (np.abs(at.gap - gaps) <= radius).all()
        assert (radius > at.radius(0.05)).all()


def test_shares_of_all_pairs():
    game = KnownGame()
    rng = np.random.default_rng(100)
    estimates = {
        name: sample(game.cells(LAWS[name]), rng, Limits(coalitions=200))
        for name in ("loo", "shapley")
    }
    rows = certified_shares(estimates, {"accuracy": (0.0, 1.0)}, 0.05, rng).set_index("semivalue")
    assert list(rows["pairs"]) == [21, 21]
    assert list(rows["utility"]) == ["accuracy"] * 2
    names = ["bernstein", "all", "discoveries", "one"]
    certified = rows[[f"certified_{name}" for name in names]]
    assert (certified.loc["loo"] == 1).all()
    assert certified.loc["shapley"].is_monotonic_increasing
    gaps = all_gaps(estimates["shapley"].cells)[1]
    assert rows.loc["shapley", "certified_all"] == gaps.certain(0.05, "bonferroni").mean()
    assert rows.loc["shapley", "coalitions"] == estimates["shapley"].coalitions


def test_too_many_points_for_all_pairs_are_refused(monkeypatch):
    game = KnownGame()
    found = sample(game.cells(LAWS["loo"]), np.random.default_rng(100), Limits())
    monkeypatch.setattr(context, "MOST_POINTS", 5)
    with pytest.raises(ValueError, match="7 points have 21 pairs: name the pairs to compare"):
        all_gaps(found.cells)
