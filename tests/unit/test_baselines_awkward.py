"""What every rule without a game must bear: awkward data, a seed, nobody else's random state."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

from nddv.baselines.confident import confident_learning
from nddv.baselines.discrepancy import kairos
from nddv.baselines.dvrl import dvrl
from nddv.baselines.eigen import eigen_value, singular_lava, singular_oob
from nddv.baselines.in_run import in_run_shapley
from nddv.baselines.loss import small_loss
from nddv.baselines.lossval import lossval
from nddv.baselines.margins import area_under_margin
from nddv.baselines.neighbours import knn_shapley
from nddv.baselines.oob import data_oob, data_oob_trees
from nddv.baselines.out_of_fold import (
    boosting,
    boosting_slow,
    logistic_out_of_fold,
    self_confidence,
)
from nddv.baselines.released import released
from nddv.baselines.transport import lava
from nddv.baselines.typicality import typicality
from nddv.baselines.volume import volume_shapley
from nddv.values import NoValues, Values

SEED = 100


def read(reading):
    """A rule that reads the probabilities of boosting."""
    return lambda X, y, rng, **trees: reading(boosting(X, y, rng, **trees))


RULES = {
    "data_oob-logistic": (data_oob, {"num_models": 60}),
    "data_oob-trees": (data_oob_trees, {"num_models": 60}),
    "knn": (knn_shapley, {}),
    "small_loss": (small_loss, {}),
    "boosting": (read(self_confidence), {"min_samples_leaf": 5, "folds": 3}),
    "boosting_slow": (boosting_slow, {"min_samples_leaf": 5, "folds": 3}),
    "boosting_confident": (read(confident_learning), {"min_samples_leaf": 5, "folds": 3}),
    "logistic_out_of_fold": (logistic_out_of_fold, {}),
    "aum": (area_under_margin, {}),
    "released": (released, {"epochs": 3}),
    "lava": (lava, {}),
    "kairos": (kairos, {}),
    "in_run-1": (in_run_shapley, {"order": 1}),
    "in_run-2": (in_run_shapley, {"order": 2}),
    "lossval": (lossval, {"epochs": 2}),
    "dvrl": (dvrl, {"rl_epochs": 20}),
    "typicality": (typicality, {"references": 20}),
    "volume": (volume_shapley, {"max_permutations": 5}),
    "eigen_value": (eigen_value, {}),
    "singular_lava": (singular_lava, {}),
    "singular_oob": (singular_oob, {"num_models": 60}),
}
WITH_EIGENVALUES = {"eigen_value", "singular_lava", "singular_oob"}
CONTROLS = {
    *("small_loss", "boosting", "boosting_slow", "boosting_confident", "logistic_out_of_fold"),
    *("aum", "released"),
}
WITH_TWO_CLASSES = {"data_oob-logistic", "data_oob-trees", "singular_oob", *CONTROLS}


def plain():
    rng = np.random.default_rng(SEED)
    X, X_valid = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))
    return X, (X[:, 0] > 0).astype(int), X_valid, (X_valid[:, 0] > 0).astype(int)


def constant_features():
    X, y, X_valid, y_valid = plain()
    return (
        np.insert(X, [1, 1], [0.0, 7.0], axis=1),
        y,
        np.insert(X_valid, [1, 1], [0.0, 7.0], 1),
        y_valid,
    )


def duplicate_rows():
    X, y, X_valid, y_valid = plain()
    return np.tile(X[:20], (2, 1)), y, np.tile(X_valid[:1], (15, 1)), y_valid


def two_point_class():
    X, y, X_valid, y_valid = plain()
    y[[3, 4]] = 2
    return X, y, X_valid, y_valid


def one_class():
    X, y, X_valid, y_valid = plain()
    return X, np.ones_like(y), X_valid, y_valid


def class_that_only_validation_has():
    X, y, X_valid, y_valid = plain()
    y_valid[:2] = 2
    return X, y, X_valid, y_valid


def one_validation_class():
    X, y, X_valid, y_valid = plain()
    return X, y, X_valid, np.ones_like(y_valid)


def more_features_than_points():
    rng = np.random.default_rng(SEED)
    X, X_valid = rng.normal(size=(40, 90)), rng.normal(size=(15, 90))
    return X, (X[:, 0] > 0).astype(int), X_valid, (X_valid[:, 0] > 0).astype(int)


DATA = [
    plain,
    constant_features,
    duplicate_rows,
    two_point_class,
    one_class,
    class_that_only_validation_has,
    one_validation_class,
    more_features_than_points,
]
UNDEFINED = {
    **{(name, more_features_than_points): "Eigen-Value is undefined" for name in WITH_EIGENVALUES},
    **{(name, one_class): "at least two classes" for name in WITH_TWO_CLASSES},
}


def value(name, data, seed=SEED):
    rule, settings = RULES[name]
    X, y, X_valid, y_valid = (one.astype(kind) for one, kind in zip(data, "fifi", strict=True))
    given = {"X": X, "y": y, "X_valid": X_valid, "y_valid": y_valid}
    given |= {"X_meta": X_valid, "dataset": ""}
    given["rng"] = np.random.default_rng(seed)
    wanted = inspect.signature(rule).parameters
    found = rule(**{key: one for key, one in given.items() if key in wanted}, **settings)
    return found if isinstance(found, Values) else Values(found)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", RULES)
def test_values_of_awkward_data_are_finite(name, data):
    if (name, data) in UNDEFINED:
        with pytest.raises(NoValues, match=UNDEFINED[name, data]):
            value(name, data())
        return
    found = value(name, data())
    assert found.values.shape == (40,)
    assert found.values.dtype == np.float64
    assert np.isfinite(found.values).all()
    assert found.stderr is None or np.isfinite(found.stderr).all()


@pytest.mark.parametrize("name", RULES)
def test_values_depend_on_the_seed_and_on_no_other_state(name):
    first = value(name, plain()).values
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    np.testing.assert_array_equal(value(name, plain()).values, first)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_state)
    if "rng" in inspect.signature(RULES[name][0]).parameters:
        assert not np.array_equal(value(name, plain(), SEED + 1).values, first)
