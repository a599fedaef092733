"""Groups that are valued worse than others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

from nddv.checks.groups import compare_groups, holm
from nddv.support.wording import InputError

SEED = 100


def test_a_comparison_by_brute_force():
    rng = np.random.default_rng(SEED)
    values, group = rng.integers(0, 9, 80).astype(float), np.repeat(["a", "b", "c"], [20, 25, 35])
    wrong = rng.random(80)
    table = compare_groups(values, {"class": group}, wrong).set_index("group")
    raw = {}
    for name in "abc":
        inside, rest = values[group == name], values[group != name]
        row = table.loc[name]
        assert row["column"] == "class"
        assert row["rows"] == len(inside)
        assert row["mean"] == pytest.approx(inside.mean())
        assert row["difference"] == pytest.approx(inside.mean() - rest.mean())
        assert row["share_wrong"] == pytest.approx(wrong[group == name].mean())
        test = mannwhitneyu(inside, rest, method="asymptotic", use_continuity=False)
        raw[name] = test.pvalue
    np.testing.assert_allclose(table.loc[list("abc"), "p"], holm(np.array(list(raw.values()))))


def test_holm_by_hand():
    adjusted = holm(np.array([0.04, 0.01, np.nan, 0.03]))
    np.testing.assert_allclose(adjusted, [0.06, 0.03, np.nan, 0.06])
    np.testing.assert_allclose(holm(np.array([0.6, 0.9])), [1, 1])


def test_a_group_that_is_worse_is_named_first():
    rng = np.random.default_rng(SEED)
    group, age = rng.choice(list("abcd"), 600), rng.uniform(20, 60, 600)
    values = rng.normal(size=600) - 0.6 * (group == "c")
    table = compare_groups(values, pd.DataFrame({"group": group, "age": age}))
    assert table.loc[0, ["column", "group", "worse"]].tolist() == ["group", "c", True]
    assert table["worse"].sum() == 1
    better = compare_groups(-values, {"group": group})
    assert not better.set_index("group").loc["c", "worse"]
    assert better["p"].min() < 0.05


@pytest.mark.parametrize("kind", ["normal", "left", "right", "two"])
def test_groups_are_rarely_worse_by_chance(kind):
    """At most 2.5 % of tables name one; with 200 tables, 5.5 % lie 2.7 standard errors above."""
    rng = np.random.default_rng(SEED)
    draw = {
        "normal": lambda: rng.normal(size=300),
        "left": lambda: -np.exp(rng.normal(size=300)),
        "right": lambda: np.exp(rng.normal(size=300)),
        "two": lambda: np.where(rng.random(300) < 0.1, -5.0, 1.0),
    }[kind]
    named = 0
    for _ in range(200):
        groups = {"a": rng.choice(5, 300, p=[0.5, 0.3, 0.1, 0.06, 0.04]), "b": rng.random(300)}
        named += compare_groups(draw(), groups)["worse"].any()
    assert named / 200 <= 0.055


def test_numbers_are_cut_at_quartiles_and_missing_entries_are_a_group():
    age = np.concatenate([np.arange(80.0), np.full(20, np.nan)])
    table = compare_groups(np.arange(100.0), {"age": age})
    rows = dict(zip(table["group"], table["rows"], strict=True))
    assert rows == {
        "up to 19.75": 20,
        "19.75 to 39.5": 20,
        "39.5 to 59.25": 20,
        "above 59.25": 20,
        "missing": 20,
    }
    few = compare_groups(np.arange(100.0), {"stars": np.arange(100) % 5})
    assert sorted(few["group"]) == ["0", "1", "2", "3", "4"]


def test_numbers_that_are_mostly_one_have_fewer_parts():
    table = compare_groups(np.arange(100.0), {"gain": np.r_[np.zeros(80), np.arange(1, 21)]})
    assert dict(zip(table["group"], table["rows"], strict=True)) == {"up to 0": 80, "above 0": 20}


def test_small_groups_are_pooled_and_what_cannot_be_compared_has_no_p():
    names = ["a"] * 50 + ["b"] * 40 + [f"c{i}" for i in range(10)]
    table = compare_groups(np.arange(100.0), {"name": names}).set_index("group")
    assert table.loc["10 groups of fewer than 10 rows", "rows"] == 10
    one = compare_groups(np.arange(95.0), {"name": names[:95]}).set_index("group")
    assert np.isnan(one.loc["5 groups of fewer than 10 rows", "p"])
    assert not one.loc["5 groups of fewer than 10 rows", "worse"]
    ten = compare_groups(np.arange(100.0), {"name": ["a"] * 85 + ["b"] * 10 + ["c"] * 5})
    assert dict(zip(ten["group"], ten["rows"], strict=True)) == {"a": 85, "b": 10, "c": 5}
    every = compare_groups(np.arange(20.0), {"all": ["a"] * 20})
    assert np.isnan(every.loc[0, "p"])


def test_equal_values_differ_nowhere():
    table = compare_groups(np.ones(40), {"a": np.arange(40) % 2})
    assert table["p"].tolist() == [1, 1]
    assert not table["worse"].any()


def test_the_index_of_a_frame_does_not_matter():
    values, group = np.arange(60.0), pd.Series(["a", "b"] * 30)
    plain = compare_groups(values, {"g": group})
    turned = compare_groups(values, pd.DataFrame({"g": group}).set_index(np.arange(60)[::-1]))
    pd.testing.assert_frame_equal(plain, turned)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], {"a": []}), "values is empty"),
        ((["x"], {"a": [1]}), "values are not numbers: give one number per row"),
        (([[1.0]], {"a": [1]}), r"values must be one-dimensional, got shape \(1, 1\)"),
        (([1, np.nan], {"a": [1, 2]}), "values is missing or infinite in row 1: leave the row out"),
        (([1, 2], {}), "groups has no columns: name at least one"),
        (([1, 2], {"a": [1]}), r"groups\['a'\] has 1 entries, but there are 2 values"),
        (([1, 2], {"a": [1, 2]}, [0.1]), "p_wrong has 1 entries, but there are 2 values"),
        (([1, 2], {"a": [1, 2]}, [0.1, 7]), "p_wrong is 7 in row 1: give probabilities"),
    ],
)
def test_errors_say_what_to_do(arguments, message):
    with pytest.raises(InputError, match=message):
        compare_groups(*arguments)
