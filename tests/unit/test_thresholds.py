"""Rates and slopes by hand and by brute force, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nddv.evaluation.detection import area_under, detection_curve, flag_lowest
from nddv.evaluation.thresholds import (
    auroc,
    detection_rates,
    envelopes,
    local_slopes,
    precision_and_recall,
    rates_of_counts,
    thresholds,
)

#                  group 0                    group 1
SCORES = np.array([-3.0, -1.0, 0.5, 2.0, 3.0, -2.0, 0.2, 1.0, -0.4, 4.0])
MASK = np.array([1, 1, 0, 0, 0, 1, 1, 0, 0, 0], bool)
CODES = np.array([0] * 5 + [1] * 5)


def rng(seed=100):
    return np.random.default_rng(seed)


def test_rates_by_hand():
    flags = np.array([1, 1, 0, 0, 0, 1, 0, 0, 1, 0], bool)
    rates = detection_rates(flags, MASK, CODES, 3)
    assert rates.tpr == 3 / 4
    assert rates.fpr == 1 / 6
    np.testing.assert_allclose(rates.tpr_by_group, [1, 1 / 2, np.nan])  # the third has no points
    np.testing.assert_allclose(rates.fpr_by_group, [0, 1 / 3, np.nan])


def test_rates_of_counts_go_over_draws():
    hits, false_alarms = np.array([[1, 0], [2, 2]]), np.array([[0, 3], [1, 1]])
    rates = rates_of_counts(hits, false_alarms, np.array([2, 2]), np.array([4, 6]))
    np.testing.assert_allclose(rates.tpr, [1 / 4, 1])
    np.testing.assert_allclose(rates.fpr, [3 / 10, 2 / 10])
    np.testing.assert_allclose(rates.fpr_by_group, [[0, 1 / 2], [1 / 4, 1 / 6]])


@pytest.mark.parametrize(("corrupted", "missing"), [(True, "clean"), (False, "corrupted")])
def test_rates_need_both_kinds_of_points(corrupted, missing):
    with pytest.raises(ValueError, match=f"need {missing} points"):
        detection_rates(MASK, np.full(10, corrupted), CODES, 2)


def test_thresholds_lie_half_way_and_have_ends():
    flags = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], bool)
    np.testing.assert_array_equal(thresholds(SCORES, flags, CODES, 3), [-0.25, -np.inf, np.nan])
    np.testing.assert_array_equal(thresholds(SCORES, CODES == 0, CODES, 2), [np.inf, -np.inf])


def test_slopes_by_hand():
    # Within ±1 of the threshold 0: of group 0 the corrupted −1.0 lies at the edge, the clean 0.5
    # inside; of group 1 the corrupted 0.2, the clean −0.4 inside and 1.0 at the other edge.
    slopes = local_slopes(SCORES, np.zeros(10), MASK, CODES, 2, 1.0)
    np.testing.assert_allclose(slopes.tpr_by_group, np.array([0, 1 / 2]) / 2)
    np.testing.assert_allclose(slopes.fpr_by_group, np.array([1 / 3, 2 / 3]) / 2)
    assert slopes.tpr == pytest.approx(1 / 4 / 2)
    assert slopes.fpr == pytest.approx(3 / 6 / 2)


def test_slopes_are_what_moving_a_group_does_to_its_rates():
    draw = rng()
    scores, mask, codes = draw.normal(size=300), draw.random(300) < 0.3, draw.integers(0, 3, 300)
    threshold, step = draw.normal(size=3), 0.4
    slopes = local_slopes(scores, threshold[codes], mask, codes, 3, step)
    for group in range(3):
        inside = codes == group
        down, up = (scores[inside] + shift <= threshold[group] for shift in (step, -step))
        for part, slope in (
            (mask[inside], slopes.tpr_by_group[group]),
            (~mask[inside], slopes.fpr_by_group[group]),
        ):
            assert slope == pytest.approx((up[part].mean() - down[part].mean()) / (2 * step))


def test_the_slope_of_a_normal_density_is_found():
    scores = rng().normal(size=200_000)
    mask = np.arange(len(scores)) % 2 == 0
    slopes = local_slopes(
        scores, np.full(len(scores), 0.7), mask, np.zeros(len(scores), int), 1, 0.1
    )
    assert slopes.tpr == pytest.approx(np.exp(-(0.7**2) / 2) / np.sqrt(2 * np.pi), abs=0.01)


def test_a_threshold_without_end_has_no_slope():
    slopes = local_slopes(SCORES, np.full(10, -np.inf), MASK, CODES, 2, 1.0)
    assert slopes.tpr == slopes.fpr == 0
    with pytest.raises(ValueError, match="must be positive"):
        local_slopes(SCORES, np.zeros(10), MASK, CODES, 2, 0.0)


def test_envelopes_are_those_of_the_paper():
    # The row 2dplanes of tab:threshold_sensitivity_diagnostics, to its rounding.
    assert envelopes(0.056, 1.8, 1.2) == pytest.approx((0.101, 0.168), abs=5e-4)


@pytest.mark.parametrize("ties", [False, True])
def test_auroc_counts_pairs(ties):
    draw = rng()
    values, mask = draw.normal(size=60), draw.random(60) < 0.3
    values = np.round(values) if ties else values
    lower, higher = values[mask][:, None], values[~mask][None, :]
    pairs = (higher > lower).mean() + (higher == lower).mean() / 2
    assert auroc(values, mask) == pytest.approx(pairs)
    assert auroc(np.exp(values), mask) == pytest.approx(pairs)
    assert auroc(-values, mask) == pytest.approx(1 - pairs)


def test_auroc_is_the_area_under_the_detection_curve_without_its_best_case():
    values, mask = rng().normal(size=200), np.arange(200) < 40
    area = area_under(detection_curve(values, mask, rng()))
    assert area == pytest.approx(0.2 / 2 + 0.8 * auroc(values, mask))


def test_precision_and_recall_by_hand():
    flags = np.array([1, 0, 1, 0, 0, 0, 0, 0, 0, 0], bool)
    assert precision_and_recall(flags, MASK) == (1 / 2, 1 / 4)
    assert precision_and_recall(np.zeros(10, bool), MASK) == (0, 0)
    precision, recall = precision_and_recall(flag_lowest(SCORES, 4, rng()), MASK)
    assert precision == recall == 3 / 4


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.booleans(), st.integers(0, 2)), min_size=3),
    st.floats(-5, 5),
    st.floats(0.01, 3),
)
def test_slopes_are_bounded_by_the_step(points, threshold, step):
    scores, mask, codes = (np.array(column) for column in zip(*points, strict=True))
    mask[:2] = True, False
    slopes = local_slopes(scores, np.full(len(scores), threshold), mask, codes, 3, step)
    for slope in (slopes.tpr, slopes.fpr, slopes.tpr_by_group, slopes.fpr_by_group):
        known = np.asarray(slope)[~np.isnan(slope)]
        assert ((known >= 0) & (known <= 1 / (2 * step))).all()
