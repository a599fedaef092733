"""Models fitted together give what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import nddv
from nddv.dynamics.adjoint import Batch, batch_gradient
from nddv.dynamics.flow import Flow
from nddv.estimator.settings import Settings, resolved
from nddv.replay.optimizers import Optimizer, clip_norm

# The first three have one member, and are trained in step with other models.
SETTINGS = {
    "paper": {},
    "mlp": {"control": "mlp", "optimizer": "adamw", "reweighting": "penalty"},
    "open loop": {"control": "open_loop", "reweighting": "none", "pairing": "exact"},
    "members": {"configuration": "default", "members": 2},
}


def data(seed: int, n: int = 90, d: int = 4, classes: int = 2) -> dict:
    rng = np.random.default_rng(seed)
    X, X_meta = rng.normal(size=(n, d)), rng.normal(size=(30, d))
    y, y_meta = X[:, :classes].argmax(1), X_meta[:, :classes].argmax(1)
    return {"X": X, "y": y, "X_meta": X_meta, "y_meta": y_meta}


@pytest.mark.parametrize("name", SETTINGS)
def test_each_model_is_what_it_is_alone(name):
    """In float64 to rounding: what differs is the order of sums in matrix products."""
    seeds, settings = [3, 4, 5], {"epochs": 3, "dtype": "float64", "trajectories": 2}
    settings |= {"readout": "terminal", **SETTINGS[name]}
    given = [data(seed) for seed in seeds]
    models = [nddv.NDDV(random_state=seed, **settings) for seed in seeds]
    fitted = nddv.fit_together(models, given)
    assert fitted == models
    for model, seed, own in zip(models, seeds, given, strict=True):
        alone = nddv.NDDV(random_state=seed, **settings).fit(**own)
        assert model.values_ == pytest.approx(alone.values_, abs=1e-9)
        assert model.stderr_ == pytest.approx(alone.stderr_, abs=1e-9)
        assert model.weights_ == pytest.approx(alone.weights_, abs=1e-9)
        for readout in ("path", "participation"):
            found, expected = model.readout_values(readout), alone.readout_values(readout)
            assert found == pytest.approx(expected, abs=1e-9)
        assert model.history_["train_loss"] == pytest.approx(alone.history_["train_loss"])
        assert model.record_["fitted_together"] == 3


def test_models_of_other_sizes_or_settings_go_in_groups_of_their_own():
    given = [data(1), data(2, n=60), data(3), data(4, classes=3), data(5)]
    models = [nddv.NDDV("terminal", epochs=2, random_state=k) for k in range(4)]
    models.append(nddv.NDDV("terminal", epochs=2, width=8, random_state=4))
    nddv.fit_together(models, given)
    assert [model.record_["fitted_together"] for model in models] == [2, 1, 2, 1, 1]


def test_without_meta_data_the_folds_are_fitted_together():
    given = [{key: own[key] for key in ("X", "y")} for own in (data(1), data(1))]
    settings = {"readout": "terminal", "epochs": 2, "dtype": "float64", "random_state": 7}
    models = [nddv.NDDV(**settings) for _ in given]
    with pytest.warns(UserWarning, match="no meta data"):
        nddv.fit_together(models, given)
    with pytest.warns(UserWarning, match="no meta data"):
        alone = nddv.NDDV(**settings).fit(**given[0])
    assert models[1].values_ == pytest.approx(alone.values_, abs=1e-9)
    assert models[1].record_["fitted_together"] == 2


def test_wrong_use_is_refused():
    model = nddv.NDDV(epochs=2)
    with pytest.raises(ValueError, match="2 models need as many data sets, not 1"):
        nddv.fit_together([model, nddv.NDDV()], [data(1)])
    with pytest.raises(ValueError, match="the same model is given twice"):
        nddv.fit_together([model, model], [data(1), data(2)])
    bad = data(2)
    bad["X"][2, 1] = np.nan
    with pytest.raises(ValueError, match="X has a missing or infinite value in row 2"):
        nddv.fit_together([model, nddv.NDDV()], [data(1), bad])


def test_a_run_that_diverges_says_so():
    settings = {"epochs": 2, "learning_rate": 1e30, "clip": 1e30, "weight_decay": 0.0}
    models = [nddv.NDDV("terminal", random_state=k, **settings) for k in (1, 2)]
    with pytest.raises(FloatingPointError, match="lower learning_rate"):
        nddv.fit_together(models, [data(1), data(2)])


@pytest.mark.parametrize("control", ["kan", "mlp", "open_loop"])
@pytest.mark.parametrize("loss", ["cross_entropy", "squared_error"])
def test_the_gradient_of_a_stack_is_the_stack_of_gradients(control, loss):
    draws = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=draws, dtype=torch.float64)

    models, points = 3, 6
    outputs = 2 if loss == "cross_entropy" else 1
    flow = Flow.of(resolved(Settings(width=4, control=control)), 5, outputs)
    flat = torch.stack([flow.init(draws, torch.float64) for _ in range(models)])
    x, noise = normal(models, points, 5), normal(flow.steps, models, points, flow.width)
    y = (x[..., 0] > 0).long() if loss == "cross_entropy" else x[..., 0]
    weights, mass = normal(models, points).abs(), normal(models, points).abs()
    whole = batch_gradient(flow, flat, Batch(x, y, noise), weights, mass, loss)
    for k in range(models):
        batch = Batch(x[k], y[k], noise[:, k])
        own = (flow, flat[k], batch, weights[k], mass[k], loss)
        assert torch.allclose(whole.gradient[k], batch_gradient(*own).gradient, atol=1e-12)
    # models that look at the same points share them
    same, each = Batch(x[0], y, noise), Batch(x[:1].expand(models, -1, -1), y, noise)
    shared, stacked = (batch_gradient(flow, flat, b, weights, mass, loss) for b in (same, each))
    assert torch.allclose(shared.gradient, stacked.gradient, atol=1e-12)
    # the longest gradient is clipped without a change of the others
    limit = float(whole.gradient.norm(dim=1).sort().values[-2])
    clipped = clip_norm(whole.gradient, limit)
    assert clipped.norm(dim=1).max() == pytest.approx(limit)
    for name in ("sgd", "adamw"):
        optimizer = Optimizer(name, 0.1, 0.01, limit, 10)
        stepped, _ = optimizer.step(0, flat, optimizer.init(flat), whole.gradient)
        alone, _ = optimizer.step(0, flat[1], optimizer.init(flat[1]), whole.gradient[1])
        assert torch.allclose(stepped[1], alone, atol=1e-12)
