"""The registry, the records, and gaps."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import numpy as np
import pytest

from nddv.methods import METHODS, nddv_values, nddv_values_or_gaps, value, value_or_gap
from nddv.problems import make_problem

SIZES = {"valid": 20, "test": 20, "meta": 20}
BASELINES = [name for name in METHODS if not name.startswith("nddv-")]


@pytest.fixture(scope="module")
def problem():
    return make_problem("2dplanes", 80, "label10", 100, SIZES)[0]


class FakeNDDV:
    """Stands for the estimator where only the calls matter."""

    fits = 0

    def __init__(self, readout, task, random_state, **parameters):
        self.readout, self.task, self.random_state = readout, task, random_state
        self.parameters = parameters

    def fit(self, X, y, **side):
        FakeNDDV.fits += 1
        if self.parameters.get("fail"):
            raise FloatingPointError("diverged at epoch 3")
        assert set(side) == {"X_meta", "y_meta", "X_valid", "y_valid"}
        self.n, self.side = len(y), side
        self.stderr_ = np.ones(self.n)
        self.record_ = {"best_epoch": 2}
        return self

    def readout_values(self, readout):
        offset = ["terminal", "path", "participation"].index(readout)
        return np.arange(self.n) - (self.n - 1) / 2 + 0.0 * offset


@pytest.fixture
def fake(monkeypatch):
    module = ModuleType("nddv.estimator")
    module.NDDV = FakeNDDV
    monkeypatch.setitem(sys.modules, "nddv.estimator", module)
    FakeNDDV.fits = 0
    return FakeNDDV


def test_entries_are_complete():
    for name, method in METHODS.items():
        assert method.name == name
        assert method.title
        assert method.citation
        assert set(method.needs) <= {"train", "valid", "meta"}
        assert "test" not in method.needs


@pytest.mark.parametrize("method", BASELINES)
def test_a_baseline_gives_values_and_a_record(problem, method):
    values = value(method, problem, 100)
    assert values.values.shape == (80,)
    assert json.loads(json.dumps(values.record)) == values.record
    assert values.record["method"] == method
    assert values.record["problem"] == "2dplanes/n80/label10/seed100"
    assert values.record["seconds"] > 0


def test_random_depends_on_the_seed_and_the_others_do_not(problem):
    for method in BASELINES:
        same = np.array_equal(value(method, problem, 1).values, value(method, problem, 2).values)
        assert same == (method != "random")


def test_random_values_are_not_the_stream_that_drew_the_problem(problem):
    drawn = np.random.default_rng(100).standard_normal(80)
    assert not np.array_equal(value("random", problem, 100).values, drawn)


def test_parameters_reach_the_method_and_the_record(problem):
    few, many = (value("knn-shapley", problem, 0, k=k) for k in (1, 20))
    assert not np.array_equal(few.values, many.values)
    assert few.record["params"] == {"k": 1}
    assert few.record["params_hash"] != many.record["params_hash"]


def test_an_unknown_method_lists_the_known_ones(problem):
    with pytest.raises(ValueError, match="unknown method 'knn'; known: nddv-terminal, nddv-path"):
        value("knn", problem, 0)
    with pytest.raises(ValueError, match="unknown method 'nddv-end'"):
        nddv_values(problem, 0, ["end"])
    with pytest.raises(ValueError, match="at least one readout"):
        nddv_values(problem, 0, [])


def test_three_readouts_share_one_fit(problem, fake):
    names = ["nddv-terminal", "path", "nddv-participation"]
    found = nddv_values(problem, 7, names, epochs=2)
    assert fake.fits == 1
    assert list(found) == ["nddv-terminal", "nddv-path", "nddv-participation"]
    record = found["nddv-path"].record
    assert record["readout"] == "path"
    assert record["params"] == {"epochs": 2}
    assert record["fit"] == {"best_epoch": 2}
    assert record["seconds"] >= record["fit_seconds"]
    # Standard errors belong to the readout that was fitted.
    assert found["nddv-terminal"].stderr is not None
    assert found["nddv-path"].stderr is None


def test_one_readout_alone(problem, fake):
    values = value("nddv-participation", problem, 7)
    assert values.record["readout"] == "participation"
    assert values.record["method"] == "nddv-participation"


def test_a_failure_on_the_data_is_a_gap_with_its_reason(problem, fake, capsys):
    found = nddv_values_or_gaps(problem, 7, ["nddv-path", "nddv-terminal"], fail=True)
    assert list(found) == ["nddv-path", "nddv-terminal"]
    for name, values in found.items():
        assert values.record["gap"] == "FloatingPointError: diverged at epoch 3"
        assert values.record["method"] == name
        assert len(values.values) == 0
    assert "Traceback" in capsys.readouterr().err


def test_a_bug_is_not_a_gap(problem, monkeypatch):
    with pytest.raises(TypeError):
        value_or_gap("knn-shapley", problem, 0, neighbours=3)
    assert "gap" in value_or_gap("knn-shapley", problem, 0, k=0).record
    monkeypatch.setattr("nddv.baselines.knn_shapley", lambda *a, **k: {}["missing"])
    with pytest.raises(KeyError):
        value_or_gap("knn-shapley", problem, 0)
