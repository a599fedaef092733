"""What every rule costs with the settings of the workflow, one problem and seed.

n = 1000 with 10 features (2dplanes) and with 768 (five classes of noisy clusters, as
embeddings are). Budgets (models, permutations, epochs) are the defaults, where config/methods.yaml
does not depart from them. Rules of the paper's table come first; their sum is printed, NDDV
included, beside the target for two cores.

    python benchmarks/bench_rules.py [--quick] [--features 10 768] [--methods loo lava ...]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import yaml

from nddv.methods.registry import METHODS
from nddv.methods.settings import effective
from nddv.methods.valuation import value
from nddv.problems import Problem, Table, make_problem
from nddv.values import NoValues

SEED = 100
SETTINGS = Path(__file__).parents[1] / "config" / "methods.yaml"
TARGETS = {10: 120, 768: 900}
"""Seconds for the rules of the paper's table together, by the number of features."""

SLOW = ("volume-shapley", "dvrl", "cs-shapley")
IN_THE_TABLE = [
    *("nddv-terminal", "loo", "data-shapley", "beta-shapley", "data-banzhaf", "influence-function"),
    *("knn-shapley", "ame", "data-oob", "lava", "du-shapley", "ghostsuite"),
]


def make(features: int, n: int = 1000) -> Problem:
    if features == 10:
        return make_problem("2dplanes", n, "label10", SEED)[0]
    rng = np.random.default_rng(SEED)
    y = rng.integers(5, size=2 * n)
    X = 0.15 * rng.normal(size=(5, features))[y] + rng.normal(size=(2 * n, features))
    table = Table(X, y, list("abcde"), name=f"clusters{features}")
    return make_problem(table, n, "label10", SEED)[0]


def time_rules(problem: Problem, names: list[str]) -> dict[str, float]:
    """Print and give the seconds of each rule that has values for a problem."""
    settings = yaml.safe_load(SETTINGS.read_text())["settings"]
    spent: dict[str, float] = {}
    for name in names:
        start = time.perf_counter()
        try:
            value(name, problem, SEED, **effective(settings, name))
        except NoValues as error:
            print(f"  {name:20}  no values: {str(error)[:60]}")
            continue
        spent[name] = time.perf_counter() - start
        print(f"  {name:20} {spent[name]:8.2f} s", flush=True)
    return spent


def print_sums(spent: dict[str, float], features: int) -> None:
    table = sum(seconds for name, seconds in spent.items() if name in IN_THE_TABLE)
    missing = [name for name in IN_THE_TABLE if name not in spent]
    target = f" (target <= {TARGETS[features]} s)" if features in TARGETS else ""
    if missing:
        target += f", without {', '.join(missing)}"
    print(f"  rules of the paper's table together: {table:.0f} s{target}")
    print(f"  all: {sum(spent.values()):.0f} s")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--features", type=int, nargs="+", default=[10, 768])
    arguments.add_argument("--methods", nargs="+", choices=list(METHODS))
    arguments.add_argument("--quick", action="store_true", help="10 features only")
    chosen = arguments.parse_args()
    chosen.features = [10] if chosen.quick else chosen.features
    names = chosen.methods or [*IN_THE_TABLE, *(m for m in METHODS if m not in IN_THE_TABLE)]
    for features in chosen.features:
        print(f"\nn = 1000, {features} features, one seed, budgets of config/{SETTINGS.name}")
        slow = SLOW if features > 100 and not chosen.methods else ()
        spent = time_rules(make(features), [name for name in names if name not in slow])
        for name in slow:
            print(f"  {name:20}  left out: minutes; --methods {name} runs it")
        print_sums(spent, features)


if __name__ == "__main__":
    main()
