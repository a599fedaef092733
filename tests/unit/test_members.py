"""Members of a model: runs on the same batches, whose mean is read out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nddv import NDDV
from nddv.dynamics.flow import Flow
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Data, Run
from nddv.dynamics.schedule import Training
from nddv.dynamics.training import train
from nddv.estimator.settings import Settings, resolved

FAST = {"epochs": 4, "width": 8, "hidden": 6, "centers": 4, "steps": 2}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
Y[:12] = 1 - Y[:12]


def runs(members: int, observe=None, **settings) -> list[Run]:
    rows = Rows.fit(X, 3.0, torch.float64, torch.device("cpu"))
    y = torch.as_tensor(Y)
    data = Data(rows, y, rows.like(X[:40]), y[:40], "cross_entropy")
    own = resolved(Settings(members=members, **{**FAST, "reweighting": "none", **settings}))
    return train(Flow.of(own, 3, 2), Training.of(own, len(Y)), data, seed=5, observe=observe)


@pytest.mark.parametrize("reweighting", ["none", "lookahead", "penalty"])
def test_the_first_member_is_the_single_run(reweighting: str) -> None:
    """With the same seed and batches, to rounding: the others share nothing with it."""
    (alone,), several = runs(1, reweighting=reweighting), runs(3, reweighting=reweighting)
    first = several[0]
    assert [run.member for run in several] == [0, 1, 2]
    for name in ("flat", "theta", "signals", "path", "trust"):
        found, expected = getattr(first, name), getattr(alone, name)
        assert torch.allclose(found, expected, rtol=0, atol=1e-9), name
    assert first.own_seed == alone.own_seed == 5
    for row, expected in zip(first.history, alone.history, strict=True):
        assert row == pytest.approx(expected)


def test_members_see_the_same_batches_and_differ_in_all_other_draws() -> None:
    first, second = runs(2)
    for epoch in range(4):
        for a, b in zip(first.schedule.batches(epoch), second.schedule.batches(epoch), strict=True):
            assert torch.equal(a, b)
    assert first.own_seed != second.own_seed
    assert not torch.equal(first.noise(0, 8), second.noise(0, 8))
    assert not torch.allclose(first.checkpoints[0].flat, second.checkpoints[0].flat)
    assert not torch.allclose(first.path, second.path)


def test_observers_are_told_of_every_epoch_of_every_member() -> None:
    seen: list[tuple[int, int]] = []
    runs(3, observe=lambda run: seen.append((len(run.history), run.member)))
    assert seen == [(epoch, member) for epoch in range(1, 5) for member in range(3)]


def test_values_are_the_mean_of_the_members_and_their_spread_the_error() -> None:
    model = NDDV(members=3, **FAST).fit(X, Y)
    by_member = np.stack([run.path.numpy() for run in model.folds_[0].runs])
    assert by_member.shape == (3, 120)
    np.testing.assert_allclose(model.sensitivities_, by_member.mean(0), rtol=1e-12)
    others = (by_member.sum(1, keepdims=True) - by_member) / 119
    values = by_member - others  # φ_i: s_i minus the mean of the other points
    np.testing.assert_allclose(model.values_, values.mean(0), atol=1e-12)
    expected = values.std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(model.stderr_, expected, rtol=1e-9)
    assert (model.stderr_ > 0).all()
    assert model.record_["members"] == 3


def test_history_is_the_mean_of_the_members() -> None:
    model = NDDV(members=2, **FAST).fit(X, Y)
    losses = [[row["train_loss"] for row in run.history] for run in model.folds_[0].runs]
    assert model.history_["train_loss"] == pytest.approx(list(np.mean(losses, axis=0)))
    assert set(model.history_) == {"epoch", "train_loss"}


@pytest.mark.parametrize("readout", ["terminal", "participation"])
def test_other_readouts_average_members_too(readout: str) -> None:
    model = NDDV(members=2, trajectories=2, diffusion=0.3, **FAST).fit(X, Y, X[:40], Y[:40])
    parts = model.folds_[0].sensitivities(readout)
    assert parts.shape == (4, 120)  # members and their scoring paths
    np.testing.assert_allclose(model.readout_sensitivities(readout), parts.mean(0))


@pytest.mark.parametrize("reweighting", ["none", "self"])
def test_one_member_is_enough(reweighting: str) -> None:
    model = NDDV(members=1, reweighting=reweighting, **FAST).fit(X, Y)
    assert model.stderr_ is None
    assert np.isfinite(model.values_).all()
    assert model.folds_[0].run is model.folds_[0].runs[0]


def test_same_seed_same_bytes() -> None:
    first, second, other = (NDDV(random_state=s, **FAST).fit(X, Y) for s in (3, 3, 4))
    assert first.values_.tobytes() == second.values_.tobytes()
    assert first.stderr_.tobytes() == second.stderr_.tobytes()
    assert first.values_.tobytes() != other.values_.tobytes()


def test_several_members_have_no_one_run() -> None:
    model = NDDV(members=2, **FAST).fit(X, Y)
    with pytest.raises(ValueError, match="the model has 2 members.*fit it with members=1"):
        _ = model.folds_[0].run
