"""The ceiling of detection: formulas, posteriors and their best choice, against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from nddv.evaluation.ceiling import (
    MEANS,
    ceiling,
    class_probabilities,
    expected_f1,
    probability_wrong,
)
from nddv.problems import Problem, Truth, make_problem
from nddv.problems.formulas import friedman, two_d_planes
from nddv.problems.tables import Table
from nddv.workflow.sources import KNOWN

DRAWN = {"2dplanes": (two_d_planes, "y"), "fire": (friedman, "Y")}
ROWS = 20_000


@pytest.fixture(scope="module", params=list(DRAWN))
def drawn(request):
    """A data set as the workflow has it, and its real-valued target."""
    draw, target = DRAWN[request.param]
    frame = draw(ROWS, 100)
    numbers = frame[target].to_numpy()
    below = numbers < numbers.mean()
    X = frame.drop(columns=target).to_numpy(dtype=np.float32)
    return Table(X, (below).astype(np.int64), ["N", "P"], name=request.param), numbers


def test_the_workflow_asks_where_p_is_known():
    assert set(KNOWN) == set(MEANS)


def test_what_the_formula_leaves_is_standard_normal_noise(drawn):
    table, numbers = drawn
    noise = numbers - MEANS[table.name](table.X.astype(np.float64))
    assert abs(noise.mean()) < 0.03
    assert noise.std() == pytest.approx(1.0, abs=0.02)
    assert np.mean(np.abs(noise) < 1) == pytest.approx(0.683, abs=0.015)
    assert np.abs(np.corrcoef(np.column_stack([noise, table.X]).T)[0, 1:]).max() < 0.04


def test_probabilities_are_calibrated(drawn):
    table, _ = drawn
    p = class_probabilities(table)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    for low, high in ((0.01, 0.3), (0.3, 0.7), (0.7, 0.99)):
        chosen = (p[:, 1] >= low) & (p[:, 1] < high)
        assert chosen.sum() > 1000
        assert table.y[chosen].mean() == pytest.approx(p[chosen, 1].mean(), abs=0.05)


def test_the_order_of_classes_does_not_matter(drawn):
    table, _ = drawn
    turned = Table(table.X, 1 - table.y, ["P", "N"], name=table.name)
    np.testing.assert_array_equal(class_probabilities(turned)[:, ::-1], class_probabilities(table))


def some_problem(p, rate, rng):
    """Labels drawn from P(y|x), (n, C), of which a share is made wrong."""
    n, classes = p.shape
    y = (rng.uniform(size=(n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=classes - 1)
    mask = np.zeros(n, dtype=bool)
    mask[rng.choice(n, round(rate * n), replace=False)] = True
    given = np.where(mask, (y + rng.integers(1, classes, size=n)) % classes, y)
    X = np.zeros((n, 1), np.float32)
    problem = Problem(*(part for _ in range(4) for part in (X, given)))
    return problem, Truth(mask.astype(np.int8), y, np.arange(n))


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_that_are_certain_have_a_ceiling_of_one(classes):
    rng = np.random.default_rng(100)
    p = np.eye(classes)[rng.integers(classes, size=200)]
    assert ceiling(p, *some_problem(p, 0.1, rng)) == 1.0


def test_labels_without_information_have_the_ceiling_of_chance():
    rng = np.random.default_rng(100)
    p = np.full((5000, 2), 0.5)
    assert ceiling(p, *some_problem(p, 0.1, rng)) == pytest.approx(0.1)


def test_one_place_by_hand():
    """With P(1|x) = p everywhere, labels 0 come first: r·p of all, among r·p + (1−r)·(1−p)."""
    rng = np.random.default_rng(100)
    p, r = 0.9, 0.1
    found = ceiling(
        np.tile([1 - p, p], (40_000, 1)), *some_problem(np.tile([1 - p, p], (40_000, 1)), r, rng)
    )
    assert found == pytest.approx(r * p / (r * p + (1 - r) * (1 - p)), abs=0.02)


@pytest.mark.parametrize("classes", [2, 3])
def test_no_choice_of_points_expects_more(classes):
    """Every set of k points, weighted by how probable it is that just these are wrong."""
    rng = np.random.default_rng(100)
    n, k = 8, 3
    p = rng.dirichlet(np.ones(classes), size=n)
    own = p[np.arange(n), rng.integers(classes, size=n)]
    sets = list(combinations(range(n), k))
    odds = (1 - own) / (classes - 1) / own
    weights = np.array([odds[list(chosen)].prod() for chosen in sets])
    member = np.array([[i in chosen for i in range(n)] for chosen in sets])
    exact = weights / weights.sum() @ member  # probability that a point is wrong, given k are
    best = max(sets, key=lambda chosen: exact[list(chosen)].sum())
    scores = probability_wrong(own, k / n, classes)
    assert set(np.argsort(-scores)[:k]) == set(best)


def test_the_probability_is_that_of_a_simulation():
    rng = np.random.default_rng(100)
    n, rate, classes = 200_000, 0.2, 3
    p = np.tile([0.5, 0.3, 0.2], (n, 1))
    problem, truth = some_problem(p, rate, rng)
    for label in range(classes):
        chosen = problem.y_train == label
        expected = probability_wrong(np.array([p[0, label]]), rate, classes)[0]
        assert truth.mask[chosen].mean() == pytest.approx(expected, abs=0.01)


def test_ties_are_expected_not_drawn():
    scores = np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    mask = np.array([True, True, False, False, False])
    # one flag is sure and right; the second goes to one of three, of which one is right
    assert expected_f1(scores, mask) == pytest.approx((1 + 1 / 3) / 2)


def test_problems_of_the_library_have_their_rows():
    """The rows of the truth are those of the data set: a problem's own labels fit P(y|x)."""
    frame = two_d_planes(4000, 100)
    y = (frame["y"] < frame["y"].mean()).to_numpy().astype(np.int64)
    X = frame.drop(columns="y").to_numpy(dtype=np.float32)
    table = Table(X, y, ["N", "P"], name="2dplanes")
    problem, truth = make_problem(table, 1000, "label10", 100)
    found = ceiling(class_probabilities(table), problem, truth)
    assert 0.7 < found < 0.95
    shuffled = Truth(truth.kinds, truth.y_clean, truth.rows_train[::-1])
    assert ceiling(class_probabilities(table), problem, shuffled) < 0.3
