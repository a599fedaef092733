"""Stratified sampling: octaves, allocation, limits, and estimates of games with known values."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from nddv.coalitions.contexts import Marginals
from nddv.coalitions.sampling import PILOT, Cell, Limits, _allocation, reliability, sample
from nddv.coalitions.strata import Stratum, octaves
from nddv.laws import LAWS, find_law
from nddv.support.wording import InputError

NAMES = [*LAWS, "beta(1,4)"]


def test_the_last_draw_goes_to_the_cell_that_lacks_most():
    """Where rounding leaves no cell a whole draw; not to one that already has too many."""
    cells = []
    for count, spread in ((40, 0.1), (10, 1.0), (10, 1.2)):
        cell = Cell("predicted", Stratum(2, np.array([1]), 1.0, np.ones(1)), None)
        cell.draws = list(spread * np.resize([1.0, -1.0], (count, 1, 1)))
        cells.append(cell)
    (found,) = _allocation(cells, Limits(coalitions=61))
    assert found == (cells[2], 1)


class TableGame:
    """The utilities of all coalitions of n points are drawn once; all marginals are exact."""

    def __init__(self, n=8, seed=100, utilities=1):
        self.n, self.asked = n, 0
        self.table = np.random.default_rng(seed).normal(size=(2**n, utilities))
        sizes = np.array([bin(code).count("1") for code in range(2**n)])
        self.table[sizes < n / 2] *= 5  # small coalitions vary more

    def marginals(self, members):
        self.asked += len(members)
        bits = 1 << np.arange(self.n)
        code = (members @ bits)[:, None]
        found = self.table[code | bits] - self.table[code & ~bits]
        return Marginals(found, np.zeros(len(members), dtype=int))

    def semivalues(self, law):
        codes = np.arange(2**self.n)
        members = (codes[:, None] >> np.arange(self.n)) % 2 == 1
        sizes = members.sum(axis=1)
        probability = law.sizes(self.n)[sizes] / [comb(self.n, k) for k in sizes]
        return np.einsum("c,cnu->nu", probability, self.marginals(members).marginals)

    def cells(self, law):
        return [Cell("exact", stratum, self.marginals) for stratum in octaves(law, self.n)]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_octaves_hold_all_sizes_once_with_their_probabilities(name, n):
    law = find_law(name)
    strata = octaves(law, n)
    sizes = np.concatenate([stratum.sizes for stratum in strata])
    assert len(np.unique(sizes)) == len(sizes)
    found = np.zeros(n + 1)
    for stratum in strata:
        found[stratum.sizes] = stratum.weight * stratum.shares
        assert stratum.sizes[-1] < 2 * max(stratum.sizes[0], 1)
    np.testing.assert_allclose(found, law.sizes(n), atol=1e-11)
    assert [s.sizes[0] for s in strata if s.single] == [
        k for k in (0, n) if law.sizes(n)[k] > 1e-12
    ]


@pytest.mark.parametrize("name", NAMES)
def test_small_octaves_are_joined(name):
    law = find_law(name)
    strata = octaves(law, 1000, least=0.02)
    sizes = np.concatenate([stratum.sizes for stratum in strata])
    assert len(np.unique(sizes)) == len(sizes)
    found = np.zeros(1001)
    for stratum in strata:
        found[stratum.sizes] = stratum.weight * stratum.shares
    np.testing.assert_allclose(found, law.sizes(1000), atol=1e-11)
    drawn = [stratum for stratum in strata if not stratum.single]
    assert all(stratum.weight >= 0.02 for stratum in drawn[:-1])
    assert len(strata) <= len(octaves(law, 1000))
    if name == "shapley":
        assert [s.sizes[0] for s in strata] == [0, 1, 32, 64, 128, 256, 512, 1000]


def test_draws_have_their_sizes_and_favour_no_point():
    stratum = octaves(LAWS["beta"], 20)[4]
    members = stratum.draw(20_000, np.random.default_rng(100))
    share = np.bincount(members.sum(axis=1), minlength=21)[stratum.sizes] / 20_000
    np.testing.assert_allclose(share, stratum.shares, atol=0.015)
    np.testing.assert_allclose(members.mean(axis=0), members.mean(), atol=0.015)


@pytest.mark.parametrize("name", NAMES)
def test_estimates_are_unbiased_and_their_errors_are_told(name):
    """Over repetitions, errors in units of their standard errors have mean 0 and spread 1."""
    game, law = TableGame(utilities=2), find_law(name)
    truth = game.semivalues(law)
    errors = []
    for seed in range(100, 160):
        limits = Limits(coalitions=120)
        found = sample(game.cells(law), np.random.default_rng(seed), limits)
        assert found.coalitions <= 120
        if name == "loo":
            assert found.ended == "exact"
            np.testing.assert_allclose(found.values, truth, atol=1e-12)
            assert not found.stderr.any()
            return
        errors.append((found.values - truth) / found.stderr)
    assert np.abs(np.mean(errors)) < 0.25
    assert 0.8 < np.std(errors) < 1.3


def test_more_is_drawn_where_it_varies_and_costs_little():
    game, law = TableGame(), LAWS["shapley"]
    cells = game.cells(law)
    found = sample(cells, np.random.default_rng(100), Limits(coalitions=600))
    drawn = {int(cell.stratum.sizes[0]): len(cell.draws) for cell in cells}
    assert found.ended == "coalitions"
    assert 590 <= found.coalitions <= 600
    assert drawn[0] == drawn[8] == 1
    assert drawn[2] > 2 * drawn[1]  # twice the weight, the same spread
    dear = game.cells(law)
    for cell in dear:
        cell.cost = 100.0 if cell.stratum.sizes[0] == 2 else 1.0
    sample(dear, np.random.default_rng(100), Limits(coalitions=600))
    assert len(dear[2].draws) < len(cells[2].draws) / 2


def test_sampling_ends_at_the_limit_that_is_reached_first():
    game, law = TableGame(), LAWS["shapley"]

    def ended(**limits):
        found = sample(game.cells(law), np.random.default_rng(100), Limits(**limits))
        return found.ended, found

    name, found = ended(reliability=0.5, coalitions=10_000)
    assert name == "reliability"
    assert found.reliability[0] >= 0.5
    name, found = ended(precision=0.2, coalitions=10_000)
    assert name == "precision"
    assert np.sqrt(np.mean(found.stderr**2)) <= 0.2
    name, found = ended(seconds=0.3, coalitions=10_000_000)
    assert name == "seconds"
    assert found.seconds < 1.5
    assert found.record()["ended"] == "seconds"


def test_the_same_generator_draws_the_same():
    game = TableGame()
    found = [
        sample(game.cells(LAWS["beta"]), np.random.default_rng(7), Limits(coalitions=200))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(found[0].values, found[1].values)


def test_a_time_too_short_for_the_pilot_is_an_error_that_says_what_is_needed():
    game = TableGame()
    with pytest.raises(InputError, match="seconds=1e-09 is too short: the pilot of 4 coalitions"):
        sample(game.cells(LAWS["shapley"]), np.random.default_rng(100), Limits(seconds=1e-9))
    assert game.asked < PILOT * 5
    with pytest.raises(ValueError, match="pilot must be at least 2"):
        sample(game.cells(LAWS["shapley"]), np.random.default_rng(100), Limits(), pilot=1)


def test_reliability_by_hand():
    values, stderr = np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([[0.5, 0.0], [0.5, 0.0]])
    np.testing.assert_allclose(reliability(values, stderr), [0.75, 1.0])
    np.testing.assert_allclose(reliability(values, 3 * stderr), [0.0, 1.0])


def test_a_game_without_spread_ends_at_once():
    game = TableGame()
    game.table[:] = np.array([bin(code).count("1") for code in range(256)])[:, None]
    found = sample(game.cells(LAWS["shapley"]), np.random.default_rng(100), Limits())
    assert found.ended == "no spread"
    np.testing.assert_allclose(found.values, 1.0)
