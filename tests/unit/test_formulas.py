"""Data sets that are formulas follow them, and agree with the published rows in distribution."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp, kurtosis, norm, skew
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nddv.problems import load_dataset
from nddv.problems.formulas import (
    CEILING,
    FORMULAS,
    friedman,
    heavy_tails,
    houses,
    two_d_planes,
)
from nddv.problems.registry import BUILT_IN


def signal_of(X):
    return np.where(X[:, 0] > 0, 3 + X[:, 1:4] @ [3.0, 2.0, 1.0], -3 + X[:, 4:7] @ [3.0, 2.0, 1.0])


def test_2dplanes_follows_its_formula():
    frame = two_d_planes(40000, 100)
    X, y = frame.to_numpy()[:, :10], frame["y"].to_numpy()
    assert set(np.unique(X[:, 0])) == {-1.0, 1.0}
    assert all(set(np.unique(X[:, j])) == {-1.0, 0.0, 1.0} for j in range(1, 10))
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)
    noise = y - signal_of(X)
    assert noise.mean() == pytest.approx(0, abs=0.02)
    assert noise.std() == pytest.approx(1, abs=0.02)
    assert np.abs(np.corrcoef(X.T, noise)[-1, :-1]).max() < 0.02


def test_2dplanes_has_the_best_possible_accuracy_of_its_noise():
    """Given the features the class is sure up to ε: P(ε < −|signal|) is the Bayes error."""
    table = load_dataset("2dplanes", BUILT_IN["2dplanes"])
    signal = signal_of(table.X)
    wrong = np.mean((signal < 0) != table.y)
    assert wrong == pytest.approx(norm.cdf(-np.abs(signal)).mean(), abs=0.03)


def test_friedman_follows_its_formula():
    frame = friedman(20000, 100)
    X, y = frame.to_numpy()[:, :10], frame["Y"].to_numpy()
    assert X.min() >= 0
    assert X.max() <= 1
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    noise = y - signal - 10 * X[:, 3] - 5 * X[:, 4]
    assert noise.std() == pytest.approx(1, abs=0.02)
    assert noise.mean() == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(
    ("path", "formula", "target"),
    [
        ("2dplanes/2dplanes.csv.gz", two_d_planes, "y"),
        ("fried/fried.csv.gz", friedman, "Y"),
    ],
)
def test_generated_and_real_rows_agree_in_distribution(data_folder, path, formula, target):
    real = pd.read_csv(data_folder / path)
    drawn = formula(len(real), 100)
    assert set(drawn) == set(real) - {"binaryClass"}
    for column in drawn:
        # 40768 rows each: at level 1e-4, two samples of one distribution differ by less than .016
        assert ks_2samp(real[column], drawn[column]).statistic < 0.016, column
    # Features with the target. Not with each other: in the published fried X7, X8 and X9, which
    # carry nothing, correlate by −.04, nine standard errors from the independence of its formula.
    correlations = [frame[drawn.columns].corr()[target].to_numpy() for frame in (real, drawn)]
    np.testing.assert_allclose(correlations[0], correlations[1], atol=0.025)
    # splitting the real target at its mean gives the classes of the file
    classes = np.where(real[target] < real[target].mean(), "P", "N")
    assert (classes == real["binaryClass"]).all()
    # and which class a point has given its features is as sure in both
    shares = [(frame[target] < frame[target].mean()).mean() for frame in (real, drawn)]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)


def test_houses_resemble_california_housing():
    frame = houses(20_000, 100)
    X, y = frame.to_numpy()[:, :8], frame["price"].to_numpy()
    assert X.shape == (20_000, 8)
    assert np.isfinite(frame.to_numpy()).all()
    assert 0.03 < (y == CEILING).mean() < 0.1  # 4.8 % there
    assert y.min() > 0
    assert y.max() == CEILING
    for column in ("income", "population", "occupants"):
        assert skew(frame[column]) > 1, column
    # the surface over the map is no plane: on the coordinates alone, trees find what lines do not
    place = frame[["east", "north"]].to_numpy()
    train, test = slice(0, 2000), slice(10_000, None)
    forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=100)
    found = [
        model.fit(place[train], y[train]).score(place[test], y[test])
        for model in (forest, LinearRegression())
    ]
    assert found[0] > found[1] + 0.1


@pytest.mark.parametrize("name", ["heavy_tails", "heavy_tails_2"])
def test_heavy_tails_are_heavy_and_trees_do_well_on_them(name):
    table = load_dataset(name, BUILT_IN[name], progress=False)
    assert table.X.shape == (20_000, 12)
    assert table.classes == ["common", "rare"]
    assert table.y.mean() == pytest.approx(0.25, abs=0.015)
    assert np.sum(kurtosis(table.X) > 10) >= 8  # a normal column has 0
    train, test = slice(0, 2000), slice(10_000, None)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    forest = RandomForestClassifier(100, random_state=100)
    accuracies = [
        model.fit(table.X[train], table.y[train]).score(table.X[test], table.y[test])
        for model in (linear, forest)
    ]
    assert accuracies[0] + 0.04 < accuracies[1] < 0.93  # the best rule has .93


def test_members_of_the_family_of_heavy_tails_differ_in_what_matters():
    """The columns in which the classes differ most are others."""
    frames = [heavy_tails(20_000, seed) for seed in (1, 2)]
    columns = list(frames[0].columns[:-1])
    apart = [
        [
            ks_2samp(*(part[column] for _, part in frame.groupby("y"))).statistic
            for column in columns
        ]
        for frame in frames
    ]
    assert all(min(one) < 0.03 < 0.2 < max(one) for one in apart)  # some columns carry nothing
    assert np.argmax(apart[0]) != np.argmax(apart[1])


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_same_seed_same_rows(formula):
    pd.testing.assert_frame_equal(formula(50, 100), formula(50, 100))
    assert not formula(50, 100).equals(formula(50, 101))
