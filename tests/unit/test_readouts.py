"""The registry of readouts, and what reads it."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nddv
from nddv.audit.retraining import RetrainedGame
from nddv.cli.arguments import build_parser
from nddv.dynamics import reading
from nddv.dynamics.participation import level_participation
from nddv.dynamics.readouts import READOUTS, default_readout, get_readout
from nddv.estimator.settings import CONFIGURATIONS, TASKS
from nddv.laws import find_law
from nddv.support.provenance import source_hash

LIBRARY = Path(nddv.__file__).parent


@pytest.mark.parametrize("name", READOUTS)
def test_an_entry_is_complete(name):
    readout = get_readout(name)
    assert readout.name == name
    assert callable(readout.load())
    assert readout.default_for <= readout.low_is_bad <= readout.tasks <= set(TASKS)
    assert readout.configuration in CONFIGURATIONS
    assert set(readout.needs) <= {"train", "meta", "valid"}
    assert not readout.meaning.endswith(".")
    assert not readout.says.endswith(".")


def test_looks_and_titles_tell_readouts_apart():
    for field in ("title", "colour", "marker"):
        assert len({getattr(r, field) for r in READOUTS.values()}) == len(READOUTS)


def test_every_task_has_one_default():
    for task in TASKS:
        assert [r for r in READOUTS.values() if task in r.default_for] == [default_readout(task)]
    assert default_readout("classification").name == "path"
    assert default_readout("regression").name == "residual"


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="unknown readout 'pth'; did you mean 'path'?"):
        get_readout("pth")


@pytest.fixture(scope="module")
def small():
    """A model with validation data, fitted to few points."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(70, 2))
    y = (x[:, 0] > 0).astype(int)
    options = {"epochs": 3, "width": 4, "hidden": 4, "steps": 1, "dtype": "float64"}
    model = nddv.NDDV("shapley", utility="probability", **options)
    return model.fit(x[:30], y[:30], x[30:50], y[30:50], x[50:], y[50:])


@pytest.mark.parametrize("law", ["shapley", "banzhaf", "beta", "beta(16,1)", "beta(1, 4)"])
def test_a_semivalue_is_the_mean_of_derivatives_over_its_levels(small, law):
    fold = small.folds_[0]
    t, weights = find_law(law).quadrature(get_readout(law).replays)
    derivatives = level_participation(fold.run, fold.goal, t).numpy()
    assert small.readout_sensitivities(law) == pytest.approx(weights @ derivatives, abs=1e-12)


def test_semivalues_nearly_sum_to_what_all_points_are_worth(small):
    """The identity of Aumann and Shapley: dU/dt = Σ ∂U/∂w_i along w = t·1."""
    game = RetrainedGame(small)
    nobody, everyone = game.utilities(np.stack([np.zeros(30), np.ones(30)]))
    assert small.sensitivities_.sum() == pytest.approx(everyone - nobody, rel=0.01)


@pytest.mark.parametrize(
    ("readout", "message"),
    [
        ("beta(0,1)", "alpha and beta must be positive, got 0.0 and 1.0"),
        ("beta(1,x)", "α and β are two numbers"),
        ("beta(1", "unknown semi-value"),
        ("shaply", "unknown readout 'shaply'; did you mean 'shapley'?"),
    ],
)
def test_a_law_that_cannot_be_is_an_error_before_training(readout, message):
    x, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match=re.escape(message)):
        nddv.NDDV(readout).fit(x, y, x, y)


def test_a_target_of_regression_has_no_probability():
    x = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match="in regression a target has no probability"):
        nddv.NDDV("shapley", utility="probability").fit(x, x[:, 0] / 3, x, x[:, 0] / 3)


def test_a_new_readout_is_an_entry_and_a_function(monkeypatch):
    """Estimator, progress and command line know it at once."""

    def doubled(trained, tick):
        tick(trained.runs[0].steps)
        return 2 * reading.terminal(trained, tick)

    monkeypatch.setattr(reading, "doubled", doubled, raising=False)
    entry = replace(
        READOUTS["terminal"],
        name="doubled",
        function="nddv.dynamics.reading:doubled",
        replays=1,
    )
    monkeypatch.setitem(READOUTS, "doubled", entry)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    y = (x[:, 0] > 0).astype(int)
    model = nddv.NDDV("doubled", epochs=2, width=4, hidden=4, steps=1).fit(x, y, x, y)
    assert model.values_ == pytest.approx(2 * model.readout_values("terminal"))
    assert len(model.folds_[0].run.checkpoints) == model.folds_[0].run.steps
    words = ["value", "data.csv", "--target", "y", "--readout", "doubled"]
    assert build_parser().parse_args(words).readout == "doubled"


def test_a_new_title_is_no_change_of_what_computes_values(tmp_path):
    copy = shutil.copytree(LIBRARY, tmp_path / "nddv", ignore=shutil.ignore_patterns("*.pyc"))
    modules = ("estimator.nddv", "methods.valuation", "audit.bridge", "anatomy.trajectories")
    before = [source_hash(module, root=copy) for module in modules]
    registry = copy / "dynamics" / "readouts.py"
    registry.write_text(registry.read_text().replace("path-integrated", "along the path"))
    assert [source_hash(module, root=copy) for module in modules] == before
    assert source_hash("methods.registry", root=copy) != source_hash("methods.registry")
