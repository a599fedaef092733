"""Mixing laws: the identity by enumeration, sizes against closed forms, levels by quadrature."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import beta as beta_law
from scipy.stats import betabinom, binom

from nddv.laws import LAWS, Law, beta_shapley_law, find_law

NAMES = [*LAWS, "beta(1,1)", "beta(16,1)", "beta(1,4)", "beta(0.5,0.5)"]


def semivalues(table, n, omega):
    """φ (n,) by the definition: a weighted sum of marginals over all coalitions."""
    coalitions, bits = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1, 1 << np.arange(n)
    weights = omega / [comb(n - 1, k) for k in range(n)]
    values = np.empty(n)
    for i in range(n):
        without = coalitions[~coalitions[:, i]]
        marginals = table[without @ bits + bits[i]] - table[without @ bits]
        values[i] = weights[without.sum(axis=1)] @ marginals
    return values


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("name", NAMES)
def test_one_law_of_coalitions_gives_the_values_of_all_points_at_once(name, n):
    """φ_i = E[Δ_i(A∖i)], with the sizes of A drawn by the law, for every i."""
    law, table = find_law(name), np.random.default_rng(100).normal(size=2**n)
    members, bits = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1, 1 << np.arange(n)
    sizes = members.sum(axis=1)
    probability = law.sizes(n)[sizes] / [comb(n, k) for k in sizes]
    assert probability.sum() == pytest.approx(1)
    code = members @ bits
    marginals = table[code[:, None] | bits] - table[code[:, None] & ~bits]
    np.testing.assert_allclose(
        probability @ marginals, semivalues(table, n, law.omega(n)), atol=1e-13
    )


@pytest.mark.parametrize("n", [7, 1000])
def test_sizes_are_mixtures_of_binomials(n):
    k = np.arange(n + 1)
    np.testing.assert_allclose(LAWS["loo"].sizes(n), k == n)
    np.testing.assert_allclose(LAWS["shapley"].sizes(n), np.full(n + 1, 1 / (n + 1)), rtol=1e-9)
    np.testing.assert_allclose(LAWS["banzhaf"].sizes(n), binom(n, 0.5).pmf(k), atol=1e-12)
    # α = 4 favours small coalitions: the exponents change places
    np.testing.assert_allclose(LAWS["beta"].sizes(n), betabinom(n, 1, 4).pmf(k), rtol=1e-9)


def test_levels_are_where_the_law_is():
    assert [a.tolist() for a in LAWS["loo"].levels(50)] == [[1.0], [1.0]]
    assert [a.tolist() for a in LAWS["banzhaf"].levels(50)] == [[0.5], [1.0]]
    t, weights = LAWS["shapley"].levels(50)
    assert 1 / 50 < t.min() < 0.03
    assert 0.9 < t.max() < 1
    assert weights.sum() == pytest.approx(1 - 1 / 50)


@pytest.mark.parametrize("name", ["shapley", "beta", "beta(1,4)", "beta(100,100)"])
def test_levels_integrate_what_falls_like_a_power_of_the_share(name):
    law, n = find_law(name), 1000
    density = beta_law(*law.exponents).pdf

    def slope(t):
        return 1 / (0.05 + t) ** 1.5

    expected, _ = quad(lambda t: slope(t) * density(t), 1 / n, 1, limit=200)
    t, weights = law.levels(n)
    assert weights @ slope(t) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_quadrature_is_exact_for_polynomials(name):
    law = find_law(name)
    t, weights = law.quadrature(4)
    a, b = law.exponents
    for power in range(8):
        moment = np.exp(betaln(a + power, b) - betaln(a, b))
        exact = moment if law.share is None else law.share**power
        assert weights @ t**power == pytest.approx(exact, rel=1e-10)


def test_laws_are_found_by_name():
    assert find_law("beta( 4 , 1 )") == find_law("beta") == beta_shapley_law(4, 1)
    assert find_law("beta(1,1)").exponents == LAWS["shapley"].exponents == (1, 1)
    assert find_law("shapley") == Law("shapley")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shaply", "unknown semi-value 'shaply'; did you mean 'shapley'"),
        ("nucleolus", "unknown semi-value 'nucleolus'; known: loo, banzhaf, shapley, beta"),
        ("beta(0,1)", "must be positive, got 0.0 and 1.0"),
        ("beta(4,-1)", "must be positive, got 4.0 and -1.0"),
        ("beta(nan,1)", "must be positive"),
        ("beta(x,1)", "α and β are two numbers"),
        ("beta(4)", "did you mean"),
    ],
)
def test_what_is_no_law_is_refused(name, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        find_law(name)
