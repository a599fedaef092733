"""Detection rules against brute force, and chance levels against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.evaluation.collect import detection_tables
from nddv.evaluation.detection import (
    area_under,
    chance_levels,
    detection_curve,
    detection_scores,
    f1_score,
    flag_lowest,
    two_means,
    two_means_at_least,
)
from nddv.problems import Truth
from nddv.values import Values


def rng(seed=0):
    return np.random.default_rng(seed)


def best_split(values):
    """2-means of one-dimensional values by trying every threshold."""

    def cost(part):
        return ((part - part.mean()) ** 2).sum()

    thresholds = np.unique(values)[1:]
    costs = [cost(values[values < t]) + cost(values[values >= t]) for t in thresholds]
    return values < thresholds[int(np.argmin(costs))]


@pytest.mark.parametrize("seed", range(8))
def test_two_means_is_the_best_split(seed):
    values = rng(seed).normal(size=40) ** 3
    if seed % 2:
        values = np.round(values)  # with ties
    np.testing.assert_array_equal(two_means(values), best_split(values))


def test_two_means_survives_a_large_offset():
    values = rng().normal(size=50)
    np.testing.assert_array_equal(two_means(values + 1e6), two_means(values))


def test_two_means_of_equal_values_flags_nothing():
    assert not two_means(np.ones(5)).any()
    assert not two_means_at_least(np.ones(5), 0.5).any()


def test_two_means_at_least_keeps_splitting_what_is_left():
    values = np.array([-1000.0, -10.0, -9.0, *np.linspace(0.9, 1.0, 17)])
    assert two_means(values).sum() == 1
    assert two_means_at_least(values, 0.1).sum() == 3
    np.testing.assert_array_equal(
        np.flatnonzero(two_means_at_least(values, 0.1)), np.array([0, 1, 2])
    )


def test_flag_lowest_breaks_ties_at_random_and_by_seed():
    values = np.zeros(200)
    first = flag_lowest(values, 20, rng(1))
    np.testing.assert_array_equal(first, flag_lowest(values, 20, rng(1)))
    assert not np.array_equal(first, flag_lowest(values, 20, rng(2)))
    often = np.mean([flag_lowest(values, 20, rng(s)) for s in range(2000)], axis=0)
    assert abs(often - 0.1).max() < 0.04  # no index is favoured


def test_flag_lowest_flags_the_lowest():
    values = np.array([3.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(flag_lowest(values, 2, rng()), [False, True, False, True])
    with pytest.raises(ValueError, match="cannot flag 5 of 4"):
        flag_lowest(values, 5, rng())


def test_f1_by_hand():
    flags, mask = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 1], bool)
    assert f1_score(flags, mask) == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert f1_score(np.zeros(4, bool), mask) == 0.0


def test_curve_of_perfect_reversed_and_random_values():
    mask = np.zeros(1000, bool)
    mask[:100] = True
    perfect = detection_curve(-mask.astype(float), mask, rng())
    assert perfect[100] == 1.0
    assert perfect[50] == 0.5
    assert area_under(perfect) == pytest.approx(0.95)
    assert area_under(detection_curve(mask.astype(float), mask, rng())) == pytest.approx(0.05)
    areas = [area_under(detection_curve(np.zeros(1000), mask, rng(s))) for s in range(200)]
    assert np.mean(areas) == pytest.approx(0.5, abs=0.01)
    with pytest.raises(ValueError, match="needs corrupted points"):
        detection_curve(np.zeros(5), np.zeros(5, bool), rng())


@pytest.mark.parametrize(
    ("rate", "everything", "clusters"),
    [(0.05, 0.095, 0.091), (0.10, 0.182, 0.167), (0.30, 0.462, 0.375), (0.45, 0.621, 0.474)],
)
def test_chance_levels_match_closed_form_and_simulation(rate, everything, clusters):
    chance = chance_levels(rate)
    assert chance["flag_everything"] == pytest.approx(everything, abs=5e-4)
    assert chance["two_means"] == pytest.approx(clusters, abs=5e-4)
    mask = np.zeros(1000, bool)
    mask[: round(1000 * rate)] = True
    drawn = [detection_scores(rng(s).normal(size=1000), mask, 0.1, rng())[0] for s in range(200)]
    assert np.mean([d["f1_budget"] for d in drawn]) == pytest.approx(chance["budget"], abs=0.01)
    assert np.mean([d["f1_two_means"] for d in drawn]) == pytest.approx(
        chance["two_means"], abs=0.01
    )
    assert f1_score(np.ones(1000, bool), mask) == pytest.approx(chance["flag_everything"])


def test_budget_matched_f1_is_precision_and_recall():
    mask = rng(1).random(300) < 0.2
    values = rng(2).normal(size=300) - mask
    scores, curve = detection_scores(values, mask, 0.1, rng())
    flags = flag_lowest(values, int(mask.sum()), rng())
    assert scores["f1_budget"] == pytest.approx(f1_score(flags, mask))
    assert scores["f1_budget"] == pytest.approx((flags & mask).sum() / mask.sum())
    assert len(curve) == 301
    with pytest.raises(ValueError, match="2 values for 300 training points"):
        detection_scores(values[:2], mask, 0.1, rng())


def test_f1_of_clusters_is_the_mean_of_precision_and_recall_and_auroc_that_of_the_curve():
    mask = rng(1).random(300) < 0.2
    values = rng(2).normal(size=300) - mask
    scores, _ = detection_scores(values, mask, 0.3, rng())
    for rule in ("two_means", "two_means_at_least"):
        precision, recall = (scores[f"{name}_{rule}"] for name in ("precision", "recall"))
        harmonic = 2 * precision * recall / (precision + recall)
        assert scores[f"f1_{rule}"] == pytest.approx(harmonic)
        flagged = scores[f"flagged_{rule}"]
        assert recall * mask.sum() == pytest.approx(precision * flagged)
    # Of the area, r/2 is what even a perfect order has to spend on corrupted points.
    rate = mask.mean()
    assert scores["area"] == pytest.approx(rate / 2 + (1 - rate) * scores["auroc"])


def test_a_gap_is_a_row_with_its_reason():
    mask = np.array([True, False, False, False])
    truths = {7: Truth(mask.astype(np.int8), np.zeros(4, np.int64), np.arange(4))}
    record = {"method": "a", "seed": 7, "seconds": 1.5}
    values = [
        Values(np.array([0.0, 1.0, 2.0, 3.0]), None, record),
        Values(np.empty(0), None, {**record, "method": "b", "gap": "ValueError: no"}),
    ]
    problem = {"dataset": "toy", "n": 4, "corruption": "label25"}
    scores, curves = detection_tables(truths, values, problem, 0.1)
    assert scores["f1_budget"].tolist()[0] == 1.0
    assert scores["f1_budget"].isna().tolist() == [False, True]
    assert scores["gap"].tolist() == ["", "ValueError: no"]
    assert set(curves["method"]) == {"a"}
    assert curves["found"].iloc[-1] == 100.0
