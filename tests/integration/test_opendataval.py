"""OpenDataVal: its evaluators on our problems, parity with our rules, NDDV inside it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from packaging.requirements import Requirement
from scipy.stats import spearmanr

from nddv import NDDV
from nddv.baselines.leave_one_out import leave_one_out
from nddv.baselines.neighbours import knn_shapley
from nddv.baselines.oob import logistic_predictions, out_of_bag_means
from nddv.baselines.semivalues import permutation_semivalues
from nddv.baselines.subsamples import data_banzhaf, difference_of_means, influence_subsample
from nddv.baselines.transport import lava
from nddv.coalitions import LogisticGame
from nddv.integrations.stand_ins import stand_ins
from nddv.methods.valuation import value
from nddv.problems import Problem, make_problem

ROOT = Path(__file__).parents[2]
SEED = 100
# Their fits end early and in float32 by default; exact ones leave no room for other predictions.
EXACT = {"solver": "newton-cholesky", "tol": 1e-8}

needs_opendataval = pytest.mark.skipif(
    importlib.util.find_spec("opendataval") is None,
    reason="OpenDataVal is not installed: make opendataval",
)


@pytest.fixture(scope="module")
def odv():
    return import_module("nddv.integrations.opendataval")


def blobs(n, n_classes=2, d=4, m=60, noise=0.1) -> Problem:
    """Classes around random centres, all of the same size, some labels wrong."""
    rng = np.random.default_rng([SEED, n, n_classes])
    centres = 0.6 * rng.normal(size=(n_classes, d))
    parts = {}
    for part, size in (("train", n), ("valid", m), ("test", m), ("meta", m)):
        y = np.arange(size) % n_classes
        parts[f"X_{part}"] = (centres[y] + rng.normal(size=(size, d))).astype(np.float32)
        if part == "train":
            wrong = rng.choice(n, round(noise * n), replace=False)
            y[wrong] = (y[wrong] + 1) % n_classes
        parts[f"y_{part}"] = y
    return Problem(**parts, record={"task": "classification"})


def game(problem: Problem) -> LogisticGame:
    train, valid = (problem.X_train, problem.y_train), (problem.X_valid, problem.y_valid)
    return LogisticGame(*train, *valid, n_classes=int(problem.y_train.max()) + 1)


# ---------------------------------------------------------------------------------- installation


def test_stand_ins_are_there_for_the_time_of_the_block_only():
    import json

    with stand_ins(["absent_package", "absent_package.part", "json", "json.absent_part"]):
        import absent_package.part as part
        from absent_package import Thing

        assert sys.modules["json"] is json
        assert "json.absent_part" not in sys.modules
        assert importlib.util.find_spec("absent_package") is not None
    assert not {"absent_package", "absent_package.part"} & set(sys.modules)
    with pytest.raises(ImportError, match=r"absent_package.Thing .* install absent_package"):
        Thing(1)
    with pytest.raises(ImportError, match="absent_package.Thing"):
        Thing.from_file("x")
    with pytest.raises(ImportError, match=r"absent_package.part.function is a stand-in"):
        part.function("x", key=2)


def test_stand_ins_leave_after_an_error():
    with pytest.raises(ZeroDivisionError), stand_ins(["absent_package"]):
        _ = 1 / 0
    assert "absent_package" not in sys.modules


def test_without_opendataval_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendataval", None)
    monkeypatch.delitem(sys.modules, "nddv.integrations.opendataval", raising=False)
    with pytest.raises(ImportError, match=r"make opendataval.*--no-deps opendataval==1.3.0"):
        import_module("nddv.integrations.opendataval")


@needs_opendataval
def test_importing_opendataval_leaves_no_stand_in_behind():
    code = """if True:
        import sys
        import nddv.integrations.opendataval
        import opendataval.model
        print({"torchvision", "transformers"} & set(sys.modules))
        try:
            opendataval.model.BertClassifier()
        except ImportError as error:
            print(error)
    """
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT / "src", capture_output=True, text=True, check=True)
    assert done.stdout.startswith("set()\ntransformers.Distil")


def test_every_recipe_installs_the_same_versions():
    """The extra and `make opendataval`, the conda environment, and the texts."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = [Requirement(r) for r in extras["optional-dependencies"]["opendataval"]]
    script = (ROOT / "envs" / "opendataval.post-deploy.sh").read_text()
    added = [Requirement(word) for word in re.findall(r"\w+[=>]=[\w.,<=]+", script)]
    conda = (ROOT / "envs" / "opendataval.yaml").read_text()
    in_conda = set(re.findall(r"- ([\w-]+) =", conda))
    assert {r for r in extra if r.name not in in_conda} < set(added)
    (package,) = set(added) - set(extra)
    for path in ("Makefile", "CONTRIBUTING.md", "src/nddv/integrations/opendataval.py"):
        assert f"--no-deps {package}" in (ROOT / path).read_text()


# --------------------------------------------------------------------------------------- adapter


@needs_opendataval
@pytest.mark.filterwarnings("ignore:'pin_memory'")
def test_every_evaluator_runs_on_our_problems(odv):
    """All of them, in little; the one with a fault of its own is refused with the reason."""
    problem, _ = make_problem(
        "2dplanes", 40, "label10", SEED, {"valid": 20, "test": 10, "meta": 10}
    )
    models, walks = {"num_models": 30}, {"max_mc_epochs": 1, "models_per_epoch": 1}
    few = {
        **dict.fromkeys(("AME", "DataBanzhaf", "DataOob", "InfluenceSubsample"), models),
        **dict.fromkeys(("BetaShapley", "DataBanzhafMargContrib", "DataShapley"), walks),
        "DVRL": {"rl_epochs": 5},
        "RobustVolumeShapley": {"mc_epochs": 1},
    }
    names = set(odv.evaluators())
    assert set(few) | {"LeaveOneOut", "KNNShapley", "LavaEvaluator"} < names
    before = torch.get_rng_state()
    for name in sorted(names - {"ClassWiseShapley"}):
        run = [odv.run_opendataval(name, problem, SEED, **few.get(name, {})) for _ in range(2)]
        assert run[0].values.shape == (40,)
        np.testing.assert_array_equal(run[0].values, run[1].values, err_msg=name)
        assert run[0].record == {"opendataval": "1.3.0"}
    assert torch.equal(before, torch.get_rng_state())
    with pytest.raises(ValueError, match="ClassWiseShapley failed here: IndexError"):
        odv.run_opendataval("ClassWiseShapley", problem, SEED, mc_epochs=1)


@needs_opendataval
def test_an_evaluator_is_a_method(odv):
    problem = blobs(30)
    found = value("odv:KNNShapley", problem, SEED, k_neighbors=3)
    same = odv.run_opendataval("KNNShapley", problem, SEED, k_neighbors=3)
    np.testing.assert_array_equal(found.values, same.values)
    assert found.record["method"] == "odv:KNNShapley"
    assert found.record["params"] == {"k_neighbors": 3}


@needs_opendataval
def test_an_unknown_evaluator_is_refused_with_the_known_ones(odv):
    with pytest.raises(ValueError, match=r"no evaluator 'Shapley'; it has AME, .*DataShapley"):
        odv.run_opendataval("Shapley", blobs(20), SEED)


@needs_opendataval
def test_parameters_reach_the_prediction_model_and_the_seed_the_evaluator(odv, capfd):
    problem = blobs(40)

    def run(seed, **model):
        return odv.run_opendataval("DataOob", problem, seed, model=model, num_models=20).values

    assert not np.array_equal(run(SEED, C=1.0), run(SEED, C=1e-4))
    assert not np.array_equal(run(SEED), run(SEED + 1))
    odv.run_opendataval("DataShapley", problem, SEED, max_mc_epochs=1, models_per_epoch=1)
    assert capfd.readouterr().out == ""


@needs_opendataval
def test_marginal_contributions_of_another_problem_are_never_reused(odv):
    """OpenDataVal caches them by the address of an object, which the next object may get."""
    few = {"max_mc_epochs": 1, "models_per_epoch": 1}
    sampler = import_module("opendataval.dataval").GrTMCSampler
    odv.run_opendataval("DataShapley", blobs(20), SEED, **few)
    assert sampler.CACHE == {}


# ---------------------------------------------------------------------------------------- parity


@needs_opendataval
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leave_one_out_is_theirs(odv, n_classes):
    problem = blobs(120, n_classes)
    theirs = odv.run_opendataval("LeaveOneOut", problem, SEED, model=EXACT).values
    assert len(np.unique(theirs.round(6))) > 2
    np.testing.assert_allclose(leave_one_out(game(problem)).values, theirs, atol=1e-6)


@needs_opendataval
@pytest.mark.parametrize("k", [1, 10, 150])
def test_knn_shapley_is_theirs(odv, k):
    problem = blobs(150, 3)
    theirs = odv.run_opendataval("KNNShapley", problem, SEED, k_neighbors=k).values
    train, valid = (problem.X_train, problem.y_train), (problem.X_valid, problem.y_valid)
    np.testing.assert_allclose(knn_shapley(*train, *valid, k=k), theirs, atol=1e-6)


@needs_opendataval
def test_banzhaf_is_theirs_on_the_same_coalitions(odv):
    problem = blobs(60)
    theirs = odv.run_opendataval("DataBanzhaf", problem, SEED, EXACT, num_models=300).values
    members = np.random.RandomState(SEED).binomial(1, 0.5, size=(300, 60)).astype(bool)
    ours, _ = difference_of_means(members, game(problem).utilities(members))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    # Other coalitions, many more: the same up to the error that we state for theirs.
    many = data_banzhaf(game(problem), np.random.default_rng(SEED), num_models=20_000)
    spread = np.hypot(
        many.stderr, difference_of_means(members, game(problem).utilities(members))[1]
    )
    assert np.abs((many.values - theirs) / spread).max() < 4


@needs_opendataval
def test_influence_by_subsamples_is_theirs_on_the_same_coalitions(odv):
    problem = blobs(60, 3)
    theirs = odv.run_opendataval("InfluenceSubsample", problem, SEED, EXACT, num_models=300).values
    state = np.random.RandomState(SEED)
    members = np.zeros((300, 60), dtype=bool)
    for row in members:
        row[state.choice(60, 42, replace=False)] = True
    utilities = game(problem).utilities(members)
    ours, stderr = difference_of_means(members, utilities)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    many = influence_subsample(game(problem), np.random.default_rng(SEED), num_models=20_000)
    assert np.abs((many.values - theirs) / np.hypot(many.stderr, stderr)).max() < 4


@needs_opendataval
def test_data_oob_is_theirs_on_the_same_bootstrap_samples(odv):
    problem = blobs(80, 3)
    theirs = odv.run_opendataval("DataOob", problem, SEED, EXACT, num_models=200).values
    samples = np.random.RandomState(SEED).randint(0, 80, size=(200, 80))
    counts = np.stack([np.bincount(sample, minlength=80) for sample in samples])
    batches = logistic_predictions(problem.X_train, problem.y_train, counts, C=1.0)
    ours, _ = out_of_bag_means(batches, problem.y_train, soft=False)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@needs_opendataval
@pytest.mark.parametrize("dataset", ["2dplanes", "digits"])
def test_lava_ranks_as_theirs(odv, dataset):
    problem, _ = make_problem(dataset, 300, "label10", SEED)
    theirs = odv.run_opendataval("LavaEvaluator", problem, SEED).values
    train, valid = (problem.X_train, problem.y_train), (problem.X_valid, problem.y_valid)
    assert spearmanr(lava(*train, *valid).values, theirs).statistic >= 0.99


@needs_opendataval
def test_data_shapley_is_theirs_on_the_same_permutations(odv):
    """They begin at five points, and average the positions of a point before its permutations.

    Up to n = 14 their truncation, after ten steps without change, cannot happen, and with as many
    validation points of either class, coalitions of one class are worth the same to them and to us.
    """
    n, permutations, first = 10, 120, 5
    problem = blobs(n, noise=0.3)
    theirs = odv.run_opendataval(
        "DataShapley", problem, SEED, EXACT, max_mc_epochs=1, models_per_epoch=permutations
    ).values
    state = np.random.RandomState(SEED)
    orders = np.stack([state.permutation(n) for _ in range(permutations)])
    utilities, _ = game(problem).walk(orders)
    total, count = np.zeros((2, n, n))
    positions = np.broadcast_to(np.arange(n), orders.shape)
    np.add.at(total, (orders, positions), np.diff(utilities, axis=1))
    np.add.at(count, (orders, positions), 1)
    by_position = (total / count)[:, first:]
    np.testing.assert_allclose(by_position.sum(axis=1) / n, theirs, atol=1e-6)

    from_five = {"shapley": (np.arange(n) >= first).astype(float)}
    rng = np.random.default_rng(SEED)
    ours = permutation_semivalues(game(problem), rng, from_five, max_permutations=4000)["shapley"]
    assert spearmanr(ours.values, theirs).statistic >= 0.9


# ---------------------------------------------------------------------------------- NDDVEvaluator


@pytest.fixture(scope="module")
def fetcher(odv):
    """Two overlapping classes from arrays; OpenDataVal's own split and label noise."""
    loader = import_module("opendataval.dataloader")
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(500, 5))
    labels = np.eye(2)[(X[:, 0] + X[:, 1] > 0).astype(int)]
    made = loader.DataFetcher.from_data(X, labels, one_hot=True, random_state=SEED)
    return made.split_dataset_by_count(300, 100, 100).noisify(loader.mix_labels, noise_rate=0.1)


@needs_opendataval
def test_nddv_in_their_experiments(odv, fetcher, tmp_path):
    experiment = import_module("opendataval.experiment")
    methods = import_module("opendataval.experiment.exper_methods")
    model = import_module("opendataval.model").ModelFactory("sklogreg", fetcher)
    chance = import_module("opendataval.dataval").RandomEvaluator(random_state=SEED)
    nddv = odv.NDDVEvaluator(random_state=SEED)
    mediator = experiment.ExperimentMediator(fetcher, model, raises_error=True)
    mediator.compute_data_values([nddv, chance])
    ours, random = str(nddv), str(chance)
    assert ours == f"NDDVEvaluator(random_state={SEED})"

    found = mediator.evaluate(methods.noisy_detection).astype(float)["kmeans_f1"]
    assert found[ours] > 0.5 > found[random]

    curves = mediator.evaluate(methods.remove_high_low).astype({"axis": float}).loc[ours]
    # The most valuable tenth still teaches something, the least valuable one the contrary.
    last = curves[curves["axis"] > 0.85].astype(float).mean()
    assert last["remove_least_influential_first_Metrics.ACCURACY"] > 0.55
    assert last["remove_most_influential_first_Metrics.ACCURACY"] < 0.45

    discovered = mediator.evaluate(methods.discover_corrupted_sample).loc[ours]
    early = discovered[discovered["axis"].astype(float) <= 0.2]["corrupt_found"].max()
    assert early > 0.6

    adding = mediator.evaluate(methods.increasing_bin_removal, bin_size=50).loc[ours]
    assert adding["frac_datapoints_explored"].max() == 1.0

    saved = mediator.evaluate(methods.save_dataval, output_path=tmp_path / "values.csv").loc[ours]
    np.testing.assert_array_equal(saved["data_values"].astype(float), nddv.estimator.values_)


@needs_opendataval
def test_nddv_evaluator_is_the_estimator_with_validation_as_meta_data(odv, fetcher):
    x, y, x_valid, y_valid, *_ = (part.numpy() for part in fetcher.datapoints)
    expected = NDDV(random_state=SEED, epochs=3, readout="terminal").fit(
        x, y.argmax(1), x_valid, y_valid.argmax(1)
    )
    ours = odv.NDDVEvaluator("terminal", random_state=SEED, epochs=3).train(fetcher)
    np.testing.assert_array_equal(ours.data_values, expected.values_)
    np.testing.assert_array_equal(ours.evaluate_data_values(), expected.values_)
    # Trained once more, on other data, it forgets the first.
    other = [torch.as_tensor(part) for part in (x[:50], y[:50], x_valid, y_valid)]
    assert ours.input_data(*other).train_data_values().data_values.shape == (50,)


@needs_opendataval
def test_a_random_state_gives_one_seed(odv):
    seeds = [odv.NDDVEvaluator(random_state=np.random.RandomState(3)).seed for _ in range(2)]
    assert seeds[0] == seeds[1] != odv.NDDVEvaluator(random_state=np.random.RandomState(4)).seed


@needs_opendataval
def test_numbers_are_valued_by_residual(odv):
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(120, 3)).astype(np.float32)
    y = X @ np.array([[1.0], [2.0], [0.0]], dtype=np.float32)
    data = [torch.as_tensor(part) for part in (X[:80], y[:80], X[80:], y[80:])]
    evaluator = odv.NDDVEvaluator(random_state=SEED, epochs=2).input_data(*data)
    estimator = evaluator.train_data_values(epochs=1, batch_size=8).estimator
    assert (estimator.task_, estimator.readout) == ("regression", "residual")


@needs_opendataval
def test_covariates_that_are_no_rows_need_an_embedding(odv):
    pictures = torch.utils.data.TensorDataset(torch.zeros(20, 3, 4, 4))
    labels = torch.eye(2)[torch.arange(20) % 2]
    with pytest.raises(ValueError, match="TensorDataset: give NDDVEvaluator an embedding_model"):
        odv.NDDVEvaluator().input_data(pictures, labels, pictures, labels).train_data_values()

    class Embedding:
        def predict(self, dataset):
            return torch.arange(20.0)[:, None] * torch.ones(1, 2)

    evaluator = odv.NDDVEvaluator(embedding_model=Embedding(), epochs=1, random_state=SEED)
    evaluator.input_data(pictures, labels, pictures, labels).train_data_values()
    assert evaluator.estimator.n_features_in_ == 2


@needs_opendataval
def test_labels_of_several_columns_must_be_one_hot(odv):
    x, y = torch.randn(20, 3, generator=torch.Generator().manual_seed(SEED)), torch.ones(20, 2)
    with pytest.raises(ValueError, match="one-hot"):
        odv.NDDVEvaluator().input_data(x, y, x, y).train_data_values()
