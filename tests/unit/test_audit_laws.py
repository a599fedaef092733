"""Laws of coalitions against enumeration, closed forms and a χ² test."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from scipy.stats import betabinom, binom, chisquare

from nddv.audit.laws import check_pairs, draw_members, semivalue

SEED = 100
SEMIVALUES = ("loo", "shapley", "banzhaf", "beta")


def draw_sizes(law, shape, generator):
    return generator.choice(law.n - 1, size=shape, p=law.pair_sizes())


def draw_pair_coalitions(law, pairs, count, generator):
    """Independent coalitions (P, count, n) from the law of each of the pairs (P, 2)."""
    checked = check_pairs(pairs, law.n)
    sizes = draw_sizes(law, (len(checked), count), generator)
    return draw_members(law.n, checked, sizes, generator)


def rng(seed=SEED):
    return np.random.default_rng(seed)


def omega(name, n):
    """ω_k as fractions, from the definitions; Beta(4, 1) by factorials."""
    if name == "loo":
        return [Fraction(int(k == n - 1)) for k in range(n)]
    if name == "shapley":
        return [Fraction(1, n)] * n
    if name == "banzhaf":
        return [Fraction(comb(n - 1, k), 2 ** (n - 1)) for k in range(n)]
    # C(n−1, k) B(k+1, n−1−k+4) / B(1, 4)
    beta = [Fraction(factorial(k) * factorial(n + 2 - k), factorial(n + 3)) for k in range(n)]
    return [4 * comb(n - 1, k) * b for k, b in enumerate(beta)]


def pair_weight(name, n, size):
    """c_A of Eq. semivalue_pair_weights as a fraction."""
    p = [weight / comb(n - 1, k) for k, weight in enumerate(omega(name, n))]
    return p[size] + p[size + 1]


def all_coalitions(n):
    return (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("name", SEMIVALUES)
def test_pair_weights_are_a_law(name, n):
    """c_A ≥ 0 and Σ_A c_A = 1 over all subsets of n − 2 points."""
    law = semivalue(name, n)
    assert sum(omega(name, n)) == 1
    np.testing.assert_allclose(law.omega, np.array(omega(name, n), dtype=float), rtol=1e-12)
    sizes = all_coalitions(n - 2).sum(axis=1)
    exact = [pair_weight(name, n, int(size)) for size in sizes]
    assert sum(exact) == 1
    assert min(exact) >= 0
    by_size = np.bincount(sizes, np.array(exact, dtype=float))
    np.testing.assert_allclose(law.pair_sizes(), by_size, rtol=1e-12)
    assert law.pair_sizes().sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", SEMIVALUES)
def test_differences_of_semivalues_are_means_over_the_pair_law(name):
    """Eq. semivalue_pairwise_decomp for a game in which every coalition has its own utility."""
    n = 6
    table = rng().normal(size=2**n)
    coalitions, bits = all_coalitions(n), 1 << np.arange(n)
    values = np.zeros(n)
    for i in range(n):
        without = coalitions[~coalitions[:, i]]
        p = [float(w / comb(n - 1, k)) for k, w in enumerate(omega(name, n))]
        marginals = table[without @ bits + bits[i]] - table[without @ bits]
        values[i] = np.array(p)[without.sum(axis=1)] @ marginals
    c = semivalue(name, n).pair_sizes() / [comb(n - 2, k) for k in range(n - 1)]
    for i, j in [(0, 1), (4, 2), (3, 5)]:
        A = coalitions[~coalitions[:, i] & ~coalitions[:, j]]
        gaps = table[A @ bits + bits[i]] - table[A @ bits + bits[j]]
        assert c[A.sum(axis=1)] @ gaps == pytest.approx(values[i] - values[j], abs=1e-12)


@pytest.mark.parametrize("name", SEMIVALUES)
@pytest.mark.parametrize("n", [3, 5, 8])
def test_sampled_coalitions_follow_the_law(name, n):
    """χ² over all subsets of the other points, for several pairs drawn at once."""
    pairs = np.array([[0, 1], [n - 1, 0], [1, n - 1]])
    draws = 20_000
    members = draw_pair_coalitions(semivalue(name, n), pairs, draws, rng())
    assert members.shape == (3, draws, n)
    for pair, drawn in zip(pairs, members, strict=True):
        assert not drawn[:, pair].any()
        others = np.setdiff1d(np.arange(n), pair)
        counts = np.bincount(drawn[:, others] @ (1 << np.arange(n - 2)), minlength=2 ** (n - 2))
        sizes = all_coalitions(n - 2).sum(axis=1)
        expected = np.array([float(pair_weight(name, n, int(size))) for size in sizes]) * draws
        possible = expected > 0
        assert counts[~possible].sum() == 0
        if possible.sum() > 1:
            assert chisquare(counts[possible], expected[possible]).pvalue > 1e-3


def test_the_test_of_the_law_notices_another_law():
    n, draws = 8, 20_000
    members = draw_pair_coalitions(semivalue("shapley", n), [[0, 1]], draws, rng())[0]
    counts = np.bincount(members[:, 2:] @ (1 << np.arange(n - 2)), minlength=2 ** (n - 2))
    for other in ("banzhaf", "beta"):
        sizes = all_coalitions(n - 2).sum(axis=1)
        expected = [draws * float(pair_weight(other, n, int(size))) for size in sizes]
        assert chisquare(counts, expected).pvalue < 1e-100


@pytest.mark.parametrize("n", [2, 3, 1000, 10_000])
def test_sizes_have_closed_forms(n):
    """c_A = ∫ t^|A| (1−t)^{n−2−|A|} over the law of t: uniform, at one half, or Beta(β, α)."""
    size = np.arange(n - 1)
    shapley, banzhaf = (semivalue(name, n).pair_sizes() for name in ("shapley", "banzhaf"))
    np.testing.assert_allclose(shapley, 1 / (n - 1), rtol=1e-11)
    np.testing.assert_allclose(banzhaf, binom.pmf(size, n - 2, 0.5), rtol=1e-7, atol=1e-15)
    for alpha, beta in [(4, 1), (1, 4), (2.5, 3), (1, 1)]:
        law = semivalue(f"beta({alpha},{beta})", n).pair_sizes()
        np.testing.assert_allclose(law, betabinom.pmf(size, n - 2, beta, alpha), rtol=1e-7)
    np.testing.assert_array_equal(semivalue("loo", n).pair_sizes(), size == n - 2)


@pytest.mark.parametrize("name", SEMIVALUES)
def test_ten_thousand_points(name):
    law = semivalue(name, 10_000)
    assert law.omega.sum() == pytest.approx(1, abs=1e-9)
    assert not np.isnan(law.pair_sizes()).any()
    generator = rng()
    sizes = draw_sizes(law, (2, 3), generator)
    pairs = np.array([[9999, 0], [17, 40]])
    members = draw_members(10_000, pairs, sizes, generator)
    np.testing.assert_array_equal(members.sum(axis=2), sizes)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_leave_one_out_has_all_other_points(n):
    law = semivalue("loo", n)
    assert law.only_coalition()
    members = draw_pair_coalitions(law, [[n - 1, 0]], 4, rng())[0]
    expected = (np.arange(n) > 0) & (np.arange(n) < n - 1)
    np.testing.assert_array_equal(members, np.tile(expected, (4, 1)))


def test_other_laws_have_one_coalition_only_of_two_points():
    for name in ("shapley", "banzhaf", "beta"):
        assert semivalue(name, 2).only_coalition()
        assert not semivalue(name, 3).only_coalition()


def test_pairs_drawn_in_parts_are_those_drawn_at_once():
    pairs = np.array([[0, 1], [5, 2], [3, 4], [6, 0]])
    sizes = draw_sizes(semivalue("shapley", 7), (4, 5), rng())
    whole, parts = rng(), rng()
    at_once = draw_members(7, pairs, sizes, whole)
    first = draw_members(7, pairs[:1], sizes[:1], parts)
    rest = draw_members(7, pairs[1:], sizes[1:], parts)
    np.testing.assert_array_equal(np.concatenate([first, rest]), at_once)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="did you mean 'shapley'"):
        semivalue("shaply", 5)
    with pytest.raises(ValueError, match="at least two points"):
        semivalue("shapley", 1)
    with pytest.raises(ValueError, match="must be positive"):
        semivalue("beta(0,1)", 5)
    for pairs, message in [
        ([0, 1], "shape"),
        (np.empty((0, 2), int), "shape"),
        ([[0.0, 1.0]], "indices"),
        ([[0, 5]], "points 0 to 4"),
        ([[-1, 2]], "points 0 to 4"),
        ([[1, 2], [3, 3]], "point 3 twice"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_pairs(pairs, 5)
