"""How well wrong labels are counted, found and mended, beside cleanlab, on real data.

Errors are put into the labels of known tables at known rates, and judged is what `nddv.checks`
says of them. Labels may also be doubtful by nature, so that numbers are judged by what the errors
add to the estimate of the same table before.

    python benchmarks/judge_checks.py [--quick] [--finished] [--cleanlab PYTHON] [--seeds 103 104]

PYTHON is an interpreter that has cleanlab, for it asks for other versions than ours
(``python3 -m venv ENV && ENV/bin/pip install cleanlab==2.9.0``); without, the benchmark says so and
goes on. Finished cases are kept in results/checks/, so that a run that was ended goes on;
``--finished`` judges those alone. Remove that folder after a change of the model. Written are
reports/checks.md and reports/checks.csv; not with ``--quick``.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml
from checks_judged import SIGNALS, by_cleanlab, doubtful, judge, ours
from checks_report import write_report
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from nddv import NDDV
from nddv.checks.labels import FOLDS
from nddv.estimator.held_out import held_out_scores, stratified_parts
from nddv.problems import Table, load_dataset, make_problem
from nddv.problems.encoders import known_encoders
from nddv.problems.fetch import FetchError
from nddv.support.files import load_arrays, save_arrays

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "checks"
SIZE = 1000
SEEDS = (103, 104)
DATASETS = (
    *("2dplanes", "electricity", "adult", "pol"),
    *("digits", "bbc@minilm", "cifar10@resnet50", "fire"),
)
ROWS = {"cifar10@resnet50": 12_000}  # those whose embeddings are stored
CLEAN_ONLY = ("fire",)  # asked is only what is flagged where nothing was injected
LINEAR = ("digits", "bbc@minilm", "cifar10@resnet50")
"""Data sets whose usual model is a logistic regression; of the others, boosted trees."""


@dataclass(frozen=True)
class Errors:
    """Which labels go wrong: a share of them, alike in all classes or not.

    by_class : classes of even code go wrong four times as often as the others, to the next class.
    """

    rate: float
    by_class: bool = False

    @property
    def name(self) -> str:
        return f"{100 * self.rate:g}{'c' if self.by_class else ''}"

    def inject(self, y: np.ndarray, classes: int, rng: np.random.Generator) -> np.ndarray:
        """Labels (n,), some of them wrong."""
        weights = np.where(self.by_class & (y % 2 == 1), 0.25, 1.0)
        count = round(self.rate * len(y))
        chosen = rng.choice(len(y), count, replace=False, p=weights / weights.sum())
        wrong = y.copy()
        far = np.ones(count, int) if self.by_class else rng.integers(1, classes, count)
        wrong[chosen] = (y[chosen] + far) % classes
        return wrong


ERRORS = (
    *(Errors(rate) for rate in (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)),
    *(Errors(rate, by_class=True) for rate in (0.1, 0.2)),
)


@dataclass(frozen=True)
class Case:
    """Errors in the labels of n rows of a data set."""

    dataset: str
    n: int
    seed: int
    errors: Errors

    @property
    def before(self) -> Case:
        """The same table before errors were put in."""
        return replace(self, errors=ERRORS[0])

    @property
    def path(self) -> Path:
        return RESULTS / f"{self.dataset}_n{self.n}_seed{self.seed}_{self.errors.name}.npz"


@cache
def table(name: str) -> Table:
    """A data set of the configuration; ValueError or FetchError if it cannot be had."""
    short, _, encoder = name.partition("@")
    config = (ROOT / "config" / "datasets.yaml").read_text(encoding="utf-8")
    entries, encoders = yaml.safe_load(config)["datasets"], known_encoders()
    allowed = ["local", "generated", "scikit-learn"]  # nothing is fetched for a benchmark
    entry = entries[short] | ({"rows": ROWS[name]} if name in ROWS else {})
    return load_dataset(name, entry, encoders.get(encoder), allowed=allowed, progress=False)


def usual_probabilities(dataset: str, X: np.ndarray, y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Of held-out rows (n, C), by the model that users of cleanlab would take; our folds."""
    linear = dataset in LINEAR
    model = (
        LogisticRegression(max_iter=5000)
        if linear
        else HistGradientBoostingClassifier(random_state=0)
    )
    return cross_val_predict(model, X, y, cv=PredefinedSplit(fold), method="predict_proba")


def gather(case: Case) -> None:
    """Store what models say of held-out rows; what follows from it is judged later."""
    data = table(case.dataset)
    problem, truth = make_problem(data, case.n, "clean", case.seed)
    X, clean = problem.X_train, problem.y_train.astype(np.intp)
    rng = np.random.default_rng([case.seed, round(1000 * case.errors.rate), case.errors.by_class])
    y = case.errors.inject(clean, len(data.classes), rng)
    parts = stratified_parts(y, FOLDS, np.random.default_rng([case.seed, 1]))
    fold = np.empty(len(y), dtype=np.intp)
    for k, part in enumerate(parts):
        fold[part] = k
    start = time.process_time()
    scores, _ = held_out_scores(NDDV(random_state=case.seed), X, y, parts)
    save_arrays(
        case.path,
        given=y,
        clean=clean,
        rows=truth.rows_train,
        scores=scores,
        seconds=time.process_time() - start,
        usual=usual_probabilities(case.dataset, X, y, fold),
    )


def cases(datasets: Sequence[str], n: int, seeds: Sequence[int]) -> Iterator[Case]:
    for seed, errors, dataset in itertools.product(seeds, ERRORS, datasets):
        if not (errors.rate and dataset in CLEAN_ONLY):
            yield Case(dataset, n, seed, errors)


def available(names: Sequence[str]) -> list[str]:
    """The data sets that can be had here; the others are named."""
    found = []
    for name in names:
        try:
            table(name)
            found.append(name)
        except (ValueError, OSError, FetchError) as error:
            print(f"{name} is left out: {' '.join(str(error).split())[:200]}", flush=True)
    return found


def gather_all(wanted: Sequence[Case]) -> None:
    for done, case in enumerate(wanted, start=1):
        if case.path.exists():
            continue
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gather(case)
        seconds = time.perf_counter() - start
        print(f"  {done}/{len(wanted)} {case.path.stem} {seconds:.0f} s", flush=True)


def judge_all(wanted: Sequence[Case], python: str) -> tuple[pd.DataFrame, str]:
    """A line for each case and way, and the version of cleanlab or why there is none."""
    stored = [load_arrays(case.path) for case in wanted]
    answers = {"nddv": [ours(arrays) for arrays in stored]}
    try:
        of_cleanlab, version = by_cleanlab(stored, python)
        answers |= of_cleanlab
    except (OSError, RuntimeError) as error:
        version = f"nothing to compare with: {' '.join(str(error).split())[:200]}"
    place = {case: k for k, case in enumerate(wanted)}
    lines = []
    for (k, case), way in itertools.product(enumerate(wanted), answers):
        answer = answers[way][k]
        line = {"dataset": case.dataset, "seed": case.seed, "n": case.n}
        line |= {"errors": case.errors.name, "way": way}
        line |= judge(answer, stored[k], answers[way][place[case.before]])
        if case.errors.rate == 0 and case.dataset in SIGNALS:
            data = table(case.dataset)
            doubt = doubtful(case.dataset, np.asarray(data.X), data.y, stored[k]["rows"])
            line |= {"doubtful": doubt.mean(), "beyond": (answer.flagged & ~doubt).mean()}
        lines.append(line | {"seconds": float(stored[k]["seconds"])})
    return pd.DataFrame(lines), version


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="two data sets, 200 rows")
    arguments.add_argument("--cleanlab", default=sys.executable, help="an interpreter that has it")
    arguments.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    arguments.add_argument("--finished", action="store_true", help="judge the cases that are there")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    names, n = (("2dplanes", "digits"), 200) if chosen.quick else (DATASETS, SIZE)
    seeds = chosen.seeds[:1] if chosen.quick else chosen.seeds
    wanted = list(cases(available(names), n, seeds))
    if not chosen.finished:
        gather_all(wanted)
    done = [case for case in wanted if case.path.exists() and case.before.path.exists()]
    judged, version = judge_all(done, chosen.cleanlab)
    made = (
        "Made by `python benchmarks/judge_checks.py --cleanlab PYTHON --seeds "
        f"{' '.join(map(str, seeds))}`: {len(done)} of {len(wanted)} cases, "
        f"each of n = {n} rows; cleanlab: {version}."
    )
    print(write_report(judged, made, None if chosen.quick else ROOT / "reports"))


if __name__ == "__main__":
    main()
