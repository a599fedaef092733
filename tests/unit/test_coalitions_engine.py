"""The batched logistic regressions: against scikit-learn, by definition, and on awkward data."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from nddv.coalitions import Engine, Fits, fit_coalitions, solver

METHODS = ["newton", "quasi-newton"]


@pytest.fixture(params=METHODS)
def method(request, monkeypatch):
    """Each method in turn, whatever the number of parameters."""
    monkeypatch.setattr(solver, "NEWTON_SIZE", 10**6 if request.param == "newton" else 0)
    return request.param


def make_data(n, d, n_classes, seed=100, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) / np.sqrt(d) + 0.5
    signal = X @ rng.standard_normal((d, n_classes))
    return X, (signal + noise * rng.gumbel(size=signal.shape)).argmax(axis=1), rng


def coalitions(rng, n, count):
    """Subsets of several sizes, and bootstrap samples."""
    share = rng.choice([0.3, 0.5, 0.8], size=(count, 1))
    subsets = rng.random((count, n)) < share
    samples = rng.multinomial(n, np.full(n, 1 / n), size=count)
    return np.where(rng.random((count, 1)) < 0.7, subsets, samples)


def reference(X, y, weight, C):
    """Scikit-learn's fit of one coalition, to far more digits than its default."""
    held = weight > 0
    model = LogisticRegression(C=C, tol=1e-10, max_iter=20_000)
    return model.fit(X[held], y[held], sample_weight=weight[held])


def assert_same(fits, b, model, atol):
    """Compare the logits of the classes that the coalition holds, up to their common constant."""
    coefficients, intercepts = fits.coefficients[b], fits.intercepts[b]
    if len(coefficients) > 1:
        absent = np.setdiff1d(np.arange(len(coefficients)), model.classes_)
        assert np.isneginf(intercepts[absent]).all()
        assert (coefficients[absent] == 0).all()
        coefficients, intercepts = coefficients[model.classes_], intercepts[model.classes_]
        if len(model.classes_) == 2:
            coefficients, intercepts = np.diff(coefficients, axis=0), np.diff(intercepts)
    np.testing.assert_allclose(coefficients, model.coef_, atol=atol, rtol=0)
    np.testing.assert_allclose(intercepts, model.intercept_, atol=10 * atol, rtol=0)


@pytest.mark.parametrize("C", [2.0, 10.0])
@pytest.mark.parametrize(
    ("n", "d", "n_classes"), [(80, 5, 2), (80, 4, 3), (25, 60, 2), (30, 50, 3), (60, 50, 4)]
)
def test_coefficients_are_those_of_scikit_learn(method, n, d, n_classes, C):
    X, y, rng = make_data(n, d, n_classes)
    weights = coalitions(rng, n, 12)
    fits = fit_coalitions(X, y, weights, n_classes, C)
    assert fits.converged.all()
    for b, weight in enumerate(weights):
        assert len(np.unique(y[weight > 0])) > 1
        assert_same(fits, b, reference(X, y, weight, C), atol=1e-4)


def test_absent_classes_leave_what_scikit_learn_fits_to_the_others(method):
    X, y, rng = make_data(90, 4, 4)
    present = [(0, 2), (1, 3), (0, 1, 3), (1, 2, 3), (0, 1, 2, 3)]
    weights = np.array([np.isin(y, classes) * rng.integers(0, 3, len(y)) for classes in present])
    fits = fit_coalitions(X, y, weights, 4, C=3.0)
    for b, weight in enumerate(weights):
        assert_same(fits, b, reference(X, y, weight, 3.0), atol=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_unscaled_features(method, scale):
    X, y, rng = make_data(60, 4, 2)
    X[:, :2] *= scale
    weights = coalitions(rng, len(y), 6)
    fits = fit_coalitions(X, y, weights, 2, C=2.0)
    assert fits.converged.all()
    for b, weight in enumerate(weights):
        assert len(np.unique(y[weight > 0])) == 2
        assert_stationary(X, y, weight, fits, b, C=2.0, scale=scale)


def assert_stationary(X, y, weight, fits, b, C, scale):
    """The gradient of the objective, in units of the features, is zero."""
    theta = fits.coefficients[b, 0]
    probability = 1 / (1 + np.exp(-(X @ theta + fits.intercepts[b, 0])))
    residual = C * weight * (probability - y)
    gradient = X.T @ residual + theta
    assert np.abs(gradient).max() < 1e-4 * max(1.0, scale)
    assert abs(residual.sum()) < 1e-3


def test_definitions_of_coalitions_without_two_classes():
    X, y, _ = make_data(40, 3, 3)
    first, third = np.flatnonzero(y == 0)[:4], np.flatnonzero(y == 2)[:1]
    weights = np.zeros((4, 40))
    weights[1, first] = 1
    weights[2, third] = 5
    weights[3, third] = 0.5
    fits = fit_coalitions(X, y, weights, 3)
    assert (fits.coefficients == 0).all()
    assert (fits.iterations == 0).all()
    probabilities = np.exp(fits.intercepts)
    np.testing.assert_allclose(probabilities[0], np.bincount(y, minlength=3) / 40)
    np.testing.assert_allclose(probabilities[1], [5 / 7, 1 / 7, 1 / 7])
    np.testing.assert_allclose(probabilities[2], [1 / 8, 1 / 8, 6 / 8])
    np.testing.assert_allclose(probabilities[3], [1 / 3.5, 1 / 3.5, 1.5 / 3.5])


def test_definitions_with_one_logit():
    X, y, _ = make_data(40, 3, 2)
    weights = np.stack([np.zeros(40), y == 0, y == 1])
    fits = fit_coalitions(X, y, weights, 2)
    prior, zeros, ones = 1 / (1 + np.exp(-fits.intercepts[:, 0]))
    counts = np.bincount(y)
    np.testing.assert_allclose(prior, counts[1] / 40)
    np.testing.assert_allclose(zeros, 1 / (counts[0] + 2))
    np.testing.assert_allclose(ones, (counts[1] + 1) / (counts[1] + 2))


def test_training_set_of_one_class():
    X, _, rng = make_data(20, 30, 2)
    fits = fit_coalitions(X, np.zeros(20, int), coalitions(rng, 20, 5), 2)
    assert (fits.intercepts < 0).all()
    assert np.isfinite(fits.intercepts).all()


def test_far_starts_reach_the_same_fit(method):
    X, y, rng = make_data(60, 5, 3, noise=0.1)
    weights = coalitions(rng, 60, 8)
    usual = fit_coalitions(X, y, weights, 3, C=10.0)
    shape = usual.coefficients.shape
    far = Fits(
        50 * rng.standard_normal(shape),
        50 * rng.standard_normal(shape[:2]),
        usual.converged,
        usual.iterations,
    )
    found = fit_coalitions(X, y, weights, 3, C=10.0, start=far)
    assert found.converged.all()
    np.testing.assert_allclose(found.coefficients, usual.coefficients, atol=1e-4)


def test_a_fit_does_not_depend_on_its_batch(method):
    X, y, rng = make_data(70, 6, 3)
    weights = coalitions(rng, 70, 10)
    together = fit_coalitions(X, y, weights, 3)
    little_memory = fit_coalitions(X, y, weights, 3, memory_mb=0.01)
    alone = [Engine(X, y, 3).fit(weight[None]) for weight in weights]
    np.testing.assert_allclose(little_memory.coefficients, together.coefficients, atol=1e-8)
    np.testing.assert_allclose(
        np.concatenate([fit.coefficients for fit in alone]), together.coefficients, atol=1e-8
    )


def test_relabelling_points_changes_nothing(method):
    X, y, rng = make_data(50, 5, 3)
    weights = coalitions(rng, 50, 6)
    order = rng.permutation(50)
    fits = fit_coalitions(X, y, weights, 3)
    moved = fit_coalitions(X[order], y[order], weights[:, order], 3)
    np.testing.assert_allclose(moved.coefficients, fits.coefficients, atol=1e-5)


def test_among_some_points_is_a_coalition_without_the_others(method):
    X, y, rng = make_data(60, 5, 3)
    rows = rng.permutation(60)[:20]
    weights = coalitions(rng, 20, 7)
    weights[0] = 0
    engine = Engine(X, y, 3)
    wide = np.zeros((7, 60))
    wide[:, rows] = weights
    few, all_ = engine.among(rows).fit(weights), engine.fit(wide)
    np.testing.assert_allclose(few.coefficients, all_.coefficients, atol=1e-5)
    np.testing.assert_allclose(few.intercepts, all_.intercepts, atol=1e-4)


def test_single_precision(method):
    X, y, rng = make_data(200, 8, 3)
    weights = coalitions(rng, 200, 8)
    single = fit_coalitions(X, y, weights, 3, dtype="float32")
    double = fit_coalitions(X, y, weights, 3)
    assert single.converged.all()
    assert single.coefficients.dtype == np.float32
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shift", [100.0, 1000.0])
def test_single_precision_far_from_the_origin(method, shift, n_classes):
    X, y, rng = make_data(200, 5, n_classes)
    weights = coalitions(rng, 200, 8)
    single = fit_coalitions(X + shift, y, weights, n_classes, dtype="float32")
    double = fit_coalitions(X + shift, y, weights, n_classes)
    assert single.converged.all()
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-4)
    # an error of the coefficients comes back in the intercepts, times the shift
    np.testing.assert_allclose(single.intercepts, double.intercepts, atol=1e-4 * shift)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda(method):
    X, y, rng = make_data(100, 8, 3)
    weights = coalitions(rng, 100, 8)
    there, here = (fit_coalitions(X, y, weights, 3, device=device) for device in ("cuda", "cpu"))
    np.testing.assert_allclose(there.coefficients, here.coefficients, atol=1e-5)


def test_awkward_points(method):
    X, y, rng = make_data(60, 5, 3)
    X[:, 1] = 7.0
    X[:, 2] = 0.0
    X[20:40] = X[:20]
    y[y == 2] = 0
    y[[5, 50]] = 2
    weights = np.concatenate([coalitions(rng, 60, 20), np.eye(60)[:3], (y == 2)[None]])
    fits = fit_coalitions(X, y, weights, 3, C=10.0)
    assert fits.converged.all()
    assert np.isfinite(fits.coefficients).all()
    assert not np.isnan(fits.intercepts).any()


def test_ten_thousand_points():
    X, y, rng = make_data(10_000, 6, 2)
    weights = rng.random((20, 10_000)) < 0.5
    fits = fit_coalitions(X, y, weights, 2)
    assert fits.converged.all()
    assert_same(fits, 0, reference(X, y, weights[0], 1.0), atol=1e-4)


def test_no_coalitions():
    X, y, _ = make_data(20, 3, 2)
    fits = fit_coalitions(X, y, np.zeros((0, 20)), 2)
    assert fits.coefficients.shape == (0, 1, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.ones((2, 19))}, r"shape \(B, 20\)"),
        ({"weights": -np.ones((2, 20))}, "not negative"),
        ({"weights": np.full((2, 20), np.nan)}, "finite"),
        ({"n_classes": 1}, "two classes"),
        ({"y": np.full(20, 2)}, "class 2, but there are 2"),
        ({"y": np.full(20, 0.5)}, "integers"),
        ({"X": np.full((20, 3), np.inf)}, "finite"),
        ({"X": np.zeros((19, 3))}, "shapes"),
        ({"C": 0.0}, "C must be positive"),
        ({"dtype": "float16"}, "float32 or float64"),
    ],
)
def test_errors_say_what_is_wrong(change, message):
    X, y, _ = make_data(20, 3, 2)
    given = {"X": X, "y": y, "weights": np.ones((2, 20)), "n_classes": 2} | change
    with pytest.raises(ValueError, match=message):
        fit_coalitions(**given)


def fit_unequal_scales(seed):
    """Fits in single precision, with features whose scales differ by up to 10^8."""
    X, y, rng = make_data(30, 20, 4, seed)
    X *= 10.0 ** rng.uniform(-3, 5, size=20)
    return fit_coalitions(X, y, coalitions(rng, 30, 10), 4, C=100.0, dtype="float32")


def test_what_single_precision_cannot_solve_is_reported_and_finite(method):
    """Which of a hundred fits these are depends on how a machine rounds."""
    with pytest.warns(UserWarning, match="did not converge"):
        found = [fit_unequal_scales(seed) for seed in range(100, 110)]
    assert not np.concatenate([fits.converged for fits in found]).all()
    for fits in found:
        assert np.isfinite(fits.coefficients).all()
        assert not np.isnan(fits.intercepts).any()


@pytest.mark.parametrize("threads", [1, 2])
def test_as_many_fits_at_a_time_as_the_memory_holds(method, threads):
    X, y, _ = make_data(30, 4, 3)
    engine = Engine(X, y, 3)
    each = 8 * (engine._solver.numbers_each() + 4 * 3 * 4)
    engine.memory_mb = 5.5 * threads * each / 2**20
    pieces = list(engine._chunks(22, threads))
    assert [piece.stop - piece.start for piece in pieces] == [5, 5, 5, 5, 2]
