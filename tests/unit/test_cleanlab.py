"""cleanlab's scores as methods: what it is given, what it gives, and a gap where there is none."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from nddv.baselines.out_of_fold import stratified_folds
from nddv.integrations.cleanlab import run_cleanlab
from nddv.methods.registry import CLEANLAB_SCORES, get_method
from nddv.methods.settings import defaults, schema
from nddv.methods.valuation import value, value_or_gap
from nddv.problems import make_problem
from nddv.support.schemas import fault
from nddv.values import NoValues

SEED = 100
METHODS = [f"cleanlab:{score}" for score in CLEANLAB_SCORES]


@pytest.fixture(scope="module")
def problem():
    return make_problem("digits", 120, "label10", SEED, {"valid": 20, "test": 20, "meta": 20})[0]


def expected_probabilities(problem):
    rng = np.random.default_rng([SEED, 1])  # the stream that methods draw from
    split = PredefinedSplit(stratified_folds(problem.y_train, 5, rng))
    model, X = LogisticRegression(max_iter=1000), problem.X_train.astype(np.float64)
    return cross_val_predict(model, X, problem.y_train, cv=split, method="predict_proba")


def test_without_cleanlab_there_is_a_gap_that_says_how_to_install_it(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab", None)
    found = value_or_gap("cleanlab:self_confidence", problem, SEED)
    assert len(found.values) == 0
    assert "pip install 'nddv[cleanlab]'" in found.record["gap"]
    assert found.record["method"] == "cleanlab:self_confidence"


def test_cleanlab_is_given_labels_and_probabilities_out_of_fold(problem, monkeypatch):
    seen = SimpleNamespace()

    def scores(labels, probabilities, method):
        seen.labels, seen.probabilities, seen.method = labels, probabilities, method
        return np.linspace(0, 1, len(labels))

    package, rank = ModuleType("cleanlab"), ModuleType("cleanlab.rank")
    package.__version__, rank.get_label_quality_scores = "2.9.0", scores
    monkeypatch.setitem(sys.modules, "cleanlab", package)
    monkeypatch.setitem(sys.modules, "cleanlab.rank", rank)
    found = value("cleanlab:normalized_margin", problem, SEED)
    assert seen.method == "normalized_margin"
    np.testing.assert_array_equal(seen.labels, problem.y_train)
    np.testing.assert_allclose(seen.probabilities, expected_probabilities(problem), atol=1e-6)
    np.testing.assert_array_equal(found.values, np.linspace(0, 1, 120))
    assert found.record["cleanlab"] == "2.9.0"
    assert found.record["params"] == {"folds": 5, "C": 1.0, "max_iter": 1000}


@pytest.mark.skipif(find_spec("cleanlab") is None, reason="needs pip install 'nddv[cleanlab]'")
@pytest.mark.parametrize("method", METHODS)
def test_the_scores_of_cleanlab_by_their_definitions(problem, method):
    found = value(method, problem, SEED).values
    p = expected_probabilities(problem)
    at = np.arange(120), problem.y_train
    others = p.copy()
    others[at] = -np.inf
    entropy = -(p * np.log(p)).sum(axis=1) / np.log(p.shape[1])
    weighted = entropy / p[at]
    expected = {
        "self_confidence": p[at],
        "normalized_margin": (p[at] - others.max(axis=1) + 1) / 2,
        "confidence_weighted_entropy": -weighted,  # up to a monotone change of scale
    }[method.partition(":")[2]]
    if method.endswith("entropy"):
        found, expected = found.argsort().argsort(), expected.argsort().argsort()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_one_class_has_no_values(monkeypatch):
    for name in ("cleanlab", "cleanlab.rank"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(NoValues, match="at least two classes"):
        run_cleanlab(np.eye(4), np.ones(4, int), np.random.default_rng(SEED), "self_confidence")


def test_a_score_is_a_method_with_settings():
    method = get_method("cleanlab:normalized_margin")
    assert method.title == "cleanlab, normalised margin"
    assert method.needs == ("train",)
    assert method.tasks == ("classification",)
    assert method.modules[0] == "integrations.cleanlab"
    assert defaults(method.name) == {"folds": 5, "C": 1.0, "max_iter": 1000}
    for name in METHODS:
        assert fault({name: {"C": 2.0}}, schema()) is None
        assert fault({name: {"C": -1.0}}, schema()) is not None


def test_an_unknown_score_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=re.escape("self_confidense")) as error:
        get_method("cleanlab:self_confidense")
    assert "self_confidence" in str(error.value)
