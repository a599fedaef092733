"""Typical features, and outliers among them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from nddv.baselines import typicality as rule
from nddv.checks.features import TAIL, find_outliers, typicality
from nddv.evaluation.detection import f1_score, flag_lowest
from nddv.methods.valuation import value
from nddv.problems import make_problem
from nddv.support.wording import InputError
from nddv.values import NoValues

SEED = 100


def normal(n=400, d=6, seed=SEED):
    return np.random.default_rng(seed).normal(size=(n, d))


# ------------------------------------------------------------------ the parts of the score


@pytest.mark.parametrize("k", [1, 2, 5, 11, 29])
def test_nearest_values_are_those_of_brute_force(k):
    rng = np.random.default_rng(SEED)
    columns = np.column_stack(
        [rng.normal(size=30), rng.integers(0, 4, 30), rng.integers(0, 12, 30), np.arange(30) ** 2]
    ).astype(float)
    apart = np.abs(columns[:, None] - columns[None])  # an entry itself is first, at 0
    expected = np.sort(apart, axis=1)[:, k]
    np.testing.assert_allclose(rule.nearest_values(columns, k), expected)


def test_rarity_sums_columns_whatever_the_chunks(monkeypatch):
    X = rule.standardise(normal(50, 7))
    whole = rule.rarity(X)
    np.testing.assert_allclose(whole, sum(rule.rarity(X[:, [j]]) for j in range(7)))
    monkeypatch.setattr(rule, "CHUNK_ELEMENTS", 100)
    np.testing.assert_allclose(rule.rarity(X), whole)


@pytest.mark.parametrize("d", [3, 90])
def test_remoteness_is_that_of_brute_force(d, monkeypatch):
    X = rule.standardise(normal(40, d) @ normal(d, d, 1))
    rows = X @ rule.decorrelation(X)
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    expected = np.log(np.sort(apart, axis=1)[:, 1:6].mean(axis=1) / np.sqrt(rows.shape[1]))
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(rule.remoteness(X, rng, 40), expected)
    monkeypatch.setattr(rule, "CHUNK_ELEMENTS", 100)
    np.testing.assert_allclose(rule.remoteness(X, rng, 40), expected)


def test_decorrelation_turns_the_shrunken_covariance_into_the_identity():
    from sklearn.covariance import LedoitWolf

    X = normal(60, 5) @ normal(5, 5, 1)
    X -= X.mean(axis=0)
    turned = rule.decorrelation(X)
    covariance = LedoitWolf(assume_centered=True).fit(X).covariance_
    np.testing.assert_allclose(turned.T @ covariance @ turned, np.eye(5), atol=1e-9)


def test_a_sample_of_references_gives_nearly_the_same_scores():
    X = normal(3000, 5)
    X[:30] += 6
    whole = typicality(X)

    def part(seed, references):
        return rule.typicality(X, np.random.default_rng(seed), references=references)

    np.testing.assert_array_equal(whole, part(1, 3000))
    assert np.corrcoef(whole, part(0, 500))[0, 1] > 0.95
    np.testing.assert_array_equal(part(0, 500), part(0, 500))
    assert not np.array_equal(part(0, 500), part(1, 500))
    assert set(np.argsort(part(0, 500))[:30]) == set(range(30))
    assert np.isfinite(part(0, 1)).all()


def test_the_scale_is_that_of_the_upper_quartile():
    np.testing.assert_allclose(rule.upper_scale(np.arange(9.0)), (np.arange(9) - 4) / 2)
    # most are equal: an excess of mean 1 has its upper quartile at ln 2
    np.testing.assert_allclose(rule.upper_scale(np.array([0.0] * 9 + [10.0]))[-1], 10 / np.log(2))
    np.testing.assert_array_equal(rule.upper_scale(np.full(9, 3.0)), 0)


# ------------------------------------------------------------------ what it finds


@pytest.mark.parametrize("corruption", ["feature10", "gauss10"])
@pytest.mark.parametrize("dataset", ["2dplanes", "fire"])
def test_noise_in_features_is_found(dataset, corruption):
    problem, truth = make_problem(dataset, 1000, corruption, SEED)
    values = value("features", problem, 0).values
    flags = flag_lowest(values, int(truth.mask.sum()), np.random.default_rng(0))
    assert f1_score(flags, truth.mask) > (0.99 if dataset == "2dplanes" else 0.75)


def test_a_broken_dependence_is_remote_though_no_entry_is_rare():
    rng = np.random.default_rng(SEED)
    X = np.repeat(rng.normal(size=(500, 1)), 4, axis=1) + 0.05 * rng.normal(size=(500, 4))
    X[7] = [1, -1, 1, -1]
    check = find_outliers(X)
    assert check.scores.argmin() == 7
    assert check.outlier[7]
    assert check.way[7] == "remote"


def test_a_value_between_those_of_a_column_is_rare():
    X = np.random.default_rng(SEED).integers(0, 3, (500, 8)).astype(float)
    X[7, 2] = 1.4
    check = find_outliers(X)
    assert check.scores.argmin() == 7
    assert check.outlier[7]
    assert check.way[7] == "rare"
    assert check.outlier.sum() == 1


@pytest.mark.parametrize("d", [2, 20, 600])
def test_few_rows_of_clean_data_are_outliers(d):
    shares = [find_outliers(normal(300, d, seed)).outlier.mean() for seed in range(100, 105)]
    assert np.mean(shares) <= 0.01


def test_few_rows_of_discrete_data_are_outliers():
    problem, _ = make_problem("2dplanes", 1000, "clean", SEED)
    assert find_outliers(problem.X_train).outlier.mean() <= 0.01


def test_tails_and_outliers_follow_from_the_scores():
    X = normal(500, 3)
    X[0] = 50
    check = find_outliers(X)
    np.testing.assert_allclose(check.tail, np.minimum(1, 2.0**check.scores))
    np.testing.assert_array_equal(check.outlier, check.tail < TAIL)
    assert check.outlier[0]
    assert 0.2 < (check.tail == 1).mean() < 0.6


def test_scales_shifts_constant_columns_and_kinds_of_tables_do_not_matter():
    X = normal(200, 5)
    X[np.abs(X) < 0.3] = 0
    scores = typicality(X)
    wide = np.column_stack([X * [1, 10, 1e-3, 1e150, 1] + [5, 0, 0, 0, -2], np.full(200, 7.0)])
    np.testing.assert_allclose(typicality(wide), scores, atol=1e-6)
    np.testing.assert_array_equal(typicality(pd.DataFrame(X)), scores)
    np.testing.assert_array_equal(typicality(sparse.csr_array(X)), scores)


def test_equal_rows_are_all_typical():
    check = find_outliers(np.ones((20, 3)))
    np.testing.assert_array_equal(check.scores, 0)
    assert not check.outlier.any()


# ------------------------------------------------------------------ bad input


def test_errors_say_what_to_do():
    with pytest.raises(InputError, match="X has 9 rows: a check of features needs at least 10"):
        find_outliers(np.ones((9, 2)))
    X = normal(20, 2)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1: impute it or drop the row"):
        find_outliers(X)
    with pytest.raises(NoValues, match="at least three rows, got 2"):
        rule.typicality(np.ones((2, 2)), np.random.default_rng(0))
