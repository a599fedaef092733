"""References: exact by enumeration, with a reliability that is right, and noise that is removed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from nddv.audit.absence import Absence
from nddv.audit.context import point_gaps
from nddv.audit.ranks import disattenuated
from nddv.audit.references import (
    check_predictions,
    correctable,
    rank_reliability,
    reweighted,
    sample_reference,
)
from nddv.coalitions import LogisticGame
from nddv.coalitions.contexts import Contexts, Marginals
from nddv.coalitions.predict import scores
from nddv.coalitions.sampling import Cell, Limits
from nddv.coalitions.strata import Stratum, octaves
from nddv.laws import LAWS
from nddv.support.settings import UTILITIES

SEED = 100
N = 8
LIKELIHOOD = UTILITIES.index("log_likelihood")


@cache
def game():
    """Eight points of three classes."""
    rng = np.random.default_rng(SEED)
    y, y_valid = np.array([0, 0, 0, 1, 1, 1, 2, 2]), np.array([0, 1, 2] * 5)
    centres = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
    X, X_valid = (centres[a] + rng.normal(size=(len(a), 2)) for a in (y, y_valid))
    return LogisticGame(X, y, X_valid, y_valid, 3, utility="log_likelihood")


@cache
def enumerated():
    """Marginals (2^n, n, U) at all coalitions, their members (2^n, n)."""
    codes, bits = np.arange(2**N), 1 << np.arange(N)
    members = codes[:, None] & bits > 0
    played = game()
    fits = played.engine.fit(members)
    utilities = scores(fits, played.X_valid, played.y_valid)
    return utilities[codes[:, None] | bits] - utilities[codes[:, None] & ~bits], members


def exact(law):
    marginals, members = enumerated()
    sizes = members.sum(axis=1)
    weights = LAWS[law].sizes(N)[sizes] / np.bincount(sizes)[sizes]
    return np.einsum("a,anu->nu", weights, marginals)


@cache
def drawn(law, corrected=True):
    contexts, absence = Contexts(game(), UTILITIES), Absence.of(game(), UTILITIES)
    rng = np.random.default_rng([SEED, 1])
    limits, loo = Limits(100), exact("loo")
    return sample_reference(contexts, LAWS[law], loo, rng, limits, corrected, absence)


def assert_near(estimate, law):
    """Within standard errors, for every utility."""
    error = np.abs(estimate.values - exact(law))
    assert (error < 4.5 * estimate.stderr + 1e-5).all()
    assert np.sqrt(np.mean((error / (estimate.stderr + 1e-5)) ** 2)) < 1.7


@pytest.mark.parametrize("law", ["shapley", "banzhaf"])
def test_references_are_the_exact_semivalues_within_their_errors(law):
    found = drawn(law)
    assert found.estimate.values.shape == (N, len(UTILITIES))
    assert_near(found.estimate, law)
    # not because the errors are large
    spread = exact(law).std(axis=0)
    assert (np.sqrt(np.square(found.estimate.stderr).mean(axis=0)) < spread).all()


def test_beta_values_come_from_the_draws_of_shapley():
    absence = Absence.of(game(), UTILITIES)
    found = reweighted(drawn("shapley"), LAWS["beta"], np.random.default_rng(SEED), absence)
    assert_near(found.estimate, "beta")
    assert np.abs(exact("beta") - exact("shapley"))[:, LIKELIHOOD].max() > 0.1
    plain = reweighted(drawn("shapley"), LAWS["shapley"], np.random.default_rng(SEED), absence)
    np.testing.assert_allclose(plain.estimate.values, drawn("shapley").estimate.values)


def test_the_noise_of_classes_that_appear_is_removed():
    found = drawn("shapley")
    noisy = point_gaps(found.met, utility=LIKELIHOOD).stderr
    assert np.square(found.estimate.stderr[:, LIKELIHOOD]).mean() < 0.5 * np.square(noisy).mean()
    for other in set(range(len(UTILITIES))) - {LIKELIHOOD}:
        same = point_gaps(found.met, utility=other).stderr
        np.testing.assert_array_equal(found.estimate.stderr[:, other], same)


def on_the_floor(members, y, shares):
    """−F/gain of coalitions (B, n), by its definition."""
    present = np.array([[(y[one] == c).any() for c in range(len(shares))] for one in members])
    return np.where(present.sum(axis=1) >= 2, ~present @ shares, 0.0)


def test_the_jumps_of_absent_classes_are_counted_right():
    y, y_valid = np.array([0, 0, 0, 1, 1, 2, 3]), np.array([0, 1, 2, 2, 3])
    n, shares = len(y), np.bincount(y_valid) / len(y_valid)
    absence = Absence(y, shares, np.array([2.0, 0.0]))
    codes, bits = np.arange(2**n), 1 << np.arange(n)
    members = codes[:, None] & bits > 0
    lost = on_the_floor(members, y, shares)
    expected = lost[codes[:, None] & ~bits] - lost[codes[:, None] | bits]
    np.testing.assert_allclose(absence.met(members), expected, atol=1e-12)
    sizes = members.sum(axis=1)
    for stratum in octaves(LAWS["beta"], n):
        means = [expected[sizes == size].mean(axis=0) for size in stratum.sizes]
        found = absence.mean(stratum)
        np.testing.assert_allclose(found[:, 0], 2 * stratum.shares @ means, atol=1e-12)
        assert not found[:, 1].any()


def test_two_classes_have_no_jumps():
    absence = Absence(np.array([0, 1, 0, 1]), np.array([0.5, 0.5]), np.ones(1))
    members = np.arange(16)[:, None] & (1 << np.arange(4)) > 0
    assert not absence.met(members).any()


def test_without_corrections_nothing_is_refitted_for_them():
    kinds = [cell.kind for cell in drawn("banzhaf", corrected=False).estimate.cells]
    assert "errors" not in kinds
    assert "errors" in [cell.kind for cell in drawn("banzhaf").estimate.cells]
    assert correctable(game())


def test_predictions_are_checked_by_fits():
    found = check_predictions(Contexts(game(), UTILITIES), np.random.default_rng(SEED))
    assert list(found) == list(UTILITIES)
    assert found["log_likelihood"] > 0.9


class Noisy:
    """Two hundred points with known values; by accuracy the marginals are mostly noise."""

    n, utilities = 200, ("accuracy", "log_likelihood")

    def __init__(self):
        self.rng = np.random.default_rng(SEED)
        self.truth = self.rng.normal(size=self.n)

    def predicted(self, members):
        noise = self.rng.normal(size=(len(members), self.n, 2)) * [40.0, 2.0]
        return Marginals(self.truth[:, None] + noise, np.zeros(len(members), int))


def test_drawing_ends_when_the_log_likelihood_is_reliable():
    game, none = Noisy(), np.zeros((200, 2))
    rng, limits = np.random.default_rng(SEED), Limits(5000, reliability=0.9)
    found = sample_reference(game, LAWS["banzhaf"], none, rng, limits, corrected=False)
    assert found.estimate.ended == "reliability"
    assert 20 < found.estimate.coalitions < 200
    assert 0.88 < found.reliability[1] < 0.97
    assert found.reliability[0] < 0.4
    known = spearmanr(found.estimate.values[:, 1], game.truth).statistic
    assert known == pytest.approx(np.sqrt(found.reliability[1]), abs=0.03)
    fewer = sample_reference(game, LAWS["banzhaf"], none, rng, Limits(12, reliability=0.9), False)
    assert fewer.estimate.ended == "coalitions"


def cells_of(truth, noise, draws, rng):
    """Two cells of draws (M, n, 1) around a truth (n,), and one that is exact."""
    n = len(truth)
    two = np.array([1, 2])
    strata = [Stratum(n, two, w, np.full(2, 0.5)) for w in (0.25, 0.75)]
    cells = [
        Cell("drawn", s, None, draws=list(truth[:, None] + noise * rng.normal(size=(draws, n, 1))))
        for s in strata
    ]
    single = Cell("exact", Stratum(n, np.array([n]), 1.0, np.ones(1)), None)
    single.draws = [np.zeros((n, 1))]
    return [*cells, single]


def test_the_reliability_is_the_correlation_of_two_samples():
    rng = np.random.default_rng(SEED)
    truth = rng.standard_t(4, size=1500)
    for noise in (1.0, 4.0):
        first, second = (cells_of(truth, noise, 12, rng) for _ in range(2))
        once, again = (point_gaps(cells).gap for cells in (first, second))
        expected = spearmanr(once, again).statistic
        assert rank_reliability(first, rng)[0] == pytest.approx(expected, abs=0.04)
    nothing = [cells_of(truth, 0.0, 2, rng)[-1]]
    assert rank_reliability(nothing, rng)[0] == 1.0


def test_disattenuation_recovers_a_known_correlation():
    rng = np.random.default_rng(SEED)
    truth = rng.normal(size=4000)
    values = 0.6 * truth + 0.8 * rng.normal(size=4000)
    known = spearmanr(values, truth).statistic
    cells = cells_of(truth, 4.0, 12, rng)
    reliability = rank_reliability(cells, rng)[0]
    assert 0.3 < reliability < 0.7
    raw = spearmanr(values, point_gaps(cells).gap).statistic
    exact_rho, capped = disattenuated(raw, reliability)
    assert raw < known - 0.1
    assert exact_rho == pytest.approx(known, abs=0.04)
    assert not capped
    assert disattenuated(-0.9, 0.5) == (-1.0, True)
    assert np.isnan(disattenuated(0.1, 0.29)[0])
    assert np.isnan(disattenuated(0.1, np.nan)[0])
