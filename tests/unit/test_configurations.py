"""Named configurations: what "auto" stands for, and what a fit of each needs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nddv import NDDV
from nddv.dynamics.choices import LEARNED_WEIGHTS
from nddv.dynamics.readouts import READOUTS
from nddv.estimator.settings import AUTO, CONFIGURATIONS, SETTINGS, Settings, resolved

FAST = {"epochs": 3, "width": 8, "hidden": 6, "centers": 4}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
META = RNG.normal(size=(30, 3))
SIDE = META, (META[:, 0] + 0.5 * META[:, 1] > 0).astype(int)
NAMED = {name: own for name, own in SETTINGS.items() if own.named}


def test_a_setting_with_named_values_is_left_to_the_configuration() -> None:
    assert {"members", "reweighting", "pairing", "inputs", "weight_decay"} <= set(NAMED)
    for name, own in NAMED.items():
        assert own.default == AUTO, name
        assert next(iter(own.named)) == "default", name
        assert set(own.named) <= set(CONFIGURATIONS), name
        for configuration in CONFIGURATIONS:
            own.kind.check(name, own.value(configuration))


@pytest.mark.parametrize("readout", READOUTS)
def test_auto_is_the_configuration_of_the_readout(readout: str) -> None:
    found, expected = resolved(Settings(readout)), READOUTS[readout].configuration
    assert found.configuration == expected
    for name, own in NAMED.items():
        assert getattr(found, name) == own.value(expected)
    rest = set(SETTINGS) - set(NAMED) - {"configuration", "readout"}
    assert all(getattr(found, name) == SETTINGS[name].default for name in rest)


def test_the_papers_score_and_the_audits_are_of_the_papers_configuration() -> None:
    made = {name: readout.configuration for name, readout in READOUTS.items()}
    assert made["terminal"] == made["participation"] == "paper"
    assert (made["path"], made["residual"]) == ("default", "regression")
    paper = resolved(Settings("terminal"))
    assert (paper.members, paper.reweighting, paper.pairing) == (1, "lookahead", "literal")
    assert resolved(Settings("path")).reweighting not in LEARNED_WEIGHTS


def test_what_is_said_wins() -> None:
    settings = Settings("path", configuration="paper", members=3, reweighting="none")
    found = resolved(settings)
    assert found.configuration == "paper"
    assert (found.members, found.reweighting, found.pairing) == (3, "none", "literal")
    assert settings.pairing == AUTO  # as they were
    assert vars(resolved(found)) == vars(found)


def test_unknown_names_are_refused() -> None:
    names = "'auto', 'default', 'regression', 'paper'"
    message = f"configuration must be one of {names}, got 'fast'"
    with pytest.raises(ValueError, match=message):
        NDDV(configuration="fast").fit(X, Y)
    for configuration in (AUTO, *CONFIGURATIONS):
        with pytest.raises(ValueError, match="unknown readout 'loo'"):
            NDDV("loo", configuration=configuration).fit(X, Y, *SIDE)


def test_the_terminal_readout_is_that_of_the_papers_configuration() -> None:
    auto, said, other = (
        NDDV("terminal", configuration=name, **FAST).fit(X, Y, *SIDE)
        for name in (AUTO, "paper", "default")
    )
    assert np.array_equal(auto.values_, said.values_)
    assert not np.array_equal(auto.values_, other.values_)
    assert len(auto.folds_[0].runs) == 1
    assert len(other.folds_[0].runs) > 1


def test_the_record_tells_what_was_run_and_the_parameters_what_was_said() -> None:
    model = NDDV("terminal", **FAST).fit(X, Y, *SIDE)
    assert model.record_["configuration"] == "paper"
    assert model.record_["params"]["reweighting"] == "lookahead"
    assert model.record_["members"] == model.record_["params"]["members"] == 1
    assert AUTO not in {model.record_["params"][name] for name in NAMED}
    assert model.get_params()["reweighting"] == model.get_params()["configuration"] == AUTO


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_values_of_the_default_configuration_need_no_meta_data(task: str) -> None:
    """Nothing is held out, nobody is warned, and meta data change nothing."""
    readout = "path" if task == "classification" else "residual"
    y, y_meta = (Y, SIDE[1]) if task == "classification" else (X[:, 0], META[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = NDDV(readout, **FAST).fit(X, y)
        beside = NDDV(readout, **FAST).fit(X, y, META, y_meta)
    assert len(alone.folds_) == 1
    assert np.array_equal(alone.values_, beside.values_)
    assert np.array_equal(alone.stderr_, beside.stderr_)
    assert (alone.record_["meta"], beside.record_["meta"]) == ("none", "given")
    curves = {"meta_loss", "meta_accuracy"} if task == "classification" else {"meta_loss"}
    assert set(beside.history_) == set(alone.history_) | curves


def test_rows_are_held_out_only_where_something_needs_them() -> None:
    valid = {"X_valid": META, "y_valid": SIDE[1]}
    with pytest.warns(UserWarning, match="no meta data"):
        assert len(NDDV("terminal", **FAST).fit(X, Y).folds_) == 2
    with pytest.warns(UserWarning, match="no meta data"):  # the weights are learned
        assert len(NDDV("participation", **FAST).fit(X, Y, **valid).folds_) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = NDDV("participation", reweighting="none", **FAST).fit(X, Y, **valid)
    assert len(plain.folds_) == 1
    with pytest.warns(UserWarning, match="no meta data"):  # a utility is measured
        assert len(NDDV("participation", reweighting="none", **FAST).fit(X, Y).folds_) == 2


def test_a_utility_that_nothing_measures_is_asked_for() -> None:
    model = NDDV(**FAST).fit(X, Y)
    with pytest.raises(ValueError, match="a utility is measured: give X_valid"):
        model.readout_values("participation")


@pytest.mark.parametrize("side", [(), SIDE], ids=["alone", "with meta data"])
def test_residuals_are_of_targets_only(side: tuple) -> None:
    message = "the readout residual is for regression, but .* classification"
    with pytest.raises(ValueError, match=message):
        NDDV("residual", **FAST).fit(X, Y, *side)


def test_residuals_of_a_model_of_classes_are_refused() -> None:
    model = NDDV(**FAST).fit(X, Y)
    with pytest.raises(ValueError, match="residual is for regression"):
        model.readout_values("residual")
