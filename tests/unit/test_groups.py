"""Gaps between groups by hand, their references by simulation, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nddv.evaluation.detection import flag_lowest
from nddv.evaluation.groups import (
    RULES,
    Partition,
    balanced_budgets,
    calibrated,
    chance_gaps,
    detect,
    detection_gaps,
    flag_lowest_balanced,
    floor_gaps,
    group_tables,
    partitions,
    score_gaps,
    worst,
)
from nddv.evaluation.thresholds import detection_rates
from nddv.problems import Problem, Truth
from nddv.values import Values

ADDRESS = {"dataset": "toy", "n": 120, "corruption": "label25"}


def rng(seed=100):
    return np.random.default_rng(seed)


def made(seed=100, n=120, classes=("a", "b", "c"), protected=True, labels=True):
    """A problem whose first quarter is corrupted, and good values for it."""
    draw = rng(seed)
    mask = np.arange(n) < n // 4
    y_clean = draw.integers(0, len(classes), n)
    y = (y_clean + mask) % len(classes) if labels else y_clean
    part = np.zeros((n, 2), np.float32), y
    problem = Problem(*(part * 4), record={"classes": list(classes)})
    group = draw.integers(0, 2, n) if protected else None
    kinds = (mask * (1 if labels else 2)).astype(np.int8)
    truth = Truth(kinds, y_clean, np.arange(n), group, {"groups": ["f", "m"]})
    return problem, truth, draw.normal(size=n) - 1.5 * mask


def table_of(problem, truth, values, make=Values, **record):
    record = {"method": "a", "seed": 100, **record}
    return group_tables(
        {100: problem}, {100: truth}, [make(values, None, record)], ADDRESS, 0.25, 50
    )


def test_score_gaps_by_hand():
    values, codes = np.array([1.0, 3.0, 5.0, 7.0]), np.array([0, 0, 0, 1])
    np.testing.assert_allclose(score_gaps(values, codes, 3), [1, 3, np.nan])


def test_gaps_by_hand():
    mask = np.array([1, 1, 1, 1, 0, 0, 0, 0], bool)
    codes = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    flags = np.array([1, 1, 1, 0, 1, 0, 0, 0], bool)
    # TPR 3/4, of the groups 1 and 0; FPR 1/4, of the groups 1 and 0.
    dtpr, deo = detection_gaps(detection_rates(flags, mask, codes, 2))
    np.testing.assert_allclose(dtpr, [1 / 4, 3 / 4])
    np.testing.assert_allclose(deo, [1 / 4 + 3 / 4, 3 / 4 + 1 / 4])


def test_a_group_without_corrupted_points_has_no_gap():
    mask = np.array([1, 1, 0, 0, 0], bool)
    codes = np.array([0, 1, 0, 2, 2])  # group 1 has no clean points, group 2 no corrupted ones
    dtpr, deo = detection_gaps(detection_rates(~mask, mask, codes, 4))
    np.testing.assert_array_equal(np.isnan(dtpr), [False, False, True, True])
    np.testing.assert_array_equal(np.isnan(deo), [False, True, True, True])
    assert worst(dtpr) == 0
    assert np.isnan(worst(dtpr[2:]))
    np.testing.assert_array_equal(worst(np.array([[0.1, np.nan], [np.nan, np.nan]])), [0.1, np.nan])


def test_calibration_takes_the_gaps_away_and_keeps_the_order_inside_groups():
    values, codes = rng().normal(size=90), np.arange(90) % 3
    scores = calibrated(values + 10 * codes, codes, 3)
    np.testing.assert_allclose(score_gaps(scores, codes, 3), 0, atol=1e-12)
    for group in range(3):
        inside = codes == group
        assert scores[inside].std() == pytest.approx(1)
        np.testing.assert_array_equal(np.argsort(scores[inside]), np.argsort(values[inside]))
    np.testing.assert_array_equal(calibrated(np.full(1000, 0.1), np.zeros(1000, int), 1), 0)


def test_budgets_are_split_by_largest_remainders():
    np.testing.assert_array_equal(balanced_budgets(np.array([50, 30, 20]), 10), [5, 3, 2])
    np.testing.assert_array_equal(balanced_budgets(np.array([5, 3, 0, 2]), 3), [1, 1, 0, 1])


@given(st.lists(st.integers(0, 40), min_size=1).filter(any), st.floats(0, 1))
def test_budgets_are_spent_and_fit(sizes, share):
    sizes = np.array(sizes)
    k = round(share * sizes.sum())
    budgets = balanced_budgets(sizes, k)
    assert budgets.sum() == k
    assert (abs(budgets - k * sizes / sizes.sum()) < 1).all()
    assert (budgets <= sizes).all()


def test_the_balanced_rule_flags_the_lowest_of_each_group():
    values, codes = rng().normal(size=100), rng(101).integers(0, 3, 100)
    flags = flag_lowest_balanced(values + 5 * codes, 20, codes, 4, rng())
    budgets = balanced_budgets(np.bincount(codes, minlength=4), 20)
    for group in range(3):
        inside = codes == group
        expected = flag_lowest(values[inside], budgets[group], rng())
        np.testing.assert_array_equal(flags[inside], expected)
    one = flag_lowest_balanced(values, 20, np.zeros(100, int), 1, rng())
    np.testing.assert_array_equal(one, flag_lowest(values, 20, rng()))


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_flags_what_lies_below_its_threshold(rule):
    problem, truth, values = made()
    partition = partitions(truth, problem)[0]
    flags, scores, threshold = detect(rule, values, 30, partition, rng())
    np.testing.assert_array_equal(flags, scores <= threshold)
    with pytest.raises(ValueError, match="unknown rule"):
        detect("guess", values, 30, partition, rng())


def test_partitions_are_labels_and_the_protected_attribute():
    problem, truth, _ = made()
    assert [p.name for p in partitions(truth, problem)] == ["label", "clean-label", "protected"]
    observed, clean, protected = partitions(truth, problem)
    np.testing.assert_array_equal(observed.codes != clean.codes, truth.mask)
    assert protected.groups == ("f", "m")
    problem, truth, _ = made(labels=False, protected=False)
    assert [p.name for p in partitions(truth, problem)] == ["label"]


def simulated(partition, mask, draw_flags, draws=3000):
    """Mean worst gaps of random flags, one draw at a time."""
    found = []
    for seed in range(draws):
        rates = detection_rates(draw_flags(rng(seed)), mask, partition.codes, len(partition.groups))
        found.append([worst(gaps) for gaps in detection_gaps(rates)])
    return np.mean(found, axis=0)


def test_floor_is_what_shuffling_groups_gives():
    problem, truth, values = made(n=60)
    mask, partition = truth.mask, partitions(truth, problem)[0]
    flags = flag_lowest(values, 15, rng())

    def shuffled(draw):
        found = np.empty_like(flags)
        for part in (mask, ~mask):
            found[part] = draw.permutation(flags[part])
        return found

    floor = floor_gaps(flags, mask, partition, 5000, rng())
    assert floor == pytest.approx(simulated(partition, mask, shuffled), abs=0.01)


@pytest.mark.parametrize("balanced", [False, True])
def test_chance_is_what_random_values_give(balanced):
    problem, truth, values = made(n=60)
    mask, partition = truth.mask, partitions(truth, problem)[0]
    rule = "balanced" if balanced else "budget"

    def drawn(draw):
        return detect(rule, draw.normal(size=60), 15, partition, draw)[0]

    flags = detect(rule, values, 15, partition, rng())[0]
    chance = chance_gaps(flags, mask, partition, balanced, 5000, rng())
    assert chance == pytest.approx(simulated(partition, mask, drawn), abs=0.01)


def test_references_stand_an_empty_group():
    mask = np.arange(20) < 5
    partition = Partition("label", np.arange(20) % 2, ("a", "b", "none"))
    for balanced in (False, True):
        assert np.isfinite(chance_gaps(mask, mask, partition, balanced, 10, rng())).all()
    assert floor_gaps(mask, mask, partition, 10, rng()) == (0, 0)  # all found: no room for gaps


# ------------------------------------------------------------------ tables


def test_tables_have_a_row_for_each_group_and_their_worst():
    problem, truth, values = made()
    groups, summary = table_of(problem, truth, values)
    assert len(summary) == 3 * len(RULES)
    assert len(groups) == (3 + 3 + 2) * len(RULES)
    chosen = "partition == 'label' and rule == 'budget'"
    (row,) = summary.query(chosen).to_dict("records")
    own = groups.query(chosen)
    assert row["dtpr"] == own["dtpr"].max()
    assert row["deo_mean"] == pytest.approx(own["deo"].mean())
    assert row["score_gap"] == own["score_gap"].max()
    assert row["predicted_dtpr"] == pytest.approx(own["score_gap"].max() * own["slope_tpr"].max())
    assert row["predicted_deo"] > row["predicted_dtpr"]
    assert row["precision"] == row["recall"]
    flags = flag_lowest(values, 30, np.random.default_rng([100, 2]))
    assert row["recall"] == pytest.approx((flags & truth.mask).sum() / 30)
    first = own[own["group"] == "a"].iloc[0]
    inside = problem.y_train == 0
    assert first["points"] == inside.sum()
    assert first["tpr"] == pytest.approx(flags[inside & truth.mask].mean())
    assert first["fpr"] == pytest.approx(flags[inside & ~truth.mask].mean())
    assert row["d_phi"] == pytest.approx(row["score_gap"] * values.std())
    assert np.isnan(row["epsilon_u"])


def test_an_empty_class_is_counted_and_left_out_of_the_worst():
    problem, truth, values = made(classes=("a", "b", "c"), labels=False)
    problem.y_train[problem.y_train == 2] = 1
    truth.y_clean[:] = problem.y_train
    groups, summary = table_of(problem, truth, values)
    row = summary.query("partition == 'label' and rule == 'budget'").iloc[0]
    assert row["groups"] == 3
    assert row["without_corrupted"] == 1
    assert np.isfinite(
        row[["dtpr", "deo", "score_gap", "predicted_deo", "dtpr_floor"]].astype(float)
    ).all()
    empty = groups[(groups["group"] == "c") & (groups["partition"] == "label")]
    assert (empty["points"] == 0).all()
    assert empty[["dtpr", "deo", "tpr"]].isna().all(axis=None)


def test_the_order_of_points_does_not_matter():
    problem, truth, values = made()
    order = rng().permutation(len(values))
    part = problem.X_train, problem.y_train[order]
    told = [each[order] for each in (truth.kinds, truth.y_clean, truth.rows_train, truth.group)]
    moved = Problem(*(part * 4), record=problem.record), Truth(*told, truth.record)
    for first, second in zip(
        table_of(problem, truth, values), table_of(*moved, values[order]), strict=True
    ):
        numbers = first.select_dtypes("number")
        np.testing.assert_allclose(numbers, second[numbers.columns], atol=1e-12)


def test_unit_and_origin_of_values_do_not_matter_but_to_the_raw_gap():
    problem, truth, values = made()
    _, first = table_of(problem, truth, values)
    _, second = table_of(problem, truth, 8 * values + 3)
    numbers = first.select_dtypes("number").drop(columns="d_phi")
    np.testing.assert_allclose(numbers, second[numbers.columns], atol=1e-9)
    np.testing.assert_allclose(second["d_phi"], 8 * first["d_phi"])


def test_gaps_of_budgets_depend_on_the_order_of_values_only():
    problem, truth, values = made()
    kept = ["dtpr", "deo", "auroc", "recall", "dtpr_floor"]
    _, first = table_of(problem, truth, values)
    _, second = table_of(problem, truth, np.exp(values))
    same = first["rule"] != "two-means"
    np.testing.assert_allclose(first.loc[same, kept], second.loc[same, kept])
    assert not np.allclose(first.loc[same, "score_gap"], second.loc[same, "score_gap"])


def test_what_centring_took_away_does_not_change_gaps():
    problem, truth, values = made()
    n = len(values)
    fit = {"params": {"reweighting": "lookahead"}, "weight_range": 0.25}
    _, summary = table_of(problem, truth, values, Values.centered, fit=fit)
    assert set(summary["reweighting"]) == {"lookahead"}
    assert set(summary["weight_range"]) == {0.25}
    row = summary.query("partition == 'protected' and rule == 'budget'").iloc[0]
    assert row["epsilon_u"] == pytest.approx(score_gaps(values, truth.group, 2).max())
    assert row["d_phi"] == pytest.approx(n / (n - 1) * row["epsilon_u"])


def test_a_gap_is_a_row_with_its_reason():
    problem, truth, _ = made()
    groups, summary = table_of(problem, truth, np.empty(0), gap="NoValues: no")
    assert groups.empty
    assert set(summary["gap"]) == {"NoValues: no"}
    with pytest.raises(ValueError, match="2 values for 120 training points"):
        table_of(problem, truth, np.zeros(2))


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), min_size=2, max_size=40)
)
def test_gaps_are_bounded(points):
    flags, mask, codes = (np.array(column) for column in zip(*points, strict=True))
    mask[:2] = True, False
    dtpr, deo = detection_gaps(detection_rates(flags, mask, codes, 4))
    known = ~np.isnan(deo)
    assert (dtpr[~np.isnan(dtpr)] <= 1).all()
    assert (dtpr[~np.isnan(dtpr)] >= 0).all()
    assert (deo[known] <= 2).all()
    assert (deo[known] >= dtpr[known]).all()
