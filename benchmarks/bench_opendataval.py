"""Our rules beside OpenDataVal's evaluators, as ratios measured in one run.

Each rule at OpenDataVal's default budget, on the same problem, with the same logistic regression
and as many threads. Theirs runs once, ours three times before and three times after it; the median
counts. The last column compares processor time, over all threads, which a busy machine disturbs
less than the time on the wall; there, set OMP_NUM_THREADS=1 as well, for threads that wait for each
other cost both sides dearly.

    python benchmarks/bench_opendataval.py [--quick]

It needs OpenDataVal, which ``make bench`` and ``make opendataval`` install, and fails without it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import time
from collections.abc import Callable

import numpy as np
import torch

from nddv.baselines.ame import average_marginal_effect
from nddv.baselines.leave_one_out import leave_one_out
from nddv.baselines.neighbours import knn_shapley
from nddv.baselines.oob import data_oob
from nddv.baselines.semivalues import data_shapley
from nddv.baselines.subsamples import data_banzhaf, influence_subsample
from nddv.coalitions import LogisticGame
from nddv.problems import Problem, make_problem

SEED = 100
REPETITIONS = 3
SIZES = {"valid": 100, "test": 300, "meta": 100}


def seconds(run: Callable[[], object]) -> np.ndarray:
    """Seconds of one call on the wall and of the processor; nobody sees its progress bars."""
    start = np.array([time.perf_counter(), time.process_time()])
    with contextlib.redirect_stderr(io.StringIO()):
        run()
    return np.array([time.perf_counter(), time.process_time()]) - start


def compare(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    target: float | None = None,
    units: tuple[int, int] = (1, 1),
) -> None:
    """Print seconds of both sides and their ratio; units: how much of the work each call does."""
    before = [seconds(ours) for _ in range(REPETITIONS)]
    they = seconds(theirs) / units[1]
    after = [seconds(ours) for _ in range(REPETITIONS)]
    we = np.median(before + after, axis=0) / units[0]
    wall, processor = they / we
    wanted = "" if target is None else f"   (target >= {target:g})"
    print(
        f"  {name:46s} {they[0]:9.3f} s {we[0]:9.4f} s {wall:8.1f} x {processor:8.1f} x{wanted}",
        flush=True,
    )


def rules_that_retrain(models: int, n: int) -> None:
    """LOO, Banzhaf, influence, Data-OOB, AME and Data Shapley at d=10, m=100."""
    import nddv.integrations.opendataval as odv

    problem, _ = make_problem("2dplanes", n, "label10", SEED, SIZES)
    train, valid = (problem.X_train, problem.y_train), (problem.X_valid, problem.y_valid)

    def game() -> LogisticGame:
        return LogisticGame(*train, *valid, n_classes=2)

    def rng() -> np.random.Generator:
        return np.random.default_rng(SEED)

    def theirs(evaluator: str, **budget: int) -> Callable[[], object]:
        return lambda: odv.run_opendataval(evaluator, problem, SEED, **budget)

    print(f"2dplanes, n={n}, d=10, m=100, {models} models")
    print(f"  {'':46s} {'OpenDataVal':>11s} {'ours':>11s} {'ratio':>10s} {'processor':>10s}")
    budget = {"num_models": models}
    compare("LeaveOneOut", lambda: leave_one_out(game()), theirs("LeaveOneOut"), 100)
    compare(
        "DataBanzhaf",
        lambda: data_banzhaf(game(), rng(), num_models=models),
        theirs("DataBanzhaf", **budget),
        100,
    )
    compare(
        "InfluenceSubsample",
        lambda: influence_subsample(game(), rng(), num_models=models),
        theirs("InfluenceSubsample", **budget),
        100,
    )
    compare(
        "DataOob, logistic regression",
        lambda: data_oob(*train, rng(), num_models=models),
        theirs("DataOob", **budget),
        100,
    )
    compare(
        "AME, models of four rates",
        lambda: average_marginal_effect(game(), rng(), num_models=models),
        theirs("AME", **budget),
        20,
    )

    walks, their_walks = 50, 10

    def shapley() -> object:
        return data_shapley(game(), rng(), max_permutations=walks)

    compare(
        "DataShapley, a permutation, nothing truncated",
        shapley,
        lambda: one_whole_permutation(problem),
        20,
        (walks, 1),
    )
    few = {"max_mc_epochs": 1, "models_per_epoch": their_walks}
    compare(
        "DataShapley, a permutation, theirs truncated",
        shapley,
        theirs("DataShapley", **few),
        units=(walks, their_walks),
    )


def one_whole_permutation(problem: Problem) -> None:
    """OpenDataVal's walk along one permutation, to its end.

    It stops after ten steps in a row that change nothing, or that change anything while the changes
    so far sum to less than zero. Here it computes the metric as ever, and is told a growing number.
    """
    from opendataval.dataval import DataShapley
    from opendataval.metrics import accuracy
    from opendataval.model import ModelFactory

    from nddv.integrations.opendataval import data_fetcher

    steps = itertools.count()

    def metric(y: torch.Tensor, predicted: torch.Tensor) -> float:
        accuracy(y, predicted)
        return float(next(steps))

    fetcher = data_fetcher(problem)
    with contextlib.redirect_stdout(io.StringIO()):
        DataShapley(max_mc_epochs=1, models_per_epoch=1, cache_name=None, random_state=SEED).train(
            fetcher, ModelFactory("sklogreg", fetcher), metric
        )
    assert next(steps) == len(problem.X_train) - 4  # it begins at five points


def nearest_neighbours(n: int, d: int, m: int) -> None:
    """KNN-Shapley on features without ties."""
    import nddv.integrations.opendataval as odv

    rng = np.random.default_rng(SEED)
    parts = {}
    for part, size in (("train", n), ("valid", m), ("test", 10), ("meta", 10)):
        X = rng.standard_normal((size, d), dtype=np.float32)
        parts |= {f"X_{part}": X, f"y_{part}": (X[:, :5].sum(axis=1) > 0).astype(np.int64)}
    problem = Problem(**parts)
    train, valid = (problem.X_train, problem.y_train), (problem.X_valid, problem.y_valid)
    compare(
        f"KNNShapley, n={n}, d={d}, m={m}",
        lambda: knn_shapley(*train, *valid),
        lambda: odv.run_opendataval("KNNShapley", problem, SEED),
        5,
    )


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes and budgets")
    quick = parser.parse_args().quick
    try:
        import nddv.integrations.opendataval  # noqa: F401
    except ImportError as error:
        raise SystemExit(f"nothing to compare with: {error}") from error
    print(f"{torch.get_num_threads()} threads")
    rules_that_retrain(*(100, 300) if quick else (1000, 1000))
    nearest_neighbours(*(2000, 768, 200) if quick else (10_000, 768, 1000))


if __name__ == "__main__":
    main()
