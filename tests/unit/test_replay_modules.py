"""Replays of torch modules against what they claim: training again with other weights."""

from __future__ import annotations

import inspect
import re
import weakref

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn

from nddv import Replay
from nddv.laws import find_law
from nddv.replay import engine
from nddv.replay.bags import DifferentiableBags, embedding_bag
from nddv.replay.checks import NORMS

N = 40


class Bag(nn.Module):
    """A text classifier: the mean of the embeddings of words."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.EmbeddingBag(20, 5, mode="mean"), nn.Linear(5, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.words(x)))


class Attention(nn.Module):
    """A text classifier: one layer of a transformer, with dropout."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(20, 8), nn.Linear(8, 3)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)

    def forward(self, x):
        return self.head(self.layer(self.words(x)).mean(1))


class Tied(nn.Module):
    """Two layers that share their weights."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


def mlp():
    layers = nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.2), nn.LayerNorm(8), nn.Linear(8, 3)
    return nn.Sequential(*layers)


def convolution():
    layers = nn.Conv2d(1, 4, 3), nn.SiLU(), nn.GroupNorm(2, 4), nn.AvgPool2d(2), nn.Flatten()
    return nn.Sequential(*layers, nn.Dropout(0.1), nn.Linear(4, 3))


NUMBERS, PICTURES, WORDS = (4,), (1, 4, 4), None
MODULES = {
    "mlp": (mlp, NUMBERS),
    "convolution": (convolution, PICTURES),
    "bag": (Bag, WORDS),
    "attention": (Attention, WORDS),
    "tied": (Tied, NUMBERS),
}
OPTIMIZERS = {
    "sgd": {"learning_rate": 0.2},
    "adamw": {"optimizer": "adamw", "learning_rate": 0.02, "epsilon": 1e-2, "weight_decay": 0.1},
}


def data(shape, n=N + 20):
    rng = np.random.default_rng(0)
    if shape is None:
        x = torch.as_tensor(rng.integers(0, 20, size=(n, 6)))
        return x, (x[:, 0] % 3)
    x = torch.as_tensor(rng.normal(size=(n, *shape)))
    flat = x.reshape(n, -1)
    return x, (flat[:, 0] > 0).long() + (flat[:, 1] > 0.5).long()


def trained(name="mlp", optimizer="sgd", **settings):
    """A run in double precision, and validation points."""
    make, shape = MODULES[name]
    torch.manual_seed(0)
    x, y = data(shape)
    options = {"epochs": 3, "batch_size": 16, **OPTIMIZERS[optimizer], **settings}
    run = Replay(make().double(), **options).fit(x[:N], y[:N])
    return run, (x[N:], y[N:])


def utility_of(module, valid):
    with torch.no_grad():
        return -float(nn.functional.cross_entropy(module(valid[0]), valid[1]))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODULES)
def test_values_equal_central_differences_of_retraining(name, optimizer):
    """To 1e-4 relative, with dropout, clipping and checkpoints at every third step or so."""
    run, valid = trained(name, optimizer, clip=0.5, checkpoints="sqrt")
    values = run.values(*valid, trust=0).values
    h, scale = 1e-4, np.abs(values).max()
    for i in range(0, N, 7):
        up, down = np.ones(N), np.ones(N)
        up[i] += h
        down[i] -= h
        change = utility_of(run.retrain(up), valid) - utility_of(run.retrain(down), valid)
        assert values[i] == pytest.approx(change / (2 * h), abs=1e-4 * scale)


def test_retraining_with_weights_of_one_is_the_run_itself():
    run, valid = trained()
    assert utility_of(run.retrain(np.ones(N)), valid) == utility_of(run.module_, valid)


def test_the_module_of_the_user_stays_as_it_is():
    torch.manual_seed(0)
    module = mlp().double()
    before = [p.clone() for p in module.parameters()]
    x, y = data(NUMBERS)
    Replay(module, epochs=1).fit(x, y)
    assert all(map(torch.equal, before, module.parameters()))
    assert module.training


def test_checkpoints_and_folders_do_not_change_the_values(tmp_path):
    results = []
    for options in ({"checkpoints": "all"}, {"checkpoints": "sqrt"}, {"folder": tmp_path / "run"}):
        run, valid = trained(**options)
        results.append(run.values(*valid, trust=0).values)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_a_run_that_was_killed_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    whole, valid = trained(folder=tmp_path / "whole")
    trained(folder=tmp_path / "killed")
    states = sorted((tmp_path / "killed").glob("state*.npz"))
    assert len(states) == 9
    for path in states[4:]:
        path.unlink()
    bars = []
    bar = Replay._bar
    monkeypatch.setattr(Replay, "_bar", lambda *given: bars.append(given[1]) or bar(*given))
    again, _ = trained(folder=tmp_path / "killed")
    assert bars == [9 - 3]  # the steps that are left
    for one, other in zip(again.module_.parameters(), whole.module_.parameters(), strict=True):
        assert torch.equal(one, other)
    found = again.values(*valid, trust=0).values
    np.testing.assert_array_equal(found, whole.values(*valid, trust=0).values)


def test_a_run_that_is_interrupted_anywhere_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    whole, valid = trained(optimizer="adamw", checkpoints="sqrt", folder=tmp_path / "whole")
    step = engine.advance

    def killed(program, state, weights):
        if state.step == 5:
            raise KeyboardInterrupt
        return step(program, state, weights)

    with monkeypatch.context() as patched:
        patched.setattr(engine, "advance", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(optimizer="adamw", checkpoints="sqrt", folder=tmp_path / "killed")
    again, _ = trained(optimizer="adamw", checkpoints="sqrt", folder=tmp_path / "killed")
    for path in sorted((tmp_path / "whole").iterdir()):
        assert (tmp_path / "killed" / path.name).read_bytes() == path.read_bytes()
    found = again.values(*valid, trust=0).values
    np.testing.assert_array_equal(found, whole.values(*valid, trust=0).values)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_at_most_three_states_times_the_root_of_the_steps_are_held_at_once(optimizer, monkeypatch):
    """A state is what training itself holds: parameters and moments. There are twice the root."""
    alive, peak = weakref.WeakSet(), [0]

    def counted(*parts):
        state = engine.State(*parts)
        alive.add(state)
        peak[0] = max(peak[0], len(alive))
        return state

    step = engine.advance
    monkeypatch.setattr(engine, "advance", lambda *a: counted(*vars(step(*a)).values()))
    run, valid = trained(optimizer=optimizer, epochs=16, batch_size=10, checkpoints="sqrt")
    during_training, steps = peak[0], 16 * 4
    run.values(*valid, trust=0)
    root = int(steps**0.5)
    assert root * root == steps
    assert during_training <= root + 2
    assert root < peak[0] <= 2 * root + 2 < 3 * root
    size = sum(p.numel() for p in run.module_.parameters()) * 8 * (3 if optimizer == "adamw" else 2)
    assert run.megabytes_ * 2**20 == 2 * root * size


def test_memory_of_a_run_of_four_steps():
    run, _ = trained(epochs=1, batch_size=10, checkpoints="sqrt")
    size = sum(p.numel() for p in run.module_.parameters()) * 8 * 2
    assert run.megabytes_ * 2**20 == (2 + 2) * size  # two states are kept, two replayed at a time
    every, _ = trained(epochs=1, batch_size=10, checkpoints="all")
    assert every.megabytes_ * 2**20 == 4 * size


def test_a_folder_of_another_run_is_refused(tmp_path):
    trained(folder=tmp_path)
    with pytest.raises(ValueError, match=r"holds another run \(other settings\)"):
        trained(folder=tmp_path, learning_rate=0.1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty and holds no run"):
        trained(folder=tmp_path / "other")


@pytest.mark.parametrize(("optimizer", "levels"), [("sgd", 3), ("adamw", 8)])
def test_semivalues_are_means_over_levels(optimizer, levels):
    run, valid = trained(optimizer=optimizer)
    law = find_law("shapley")
    t, weights = law.quadrature(levels) if optimizer == "sgd" else law.levels(N, levels)
    h, i, expected = 1e-4, 5, 0.0
    for level, weight in zip(t, weights, strict=True):
        up, down = np.full(N, level), np.full(N, level)
        up[i] += h
        down[i] -= h
        change = utility_of(run.retrain(up), valid) - utility_of(run.retrain(down), valid)
        expected += weight * change / (2 * h)
    found = run.semivalues("shapley", *valid, levels=levels)
    assert found.values[i] == pytest.approx(expected, rel=1e-3)
    gained = utility_of(run.module_, valid) - utility_of(run.retrain(np.zeros(N)), valid)
    if optimizer == "sgd":  # AdamW gains the most below 1/n
        assert found.values.sum() == pytest.approx(gained, rel=0.1)


def test_explanations_are_derivatives_of_the_prediction():
    run, valid = trained()
    x = valid[0][:1]
    label = int(run.module_(x).argmax())

    def worth(module):
        with torch.no_grad():
            return float(torch.log_softmax(module(x), 1)[0, label])

    found = run.explain(x[0])
    assert "trust" not in found.record  # nothing is trained again unless it is asked for
    values = found.values
    i, h = int(np.abs(values).argmax()), 1e-4
    up, down = np.ones(N), np.ones(N)
    up[i] += h
    down[i] -= h
    change = worth(run.retrain(up)) - worth(run.retrain(down))
    assert values[i] == pytest.approx(change / (2 * h), rel=1e-4)
    group = run.explain(valid[0][:4], target=valid[1][:4]).values
    each = [run.explain(valid[0][k], target=[int(valid[1][k])]).values for k in range(4)]
    np.testing.assert_allclose(group, np.mean(each, axis=0), atol=1e-12)


def test_utilities_are_named_or_functions():
    run, valid = trained()
    named = run.values(*valid, utility="probability", trust=0)

    def probability(outputs, y):
        return torch.softmax(outputs, 1)[torch.arange(len(y)), y].mean()

    given = run.values(*valid, utility=probability, trust=0)
    np.testing.assert_allclose(named.values, given.values, atol=1e-14)
    assert (named.record["utility"], given.record["utility"]) == ("probability", "probability")
    np.testing.assert_allclose(
        run.derivatives(lambda predict: probability(predict(valid[0]), valid[1])), given.values
    )


class Pairs:
    """A data set."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


@pytest.mark.parametrize("late", ["label", "nan"])
def test_a_bad_pair_of_any_batch_is_refused(late):
    x, y = data(NUMBERS)
    if late == "label":
        y[50] = 7
    else:
        x[50, 2] = torch.nan
    message = "to 7, but the module has 3 outputs" if late == "label" else "missing or infinite"
    with pytest.raises(ValueError, match=message):
        Replay(mlp().double(), epochs=1, batch_size=4).fit(Pairs(x, y))


def test_a_data_set_of_pairs_gives_what_arrays_give():
    run, (x, y) = trained()
    torch.manual_seed(0)
    own = data(NUMBERS)
    options = {"epochs": 3, "batch_size": 16, **OPTIMIZERS["sgd"]}
    same = Replay(mlp().double(), **options).fit(Pairs(own[0][:N], own[1][:N]))
    np.testing.assert_allclose(
        same.values(Pairs(x, y), trust=0).values, run.values(x.numpy(), y.numpy(), trust=0).values
    )


def test_regression():
    torch.manual_seed(0)
    x, _ = data(NUMBERS)
    y = x[:, 0] + x[:, 1] ** 2
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    run = Replay(net, "squared_error", epochs=3).fit(x[:N], y[:N])
    found = run.values(x[N:], y[N:], trust=4)
    assert found.record["trust"]["spearman"] > 0.5
    assert len(run.explain(x[N]).values) == N


def test_trust_and_curve():
    run, valid = trained(epochs=10, learning_rate=0.05)
    found = run.values(*valid, trust=8)
    trust = found.record["trust"]
    assert trust["groups"] == 8
    assert trust["spearman"] > 0.8
    assert 0.5 < trust["ratio"] < 1.5
    assert trust["smoothness"] > 0.8
    assert trust["good"]
    assert "retrained without 8 groups" in trust["line"]
    curve = run.drop_curve(found, *valid)
    assert curve.predicted[0] == pytest.approx(utility_of(run.module_, valid))
    assert curve.best in curve.checked
    assert len(curve.measured) == len(curve.checked) <= 5
    weights = np.ones(N)
    weights[curve.order[: curve.checked[0]]] = 0
    assert curve.measured[0] == pytest.approx(utility_of(run.retrain(weights), valid))


def test_a_rough_run_is_told_with_advice():
    torch.manual_seed(0)
    x, y = data(NUMBERS)
    net = nn.Sequential(nn.Linear(4, 30), nn.ReLU(), nn.Linear(30, 30), nn.ReLU(), nn.Linear(30, 3))
    run = Replay(net.double(), learning_rate=1.5, epochs=20, schedule="constant").fit(x[:N], y[:N])
    trust = run.values(x[N:], y[N:]).record["trust"]
    assert not trust["good"]
    assert "lower the learning rate" in trust["line"]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_are_those_of_torch(mode):
    torch.manual_seed(0)
    rows = nn.EmbeddingBag(20, 5, mode=mode, padding_idx=3)
    x = torch.randint(0, 20, (6, 4))
    flat, offsets = torch.tensor([1, 2, 3, 3, 5]), torch.tensor([0, 2, 2])
    expected = rows(x), rows(flat, offsets)
    with DifferentiableBags():
        torch.testing.assert_close(rows(x), expected[0])
        torch.testing.assert_close(rows(flat, offsets), expected[1])
        with pytest.raises(ValueError, match="can be replayed with mode 'sum' or 'mean'"):
            nn.EmbeddingBag(20, 5, mode="max")(x)


def test_bags_take_what_torch_takes():
    ours, theirs = map(inspect.signature, (embedding_bag, nn.functional.embedding_bag))
    assert list(ours.parameters) == list(theirs.parameters)
    for name, one in ours.parameters.items():
        assert one.default == theirs.parameters[name].default


class Forgetful(nn.Module):
    """Noise from a generator of its own."""

    def __init__(self):
        super().__init__()
        self.layer, self.rng = nn.Linear(4, 3), np.random.default_rng(0)

    def forward(self, x):
        return self.layer(x) + float(self.rng.normal())


class Counting(nn.Module):
    """A buffer that counts its calls."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.layer(x)


def frozen():
    module = mlp()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return module


def two_in_one_place():
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3))
    module[1].weight = nn.Parameter(module[0].weight.data)
    return module


def mean_loss(outputs, y):
    return nn.functional.cross_entropy(outputs, y)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (frozen, {}, "the module has no parameters to train"),
        (nn.Identity, {}, "the module has no parameters to train"),
        (lambda: nn.LazyLinear(3), {}, "the module is lazy"),
        (lambda: "net", {}, "module must be a torch.nn.Module, got str"),
        (lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), {}, re.escape(NORMS)),
        (Counting, {}, r"changes its buffers \(calls\)"),
        (Forgetful, {}, "called again with the same seed"),
        (mlp, {"loss": mean_loss}, "the loss must give one number a point"),
        (mlp, {"loss": "cross_entropi"}, "unknown loss 'cross_entropi'; did you mean"),
        (lambda: nn.Linear(4, 2), {}, "labels go from 0 to 2, but the module has 2 outputs"),
        (mlp, {"optimizer": "adam"}, "optimizer must be one of 'sgd', 'adamw'"),
        (mlp, {"optimizer": "adamw", "epsilon": 0.0}, "epsilon must be a finite number > 0"),
        (mlp, {"learning_rate": -1.0}, "learning_rate must be a finite number > 0"),
        (mlp, {"epochs": 0}, "epochs must be a positive integer"),
        (two_in_one_place, {}, "0.weight and 1.weight share their memory, but are two: make them"),
        (mlp, {"loss": nn.Bilinear(3, 3, 1)}, "the loss has parameters, its own or shared with"),
        (mlp, {"loss": 3}, "loss must be a name or a function, got 3"),
        (
            mlp,
            {"optimizer": "adamw", "epsilon": 1e-25},
            r"epsilon=1e-25 is zero when it is squared in torch.float32.*take at least 1e-19",
        ),
        (
            lambda: nn.Sequential(nn.Linear(4, 3), nn.Unflatten(1, (3, 1))),
            {},
            r"cross_entropy needs outputs \(B, classes\)",
        ),
    ],
)
def test_what_cannot_be_replayed_is_refused_before_training(make, options, message):
    x, y = data(NUMBERS)
    with pytest.raises(ValueError, match=message):
        Replay(make(), **options).fit(x.float(), y)


def test_bad_points_are_refused():
    x, y = data(NUMBERS)
    broken = x.clone()
    broken[3, 1] = torch.nan
    for points, message in [
        ((broken, y), "training points: X has entries that are missing or infinite"),
        ((x[:-1], y), "training points: X has 59 rows, but y has 60"),
        ((x[:0], y[:0]), "training points: there are no points"),
        ((np.array([["a"]]), y[:1]), "numbers are needed"),
        ((5,), "must have a length"),
    ]:
        with pytest.raises(ValueError, match=message):
            Replay(mlp().double(), epochs=1).fit(*points)
    run, valid = trained(epochs=1)
    with pytest.raises(ValueError, match="unknown utility 'accuracy'"):
        run.values(*valid, utility="accuracy")
    with pytest.raises(ValueError, match="weights must be 40 numbers"):
        run.retrain(np.ones(3))
    with pytest.raises(ValueError, match="one number that depends on the module"):
        run.derivatives(lambda predict: torch.tensor(1.0))
    for labels, message in [
        (valid[1] + 5, "labels go from 5 to 7, but the module has 3 outputs"),
        (valid[1] - 100, "labels go from -100 to -98"),
        (valid[1].double(), "needs class indices, one a point, but the targets are torch.float64"),
    ]:
        with pytest.raises(ValueError, match=message):
            run.values(valid[0], labels)
    with pytest.raises(ValueError, match="the function of the trained module is -inf"):
        run.values(*valid, utility=lambda outputs, y: torch.log(0 * outputs.sum().square()))
    with pytest.raises(ValueError, match="call fit first"):
        Replay(mlp()).values(*valid)
    with pytest.raises(ValueError, match="x has the shape"):
        run.explain(torch.zeros(2, 9))


def test_a_run_that_diverges_is_an_error():
    x, y = data(NUMBERS)
    # told at the end of the first epoch, of six batches
    with pytest.raises(FloatingPointError, match="before step 6: lower learning_rate"):
        Replay(mlp(), learning_rate=1e30, epochs=5, batch_size=10).fit(x.float(), y)


@pytest.mark.parametrize("name", ["mlp", "bag", "attention"])
def test_tracin_sums_dot_products_of_gradients(name):
    run, valid = trained(name)
    train = data(MODULES[name][1])
    expected = np.zeros(N)
    for epoch in range(3):
        state = run._run.states[3 * epoch]
        assert state.step == 3 * epoch
        module = run._run.calm.copied(state.flat)

        def gradient(x, y, module=module):
            loss = nn.functional.cross_entropy(module(x), y)
            return torch.cat(
                [g.reshape(-1) for g in torch.autograd.grad(loss, module.parameters())]
            )

        of_valid = gradient(*valid)  # of minus the utility
        for i in range(N):
            of_point = gradient(train[0][i : i + 1], train[1][i : i + 1])
            expected[i] += 0.2 * (1 - epoch / 3) * float(of_valid @ of_point)
    np.testing.assert_allclose(run.tracin(*valid).values, expected, atol=1e-12)


def test_the_terminal_score_pairs_outputs_with_their_gradient():
    run, _ = trained("convolution")
    x, y = data(PICTURES)
    with torch.no_grad():
        f = run.module_(x[:N])
    by_hand = f[torch.arange(N), y[:N]] - (f.softmax(1) * f).sum(1)
    np.testing.assert_allclose(run.terminal().values, by_hand, atol=1e-12)


def test_ranks_are_those_of_leaving_one_out():
    run, valid = trained("convolution", epochs=6)
    values = run.values(*valid, trust=0).values
    worth = utility_of(run.module_, valid)
    weights = 1.0 - np.eye(N)
    actual = [worth - utility_of(run.retrain(w), valid) for w in weights]
    assert spearmanr(values, actual).statistic > 0.95
