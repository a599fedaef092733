"""Marginals in context: predictions and refinements against fits one by one."""

from __future__ import annotations

import drawn
import numpy as np
import pytest
import torch

from nddv.coalitions import LogisticGame, contexts, newcomers
from nddv.coalitions import expansion as expansion_module
from nddv.coalitions.contexts import Contexts
from nddv.coalitions.design import Design
from nddv.coalitions.expansion import Expansion
from nddv.support.settings import UTILITIES

SHAPES = [(60, 4, 2), (60, 4, 4), (40, 60, 2), (40, 60, 3)]


def make_problem(n=60, d=4, n_classes=2):
    return drawn.make_problem(n, d, n_classes, m=80)


def draw(n, sizes, seed=100):
    ranks = np.random.default_rng(seed).random((len(sizes), n)).argsort(axis=1).argsort(axis=1)
    return ranks < np.array(sizes)[:, None]


def one_by_one(problem, members, utility, C):
    game = LogisticGame(*problem, C=C, utility=utility)
    found = []
    for coalition in members:
        flipped = coalition ^ np.eye(game.n, dtype=bool)
        utilities = game.utilities(np.concatenate([coalition[None], flipped]))
        found.append(np.where(coalition, -1, 1) * (utilities[1:] - utilities[0]))
    return np.array(found)


@pytest.mark.parametrize("C", [0.3, 3.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_exact_marginals_are_those_of_fits(shape, C):
    problem = make_problem(*shape)
    n = shape[0]
    members = draw(n, [0, 1, 2, 5, 10, n // 2, n - 1, n])
    found = Contexts(LogisticGame(*problem, C=C), UTILITIES).exact(members)
    assert found.marginals.shape == (len(members), n, 3)
    for column, utility in enumerate(UTILITIES):
        expected = one_by_one(problem, members, utility, C)
        # the engine stops at a change of logits of 1e-4 or so; one label that flips is 1/80
        tolerance = 1.01 / 80 if utility == "accuracy" else 3e-4
        np.testing.assert_allclose(found.marginals[..., column], expected, atol=tolerance)
    assert found.refits[0] == n  # no member, no curvature
    assert found.refits[5:].max() < n / 3


def test_many_parameters_are_refined_with_blocks_of_the_hessian(monkeypatch):
    problem = make_problem(40, 60, 4)
    members = draw(40, [6, 12, 20, 40])
    whole = Contexts(LogisticGame(*problem, utility="probability"))
    expected, near = whole.exact(members).marginals, whole.predicted(members).marginals
    monkeypatch.setattr(expansion_module, "LARGEST", 0)
    np.testing.assert_allclose(whole.exact(members).marginals, expected, atol=3e-4)
    rough = whole.predicted(members).marginals
    assert not np.allclose(rough, near, atol=1e-6)
    for found, fits in zip(rough[..., 0], expected[..., 0], strict=True):
        assert np.corrcoef(found, fits)[0, 1] > 0.9


def test_errors_are_what_predictions_lack():
    game = Contexts(LogisticGame(*make_problem(), utility="probability"))
    members = draw(60, [3, 30])
    total = game.predicted(members).marginals + game.errors(members).marginals
    np.testing.assert_allclose(total, game.exact(members).marginals, atol=1e-7)  # as fits are


def test_without_a_member_nothing_is_predicted_and_no_error_is_fitted():
    game = LogisticGame(*make_problem())
    found = Contexts(game).errors(np.zeros((1, game.n), bool))
    assert not found.marginals.any()
    assert found.refits.tolist() == [0]


@pytest.mark.parametrize("shape", SHAPES)
def test_predicted_marginals_are_close_to_fits(shape):
    problem = make_problem(*shape)
    n = shape[0]
    members = draw(n, [n // 8, n // 4, n // 2, n])
    game = Contexts(LogisticGame(*problem, utility="probability"))
    predicted, exact = game.predicted(members).marginals, game.exact(members).marginals
    for near, far in zip(predicted[..., 0], exact[..., 0], strict=True):
        assert np.median(np.abs(near - far)) < 0.05 * far.std()
        assert np.corrcoef(near, far)[0, 1] > 0.97


def test_a_newton_step_would_not_do_for_a_point_that_is_added():
    """The proximal step keeps the loss of a far point exact; its expansion overshoots."""
    X, y, X_valid, y_valid, _ = make_problem()
    X[0] *= 30
    y[0] = 1 - y[0]
    game = LogisticGame(X, y, X_valid, y_valid, 2, utility="probability")
    members = np.ones((1, 60), dtype=bool)
    members[0, 0] = False
    design = Design.of(game)
    expansion = Expansion.at(
        design, design.models(game.engine.fit(members))[0], torch.as_tensor(members[0])
    )
    moves = expansion.predicted()
    refined, reached = expansion.refined(moves)
    assert reached.all()
    error = (moves.inside - refined.inside)[0].norm()
    logit = expansion.X[0] @ expansion.model.theta[0]
    residual = torch.sigmoid(logit) - y[0]
    leverage = expansion.blocks[0, 0, 0] * torch.sigmoid(logit) * torch.sigmoid(-logit)
    newton = -residual / (1 + leverage) * expansion.solve(expansion.X[:1, None])[0]
    assert error < 0.5 * refined.inside[0].norm()
    assert (newton - refined.inside[0]).norm() > 5 * error


def test_refined_moves_are_fits_inside_and_outside_of_the_span():
    problem = make_problem(40, 60, 3)
    game = LogisticGame(*problem, utility="log_likelihood")
    members = draw(40, [15])
    design = Design.of(game)
    expansion = Expansion.at(
        design, design.models(game.engine.fit(members))[0], torch.as_tensor(members[0])
    )
    assert expansion.X.shape[1] == 16
    refined, reached = expansion.refined(expansion.predicted())
    rows = np.flatnonzero(reached.numpy())
    assert len(rows) > 30
    flipped = members ^ (np.arange(40) == rows[:, None])
    logits = expansion.logits(refined.take(torch.as_tensor(rows)))
    fits = game.engine.fit(flipped)
    expected = fits.coefficients @ problem[2].T + fits.intercepts[..., None]
    shifted = logits - logits.mean(dim=1, keepdim=True)
    np.testing.assert_allclose(shifted.numpy(), expected, atol=2e-3)


@pytest.mark.parametrize("largest", [0, 110])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_last_and_the_first_point_of_a_class_are_fitted(monkeypatch, n_classes, largest):
    """By the engine, or by Newton's method for all newcomers at once."""
    monkeypatch.setattr(newcomers, "LARGEST", largest)
    problem = make_problem(n_classes=n_classes)
    y = problem[1]
    members = np.zeros((3, 60), dtype=bool)
    members[:2, np.flatnonzero(y == 0)[:4]] = True
    members[1, np.flatnonzero(y == 1)[:1]] = True
    members[2, np.flatnonzero(y == 1)[:6]] = True
    game = Contexts(LogisticGame(*problem), ("log_likelihood", "probability"))
    found = game.predicted(members)
    new = np.array([y != 0, y > 1, y != 1])
    for column, utility in enumerate(game.utilities):
        expected = one_by_one(problem, members, utility, 1.0)
        away = np.abs(found.marginals[..., column] - expected)
        assert away[new].max() < 1e-3
        assert away[1, np.flatnonzero(y == 1)[0]] < 1e-3  # leaves no point of its class
    fewest = new.sum(axis=1) if largest == 0 else np.zeros(3)
    assert (found.refits >= fewest).all()
    assert (found.refits <= 60 - (largest > 0) * new.sum(axis=1)).all()


def test_memory_changes_no_more_than_rounding_does(monkeypatch):
    game = Contexts(LogisticGame(*make_problem(), utility="probability"))
    members = draw(60, [20, 40])
    whole = game.predicted(members).marginals, game.exact(members).marginals
    monkeypatch.setattr(contexts, "LOGITS_TOGETHER", 1500)
    single, double = 3e-8, 1e-12  # precision of predictions and of fits
    np.testing.assert_allclose(game.predicted(members).marginals, whole[0], atol=single)
    np.testing.assert_allclose(game.exact(members).marginals, whole[1], rtol=1e-9, atol=double)


@pytest.mark.parametrize("C", [1e-3, 1e2])
def test_awkward_data_give_finite_marginals(C):
    X, y, X_valid, y_valid, _ = make_problem(n=30, d=40, n_classes=3)
    X[:, 0], X_valid[:, 0] = 5.0, 5.0
    X[15:] = X[:15]
    y[15:] = y[:15]
    X[3] *= 30
    y[y == 2] = 0
    y[[4, 19]] = 2
    game = Contexts(LogisticGame(X, y, X_valid, y_valid, 3, C=C), UTILITIES)
    members = draw(30, [0, 1, 3, 8, 20, 29, 30])
    assert np.isfinite(game.predicted(members).marginals).all()
    assert np.isfinite(game.exact(members).marginals).all()


def test_newcomers_are_fitted_here_up_to_a_size(monkeypatch):
    """Classes of the members and one more, times features in their span, a way out, intercept."""
    X, y, X_valid, y_valid, n_classes = make_problem(d=4, n_classes=3)
    game = Contexts(LogisticGame(X, y, X_valid, y_valid, n_classes))
    members = torch.zeros(60, dtype=torch.bool)
    members[np.flatnonzero(y == 0)[:2]] = True
    members[np.flatnonzero(y == 1)[:1]] = True
    monkeypatch.setattr(newcomers, "LARGEST", 3 * (3 + 2))
    assert newcomers.fits_here(game._design, members)
    monkeypatch.setattr(newcomers, "LARGEST", 3 * (3 + 2) - 1)
    assert not newcomers.fits_here(game._design, members)
