"""Certificates: the theorem by enumeration, coverage by simulation, bounds by hand."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest

from nddv.audit import pairs as pairs_module
from nddv.audit.bounds import UTILITY_RANGES, bernstein_radius, hoeffding_radius, largest_error
from nddv.audit.certificates import BOUNDS, SAMPLES_ONLY, certify
from nddv.audit.laws import semivalue
from nddv.audit.pairs import PairUtilities, choose_pairs, pair_utilities
from nddv.coalitions import FLOOR, Fits, LogisticGame, predict
from nddv.support.settings import UTILITIES

SEED = 100
UNIT = (0.0, 1.0)
SAMPLED = ("shapley", "banzhaf", "beta")
SEMIVALUES = ("loo", *SAMPLED)


def rng(seed=SEED):
    return np.random.default_rng(seed)


class TableGame:
    """A game given by the utilities (2^n,) of all coalitions; counts what it is asked for."""

    def __init__(self, table):
        self.table, self.n, self.asked = table, int(np.log2(len(table))), 0

    def utilities(self, weights):
        self.asked += len(weights)
        return self.table[np.asarray(weights) @ (1 << np.arange(self.n))]


def all_coalitions(n):
    return (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1


def all_pairs(n):
    return np.array(list(combinations(range(n), 2)))


def enumerated(table, law, s, i, j):
    """𝓔_{ω,ij} and φ_{ω,i} − φ_{ω,j} over all coalitions."""
    n, bits = law.n, 1 << np.arange(law.n)
    coalitions = all_coalitions(n)
    A = coalitions[~coalitions[:, i] & ~coalitions[:, j]]
    c = (law.pair_sizes() / [comb(n - 2, k) for k in range(n - 1)])[A.sum(axis=1)]
    delta = [table[A @ bits + bits[k]] - table[A @ bits] for k in (i, j)]
    error = c @ (np.abs(s[i] - delta[0]) + np.abs(s[j] - delta[1]))

    def value(k):
        C = coalitions[~coalitions[:, k]]
        size = C.sum(axis=1)
        weight = law.omega[size] / np.array([comb(n - 1, int(a)) for a in size])
        return weight @ (table[C @ bits + bits[k]] - table[C @ bits])

    return error, value(i) - value(j)


# The theorem


@st.composite
def games_and_scores(draw):
    n = draw(st.integers(2, 6))
    numbers = st.floats(-1, 1, allow_subnormal=False)
    return draw(arrays(float, 2**n, elements=numbers)), draw(arrays(float, n, elements=numbers))


@given(games_and_scores(), st.sampled_from(SEMIVALUES))
def test_the_theorem_holds_for_every_game_and_score(game_and_score, name):
    table, s = game_and_score
    law = semivalue(name, len(s))
    for i, j in combinations(range(len(s)), 2):
        error, gap = enumerated(table, law, s, i, j)
        assert abs(s[i] - s[j] - gap) <= error + 1e-12
        for beyond, other in [(s[i] - s[j], gap), (gap, s[i] - s[j])]:
            if abs(beyond) > error + 1e-12:
                assert np.sign(beyond) == np.sign(other)


@pytest.mark.parametrize("name", SEMIVALUES)
def test_the_theorem_holds_for_scores_near_the_values(name):
    """Here the gap is often beyond the error, so that orders do have to agree."""
    draw, beyond = rng(), 0
    for _ in range(200):
        n = int(draw.integers(2, 7))
        a = draw.normal(size=n)
        table = all_coalitions(n) @ a + 0.1 * draw.normal(size=2**n)
        s, law = a + 0.1 * draw.normal(size=n), semivalue(name, n)
        for i, j in all_pairs(n):
            error, gap = enumerated(table, law, s, i, j)
            assert abs(s[i] - s[j] - gap) <= error + 1e-12
            if abs(s[i] - s[j]) > error:
                beyond += 1
                assert np.sign(s[i] - s[j]) == np.sign(gap)
    assert beyond > 500


@given(games_and_scores(), st.sampled_from(SAMPLED))
def test_the_theorem_holds_on_the_draws_themselves(game_and_score, name):
    """|s_i − s_j − sampled gap| ≤ Ê: why a certificate goes with an interval without zero."""
    table, s = game_and_score
    law = semivalue(name, len(s))
    sampled = pair_utilities(TableGame(table), law, all_pairs(len(s)), 5, rng())
    rows = certify(sampled, {"score": s}, (-1, 1))
    score = rows[rows["readout"] == "score"]
    control = rows[rows["readout"] == SAMPLES_ONLY]
    difference = score["score_gap"].to_numpy() - control["score_gap"].to_numpy()
    assert (np.abs(difference) <= score["error"] + 1e-12).all()


# Coverage


def toy_game(name):
    """Utilities (32,) in [0, 1] of all coalitions of five players, and scores (5,)."""
    n, draw = 5, rng()
    coalitions = all_coalitions(n)
    own = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    if name == "random":
        return draw.uniform(size=2**n), draw.normal(scale=0.3, size=n)
    if name == "nearly additive":
        return 0.9 * coalitions @ own + 0.1 * draw.uniform(size=2**n), own
    if name == "switch":
        # Points 0 and 1 matter, by one, if point 2 is there: errors of 0 or 2, as far as can be.
        switch = coalitions[:, 2] & (coalitions[:, 0] ^ coalitions[:, 1])
        return switch.astype(float), np.zeros(n)
    return (coalitions.sum(axis=1) >= n - 1).astype(float), np.zeros(n)


REPETITIONS = 1000


@pytest.mark.parametrize("game", ["random", "nearly additive", "switch", "rare"])
@pytest.mark.parametrize("name", SAMPLED)
def test_bounds_fail_no_more_often_than_they_may(game, name):
    """1000 repetitions with 40 coalitions for each of the ten pairs of five points.

    Counted are the failures of the pair with most of them, and for a union the repetitions in which
    any pair fails. Over all games and laws the largest counts for scores are, in the order of
    ``BOUNDS``, 16, 0, 2 and 0 of the 50 allowed at α = 0.05, and 91, 7, 8 and 0 of the 300 allowed
    at α = 0.3.
    """
    table, s = toy_game(game)
    law, pairs = semivalue(name, 5), all_pairs(5)
    error, gap = np.array([enumerated(table, law, s, i, j) for i, j in pairs]).T
    # every pair a thousand times, each time with coalitions of its own
    sampled = pair_utilities(TableGame(table), law, np.tile(pairs, (REPETITIONS, 1)), 40, rng())
    for alpha in (0.05, 0.3):
        rows = certify(sampled, {"score": s}, UNIT, alpha, family=len(pairs))
        score, control = (
            {column: part[column].to_numpy().reshape(REPETITIONS, len(pairs)) for column in part}
            for _, part in rows.groupby("readout", sort=False)
        )
        for bound in BOUNDS:
            wrong = [
                score[f"bound_{bound}"] < error - 1e-12,
                np.abs(control["score_gap"] - gap) > control[f"bound_{bound}"] + 1e-12,
            ]
            for rows_of in (score, control):
                other_order = np.sign(rows_of["score_gap"]) != np.sign(gap)
                wrong.append(rows_of[f"certified_{bound}"] & other_order)
            union = bound.endswith("union")
            counts = [w.any(axis=1).sum() if union else w.sum(axis=0).max() for w in wrong]
            assert max(counts) <= alpha * REPETITIONS
    if game == "switch":
        # The simulation does see failures, and a mean without a radius fails too often.
        assert (score["bound_hoeffding"] < error - 1e-12).any()
        assert (score["error"] < error - 1e-12).sum(axis=0).max() > alpha * REPETITIONS


def test_many_draws_certify_and_are_right():
    table, s = toy_game("nearly additive")
    pairs = all_pairs(5)
    for name in SAMPLED:
        law = semivalue(name, 5)
        sampled = pair_utilities(TableGame(table), law, pairs, 20_000, rng())
        gaps = np.array([enumerated(table, law, s, i, j)[1] for i, j in pairs])
        rows = certify(sampled, {"score": s}, UNIT, reference=(gaps, np.zeros(10)))
        score = rows[rows["readout"] == "score"]
        assert score["certified_bernstein_union"].sum() >= 2
        assert score.loc[score["certified_bernstein_union"], "agrees"].all()
        # fewer by the wider bound, and fewer at once than one by one
        assert (score["certified_hoeffding"] <= score["certified_bernstein"]).all()
        for bound in ("hoeffding", "bernstein"):
            assert (score[f"bound_{bound}_union"] > score[f"bound_{bound}"]).all()


# Bounds


@pytest.mark.parametrize("low_high", [UNIT, (-3.0, 0.0), UTILITY_RANGES["log_likelihood"]])
def test_largest_error_is_the_largest(low_high):
    """Attained at a corner of the cube of utilities, and exceeded nowhere in it."""
    low, high = low_high
    draw = rng()
    s = draw.normal(scale=draw.choice([0.01, 1, 10], size=(300, 1)), size=(300, 2))
    largest = largest_error(s, low_high)

    def errors(without, with_i, with_j):
        return np.abs(s[:, 0] - with_i + without) + np.abs(s[:, 1] - with_j + without)

    corners = np.max([errors(*corner) for corner in product(low_high, repeat=3)], axis=0)
    np.testing.assert_allclose(largest, corners, rtol=1e-12)
    for inside in draw.uniform(low, high, size=(200, 3)):
        assert (errors(*inside) <= largest + 1e-12).all()
    stated = np.abs(s).sum(axis=1) + 2 * (high - low)
    assert (largest <= stated + 1e-12).all()
    one_sign = s[:, 0] * s[:, 1] > 0
    np.testing.assert_allclose(largest[one_sign], stated[one_sign])
    assert (largest[~one_sign] < stated[~one_sign]).all()


def test_radii_by_hand():
    assert hoeffding_radius(2.0, 50, 0.05) == pytest.approx(2 * np.sqrt(2.995732273553991 / 100))
    log = np.log(40)
    expected = np.sqrt(2 * 0.09 * log / 50) + 7 * 2 * log / (3 * 49)
    assert bernstein_radius(0.09, 2.0, 50, 0.05) == pytest.approx(expected)
    assert bernstein_radius(0.0, 1.0, 2, 0.05) == pytest.approx(7 * log / 3)  # two draws will do


@pytest.mark.parametrize(("right", "end"), [(0, 0), (1, 1)])
def test_ranges_of_utilities_are_reached(right, end):
    """By a fit that is sure of one class, where all points have the other or the same."""
    sure = Fits(np.zeros((1, 1, 1)), np.array([[1e4]]), np.ones(1, bool), np.zeros(1, int))
    found = predict.scores(sure, np.zeros((5, 1)), np.full(5, right))[0]
    assert found == pytest.approx([UTILITY_RANGES[utility][end] for utility in UTILITIES])


def test_utilities_of_the_logistic_game_are_in_their_range():
    draw = rng()
    X, y = 20 * draw.normal(size=(12, 2)), draw.integers(0, 2, size=12)
    members = draw.random((300, 12)) < draw.random((300, 1))
    for utility in UTILITIES:
        game = LogisticGame(X, y, 1e4 * X, 1 - y, 2, C=1e3, utility=utility)
        low, high = UTILITY_RANGES[utility]
        found = game.utilities(members)
        assert low - 1e-9 <= found.min()
        assert found.max() <= high
        if utility == "log_likelihood":
            assert found.min() < np.log(FLOOR) / 2  # the floor does bind


# Utilities of pairs


@pytest.mark.parametrize("name", SEMIVALUES)
def test_utilities_are_those_of_coalitions_without_and_with_each_point(name):
    game = TableGame(np.arange(64.0))  # a utility names its coalition
    pairs = np.array([[1, 4], [5, 0]])
    sampled = pair_utilities(game, semivalue(name, 6), pairs, 30, rng())
    assert sampled.utilities.shape == (2, 1 if name == "loo" else 30, 3)
    for (i, j), (without, with_i, with_j) in zip(
        pairs, sampled.utilities.astype(int).transpose(0, 2, 1), strict=True
    ):
        assert not (without & (1 << i | 1 << j)).any()
        np.testing.assert_array_equal(with_i, without + (1 << i))
        np.testing.assert_array_equal(with_j, without + (1 << j))
    np.testing.assert_array_equal(sampled.gaps(), sampled.marginals() @ [1, -1])


def test_equal_coalitions_are_evaluated_once():
    game = TableGame(rng().normal(size=2**6))
    pair_utilities(game, semivalue("loo", 6), all_pairs(6), 10, rng())
    assert game.asked == 15 + 6  # without a pair, and without a point


def test_pieces_change_no_utility(monkeypatch):
    game, law = TableGame(rng().normal(size=2**7)), semivalue("shapley", 7)
    whole = pair_utilities(game, law, all_pairs(7), 6, rng())
    monkeypatch.setattr(pairs_module, "CHUNK_ELEMENTS", 3 * 6 * 7 * 4)
    pieces = pair_utilities(game, law, all_pairs(7), 6, rng())
    np.testing.assert_array_equal(pieces.utilities, whole.utilities)


def test_mean_gaps_have_no_bias_and_honest_standard_errors():
    table, law = rng().normal(size=2**6), semivalue("shapley", 6)
    pairs = np.repeat([[2, 5]], 2000, axis=0)
    mean, stderr = pair_utilities(TableGame(table), law, pairs, 30, rng()).mean_gaps()
    _, gap = enumerated(table, law, np.zeros(6), 2, 5)
    z = (mean - gap) / stderr
    assert abs(z.mean()) < 4 / np.sqrt(2000)
    assert z.std() == pytest.approx(1, abs=0.1)


# Rows


def test_leave_one_out_is_exact():
    draw = rng()
    table, s, pairs = draw.normal(size=2**6), draw.normal(size=6), all_pairs(6)
    bits = 1 << np.arange(6)
    loo = table[-1] - table[63 - bits]
    sampled = pair_utilities(TableGame(table), semivalue("loo", 6), pairs, 1, draw)
    rows = certify(sampled, {"score": s, "loo": loo})
    assert rows["exact"].all()
    assert (rows["coalitions"] == 1).all()
    i, j = pairs.T
    neither = 63 - bits[i] - bits[j]
    delta_i = table[neither + bits[i]] - table[neither]
    delta_j = table[neither + bits[j]] - table[neither]
    score = rows[rows["readout"] == "score"]
    np.testing.assert_allclose(score["error"], np.abs(s[i] - delta_i) + np.abs(s[j] - delta_j))
    np.testing.assert_allclose(score["score_gap"], s[i] - s[j])
    np.testing.assert_allclose(rows["reference_gap"], np.tile(loo[i] - loo[j], 3), atol=1e-12)
    assert (rows["reference_stderr"] == 0).all()
    for bound in BOUNDS:
        np.testing.assert_array_equal(rows[f"bound_{bound}"], rows["error"])
        certified = rows[rows[f"certified_{bound}"]]
        assert certified["agrees"].all()
    # without a score the order is known from the same utilities
    assert rows.loc[rows["readout"] == SAMPLES_ONLY, "certified_hoeffding"].all()
    assert rows.loc[rows["readout"] == "loo", "agrees"].all()


def test_rows_by_hand():
    """Two draws of one pair; numbers worked out on paper."""
    law, pairs = semivalue("shapley", 4), np.array([[3, 1]])
    utilities = np.array([[[0.5, 0.7, 0.4], [0.2, 0.6, 0.3]]])  # Δ: (0.2, −0.1), (0.4, 0.1)
    sampled = PairUtilities(law, pairs, utilities)
    s = np.array([9.0, 0.0, 9.0, 0.25])
    gaps = (np.array([0.3]), np.array([0.1]))
    score, control = certify(
        sampled, {"score": s}, UNIT, alpha=0.1, family=5, stratum=[2], reference=gaps
    ).to_dict("records")
    assert (score["i"], score["j"], score["stratum"], score["readout"]) == (3, 1, 2, "score")
    assert (score["semivalue"], score["coalitions"], score["exact"]) == ("shapley", 2, False)
    assert score["score_gap"] == pytest.approx(0.25)
    assert score["error"] == pytest.approx((0.15 + 0.25) / 2)  # (0.05 + 0.1), (0.15 + 0.1)
    assert score["largest_error"] == pytest.approx(2.25)
    radius = 2.25 * np.sqrt(np.log(50) / 4)
    assert score["bound_hoeffding_union"] == pytest.approx(0.2 + radius)
    assert score["margin_hoeffding_union"] == pytest.approx(0.25 - 0.2 - radius)
    radius = np.sqrt(2 * 0.005 * np.log(20) / 2) + 7 * 2.25 * np.log(20) / 3
    assert score["bound_bernstein"] == pytest.approx(0.2 + radius)
    assert not score["certified_bernstein"]
    assert score["agrees"] is True
    assert (control["readout"], control["error"]) == (SAMPLES_ONLY, 0)
    assert control["score_gap"] == pytest.approx(0.3)
    assert control["bound_hoeffding"] == pytest.approx(2 * np.sqrt(np.log(20) / 4))
    assert control["bound_hoeffding_union"] == pytest.approx(2 * np.sqrt(np.log(100) / 4))


def test_family_is_the_number_of_pairs_unless_given():
    sampled = pair_utilities(
        TableGame(rng().uniform(size=16)), semivalue("beta", 4), all_pairs(4), 9, rng()
    )
    bounds = [certify(sampled, {"score": np.zeros(4)}, UNIT, family=k) for k in (None, 6, 7)]
    pd.testing.assert_frame_equal(bounds[0], bounds[1])
    assert (bounds[2]["bound_bernstein_union"] > bounds[1]["bound_bernstein_union"]).all()
    alone = certify(sampled, {"score": np.zeros(4)}, UNIT, family=1)
    np.testing.assert_allclose(alone["bound_bernstein_union"], alone["bound_bernstein"])


def test_agreement_is_missing_where_the_reference_tells_no_order():
    law, pairs = semivalue("shapley", 4), np.array([[0, 1]] * 4)
    sampled = PairUtilities(law, pairs, np.full((4, 2, 3), 0.5))
    gaps = (np.array([0.3, -0.3, 0.3, 0.0]), np.array([0.1, 0.1, 0.2, 0.0]))
    rows = certify(sampled, {"score": np.array([1.0, 0, 0, 0])}, UNIT, reference=gaps)
    assert rows["agrees"][:4].tolist() == [True, False, pd.NA, pd.NA]
    rows = certify(sampled, {"score": np.array([1.0, 0, 0, 0])}, UNIT)
    assert rows["agrees"].isna().all()


def test_bad_input_is_refused():
    game, law, pairs = TableGame(rng().uniform(size=16)), semivalue("shapley", 4), all_pairs(4)
    with pytest.raises(ValueError, match="of 5 points, the game of 4"):
        pair_utilities(game, semivalue("shapley", 5), pairs, 10, rng())
    with pytest.raises(ValueError, match="at least two coalitions"):
        pair_utilities(game, law, pairs, 1, rng())
    sampled = pair_utilities(game, law, pairs, 10, rng())
    s = {"score": np.zeros(4)}
    for arguments, message in [
        (({},), "at least one readout"),
        (({SAMPLES_ONLY: np.zeros(4)}, UNIT), "none called"),
        (({"score": np.zeros(3)}, UNIT), "4 finite numbers"),
        (({"score": np.array([0, np.nan, 0, 0])}, UNIT), "4 finite numbers"),
        ((s,), "need utility_range"),
        ((s, (0.0, 0.5)), "are not in utility_range"),
        ((s, (1.0, 0.0)), "two finite numbers"),
        ((s, (-np.inf, 1.0)), "two finite numbers"),
        ((s, UNIT, 0.0), "alpha"),
        ((s, UNIT, 1.0), "alpha"),
        ((s, UNIT, 0.05, 0), "family"),
        ((s, UNIT, 0.05, None, [1, 2]), "stratum must have the shape"),
        ((s, UNIT, 0.05, None, None, (np.zeros(4), np.zeros(6))), "reference_gap must have"),
    ]:
        with pytest.raises(ValueError, match=message):
            certify(sampled, *arguments)
    with pytest.raises(ValueError, match="not finite"):
        certify(PairUtilities(law, pairs, np.full((6, 2, 3), np.nan)), s, UNIT)
    with pytest.raises(ValueError, match="two draws"):
        bernstein_radius(1.0, 1.0, 1, 0.05)


# Pairs


@pytest.mark.parametrize("n", [8, 60, 1000])  # all pairs are candidates, or a sample of them
def test_pairs_are_different_and_stratified_by_gap(n):
    scores = rng().normal(size=n)
    pairs, stratum = choose_pairs(scores, 26, rng(101))
    assert np.bincount(stratum).tolist() == [7, 7, 6, 6]
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert pairs.min() >= 0
    assert pairs.max() < n
    assert len(np.unique(pairs, axis=0)) == 26
    gap = np.abs(scores[pairs[:, 0]] - scores[pairs[:, 1]])
    every = np.abs(scores[:, None] - scores)[np.triu_indices(n, 1)]
    # quartiles of all pairs, up to the error of a sample of pairs
    ranks = np.searchsorted(np.sort(every), gap) / len(every)
    assert (ranks >= 0.25 * stratum - 0.02).all()
    assert (ranks <= 0.25 * (stratum + 1) + 0.02).all()
    again, _ = choose_pairs(scores, 26, rng(101))
    np.testing.assert_array_equal(again, pairs)


def test_pairs_are_from_anywhere_in_their_stratum():
    scores = rng().normal(size=100)
    pairs, stratum = choose_pairs(scores, 400, rng(101))
    every = np.sort(np.abs(scores[:, None] - scores)[np.triu_indices(100, 1)])
    gap = np.abs(scores[pairs[:, 0]] - scores[pairs[:, 1]])
    ranks = 4 * np.searchsorted(every, gap) / len(every) - stratum
    assert kstest(ranks, "uniform").pvalue > 1e-3


def test_every_pair_can_be_had_once():
    pairs, _ = choose_pairs(np.arange(9.0), 36, rng(), strata=5)
    np.testing.assert_array_equal(pairs[np.lexsort(pairs.T[::-1])], all_pairs(9))


def test_pairs_of_equal_scores_are_random():
    pairs, stratum = choose_pairs(np.zeros(30), 200, rng())
    assert np.bincount(stratum).tolist() == [50] * 4
    assert len(np.unique(pairs)) == 30
    mean = pairs.reshape(4, 50, 2).mean(axis=(1, 2))
    np.testing.assert_allclose(mean, 14.5, atol=3)


def test_pairs_of_ten_thousand_points():
    pairs, _ = choose_pairs(rng().normal(size=10_000), 100, rng())
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert pairs.max() > 9000


def test_bad_choices_of_pairs_are_refused():
    for scores, count, strata, message in [
        (np.zeros((3, 2)), 2, 1, "n finite numbers"),
        (np.array([0, np.inf, 1]), 2, 1, "n finite numbers"),
        (np.zeros(4), 7, 4, "6 pairs"),
        (np.zeros(4), 3, 4, "strata ≤ count"),
        (np.zeros(4), 3, 0, "strata ≤ count"),
        (np.zeros(1), 1, 1, "0 pairs"),
    ]:
        with pytest.raises(ValueError, match=message):
            choose_pairs(scores, count, rng(), strata)
