"""The linear datamodelling score on games whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from nddv.audit.datamodelling import (
    drop_subsets,
    linear_datamodelling,
    spearman,
    spearman_stderr,
)
from nddv.coalitions.game import walk_prefixes

N = 200


class Additive:
    """U(C) = Σ of the members' worth, and how many coalitions were asked for."""

    def __init__(self, worth: np.ndarray):
        self.worth, self.n, self.evaluated = worth, len(worth), 0

    def utilities(self, weights: np.ndarray) -> np.ndarray:
        self.evaluated += len(weights)
        return weights @ self.worth

    def walk(self, orders, tolerance=0.0):
        return walk_prefixes(self.utilities, orders, tolerance)


@pytest.fixture
def game() -> Additive:
    return Additive(np.random.default_rng(100).normal(size=N))


def scores(game, values, seed=101, **options):
    return linear_datamodelling(game, values, np.random.default_rng(seed), **options)


def test_an_additive_game_is_predicted_exactly(game: Additive) -> None:
    """By its own worth in any units, and its order is reversed by the opposite."""
    methods = {"worth": game.worth, "scaled": 0.1 * game.worth + 3, "opposite": -game.worth}
    table = scores(game, methods)
    assert len(table) == 9
    assert game.evaluated == 3 * 50 + 1  # the subsets serve all methods
    for method, expected in {"worth": 1.0, "scaled": 1.0, "opposite": -1.0}.items():
        rho = table.loc[table["method"] == method, "spearman"]
        assert rho.to_numpy() == pytest.approx(expected, abs=1e-12)
    assert list(table["dropped"].unique()) == [2, 10, 20]
    assert (table["subsets"] == 50).all()


def test_random_values_predict_nothing(game: Additive) -> None:
    rng = np.random.default_rng(102)
    values = {f"random {k}": rng.normal(size=N) for k in range(40)}
    table = scores(game, values, subsets=60)
    assert table["spearman"].abs().mean() < 0.2
    assert abs(table["spearman"].mean()) < 0.05


@pytest.mark.parametrize("noise", [0.3, 1.0, 10.0])
def test_the_standard_error_is_the_spread_over_subsets(game: Additive, noise: float) -> None:
    values = {"noisy": game.worth + noise * np.random.default_rng(102).normal(size=N)}
    tables = [scores(game, values, seed, shares=[0.1]) for seed in range(200, 500)]
    rho = np.concatenate([t["spearman"] for t in tables])
    stated = np.concatenate([t["stderr"] for t in tables]).mean()
    assert rho.std() == pytest.approx(stated, rel=0.2)


def test_the_change_is_that_of_dropping_points() -> None:
    """Points that harm have negative values, and dropping them raises the utility."""
    game = Additive(np.where(np.arange(N) < 20, -5.0, 1.0))
    flagged = -(np.arange(N) < 20).astype(float)
    (rho,) = scores(game, {"flags": flagged}, shares=[0.2])["spearman"]
    assert rho == pytest.approx(1.0)


def test_equal_values_have_no_score(game: Additive) -> None:
    table = scores(game, {"equal": np.full(N, 0.1), "worth": game.worth})
    assert table.loc[table["method"] == "equal", "spearman"].isna().all()
    assert table.loc[table["method"] == "worth", "spearman"].notna().all()


def test_spearman_equals_scipy_with_ties() -> None:
    rng = np.random.default_rng(100)
    predicted, realised = rng.integers(0, 5, (4, 30)).astype(float), rng.normal(size=30).round(1)
    expected = [spearmanr(row, realised).statistic for row in predicted]
    assert spearman(predicted, realised) == pytest.approx(expected, abs=1e-12)


def test_subsets_have_the_right_size_and_drop_everybody_alike() -> None:
    dropped = drop_subsets(20, 0.25, 4000, np.random.default_rng(100))
    assert (dropped.sum(axis=1) == 5).all()
    assert dropped.mean(axis=0) == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / 4000))


def test_errors_say_what_is_wrong(game: Additive) -> None:
    rng = np.random.default_rng(100)
    with pytest.raises(ValueError, match="is 0 points"):
        drop_subsets(40, 0.01, 50, rng)
    with pytest.raises(ValueError, match="at least one method"):
        linear_datamodelling(game, {}, rng)
    with pytest.raises(ValueError, match=r"'short' have shape \(3,\)"):
        linear_datamodelling(game, {"short": np.zeros(3)}, rng)
    with pytest.raises(ValueError, match="not finite"):
        linear_datamodelling(game, {"holes": np.full(N, np.nan)}, rng)
    with pytest.raises(ValueError, match="at least 4"):
        spearman_stderr(np.zeros(1), 3)


def test_a_standard_error_of_ranks_by_hand():
    found = spearman_stderr(np.array([0.0, 0.6, 1.0]), 28)
    np.testing.assert_allclose(found, [0.2, 0.64 * np.sqrt(1.18) / 5, 0.0])
