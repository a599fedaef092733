"""Networks trained end to end: their inputs, and scores held against exact retraining."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nddv.audit import modules
from nddv.audit.datamodelling import drop_subsets
from nddv.audit.modules import COLUMNS, compare_modules
from nddv.audit.networks import NETWORKS, pictures
from nddv.problems import Table, load_problem, make_problem, save_problem
from nddv.problems.datasets import load_dataset
from nddv.problems.items import items_of
from nddv.problems.registry import BUILT_IN
from nddv.replay.choices import REPLAY, TERMINAL, TRACIN
from nddv.values import Values

SEED, N = 100, 60
SIZES = {"valid": 40, "test": 20, "meta": 10}


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits", BUILT_IN["digits"], progress=False)


@pytest.fixture(scope="module")
def made(digits):
    return make_problem(digits, N, "label10", SEED, SIZES)


@pytest.fixture(scope="module")
def compared(digits, made):
    settings = {"epochs": 6, "learning_rate": 0.02, "batch_size": 40}
    return compare_modules(*made, digits, "mlp", 20, 12, ["small-loss"], replay=settings)


def test_frames_are_complete_and_the_replay_tells_what_retraining_does(compared):
    frames, record = compared
    assert {name: list(frame) for name, frame in frames.items()} == COLUMNS
    rows = frames["fidelity"].set_index("method")
    assert list(rows.index) == [REPLAY, TRACIN, TERMINAL, "small-loss"]
    assert (rows["points"] == 20).all()
    assert (rows["subsets"] == 12).all()
    assert rows.loc[REPLAY, "spearman"] > 0.95
    assert rows.loc[REPLAY, "lds_5"] > 0.9
    assert rows["f1"].between(0, 1).all()
    assert record["items"] == "digits"
    assert record["problem"] == f"digits/n{N}/label10/seed{SEED}"


def test_correlations_are_those_of_the_changes(compared):
    frames, _ = compared
    changes = frames["changes"].groupby("what")
    rows = frames["fidelity"].set_index("method")
    for what, column in (("point", "spearman"), ("group", "lds_5")):
        part = changes.get_group(what)
        rho = part["predicted"].corr(part["actual"], method="spearman")
        assert rho == pytest.approx(rows.loc[REPLAY, column])


def test_costs_are_of_this_network(compared):
    (row,) = compared[0]["costs"].to_dict("records")
    assert row["parameters"] == 64 * 64 + 64 + 64 * 64 + 64 + 64 * 10 + 10
    assert row["steps"] == 12  # two batches an epoch
    assert row["times_training"] == pytest.approx(row["replay"] / row["training"])


def test_the_same_seed_gives_the_same_numbers(digits, made):
    one, other = (
        compare_modules(*made, digits, "mlp", 3, 4, replay={"epochs": 1})[0] for _ in range(2)
    )
    assert one["fidelity"].equals(other["fidelity"])
    assert one["changes"].equals(other["changes"])


def test_a_method_without_values_is_a_gap(digits, made, monkeypatch):
    gap = Values(np.empty(0), record={"gap": "too slow"})
    monkeypatch.setattr(modules, "value_or_gap", lambda *arguments, **settings: gap)
    frames, _ = compare_modules(*made, digits, "mlp", 3, 4, ["loo"], replay={"epochs": 1})
    row = frames["fidelity"].set_index("method").loc["loo"]
    assert row["gap"] == "too slow"
    assert np.isnan(row["f1"])


def test_items_are_those_of_the_rows(digits, made, tmp_path):
    save_problem(tmp_path / "problem.npz", made[0])
    problem, truth = load_problem(tmp_path / "problem.npz"), made[1]
    items = items_of(problem, truth, digits)
    np.testing.assert_array_equal(items["train"], digits.X[truth.rows_train])
    assert {part: len(rows) for part, rows in items.items()} == {"train": N, **SIZES}
    scale = items["train"].std(0)
    varies = scale > 0
    valid = (items["valid"] - items["train"].mean(0))[:, varies] / scale[varies]
    np.testing.assert_allclose(problem.X_valid[:, varies], valid, atol=1e-4)


def test_items_of_other_rows_are_refused(digits, made):
    shuffled = Table(digits.X[::-1], digits.y[::-1], digits.classes, name="digits@other")
    with pytest.raises(ValueError, match="digits@other does not have the rows of digits/n60"):
        items_of(*made, shuffled)


def test_noise_of_features_is_refused(digits):
    made = make_problem(digits, N, "feature10", SEED, SIZES)
    with pytest.raises(ValueError, match="name label noise only"):
        compare_modules(*made, digits, "mlp", 3, 3)


def test_rows_become_pictures_colour_by_colour():
    x = torch.arange(2 * 3 * 16.0).reshape(2, 48)
    whole = torch.arange(96.0).reshape(2, 3, 4, 4)
    torch.testing.assert_close(pictures(x, x), (whole - whole.mean()) / whole.std())
    assert pictures(x[:, :16], x).shape == (2, 1, 4, 4)
    with pytest.raises(ValueError, match="5 numbers are no square picture"):
        pictures(x[:, :5], x)


@pytest.mark.parametrize(
    ("name", "features"), [("mlp", 30), ("convolution", 64), ("convolution", 3072), ("bag", 7)]
)
def test_every_network_gives_a_number_a_class(name, features):
    items = torch.randint(0, 20, (5, features)).float()
    x = NETWORKS[name].inputs(items, items)
    assert NETWORKS[name].module(x, 4)(x).shape == (5, 4)


@pytest.mark.parametrize("features", [64, 3072])
def test_two_by_two_places_of_a_picture_are_left(features):
    items = torch.randint(0, 20, (5, features)).float()
    x = NETWORKS["convolution"].inputs(items, items)
    assert NETWORKS["convolution"].module(x, 4)[-1].in_features == 32 * 2 * 2


def test_words_that_fill_up_do_not_count():
    x = torch.tensor([[3, 5, 0, 0]])
    module = NETWORKS["bag"].module(torch.tensor([[9]]), 2)
    torch.testing.assert_close(module(x), module(x[:, :2]))


def test_groups_have_a_twentieth_of_the_points():
    assert (drop_subsets(N, 0.05, 4, np.random.default_rng(0)).sum(1) == 3).all()
