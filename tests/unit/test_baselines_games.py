"""Rules on games against enumeration of all coalitions, closed forms, and simulation."""

from __future__ import annotations

from itertools import combinations, permutations

import drawn
import numpy as np
import pytest
from scipy.special import beta as beta_function
from sklearn.linear_model import LogisticRegression

from nddv.baselines.ame import average_marginal_effect, inclusion_features
from nddv.baselines.distributional import du_shapley
from nddv.baselines.leave_one_out import leave_one_out, marginals_at_size
from nddv.baselines.semivalues import (
    beta_shapley,
    beta_weights,
    data_shapley,
    permutation_semivalues,
    walk_contributions,
)
from nddv.baselines.subsamples import data_banzhaf, difference_of_means, influence_subsample
from nddv.coalitions import LogisticGame, walk_prefixes
from nddv.support.settings import UTILITIES

SEED = 100


class FunctionGame:
    """A game given by a function of coalitions (B, n)."""

    def __init__(self, n, utilities):
        self.n, self.utilities = n, utilities

    def walk(self, orders, tolerance=0.0):
        return walk_prefixes(self.utilities, orders, tolerance)


class AdditiveGame(FunctionGame):
    """Utilities 0.25 + Σ a_i, walked in linear time, so that n may be large."""

    def __init__(self, contributions):
        self.a = contributions
        super().__init__(len(contributions), lambda members: 0.25 + members @ self.a)

    def walk(self, orders, tolerance=0.0):
        steps = np.cumsum(self.a[orders], axis=1)
        return np.pad(steps, ((0, 0), (1, 0))) + 0.25, np.full(len(orders), self.n)


def table_game(n, seed=SEED):
    """A game in which every coalition has a random utility of its own."""
    table = np.random.default_rng(seed).normal(size=2**n)
    return FunctionGame(n, lambda members: table[np.asarray(members) @ (1 << np.arange(n))])


def relabelled(game, label):
    """The same game with player i called label[i]."""
    return FunctionGame(game.n, lambda members: game.utilities(np.asarray(members)[:, label]))


def all_coalitions(n):
    return (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1


def semivalue(game, weights):
    """1/n Σ_j w_j · (mean marginal contribution to coalitions of size j), over all coalitions."""
    coalitions = all_coalitions(game.n)
    values = np.zeros(game.n)
    for i in range(game.n):
        without = coalitions[~coalitions[:, i]]
        with_point = without.copy()
        with_point[:, i] = True
        marginal = game.utilities(with_point) - game.utilities(without)
        size = without.sum(axis=1)
        counts = np.bincount(size)
        values[i] = np.sum(marginal * weights[size] / counts[size]) / game.n
    return values


def shapley(game):
    return semivalue(game, np.ones(game.n))


def banzhaf(game):
    n = game.n
    return semivalue(game, np.bincount(all_coalitions(n - 1).sum(axis=1)) * n / 2 ** (n - 1))


def influence(game, size):
    """Mean utility of all coalitions of a size with a point minus that of those without."""
    coalitions = all_coalitions(game.n)
    coalitions = coalitions[coalitions.sum(axis=1) == size]
    utilities = game.utilities(coalitions)
    return np.array([utilities[c].mean() - utilities[~c].mean() for c in coalitions.T])


def rng(seed=SEED):
    return np.random.default_rng(seed)


# Leave-one-out


def test_leave_one_out_of_a_table():
    game = table_game(6)
    without = game.utilities(~np.eye(6, dtype=bool))
    expected = game.utilities(np.ones((1, 6), dtype=bool)) - without
    values = leave_one_out(game)
    np.testing.assert_allclose(values.values, expected, atol=1e-14)
    assert values.stderr is None


def test_leave_one_out_of_ridge_regression_has_a_closed_form():
    """θ₋ᵢ = θ − H⁻¹xᵢeᵢ/(1−hᵢ), the formula behind PRESS."""
    draw = rng()
    X, y = draw.normal(size=(15, 4)), draw.normal(size=15)
    X_valid, y_valid = draw.normal(size=(20, 4)), draw.normal(size=20)

    def utility(theta):
        return -np.mean((y_valid - theta @ X_valid.T) ** 2, axis=-1)

    def utilities(members):
        weighted = members[:, :, None] * X
        moments = weighted.transpose(0, 2, 1) @ y[:, None]
        return utility(np.linalg.solve(X.T @ weighted + np.eye(4), moments)[..., 0])

    inverse = np.linalg.inv(X.T @ X + np.eye(4))
    theta = inverse @ X.T @ y
    leverage = np.einsum("ij,jk,ik->i", X, inverse, X)
    theta_without = theta - (X @ inverse) * ((y - X @ theta) / (1 - leverage))[:, None]
    values = leave_one_out(FunctionGame(15, utilities)).values
    np.testing.assert_allclose(values, utility(theta) - utility(theta_without), atol=1e-12)


def test_leave_one_out_of_logistic_regression_equals_refits():
    X, y, X_valid, y_valid = classification_data(20)

    def utility(X, y):
        model = LogisticRegression(tol=1e-8).fit(X, y)
        return model.predict_log_proba(X_valid)[np.arange(len(y_valid)), y_valid].mean()

    refits = np.array([utility(np.delete(X, i, 0), np.delete(y, i)) for i in range(20)])
    game = LogisticGame(X, y, X_valid, y_valid, 2, utility="log_likelihood")
    np.testing.assert_allclose(leave_one_out(game).values, utility(X, y) - refits, atol=1e-6)


def test_marginals_at_size_do_not_depend_on_chunks(monkeypatch):
    game = table_game(6)
    ranks = rng().permuted(np.tile(np.arange(6), (8, 1)), axis=1)
    sizes = np.arange(8) % 6
    whole = marginals_at_size(game, ranks, sizes)
    monkeypatch.setattr("nddv.baselines.leave_one_out.CHUNK_ELEMENTS", 42)
    np.testing.assert_array_equal(marginals_at_size(game, ranks, sizes), whole)


# Shapley and Beta Shapley


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (4, 1), (1, 4), (16, 1), (0.5, 2)])
def test_mean_over_all_permutations_is_the_semivalue(alpha, beta):
    game = table_game(6)
    weights = beta_weights(6, alpha, beta)
    orders = np.array(list(permutations(range(6))))
    utilities, _ = game.walk(orders)
    found = walk_contributions(utilities, orders, weights[None, :]).mean(axis=0)[0]
    np.testing.assert_allclose(found, semivalue(game, weights), atol=1e-12)


def test_beta_weights_are_those_of_the_paper():
    for alpha, beta in [(4, 1), (1, 4), (2.5, 3.5)]:
        size = np.arange(12)
        ratio = beta_function(size + beta, 12 - size - 1 + alpha) / beta_function(
            size + 1, 12 - size
        )
        np.testing.assert_allclose(beta_weights(12, alpha, beta), ratio / ratio.mean(), rtol=1e-12)
    np.testing.assert_allclose(beta_weights(50, 1, 1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("n", [1100, 10_000])
def test_beta_weights_of_many_points(n):
    weights = beta_weights(n, 4, 1)
    # In the limit the density of Beta(β, α) at the relative size, here 4(1 − t)³.
    np.testing.assert_allclose(weights, 4 * (1 - (np.arange(n) + 0.5) / n) ** 3, atol=0.02)
    assert weights.mean() == pytest.approx(1.0)


def test_sampled_values_are_within_their_standard_errors():
    game = table_game(9)
    weights = {"shapley": np.ones(9), "beta": beta_weights(9, 4, 1)}
    found = permutation_semivalues(game, rng(), weights, max_permutations=2000)
    for name, values in found.items():
        error = np.abs(values.values - semivalue(game, weights[name]))
        assert (error < 4 * values.stderr).all()
        assert (values.stderr < 0.1).all()


def test_one_set_of_walks_gives_what_each_rule_gives_alone():
    game = table_game(7)
    weights = {"shapley": np.ones(7), "beta": beta_weights(7, 4, 1)}
    together = permutation_semivalues(game, rng(), weights)
    for name, alone in [
        ("shapley", data_shapley(game, rng())),
        ("beta", beta_shapley(game, rng(), alpha=4, beta=1)),
    ]:
        np.testing.assert_array_equal(together[name].values, alone.values)
        np.testing.assert_array_equal(together[name].stderr, alone.stderr)
    flat = beta_shapley(game, rng(), alpha=1, beta=1)
    np.testing.assert_allclose(flat.values, together["shapley"].values, atol=1e-12)


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_shapley_values_sum_to_what_there_is_to_share(tolerance):
    game = table_game(8)
    whole, empty = game.utilities(np.stack([np.ones(8, int), np.zeros(8, int)]))
    values = data_shapley(game, rng(), max_permutations=5, tolerance=tolerance)
    assert values.values.sum() == pytest.approx(whole - empty)
    assert values.record["utility_all"] == whole
    assert values.record["utility_empty"] == empty


def test_truncation_saves_fits():
    game = FunctionGame(30, lambda members: 1 - 0.5 ** members.sum(axis=1))
    full = data_shapley(game, rng(), max_permutations=20)
    cut = data_shapley(game, rng(), max_permutations=20, tolerance=0.01)
    assert full.record["positions"] == 20 * 30
    assert cut.record["positions"] == 20 * 7
    np.testing.assert_allclose(cut.values, full.values, atol=0.01)


def test_permutations_end_at_the_precision_or_at_the_limit():
    game = table_game(6)
    loose = data_shapley(game, rng(), max_permutations=300, precision=0.2, batch=10)
    assert loose.stderr.max() <= 0.2
    assert loose.record["permutations"] < 300
    assert loose.record["permutations"] % 10 == 0
    tight = data_shapley(game, rng(), max_permutations=35, precision=1e-6, batch=10)
    assert tight.record["permutations"] == 35
    assert tight.record["largest_stderr"] == tight.stderr.max() > 1e-6


def test_batches_do_not_change_the_values():
    game = table_game(6)
    one_by_one = data_shapley(game, rng(), max_permutations=40, batch=1)
    at_once = data_shapley(game, rng(), max_permutations=40, batch=40)
    np.testing.assert_allclose(one_by_one.values, at_once.values, atol=1e-12)
    np.testing.assert_allclose(one_by_one.stderr, at_once.stderr, atol=1e-12)


# Banzhaf and subsampled influence


def test_difference_of_means_over_all_coalitions_is_the_banzhaf_value():
    game = table_game(7)
    coalitions = all_coalitions(7)
    values, _ = difference_of_means(coalitions, game.utilities(coalitions))
    np.testing.assert_allclose(values, banzhaf(game), atol=1e-12)


def test_difference_of_means_over_all_subsets_of_a_size_is_the_influence():
    game = table_game(7)
    coalitions = np.zeros((35, 7), dtype=bool)
    for row, chosen in zip(coalitions, combinations(range(7), 4), strict=True):
        row[list(chosen)] = True
    values, _ = difference_of_means(coalitions, game.utilities(coalitions))
    np.testing.assert_allclose(values, influence(game, 4), atol=1e-12)


def test_standard_error_of_a_difference_of_means_by_hand():
    members = np.array([[1], [1], [1], [0], [0]], dtype=bool)
    utilities = np.array([1.0, 2.0, 6.0, 4.0, 5.0])
    values, stderr = difference_of_means(members, utilities)
    assert values[0] == pytest.approx(3.0 - 4.5)
    assert stderr[0] == pytest.approx(np.sqrt(7.0 / 3 + 0.5 / 2))


def test_influence_of_an_additive_game():
    """A coalition of fixed size that takes a point has one of the others less."""
    a = rng().normal(size=10)
    values = influence_subsample(AdditiveGame(a), rng(), num_models=20_000)
    expected = a - (a.sum() - a) / 9
    assert (np.abs(values.values - expected) < 4 * values.stderr).all()


# AME


def test_regression_on_inclusion_gives_the_average_marginal_effect():
    """Least squares weighted by the probability of every coalition at every rate."""
    game, rates = table_game(6), np.array([0.2, 0.4, 0.6, 0.8])
    coalitions = np.tile(all_coalitions(6), (4, 1))
    p = np.repeat(rates, 64)[:, None]
    features, scale = inclusion_features(coalitions, p)
    root = np.sqrt(np.where(coalitions, p, 1 - p).prod(axis=1))[:, None]
    design = np.column_stack([np.ones(256), features])
    fit = np.linalg.lstsq(root * design, root[:, 0] * game.utilities(coalitions), rcond=None)[0]

    size = np.arange(6)
    binomial = np.bincount(all_coalitions(5).sum(axis=1))
    weights = np.mean([binomial * q**size * (1 - q) ** (5 - size) for q in rates], axis=0) * 6
    np.testing.assert_allclose(scale * fit[1:], semivalue(game, weights), atol=1e-12)


def test_ame_of_an_additive_game():
    a = np.linspace(-1, 1, 8)
    values = average_marginal_effect(AdditiveGame(a), rng(), num_models=2000)
    np.testing.assert_allclose(values.values, a, atol=0.02)
    assert values.record["tied"] == 0


def test_ties_of_ame_are_reported():
    constant = FunctionGame(12, lambda members: np.full(len(members), 0.5))
    flat = average_marginal_effect(constant, rng(), num_models=50)
    assert (flat.values == 0).all()
    assert flat.record["tied"] == 12

    sparse = AdditiveGame(np.where(np.arange(40) < 3, 1.0, 0.0))
    noise = rng(SEED + 1)
    noisy = FunctionGame(
        40, lambda members: sparse.utilities(members) + noise.normal(size=len(members))
    )
    values = average_marginal_effect(noisy, rng(), num_models=500)
    zero = int((values.values == 0).sum())
    assert zero > 1
    assert values.record["tied"] == zero
    assert set(np.argsort(-values.values)[:3]) == {0, 1, 2}


@pytest.mark.parametrize(("n", "share"), [(39, 1e-3), (40, 1e-1), (90, 1e-1)])
def test_the_smallest_penalty_of_ame_is_larger_for_more_points_than_coalitions(n, share):
    game = AdditiveGame(np.linspace(-1, 1, n))
    found = average_marginal_effect(game, rng(), num_models=10)
    p = np.tile([0.2, 0.4, 0.6, 0.8], 10)[:, None]
    features, _ = inclusion_features(members := rng().random((40, n)) < p, p)
    utilities = game.utilities(members)
    centred = features - features.mean(axis=0)
    largest = np.abs(centred.T @ (utilities - utilities.mean())).max() / 40
    assert found.record["least_tried_penalty"] == pytest.approx(share * largest, rel=1e-4)
    chosen = average_marginal_effect(game, rng(), num_models=10, smallest_penalty=0.02)
    assert chosen.record["least_tried_penalty"] == pytest.approx(0.02 * largest, rel=1e-4)


# DU-Shapley


def test_mean_over_all_pools_and_sizes_is_the_shapley_value():
    game = table_game(5)
    ranks = np.array(list(permutations(range(5))))
    found = [marginals_at_size(game, ranks, np.full(120, k)).mean(axis=0) for k in range(5)]
    np.testing.assert_allclose(np.mean(found, axis=0), shapley(game), atol=1e-12)


def test_pools_of_a_size_only_game_value_all_points_alike():
    game = FunctionGame(9, lambda members: np.sqrt(members.sum(axis=1)))
    values = du_shapley(game, rng(), num_pools=6)
    np.testing.assert_allclose(values.values, values.values[0], atol=1e-14)
    # Two pools of every size: no chance is left.
    complete = du_shapley(game, rng(), num_pools=18)
    np.testing.assert_allclose(complete.values, np.sqrt(9) / 9, atol=1e-14)
    np.testing.assert_allclose(complete.stderr, 0.0, atol=1e-14)


# All


EXACT = {
    "shapley": (lambda game, draw: data_shapley(game, draw, max_permutations=4), shapley),
    "beta": (
        lambda game, draw: beta_shapley(game, draw, max_permutations=4),
        lambda game: semivalue(game, beta_weights(game.n, 4, 1)),
    ),
    "banzhaf": (lambda game, draw: data_banzhaf(game, draw, num_models=100), banzhaf),
    "influence": (
        lambda game, draw: influence_subsample(game, draw, num_models=100),
        lambda game: influence(game, 4),
    ),
    "du": (lambda game, draw: du_shapley(game, draw, num_pools=24), shapley),
}


@pytest.mark.parametrize("rule", EXACT)
def test_estimates_are_unbiased_and_standard_errors_calibrated(rule):
    """Over many runs: the mean is the exact value, and mean stderr² the variance of the runs."""
    estimate, exact = EXACT[rule]
    game, draw = table_game(6), rng(SEED + 7)
    runs = [estimate(game, draw) for _ in range(600)]
    values = np.stack([run.values for run in runs])
    spread = values.std(axis=0, ddof=1)
    assert (np.abs(values.mean(axis=0) - exact(game)) < 4 * spread / np.sqrt(len(runs))).all()
    claimed = np.sqrt(np.mean([run.stderr**2 for run in runs], axis=0))
    np.testing.assert_allclose(claimed / spread, 1.0, atol=0.1)


@pytest.mark.parametrize("rule", ["shapley", "beta", "banzhaf", "du"])
def test_additive_games_return_their_terms(rule):
    a = rng().normal(size=8)
    values = EXACT[rule][0](AdditiveGame(a), rng())
    # A permutation or a pool shows each term as it is; sampled coalitions only on average.
    bound = 4 * values.stderr if rule in ("banzhaf", "beta") else 1e-12
    assert (np.abs(values.values - a) <= bound).all()


def test_relabelled_points_have_relabelled_values():
    """The same draws up to the names of the points give the same values up to their names."""
    game, draw = table_game(7), rng()
    label = draw.permutation(7)
    other = relabelled(game, label)
    np.testing.assert_allclose(leave_one_out(other).values[label], leave_one_out(game).values)

    orders = draw.permuted(np.tile(np.arange(7), (30, 1)), axis=1)
    weights = beta_weights(7, 4, 1)[None, :]
    walks = walk_contributions(game.walk(orders)[0], orders, weights)
    other_walks = walk_contributions(other.walk(label[orders])[0], label[orders], weights)
    np.testing.assert_allclose(other_walks[..., label], walks)

    ranks, sizes = orders, np.arange(30) % 7
    other_ranks = np.empty_like(ranks)
    other_ranks[:, label] = ranks
    marginals = marginals_at_size(other, other_ranks, sizes)
    np.testing.assert_allclose(marginals[:, label], marginals_at_size(game, ranks, sizes))

    members = draw.random((60, 7)) < 0.5
    other_members = np.empty_like(members)
    other_members[:, label] = members
    utilities = game.utilities(members)
    np.testing.assert_allclose(other.utilities(other_members), utilities)
    for part, other_part in zip(
        difference_of_means(members, utilities),
        difference_of_means(other_members, utilities),
        strict=True,
    ):
        np.testing.assert_allclose(other_part[label], part)
    p = np.full((60, 1), 0.4)
    np.testing.assert_array_equal(
        inclusion_features(other_members, p)[0][:, label], inclusion_features(members, p)[0]
    )


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_points(n):
    game = table_game(n)
    for values in (
        leave_one_out(game),
        data_shapley(game, rng()),
        beta_shapley(game, rng()),
        data_banzhaf(game, rng()),
        average_marginal_effect(game, rng(), num_models=20),
        du_shapley(game, rng(), num_pools=10),
    ):
        assert values.values.shape == (n,)
        assert np.isfinite(values.values).all()


@pytest.mark.parametrize("n", [1100, 10_000])
def test_many_points(n):
    a = rng().normal(size=n) / n
    game = AdditiveGame(a)
    np.testing.assert_allclose(leave_one_out(game).values, a, atol=1e-12)
    shapley_beta = permutation_semivalues(
        game, rng(), {"shapley": np.ones(n), "beta": beta_weights(n, 4, 1)}, max_permutations=20
    )
    np.testing.assert_allclose(shapley_beta["shapley"].values, a, atol=1e-12)
    found = {
        **shapley_beta,
        "banzhaf": data_banzhaf(game, rng(), num_models=200),
        "influence": influence_subsample(game, rng(), num_models=200),
        "du": du_shapley(game, rng(), num_pools=2),
        "ame": average_marginal_effect(game, rng(), num_models=20),
    }
    for values in found.values():
        assert np.isfinite(values.values).all()
        assert values.stderr is None or np.isfinite(values.stderr).all()
    # Every term with its sampling error: about one in unit variance.
    error = (found["banzhaf"].values - a) / found["banzhaf"].stderr
    assert np.std(error) == pytest.approx(1.0, abs=0.1)


def test_what_cannot_be_estimated_is_refused():
    game = table_game(4)
    with pytest.raises(ValueError, match="max_permutations must be an integer of at least 2"):
        data_shapley(game, rng(), max_permutations=1)
    with pytest.raises(ValueError, match="alpha must be a finite number > 0"):
        beta_shapley(game, rng(), alpha=0)
    with pytest.raises(ValueError, match="draw more"):
        data_banzhaf(game, rng(), num_models=3)
    with pytest.raises(ValueError, match="1 points are in fewer than two of the 4"):
        difference_of_means(np.array([[1, 1], [0, 1], [0, 0], [0, 0]], dtype=bool), np.arange(4.0))
    with pytest.raises(ValueError, match="choose another proportion"):
        influence_subsample(game, rng(), proportion=0.95)
    with pytest.raises(ValueError, match="choose another proportion"):
        influence_subsample(game, rng(), proportion=0.1)
    with pytest.raises(
        ValueError,
        match="rates must be a list of entries that are each a finite number > 0 and < 1",
    ):
        average_marginal_effect(game, rng(), rates=(0.5, 1.0))
    for smallest in (0.0, 1.0):
        with pytest.raises(
            ValueError, match="smallest_penalty must be a finite number > 0 and < 1, or None"
        ):
            average_marginal_effect(game, rng(), smallest_penalty=smallest)
    for num_pools in (0, 7):
        with pytest.raises(ValueError, match="num_pools must be an even integer of at least 2"):
            du_shapley(game, rng(), num_pools=num_pools)


def classification_data(n, seed=SEED, flipped=0):
    """Two overlapping classes in three dimensions; the first ``flipped`` labels are wrong."""
    draw = rng(seed)
    X = draw.normal(size=(n + 100, 3))
    y = (X @ np.array([2.0, -1.0, 0.5]) + 0.3 * draw.normal(size=n + 100) > 0).astype(np.int64)
    y[:flipped] = 1 - y[:flipped]
    return X[:n], y[:n], X[n:], y[n:]


def test_wrong_labels_come_out_low_under_logistic_regression():
    X, y, X_valid, y_valid = classification_data(60, flipped=12)
    game = LogisticGame(X, y, X_valid, y_valid, 2, utility="log_likelihood")
    for values in all_rules(game):
        right_above_wrong = values.values[12:, None] > values.values[:12]
        assert right_above_wrong.mean() > 0.8


@pytest.mark.parametrize("utility", UTILITIES)
def test_awkward_data(utility):
    """More features than points, a constant one, equal rows, a class of two points."""
    draw = rng()
    X, X_valid = draw.normal(size=(12, 20)), draw.normal(size=(15, 20))
    X[:, 0] = X_valid[:, 0] = 1.0
    X[3:6] = X[0]
    y, y_valid = np.array([0, 1] * 5 + [2, 2]), np.arange(15) % 3
    for values in all_rules(LogisticGame(X, y, X_valid, y_valid, 3, utility=utility)):
        assert np.isfinite(values.values).all()
        assert values.stderr is None or np.isfinite(values.stderr).all()
    # Equal points have equal values where nothing is drawn.
    loo = leave_one_out(LogisticGame(X, y, X_valid, y_valid, 3, utility=utility)).values
    np.testing.assert_allclose(loo[[0, 3]], loo[[4, 5]], atol=1e-6)


def all_rules(game):
    return (
        leave_one_out(game),
        data_shapley(game, rng()),
        beta_shapley(game, rng()),
        data_banzhaf(game, rng()),
        influence_subsample(game, rng()),
        average_marginal_effect(game, rng(), num_models=250),
        du_shapley(game, rng()),
    )


PREDICTED = [(60, 4, 2), (60, 4, 3), (40, 60, 3)]


@pytest.mark.parametrize("shape", PREDICTED)
def test_predicted_leave_one_out_is_nearly_that_of_fits(shape):
    problem = drawn.make_problem(*shape, m=80)
    game = LogisticGame(*problem, utility="probability")
    fitted, found = leave_one_out(game), leave_one_out(game, predicted=True)
    assert np.corrcoef(fitted.values, found.values)[0, 1] > 0.99
    assert found.record["fits"] < 10 < fitted.record["fits"]


@pytest.mark.parametrize("shape", PREDICTED)
def test_predicted_pools_are_nearly_those_of_fits(shape):
    game = LogisticGame(*drawn.make_problem(*shape, m=80), utility="probability")
    fitted = du_shapley(game, np.random.default_rng(SEED), num_pools=10)
    found = du_shapley(game, np.random.default_rng(SEED), num_pools=10, predicted=True)
    assert np.corrcoef(fitted.values, found.values)[0, 1] > 0.98
    np.testing.assert_allclose(found.values, fitted.values, atol=5e-3)
    assert found.record["fits"] < fitted.record["fits"] / 2


def test_predicted_steps_are_nearly_those_of_fits():
    game = LogisticGame(*drawn.make_problem(60, 4, 3, m=80), utility="probability")
    fitted = data_shapley(game, np.random.default_rng(SEED), max_permutations=10)
    found = data_shapley(game, np.random.default_rng(SEED), max_permutations=10, step=0.15)
    assert np.corrcoef(fitted.values, found.values)[0, 1] > 0.95
    total = found.record["utility_all"] - found.record["utility_empty"]
    assert found.values.sum() == pytest.approx(total)


def test_other_games_cannot_be_predicted():
    game, rng = table_game(4), np.random.default_rng(SEED)
    for rule in (
        lambda: leave_one_out(game, predicted=True),
        lambda: du_shapley(game, rng, num_pools=2, predicted=True),
        lambda: data_shapley(game, rng, step=0.1),
    ):
        with pytest.raises(TypeError, match="logistic regressions only"):
            rule()
