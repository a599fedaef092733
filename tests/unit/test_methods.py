"""The registry, the records, and gaps."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import json

import numpy as np
import pytest

from nddv.baselines import out_of_fold
from nddv.baselines.out_of_fold import boosting
from nddv.estimator.together import fit_together
from nddv.methods.registry import METHODS, get_method
from nddv.methods.settings import defaults, effective, settings_key, settings_of
from nddv.methods.signatures import parse, read_signature
from nddv.methods.valuation import (
    nddv_values,
    nddv_values_or_gaps,
    value,
    value_or_gap,
    values_or_gaps,
    values_together,
)
from nddv.methods.variants import is_nddv
from nddv.problems import make_problem

SIZES = {"valid": 20, "test": 20, "meta": 20}
BASELINES = [name for name in METHODS if not is_nddv(name)]
# Budgets small enough for a test, where the defaults are not.
SMALL = {
    "data-shapley": {"max_permutations": 4},
    "beta-shapley": {"max_permutations": 4},
    "data-banzhaf": {"num_models": 50},
    "influence-function": {"num_models": 50},
    "ame": {"num_models": 30},
    "data-oob": {"num_models": 50},
    "data-oob-trees": {"num_models": 50},
    "forest-residual": {"num_models": 50},
    "du-shapley": {"num_pools": 4},
    "cs-shapley": {"num_samples": 3},
    "dvrl": {"rl_epochs": 3},
    "lossval": {"epochs": 2},
    "volume-shapley": {"max_permutations": 2},
    "singular-oob": {"num_models": 50},
    "aum": {"epochs": 2},
    "nddv-released": {"epochs": 2},
}
LEVELS = ("shapley-level", "banzhaf-level", "beta-level", "influence-level")
DETERMINISTIC = (
    *("loo", "knn-shapley", "lava", "eigen-value", "singular-lava", "small-loss", "features"),
    "kairos",
    *LEVELS,
)


@pytest.fixture(scope="module")
def problem():
    return make_problem("2dplanes", 80, "label10", 100, SIZES)[0]


@pytest.fixture(scope="module")
def regression():
    return make_problem("fire_target", 80, "target10", 100, SIZES)[0]


@pytest.fixture
def fits(monkeypatch):
    """The seeds of the models that are fitted together; those that fail at seed 13."""
    groups = []

    def counted(models, data):
        groups.append([model.random_state for model in models])
        if 13 in groups[-1]:
            raise FloatingPointError("diverged at epoch 3")
        return fit_together(models, data)

    monkeypatch.setattr("nddv.estimator.together.fit_together", counted)
    return groups


def test_entries_are_complete():
    for name, method in METHODS.items():
        assert method.name == name
        assert method.title
        assert method.citation
        assert method.cost
        assert set(method.needs) <= {"train", "valid", "meta"}
        assert "test" not in method.needs
        assert set(method.tasks) <= {"classification", "regression"}
        assert method.tasks


def test_methods_need_what_their_functions_ask_for():
    without = ("data-oob", "data-oob-trees", "volume-shapley", "eigen-value", "singular-oob")
    without = (*without, "forest-residual", "boosting", "boosting-slow", "boosting-confident")
    without = (*without, "logistic-oof", "aum")
    assert METHODS["nddv-released"].needs == ("train", "meta")
    for name in set(BASELINES) - {"nddv-released"}:
        validated = name not in (*without, "small-loss", "features", "random")
        assert METHODS[name].needs == (("train", "valid") if validated else ("train",)), name
    assert METHODS["nddv-path"].needs == ("train",)
    assert METHODS["nddv-terminal"].needs == ("train", "meta")
    assert METHODS["nddv-participation"].needs == ("train", "meta", "valid")


@pytest.mark.parametrize("name", BASELINES)
def test_settings_have_meanings_and_defaults_that_they_may_have(name):
    for setting in settings_of(name).values():
        assert setting.meaning, setting.name
        setting.kind.check(setting.name, setting.default)


def test_a_game_brings_its_settings():
    assert set(defaults("loo")) == {
        *("C", "utility", "cache", "device", "dtype"),
        "predicted",
    }
    assert set(defaults("cs-shapley")) == {
        *("C", "step", "device", "dtype"),
        *("num_samples", "normalise"),
    }
    assert "step" in defaults("data-shapley")
    assert "step" not in defaults("volume-shapley")  # volumes are not fitted
    assert defaults("singular-lava") == defaults("lava")
    assert defaults("odv:DataBanzhaf") == {}


def test_the_configuration_overlays_the_defaults():
    config = {"nddv": {"epochs": 3}, "odv:DataOob": {"num_models": 5}, "lava": {"entropy": 0.2}}
    assert effective(config, "nddv-path") == {**defaults("nddv-path"), "epochs": 3}
    assert effective(config, "odv:DataOob") == {"num_models": 5}
    assert effective(config, "lava") == {**defaults("lava"), "entropy": 0.2}
    assert effective({}, "random") == {}


def test_the_defaults_of_a_readout_are_those_of_its_configuration():
    path, terminal = defaults("nddv-path"), defaults("nddv-terminal")
    assert (path["configuration"], terminal["configuration"]) == ("default", "paper")
    assert (path["reweighting"], terminal["reweighting"]) == ("self", "lookahead")
    assert terminal["members"] == 1 < path["members"]
    assert defaults("nddv-path:interaction=0") == path
    # a configuration that is named decides what is left to it, and a setting that is named wins
    named = {"nddv": {"configuration": "paper", "reweighting": "none"}}
    assert effective(named, "nddv-path") == {**terminal, "reweighting": "none"}
    assert effective({"nddv": {"configuration": "auto"}}, "nddv-path") == path


def test_functions_of_the_entries_exist():
    for method in METHODS.values():
        for function in filter(None, (method.function, method.reading)):
            module, _, name = function.partition(":")
            assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("method", BASELINES)
def test_a_baseline_gives_values_and_a_record(problem, regression, method):
    settings = SMALL.get(method, {})
    if "classification" not in METHODS[method].tasks:
        problem = regression
    values = value(method, problem, 100, **settings)
    assert values.values.shape == (80,)
    assert np.isfinite(values.values).all()
    assert json.loads(json.dumps(values.record)) == values.record
    assert values.record["method"] == method
    assert values.record["problem"] == problem.record["address"]
    assert values.record["seconds"] > 0
    assert values.record["params"] == {**defaults(method), **settings}
    assert "title" not in values.record
    every = {**defaults(method), **settings}
    again, other = (value(method, problem, seed, **every).values for seed in (100, 101))
    np.testing.assert_array_equal(again, values.values)
    assert np.array_equal(other, values.values) == (method in DETERMINISTIC)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_that_does_not_fit_the_task_is_a_gap(problem, regression, method):
    for given, task in ((problem, "classification"), (regression, "regression")):
        if task not in METHODS[method].tasks:
            found = value_or_gap(method, given, 100)
            assert found.record["gap"].startswith(f"NoValues: {METHODS[method].title} is for ")
            assert found.record["gap"].endswith(f", and this is a {task} problem")
            assert len(found.values) == 0


def test_what_values_a_regression(regression):
    """Rules that read no labels, rules made for it, and NDDV."""
    fitting = {name for name in METHODS if "regression" in METHODS[name].tasks}
    readouts = {name for name in METHODS if is_nddv(name)}
    without_labels = {"volume-shapley", "eigen-value", "features", "random"}
    assert fitting - readouts == without_labels | {"forest-residual"}
    assert readouts <= fitting
    for name in sorted(without_labels):
        assert len(value(name, regression, 100, **SMALL.get(name, {})).values) == 80
    assert "regression" not in get_method("odv:DataBanzhaf").tasks
    assert "regression" in get_method("nddv-path:interaction=0").tasks


def test_readouts_of_nddv_value_a_regression(regression):
    names = ["nddv-path", "nddv-participation", "nddv-residual"]
    (found,) = nddv_values([regression], [100], names, epochs=2)
    for values in found.values():
        assert values.values.shape == (80,)
        assert np.ptp(values.values) > 0


def test_forests_and_regressions_are_two_rules(problem):
    forest, regressions = (
        value(method, problem, 100, num_models=50).values
        for method in ("data-oob-trees", "data-oob")
    )
    assert not np.array_equal(forest, regressions)


def test_a_rule_depends_on_the_code_that_it_uses():
    """What a module imports of the library when it is loaded is part of its hash, no more."""
    for name in BASELINES:
        tree = parse(METHODS[name].function.partition(":")[0])
        late = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        now = [node for node in late if node in tree.body]
        assert not [n.module for n in late if n not in now and n.module.startswith("nddv")], name
        if {"game", "class_accuracies"} & {*read_signature(METHODS[name].function).names}:
            assert any(node.module == "nddv.coalitions" for node in now), name


def test_a_problem_without_a_record_can_be_valued(problem):
    bare = dataclasses.replace(problem, record={})
    np.testing.assert_array_equal(value("loo", bare, 100).values, value("loo", problem, 100).values)


def test_the_game_of_a_rule_can_be_chosen(problem):
    accuracy = value("loo", problem, 100).values
    likelihood = value("loo", problem, 100, utility="log_likelihood", C=2.0).values
    assert len(np.unique(accuracy)) < len(np.unique(likelihood))
    with pytest.raises(ValueError, match="one of 'accuracy', 'log_likelihood', 'probability'"):
        value("loo", problem, 100, utility="f1")


def test_an_evaluator_of_opendataval_is_a_method():
    method = get_method("odv:DataBanzhaf")
    assert method.title == "OpenDataVal's DataBanzhaf"
    assert method.modules[0] == "integrations.opendataval"


def test_a_variant_is_nddv_with_one_setting_changed(problem):
    changed = value("nddv-path:interaction=0", problem, 100, epochs=2)
    assert changed.record["method"] == "nddv-path:interaction=0"
    assert changed.record["params"] == {**defaults("nddv-path"), "epochs": 2, "interaction": 0}
    title = get_method("nddv-path:interaction=0").title
    assert title == "NDDV, path-integrated, interaction = 0"
    same = value("nddv-path", problem, 100, epochs=2, interaction=0)
    assert np.array_equal(changed.values, same.values)
    assert not np.array_equal(changed.values, value("nddv-path", problem, 100, epochs=2).values)


def test_a_variant_of_the_meta_size_uses_its_first_rows(problem):
    few = dataclasses.replace(problem, X_meta=problem.X_meta[:9], y_meta=problem.y_meta[:9])
    found = value("nddv-terminal:meta_size=9", problem, 100, epochs=2)
    assert np.array_equal(found.values, value("nddv-terminal", few, 100, epochs=2).values)
    assert found.record["params"] == {**defaults("nddv-terminal"), "epochs": 2, "meta_size": 9}
    with pytest.raises(ValueError, match="meta_size=5000: the meta part has"):
        value("nddv-terminal:meta_size=5000", problem, 100, epochs=2)


def test_variants_of_one_fit_share_their_settings(problem):
    names = ["nddv-terminal:diffusion=1", "nddv-path:diffusion=1"]
    assert list(nddv_values([problem], [100], names, epochs=2)[0]) == names
    with pytest.raises(ValueError, match="the same settings"):
        nddv_values([problem], [100], ["nddv-terminal", "nddv-path:diffusion=1"], epochs=2)


def test_a_variant_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="only NDDV has variants"):
        get_method("loo:C=2")
    with pytest.raises(ValueError, match="a variant is written as nddv-path:interaction=10"):
        get_method("nddv-path:interaction")
    with pytest.raises(ValueError, match="unknown method 'nddv-end'"):
        get_method("nddv-end:interaction=1")


def test_random_values_are_not_the_stream_that_drew_the_problem(problem):
    drawn = np.random.default_rng(100).standard_normal(80)
    assert not np.array_equal(value("random", problem, 100).values, drawn)


def test_parameters_reach_the_method_and_the_record(problem):
    few, many = (value("knn-shapley", problem, 0, k=k) for k in (1, 20))
    assert not np.array_equal(few.values, many.values)
    assert few.record["params"] == {**defaults("knn-shapley"), "k": 1}
    assert few.record["params_hash"] != many.record["params_hash"]


def test_an_unknown_method_lists_the_known_ones(problem):
    with pytest.raises(ValueError, match="unknown method 'xyz'; known: nddv-terminal, nddv-path"):
        value("xyz", problem, 0)
    with pytest.raises(ValueError, match="unknown method 'loa'; did you mean 'loo'"):
        value("loa", problem, 0)
    with pytest.raises(ValueError, match="unknown method 'nddv-end'"):
        nddv_values([problem], [0], ["end"])
    with pytest.raises(ValueError, match="at least one readout"):
        nddv_values([problem], [0], [])


def test_readouts_of_one_configuration_share_one_fit(problem, fits):
    names = ["nddv-terminal", "path", "nddv-participation"]
    (found,) = nddv_values([problem], [7], names, epochs=2, trajectories=2)
    assert fits == [[7], [7]]
    assert list(found) == ["nddv-terminal", "nddv-path", "nddv-participation"]
    for name, values in found.items():
        record = values.record
        assert record["readout"] == name.removeprefix("nddv-")
        assert record["params"] == {**defaults(name), "epochs": 2, "trajectories": 2}
        assert record["fit"]["configuration"] == record["params"]["configuration"]
        assert record["seconds"] >= record["fit_seconds"]
        alone = value(name, problem, 7, epochs=2, trajectories=2)
        assert np.array_equal(alone.values, values.values)
    # Standard errors belong to the readout that was fitted.
    assert found["nddv-terminal"].stderr is not None
    assert found["nddv-path"].stderr is not None
    assert found["nddv-participation"].stderr is None


@pytest.mark.parametrize("configuration", ["default", "paper"])
def test_a_configuration_that_is_named_is_that_of_all_readouts(problem, fits, configuration):
    named = {"epochs": 2, "configuration": configuration}
    (found,) = nddv_values([problem], [7], ["nddv-terminal", "nddv-path"], **named)
    assert fits == [[7]]
    for values in found.values():
        assert values.record["fit"]["configuration"] == configuration
    nddv_values([problem], [7], ["terminal", "path"], epochs=2, configuration="auto")
    assert fits == [[7], [7], [7]]  # auto names none


def test_one_readout_alone(problem):
    values = value("nddv-participation", problem, 7, epochs=2)
    assert values.record["readout"] == "participation"
    assert values.record["method"] == "nddv-participation"


def test_the_seeds_of_a_problem_are_fitted_together(problem, fits):
    found = nddv_values([problem, problem], [7, 8], ["nddv-path"], epochs=2)
    assert fits == [[7, 8]]
    for values, seed in zip(found, (7, 8), strict=True):
        alone = value("nddv-path", problem, seed, epochs=2)
        assert values["nddv-path"].values == pytest.approx(alone.values, abs=1e-4)
        assert values["nddv-path"].record["seed"] == seed
        assert values["nddv-path"].record["fit"]["fitted_together"] == 2


def test_a_failure_on_the_data_is_a_gap_with_its_reason(problem, fits, capsys):
    methods = ["nddv-path", "nddv-terminal"]
    found = nddv_values_or_gaps([problem] * 3, [7, 13, 8], methods, epochs=2)
    # together, then each alone; of those that do not fail both configurations
    assert fits == [[7, 13, 8], [7], [7], [13], [8], [8]]
    assert [list(values) for values in found] == [methods] * 3
    for name, values in found[1].items():
        assert values.record["gap"] == "FloatingPointError: diverged at epoch 3"
        assert values.record["method"] == name
        assert len(values.values) == 0
    assert len(found[0]["nddv-path"].values) == len(found[2]["nddv-path"].values) == 80
    assert "Traceback" in capsys.readouterr().err


def test_data_that_a_rule_cannot_value_are_a_gap(problem):
    flat = dataclasses.replace(problem, X_train=np.ones_like(problem.X_train))
    found = value_or_gap("eigen-value", flat, 100)
    assert found.record["gap"].startswith("NoValues: Eigen-Value is undefined")
    assert len(found.values) == 0


BOOSTED = ["boosting", "boosting-confident"]


def test_methods_of_one_function_share_its_fits_and_settings(problem, monkeypatch):
    asked = []

    def counted(*arguments, **settings):
        asked.append(settings["max_iter"])
        return boosting(*arguments, **settings)

    alone = {name: value(name, problem, 7, max_iter=3) for name in BOOSTED}
    # with the parameters of the function, which say what it is given
    monkeypatch.setattr(out_of_fold, "boosting", functools.wraps(boosting)(counted))
    found = values_together(BOOSTED, problem, 7, max_iter=3)
    assert asked == [3]
    assert list(found) == BOOSTED
    for name, values in found.items():
        np.testing.assert_array_equal(values.values, alone[name].values)
        assert values.record["method"] == name
        assert values.record["params"] == {**defaults("boosting"), "max_iter": 3}
        assert values.record["seconds"] > 0
    assert {settings_key(name) for name in BOOSTED} == {"boosting"}
    assert settings_key("boosting-slow") == "boosting-slow"
    assert values_together(["nddv-path"], problem, 7, epochs=2).keys() == {"nddv-path"}


def test_methods_of_other_functions_share_no_fits(problem):
    with pytest.raises(ValueError, match="do not read the same fits"):
        values_together(["boosting", "boosting-slow"], problem, 7)


def test_failed_fits_are_a_gap_of_each_method_that_reads_them(problem):
    flat = dataclasses.replace(problem, y_train=np.ones_like(problem.y_train))
    found = values_or_gaps(BOOSTED, flat, 100)
    assert list(found) == BOOSTED
    for name, values in found.items():
        assert values.record["method"] == name
        assert values.record["gap"].startswith("NoValues: values out of fold need at least two")
        assert len(values.values) == 0


def test_a_bug_or_a_wrong_setting_is_not_a_gap(problem, monkeypatch):
    with pytest.raises(TypeError):
        value_or_gap("knn-shapley", problem, 0, neighbours=3)
    with pytest.raises(ValueError, match="k must be a positive integer"):
        value_or_gap("knn-shapley", problem, 0, k=0)
    monkeypatch.setattr("nddv.baselines.neighbours.knn_shapley", lambda X: {}["missing"])
    with pytest.raises(KeyError):
        value_or_gap("knn-shapley", problem, 0)
