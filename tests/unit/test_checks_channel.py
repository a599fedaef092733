"""The channel from true labels to given ones, against simulation and brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, softmax

from nddv.checks.channel import Channel, Fit, bent, margins, posterior, wrong_slopes
from nddv.checks.fitting import Target, fit_channel


def draw(n, classes, rho, rng, certain=2.0):
    """Scores, given labels, and which of them are wrong; ρ_j by true class."""
    truth = rng.integers(classes, size=n)
    scores = rng.normal(size=(n, classes))
    scores[np.arange(n), truth] += certain * rng.exponential(size=n) + 1.0
    true = np.array([rng.choice(classes, p=p) for p in softmax(2 * scores, axis=1)])
    wrong = rng.random(n) < np.asarray(rho)[true]
    given = np.where(wrong, (true + rng.integers(1, classes, size=n)) % classes, true)
    return scores, given, wrong


def a_fit(classes=3, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.random((classes, classes)) * (1 - np.eye(classes))
    pairs /= pairs.sum(1, keepdims=True)
    return Fit(1.0, 1.0, 0.3, rng.normal(size=classes), rng.normal(-2, 0.5, classes), pairs)


def test_the_posterior_is_that_of_bayes():
    fit, rng = a_fit(), np.random.default_rng(1)
    z, y = rng.normal(size=(5, 3)), np.array([0, 1, 2, 0, 1])
    found = posterior(fit, z, y, np.zeros(5, dtype=bool))
    rho = expit(fit.odds)
    for i in range(5):
        eta = softmax(np.exp(fit.scale) * z[i] + fit.shifts)
        passed = [1 - rho[j] if j == y[i] else rho[j] * fit.pairs[j, y[i]] for j in range(3)]
        joint = eta * passed
        np.testing.assert_allclose(found.given[i], joint / joint.sum(), rtol=1e-12)
        assert found.log_likelihood[i] == pytest.approx(np.log(joint.sum()))


def test_trusted_labels_are_true():
    fit, y = a_fit(), np.array([0, 2])
    found = posterior(fit, np.zeros((2, 3)), y, np.array([True, True]))
    np.testing.assert_allclose(found.given, np.eye(3)[y], atol=1e-10)


def test_bends_keep_the_order_of_classes_and_stretch_large_margins_more():
    scores = np.array([[0.0, 1.0, -1.0], [0.0, 4.0, -1.0]])
    z = bent(scores, 2.0, 1.0)
    assert (z.argsort(1) == scores.argsort(1)).all()
    ratio = margins(z) / margins(scores)
    assert ratio[1] > 5 * ratio[0] > 5
    np.testing.assert_allclose(bent(scores, 1e-9, 1.0), scores - scores.mean(1)[:, None], rtol=1e-5)


@pytest.fixture
def target():
    rng = np.random.default_rng(2)
    fit, z, y = a_fit(), rng.normal(size=(40, 3)), rng.integers(3, size=40)
    trusted = rng.random(40) < 0.2
    return Target(1.0, 1.0, z, y, trusted, fit.pairs, 0.1), np.concatenate(
        [[fit.scale], fit.shifts, fit.odds]
    )


def test_slopes_of_the_target_are_its_derivatives(target):
    aim, theta = target
    slope, _ = aim.slope(theta, aim.value(theta)[1])
    for p, step in enumerate(np.eye(len(theta)) * 1e-6):
        central = (aim.value(theta + step)[0] - aim.value(theta - step)[0]) / 2e-6
        assert slope[p] == pytest.approx(central, rel=1e-5, abs=1e-6)


def test_without_rows_the_curvature_of_the_target_is_that_of_its_pulls(target):
    aim, theta = target
    aim = replace(aim, z=aim.z[:0], y=aim.y[:0], trusted=aim.trusted[:0])
    _, curvature = aim.slope(theta, aim.value(theta)[1])
    for p, step in enumerate(np.eye(len(theta)) * 1e-5):
        up, down = (aim.slope(at, aim.value(at)[1])[0] for at in (theta + step, theta - step))
        np.testing.assert_allclose(curvature[p], (down - up) / 2e-5, rtol=1e-4, atol=1e-5)


def test_slopes_of_the_probability_are_its_derivatives(target):
    aim, theta = target
    aim = replace(aim, trusted=np.zeros(40, dtype=bool))

    def wrong(at):
        return 1 - aim.value(at)[1].given[np.arange(40), aim.y]

    slopes = wrong_slopes(aim.fit(theta), aim.z, aim.y, aim.value(theta)[1])
    for p, step in enumerate(np.eye(len(theta)) * 1e-6):
        central = (wrong(theta + step) - wrong(theta - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, p], central, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_the_number_of_wrong_labels_is_found(classes, share):
    rng = np.random.default_rng(int(100 * share) + classes)
    scores, y, wrong = draw(2000, classes, [share] * classes, rng)
    counts, errors = fit_channel(scores, y).wrong_counts(scores, y)
    assert counts[-1] == pytest.approx(wrong.sum(), abs=max(3 * errors[-1], 15))
    assert counts[-1] == pytest.approx(counts[:-1].sum())
    assert errors[-1] < 80


def test_rates_that_depend_on_the_class_are_told_apart():
    rng = np.random.default_rng(7)
    scores, y, wrong = draw(3000, 3, [0.3, 0.05, 0.0], rng)
    counts, _ = fit_channel(scores, y).wrong_counts(scores, y)
    for k in range(3):
        assert counts[k] == pytest.approx(wrong[y == k].sum(), abs=0.25 * wrong[y == k].sum() + 15)


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(3)
    scores, y, wrong = draw(4000, 2, [0.2, 0.1], rng)
    channel = fit_channel(scores, y)
    p = 1 - channel.mean(channel.posteriors(scores, y))[np.arange(len(y)), y]
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.01)):
        inside = (p >= low) & (p < high)
        assert p[inside].mean() == pytest.approx(wrong[inside].mean(), abs=0.1)


def test_intervals_cover_and_are_not_wider_than_they_need_be():
    rng = np.random.default_rng(11)
    off = np.empty(40)
    for k in range(40):
        scores, y, wrong = draw(500, 2, [0.1, 0.1], rng)
        counts, errors = fit_channel(scores, y).wrong_counts(scores, y)
        off[k] = (counts[-1] - wrong.sum()) / errors[-1]
    assert (np.abs(off) <= 1.645).sum() >= 32
    assert np.sqrt((off**2).mean()) > 0.5


def test_trusted_rows_say_what_doubtful_rows_look_like():
    # every row is doubtful by nature; without trusted rows this looks like errors
    rng = np.random.default_rng(5)
    n = 1500
    side = rng.integers(2, size=n)
    y = np.where(rng.random(n) < 0.75, side, 1 - side)
    scores = np.zeros((n, 2))
    scores[np.arange(n), side] = 1.0 + rng.random(n)
    without = fit_channel(scores, y).wrong_counts(scores[500:], y[500:])[0][-1]
    trusted = np.arange(n) < 500
    known = fit_channel(scores, y, trusted).wrong_counts(scores[500:], y[500:])[0][-1]
    assert known < 0.3 * without


def test_many_rows_are_fitted_by_a_part_of_them():
    rng = np.random.default_rng(6)
    scores, y, wrong = draw(30_000, 2, [0.1, 0.1], rng)
    counts, _ = fit_channel(scores, y).wrong_counts(scores, y)
    assert counts[-1] == pytest.approx(wrong.sum(), rel=0.15)


def test_rows_of_one_margin_do_not_break_it():
    channel = fit_channel(np.zeros((20, 2)), np.array([0, 1] * 10))
    assert isinstance(channel, Channel)
    assert np.isfinite(channel.wrong_counts(np.zeros((4, 2)), np.array([0, 1, 0, 1]))[0]).all()
