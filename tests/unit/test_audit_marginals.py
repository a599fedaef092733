"""Reference marginals by enumeration, error terms by hand, rank correlations with what is known."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from nddv.audit.errors import error_terms, gap_quantiles, normalised, scale_factor
from nddv.audit.marginals import Marginals, from_arrays, reference_marginals, to_arrays
from nddv.audit.ranks import rank_correlations
from nddv.baselines.semivalues import beta_weights
from nddv.coalitions.contexts import Marginals as AtCoalitions
from nddv.coalitions.sampling import Limits
from nddv.support.files import load_arrays, save_arrays

SEED = 100


class TableGame:
    """Four players; the utilities of their sixteen coalitions are drawn once, twice over."""

    n = 4
    utilities = ("log_likelihood", "probability")

    def __init__(self):
        self.tables = np.random.default_rng(SEED).random((16, 2))
        self.table = self.tables[:, 0]
        self.loo = self.tables[15] - self.tables[[14, 13, 11, 7]]
        self.seen = []

    def exact(self, members):
        self.seen.append(members)
        bits = 1 << np.arange(4)
        code = (members @ bits)[:, None]
        marginals = self.tables[code | bits] - self.tables[code & ~bits]
        return AtCoalitions(marginals, np.zeros(len(members), int))

    def predicted(self, members):
        return AtCoalitions(0.9 * self.exact(members).marginals, np.zeros(len(members), int))

    def errors(self, members):
        return AtCoalitions(0.1 * self.exact(members).marginals, np.zeros(len(members), int))


def of(loo, deviation):
    zero = np.zeros(len(loo))
    reliable = [np.ones(1)] * 3
    return Marginals(np.asarray(loo, float), *[zero] * 6, *reliable, np.asarray(deviation, float))


def referred(coalitions=4000, seed=SEED):
    game = TableGame()
    rng = np.random.default_rng(seed)
    (found, other), _ = reference_marginals(game, game.loo, rng, Limits(coalitions))
    return game, found, other


def test_marginals_are_those_of_the_coalitions():
    game, found, other = referred()
    everyone = game.table[15]
    np.testing.assert_array_equal(found.loo, everyone - game.table[[14, 13, 11, 7]])
    np.testing.assert_array_equal(other.loo, game.loo[:, 1])
    shapley, beta, deviation = np.zeros((3, 4))
    for order in permutations(range(4)):
        before = 0
        for size, i in enumerate(order):
            marginal = (game.table[before | 1 << i] - game.table[before]) / 24
            shapley[i] += marginal
            beta[i] += beta_weights(4, 4.0, 1.0)[size] * marginal
            # predictions are 0.9 of the marginals; the coalition of all is exact
            deviation[i] += np.abs(0.9 * 24 * marginal - found.loo[i]) / 24
            before |= 1 << i
    values, stderr = found.semivalue("shapley")
    assert (np.abs(values - shapley) < 4 * stderr).all()
    values, stderr = found.semivalue("beta")
    assert (np.abs(values - beta) < 4 * stderr).all()
    assert np.abs(beta - shapley).max() > 0.05
    masks = np.arange(16)
    banzhaf = [
        np.mean(game.table[masks | 1 << i] - game.table[masks & ~(1 << i)]) for i in range(4)
    ]
    assert (np.abs(found.banzhaf - banzhaf) < 4 * found.banzhaf_stderr).all()
    np.testing.assert_allclose(found.deviation, deviation, rtol=0.35)
    total = everyone - game.table[0]
    assert found.shapley.sum() == pytest.approx(total, abs=4 * found.shapley_stderr.sum())
    with pytest.raises(ValueError, match="unknown semi-value 'core': loo, shapley"):
        found.semivalue("core")


def test_the_same_generator_draws_the_same_coalitions():
    first, second = (referred(60)[0].seen for _ in range(2))
    assert len(first) > 20
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_marginals_survive_a_file(tmp_path):
    _, found, _ = referred(60)
    save_arrays(
        tmp_path / "marginals.npz", **to_arrays({"accuracy": found, "log_likelihood": found})
    )
    again = from_arrays(load_arrays(tmp_path / "marginals.npz"))
    assert list(again) == ["accuracy", "log_likelihood"]
    for name, array in vars(found).items():
        np.testing.assert_array_equal(vars(again["log_likelihood"])[name], array)


def test_the_scale_is_that_of_least_squares_and_never_turns_scores_round():
    rng = np.random.default_rng(SEED)
    scores = rng.normal(size=50)
    marginals = 3 * scores + rng.normal(size=50)
    expected = np.linalg.lstsq(scores[:, None], marginals, rcond=None)[0][0]
    assert scale_factor(scores, marginals) == pytest.approx(expected)
    assert np.isnan(scale_factor(-scores, marginals))
    assert np.isnan(scale_factor(np.zeros(50), marginals))


def test_error_terms_by_hand():
    marginals = of([4.0, 1.0, 3.0], [5.0, 1.0, 1.0])
    scores = {"a": np.array([2.0, 1.0, 2.0])}
    found = error_terms(scores, {"a"}, marginals, np.array([0]))
    raw, calibrated, zero = found.to_dict("records")
    assert raw["scale"] == "raw"
    assert raw["epsilon_ref"] == pytest.approx(
        0.5
    )  # |1 − 1|, |2 − 3|; the first point is not audited
    assert raw["delta_ctx"] == pytest.approx(2.0)  # twice the mean of 1 and 1
    assert raw["envelope"] == pytest.approx(3.0)
    assert raw["loo_range"] == 3.0
    assert calibrated["factor"] == pytest.approx(2.0)  # of the first point
    assert calibrated["epsilon_ref"] == pytest.approx(1.0)  # |2 − 1|, |4 − 3|
    assert zero["readout"] == "zero"
    assert zero["epsilon_ref"] == pytest.approx(2.0)


def test_the_envelope_bounds_the_mean_pair_error():
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        s, loo, walks = rng.normal(size=10), rng.normal(size=10), rng.normal(size=(6, 10))
        deviation = np.abs(walks - loo).mean(axis=0)
        row = error_terms({"a": s}, {"a"}, of(loo, deviation), np.array([8, 9])).iloc[0]
        errors = np.abs(s - walks).mean(axis=0)[:8]
        i, j = np.triu_indices(8, k=1)
        assert np.mean(errors[i] + errors[j]) <= row["envelope"] + 1e-12


def test_scores_in_other_units_are_not_audited_raw():
    marginals = of([0.0, 1.0], np.ones(2))
    one = np.array([0])
    found = error_terms({"terminal": np.array([-1.0, 1.0])}, {"participation"}, marginals, one)
    assert list(found["readout"]) == ["terminal", "zero"]
    assert found["scale"].iloc[0] == "calibrated"
    for nobody in (np.array([], int), np.array([0, 1])):
        with pytest.raises(ValueError, match="calibration must be some of the 2 points"):
            error_terms({}, set(), marginals, nobody)


def test_gap_quantiles_by_hand():
    row = gap_quantiles(of([0.0, 1.0, 3.0], np.zeros(3))).iloc[0]
    assert row["gap_50"] == 2.0  # of 1, 2, 3
    assert row["loo_range"] == 3.0


def test_noisy_and_clean_rows_have_the_unit_of_the_noisy_problem():
    same = {"dataset": "a", "n": 10, "utility": "accuracy"}
    rows = pd.DataFrame(
        [
            {**same, "seed": 0, "corruption": "label10", "loo_range": 4.0, "x": 2.0},
            {**same, "seed": 0, "corruption": "clean", "loo_range": 1.0, "x": 2.0},
            {**same, "seed": 1, "corruption": "clean", "loo_range": 1.0, "x": 2.0},
            {**same, "seed": 2, "corruption": "label10", "loo_range": 0.0, "x": 2.0},
        ]
    )
    found = normalised(rows, ["x"])["x"]
    assert list(found[:3]) == [0.5, 0.5, 2.0]
    assert np.isnan(found[3])
    with pytest.raises(ValueError, match="several kinds of noise"):
        normalised(pd.concat([rows, rows.assign(corruption="feature10")]), ["x"])


def test_rank_correlations_with_known_answers():
    rng = np.random.default_rng(SEED)
    truth = rng.normal(size=400)
    sampled, noisy = truth + 0.25 * rng.normal(size=400), truth + rng.normal(size=400)
    reliable = [np.array([share]) for share in (16 / 17, 0.2, 1.0)]
    none = np.zeros((4, 400))
    exact = Marginals(truth, sampled, none[0], noisy, *none[:3], *reliable, none[3])
    values = {"same": np.exp(truth), "opposite": -truth, "flat": np.ones(400)}
    values |= {"sample": sampled, "none": np.empty(0)}
    found = rank_correlations(values, exact).set_index(["method", "reference"])
    assert found.loc[("same", "loo"), "spearman"] == pytest.approx(1)
    assert found.loc[("opposite", "loo"), "disattenuated"] == pytest.approx(-1)
    assert np.isnan(found.loc[("flat", "loo"), "spearman"])
    of_sample = found.xs("shapley", level="reference")
    assert (of_sample["reliability"] == 16 / 17).all()
    # no noise of the reference is left in the correlation with what it is a sample of
    assert of_sample.loc["same", "disattenuated"] == pytest.approx(1, abs=0.02)
    assert not found.loc[("same", "loo"), "capped"]
    # a correlation above the root of the reliability: the two have noise in common
    assert of_sample.loc["sample", "disattenuated"] == 1.0
    assert of_sample.loc["sample", "capped"]
    # too noisy to tell
    assert found.xs("banzhaf", level="reference")["disattenuated"].isna().all()
    assert found.loc["none", "spearman"].isna().all()
