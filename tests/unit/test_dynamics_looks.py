"""Looks at all points along the training, and what is made of them, by plain loops."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nddv.dynamics.adjoint import Batch, batch_gradient
from nddv.dynamics.flow import Flow
from nddv.dynamics.looks import LOOK_EVERY, TRUST_FROM, class_scores, crowded, due
from nddv.dynamics.reading import residual
from nddv.dynamics.rows import Rows
from nddv.dynamics.runs import Data, Run, weighted_gradient
from nddv.dynamics.schedule import Training
from nddv.dynamics.training import train
from nddv.estimator.settings import Settings, resolved

N, EPOCHS = 50, 7
CPU = torch.device("cpu")


class Recorded:
    """A small model of open-loop flows, with its parameters after every step."""

    def __init__(self, task: str = "classification", n: int = N, **settings) -> None:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(n, 4))
        self.x = Rows.fit(x, 4.0, torch.float64, CPU)
        if task == "classification":
            y = torch.as_tensor((x[:, 0] > 0) + 1 * (x[:, 1] > 1))
            y[:5] = (y[:5] + 1) % 3
            loss, outputs = "cross_entropy", 3
        else:
            y, loss, outputs = torch.as_tensor(x[:, 0] + 0.1 * x[:, 1]), "squared_error", 1
            y[:5] += 4.0
        small = {"width": 3, "steps": 2, "control": "open_loop", "batch_size": 16, "members": 2}
        own = resolved(Settings(**{**small, "epochs": EPOCHS, "learning_rate": 0.1, **settings}))
        data = Data(self.x, y, None, None, loss)
        self.flow = Flow.of(own, 4, outputs)
        training = Training.of(own, n)
        self.runs = train(self.flow, training, data, seed=3, checkpoint_every=1)

    def average(self, run: Run, epoch: int) -> torch.Tensor:
        """The parameters of a run after an epoch, averaged over those of late, by a plain loop."""
        per_epoch = run.schedule.steps_per_epoch
        average = torch.zeros_like(run.flat)
        after = [state.flat for state in run.checkpoints[1:]] + [run.flat]
        for step, flat in enumerate(after[: per_epoch * (epoch + 1)], start=1):
            share = max(1 / (LOOK_EVERY * per_epoch), 2 / (step + 1))
            if run.data.loss == "squared_error":  # the latest
                share = 1.0
            average = (1 - share) * average + share * flat
        return average

    def outputs(self, flat: torch.Tensor, driving: np.ndarray) -> np.ndarray:
        """The terminal map at every point, without noise; `driving`: the points that make μ."""
        params = self.flow.unpack(flat)
        (encoder, start), (head, bias) = (
            [p.numpy() for p in part] for part in (params.encoder, params.head)
        )
        states = self.x.take(slice(0, len(self.x))).numpy() @ encoder + start
        for control in params.controls:
            drift = states[driving].mean(0) - states  # a = 1
            states = states + self.flow.dt * (drift + control[0].numpy())
        return states @ head + bias

    def looks(self, driving: np.ndarray | None = None) -> np.ndarray:
        """Outputs (looks, members, n, C) at the epochs that have a look."""
        driving = np.arange(len(self.x)) if driving is None else driving
        epochs = [e for e in range(EPOCHS) if (e + 1) % LOOK_EVERY == 0 or e + 1 == EPOCHS]
        return np.array(
            [[self.outputs(self.average(run, e), driving) for run in self.runs] for e in epochs]
        )

    @property
    def y(self) -> np.ndarray:
        return self.runs[0].data.y.numpy()


def likelihoods(outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Softmax probabilities of the observed labels."""
    exponents = np.exp(outputs - outputs.max(-1, keepdims=True))
    shares = exponents / exponents.sum(-1, keepdims=True)
    return shares[..., np.arange(len(y)), y]


def rising_mean(looks: np.ndarray) -> np.ndarray:
    """The mean over the first axis with weights 1, 2, 3, …"""
    total = np.zeros_like(looks[0])
    for k, look in enumerate(looks, start=1):
        total += k * look
    return total / sum(range(1, len(looks) + 1))


def test_there_is_a_look_after_every_second_epoch_and_after_the_last() -> None:
    assert [epoch for epoch in range(7) if due(epoch, 7)] == [1, 3, 5, 6]
    assert [epoch for epoch in range(4) if due(epoch, 4)] == [1, 3]
    assert due(0, 1)


def test_path_is_the_mean_of_minus_the_costs_with_rising_weights() -> None:
    model = Recorded()
    costs = -np.log(likelihoods(model.looks(), model.y))
    for run, expected in zip(model.runs, -rising_mean(costs), strict=True):
        assert run.path.dtype == torch.float64
        np.testing.assert_allclose(run.path.numpy(), expected, rtol=1e-9)


def test_class_scores_weigh_looks_as_path_does() -> None:
    model = Recorded()
    outputs = model.looks()
    logs = outputs - np.log(np.exp(outputs).sum(-1, keepdims=True))
    scores = class_scores(model.flow, model.runs[0].glances, model.x).numpy()
    np.testing.assert_allclose(scores, rising_mean(logs).mean(0), rtol=1e-9)
    path = torch.stack([run.path for run in model.runs]).mean(0).numpy()
    np.testing.assert_allclose(scores[np.arange(N), model.y], path, rtol=1e-9)


@pytest.mark.parametrize("members", [1, 2, 5])
def test_a_residual_counts_by_its_uncertainty(members: int) -> None:
    """By hand; one member has no spread of its own."""
    residuals = np.random.default_rng(0).normal(size=(members, 7))
    runs = [SimpleNamespace(residuals=torch.as_tensor(row)) for row in residuals]
    mean = residuals.mean(axis=0)
    spread = residuals.var(axis=0, ddof=1) if members > 1 else 0.0
    noise = (np.median(np.abs(mean)) / 0.6745) ** 2
    found = residual(SimpleNamespace(runs=runs), lambda: None).numpy()
    np.testing.assert_allclose(found.mean(axis=0), -np.abs(mean) / np.sqrt(spread + noise))


def test_residuals_are_averaged_alike() -> None:
    model = Recorded("regression")
    residuals = model.looks()[..., 0] - model.y
    for k, run in enumerate(model.runs):
        np.testing.assert_allclose(run.residuals.numpy(), rising_mean(residuals)[k], rtol=1e-9)
        expected = -rising_mean(residuals**2 / 2)[k]
        np.testing.assert_allclose(run.path.numpy(), expected, rtol=1e-9)
    assert len(Recorded().runs[0].residuals) == 0  # classes have none


def test_self_weights_are_twice_the_mean_probability_and_at_most_one() -> None:
    """Means over all members, and over all looks so far, which count alike."""
    model = Recorded()
    p = likelihoods(model.looks(), model.y).mean(1)  # of each look, over members
    expected = np.minimum(1.0, 2.0 * p.mean(0))
    for run in model.runs:
        np.testing.assert_allclose(run.weights().numpy(), expected, rtol=1e-9)
    assert expected.min() < 0.9
    assert (expected == 1).any()
    # what the steps of each epoch were given, which is what was known before it
    steps = model.runs[0].schedule.steps_per_epoch
    first = LOOK_EVERY * TRUST_FROM  # the first epoch with weights
    for epoch in range(EPOCHS):
        before = epoch // LOOK_EVERY
        known = np.minimum(1.0, 2.0 * p[:before].mean(0)) if epoch >= first else np.ones(N)
        for run in model.runs:
            for step in range(epoch * steps, (epoch + 1) * steps):
                index, v = run.visit(step)
                np.testing.assert_allclose(v.numpy(), known[index.numpy()], rtol=1e-9)


def test_self_weights_of_targets_are_relative_to_the_spread_of_the_residuals() -> None:
    model = Recorded("regression")
    costs = (model.looks()[..., 0] - model.y) ** 2 / 2
    # of an even number of costs torch takes the lower of the two in the middle
    median = np.sort(costs, axis=-1)[..., (N - 1) // 2, None]
    # the median of χ²₁ is 0.455: half of it is the median cost of a residual of variance 1
    p = np.exp(-costs / (median / 0.2275)).mean(1).mean(0)
    np.testing.assert_allclose(model.runs[0].trust.numpy(), np.minimum(1, 2 * p), rtol=1e-9)


def test_self_weights_weigh_the_costs_and_learned_weights_the_mean() -> None:
    model = Recorded()
    run = model.runs[0]
    assert (run.shares() == 1).all()
    index = torch.arange(8)
    batch = Batch(model.x.take(index), run.data.y[index], run.noise(0, 8))
    v, ones = torch.linspace(0.1, 1.0, 8, dtype=torch.float64), torch.ones(8, dtype=torch.float64)
    how = (run.data.loss, run.training.pairing)
    found = weighted_gradient(run, run.flat, batch, v, ones).gradient
    costs = batch_gradient(run.flow, run.flat, batch, v, ones, *how).gradient
    mean = batch_gradient(run.flow, run.flat, batch, ones, v, *how).gradient
    assert torch.equal(found, costs)
    assert not torch.allclose(found, mean)
    learned = replace(run, training=replace(run.training, reweighting="lookahead"))
    assert torch.equal(weighted_gradient(learned, run.flat, batch, v, ones).gradient, mean)


def test_without_self_weights_all_points_count_alike() -> None:
    model = Recorded(reweighting="none")
    for run in model.runs:
        assert (run.weights() == 1).all()
        assert all((v == 1).all() for v in run.visit_weights)
    assert not torch.equal(model.runs[0].flat, Recorded().runs[0].flat)


def test_where_rows_are_many_for_their_columns_nothing_is_weighed() -> None:
    """A run cannot learn so many labels by heart, and trust would only cost rare rows."""
    few, many = Recorded(), Recorded(n=80)
    assert crowded(few.x)
    assert not crowded(many.x)
    assert (many.runs[0].weights() == 1).all()
    plain = Recorded(n=80, reweighting="none")
    assert torch.equal(many.runs[1].flat, plain.runs[1].flat)


def test_looks_in_pieces_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Recorded()
    monkeypatch.setattr("nddv.dynamics.population.CHUNK", 16)
    for run, other in zip(Recorded().runs, whole.runs, strict=True):
        np.testing.assert_allclose(run.path.numpy(), other.path.numpy(), rtol=1e-9)


def test_some_points_drive_the_looks_at_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nddv.dynamics.looks.DRIVING", 8)
    model = Recorded(reweighting="none")
    driving = np.linspace(0, N - 1, 8).round().astype(int)
    costs = -np.log(likelihoods(model.looks(driving), model.y))
    for run, expected in zip(model.runs, -rising_mean(costs), strict=True):
        np.testing.assert_allclose(run.path.numpy(), expected, rtol=1e-9)
