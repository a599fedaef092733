"""``nddv.semivalues``: values, orders, limits, and one clear error for each bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import nddv
from nddv.coalitions import LogisticGame
from nddv.laws import LAWS


def make_data(n=40, d=3, n_classes=2, m=60, seed=100):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + m, d))
    signal = 2 * X @ rng.standard_normal((d, n_classes)) + rng.gumbel(size=(n + m, n_classes))
    y = signal.argmax(axis=1)
    return X[:n], y[:n], X[n:], y[n:]


def exact(data, law, draws=4000):
    """Semi-values by fits at many coalitions, and their standard errors."""
    X, y, X_valid, y_valid = data
    mean, scale = X.mean(axis=0), X.std(axis=0)
    points = (X - mean) / scale, y, (X_valid - mean) / scale, y_valid
    game = LogisticGame(*points, 1 + y.max(), utility="probability")
    rng, n = np.random.default_rng(101), len(y)
    sizes = rng.choice(n + 1, size=draws, p=law.sizes(n))
    members = rng.random((draws, n)).argsort(axis=1).argsort(axis=1) < sizes[:, None]
    found = np.array([game.utilities(members ^ (np.arange(n) == i)) for i in range(n)]).T
    marginals = np.where(members, -1, 1) * (found - game.utilities(members)[:, None])
    return marginals.mean(axis=0), marginals.std(axis=0, ddof=1) / np.sqrt(draws)


@pytest.mark.parametrize("law", ["shapley", "banzhaf"])
def test_values_are_those_of_fits(law):
    data = make_data(n=16)
    found = nddv.semivalues(*data, law, coalitions=600, seconds=60)
    truth, stderr = exact(data, LAWS[law])
    assert (np.abs(found.values - truth) < 4.5 * np.hypot(found.stderr, stderr)).all()
    assert np.corrcoef(found.values, truth)[0, 1] > 0.97
    assert found.record["coalitions"] <= 600


def test_orders_and_thresholds():
    data = make_data()
    found = nddv.semivalues(*data, coalitions=400, seconds=60)
    best, worst = int(found.values.argmax()), int(found.values.argmin())
    verdict = found.order(best, worst)
    assert verdict.certain
    assert verdict.low > 0
    assert verdict.p_value < 0.05
    assert verdict.gap == pytest.approx(found.values[best] - found.values[worst])
    turned = found.order(worst, best)
    assert (turned.gap, turned.low, turned.high) == pytest.approx(
        (-verdict.gap, -verdict.high, -verdict.low)
    )
    middle = np.argsort(found.values)[20:22]
    assert found.order(*middle).p_value > verdict.p_value
    assert found.against(best).certain
    assert not found.against(best, threshold=found.values[best]).certain
    pairs, share = found.certain_pairs()
    assert 0 < share < 1
    assert len(pairs) == round(share * 40 * 39 / 2)
    assert (found.values[pairs[:, 0]] > found.values[pairs[:, 1]]).all()
    shares = [found.certain_pairs(family=f)[1] for f in ("benjamini-hochberg", "single")]
    assert share <= shares[0] <= shares[1]


def test_the_same_seed_gives_the_same_values_and_another_does_not():
    data = make_data(n=20)
    same = [nddv.semivalues(*data, coalitions=100, seconds=60, random_state=k) for k in (3, 3, 4)]
    np.testing.assert_array_equal(same[0].values, same[1].values)
    assert not np.array_equal(same[0].values, same[2].values)


def test_labels_and_tables_of_any_kind():
    X, y, X_valid, y_valid = make_data(n=20, n_classes=3)
    plain = nddv.semivalues(X, y, X_valid, y_valid, "loo").values
    names = np.array(["b", "c", "a"])  # another order of the classes
    named = nddv.semivalues(
        pd.DataFrame(X), list(names[y]), csr_matrix(X_valid), pd.Series(names[y_valid]), "loo"
    ).values
    np.testing.assert_allclose(named, plain, atol=1e-6)


def test_features_are_standardised_unless_told_not_to():
    X, y, X_valid, y_valid = make_data(n=20)
    plain = nddv.semivalues(X, y, X_valid, y_valid, "loo").values
    scaled = (100 * X + 7, y, 100 * X_valid + 7, y_valid)
    np.testing.assert_allclose(nddv.semivalues(*scaled, "loo").values, plain, atol=1e-7)
    assert not np.allclose(nddv.semivalues(*scaled, "loo", standardise=False).values, plain)


def test_predicted_values_are_quick_and_certify_nothing():
    found = nddv.semivalues(*make_data(), certify=False, reliability=0.9, seconds=60)
    assert found.reliability >= 0.9
    assert "reliability that was asked for" in found.ended
    with pytest.raises(ValueError, match="compute them with certify=True"):
        found.order(0, 1)


def test_leave_one_out_is_exact():
    found = nddv.semivalues(*make_data(), law="loo")
    assert not found.stderr.any()
    assert "exact" in found.ended
    assert found.order(0, 1).certain


@pytest.mark.parametrize("utility", ["accuracy", "log_likelihood"])
def test_other_utilities(utility):
    found = nddv.semivalues(*make_data(n=20), "banzhaf", utility, coalitions=60, seconds=60)
    assert np.isfinite(found.values).all()
    assert found.utility == utility


# Limits


def test_a_limit_that_is_reached_midway_returns_what_is_known():
    data = make_data()
    found = nddv.semivalues(*data, seconds=1.5)
    assert "the time was up" in found.ended
    assert found.record["ended"] == "seconds"
    assert (found.stderr > 0).all()
    found = nddv.semivalues(*data, coalitions=100, seconds=60)
    assert "number of coalitions" in found.ended
    least = least_memory(data)
    found = nddv.semivalues(*data, memory_mb=least, seconds=60)
    assert "memory" in found.ended
    assert np.isfinite(found.stderr).all()


def least_memory(data):
    with pytest.raises(ValueError, match="memory_mb=1 is too little: one coalition of") as error:
        nddv.semivalues(*data, memory_mb=1)
    return error.value.remedies["memory_mb"]


def test_a_time_too_short_says_how_much_is_needed():
    with pytest.raises(ValueError, match=r"seconds=1e-06 is too short: .* takes about") as error:
        nddv.semivalues(*make_data(), seconds=1e-6)
    assert error.value.remedies["seconds"] >= 1


# Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"law": "nucleolus"},
            "unknown semi-value 'nucleolus'; known: loo, banzhaf, shapley, beta",
        ),
        ({"law": "beta(0,1)"}, "alpha and beta must be positive, got 0.0 and 1.0"),
        ({"law": "beta(4,-2)"}, "alpha and beta must be positive, got 4.0 and -2.0"),
        ({"law": 3}, "law must be a name such as 'shapley'"),
        ({"utility": "f1"}, "utility must be one of 'accuracy', 'log_likelihood', 'probability'"),
        ({"y": np.zeros(40, int)}, "y has one class only"),
        ({"X": make_data()[0][:9], "y": make_data()[1][:9]}, "X has 9 samples: .* at least 10"),
        ({"y_valid": np.full(60, 7)}, r"y_valid has the class 7 \(row 0\), which is not in y"),
        ({"y_valid": [0]}, "y_valid has 1 entries, but X_valid has 60 rows"),
        ({"X_valid": np.zeros((60, 2))}, "X_valid has 2 features, but X has 3"),
        ({"X_valid": np.zeros((0, 3)), "y_valid": []}, "X_valid has no rows"),
        ({"X": np.full((40, 3), np.nan)}, "X has a missing or infinite value in row 0"),
        ({"seconds": 0}, "seconds must be a finite number > 0"),
        ({"coalitions": 0}, "coalitions must be a positive integer"),
        ({"memory_mb": -1}, "memory_mb must be a finite number > 0"),
        ({"reliability": 2}, "reliability must be a finite number >= 0 and <= 1"),
        ({"C": 0}, "C must be a finite number > 0"),
        ({"random_state": -1}, "random_state must be an integer"),
    ],
)
def test_bad_input_is_refused_in_one_line(change, message):
    X, y, X_valid, y_valid = make_data()
    given = {"X": X, "y": y, "X_valid": X_valid, "y_valid": y_valid, **change}
    with pytest.raises(ValueError, match=message) as error:
        nddv.semivalues(**given)
    assert "\n" not in str(error.value)


def test_points_that_do_not_exist_are_refused():
    found = nddv.semivalues(*make_data(n=20), law="loo")
    with pytest.raises(ValueError, match="pairs must name points 0 to 19"):
        found.order(0, 20)
    with pytest.raises(ValueError, match="point 3 twice"):
        found.order(3, 3)
    with pytest.raises(ValueError, match="there is no point 20"):
        found.against(20)
    with pytest.raises(ValueError, match="alpha"):
        found.order(0, 1, alpha=2)
