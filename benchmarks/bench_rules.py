"""What every rule costs with the settings of config/methods.yaml, one problem and seed.

n = 1000 with 10 features (2dplanes) and with 768 (five classes of noisy clusters, as
embeddings are). Rules of the paper's table come first; their sum is printed, NDDV included.

    python benchmarks/bench_rules.py [--features 10 768] [--methods loo lava ...]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import yaml

from nddv.methods import METHODS
from nddv.problems import Problem, Table, make_problem
from nddv.valuation import value

SEED = 100
SETTINGS = Path(__file__).parents[1] / "config" / "methods.yaml"
SLOW = ("volume-shapley", "dvrl", "cs-shapley")
IN_THE_TABLE = [
    *("nddv-terminal", "loo", "data-shapley", "beta-shapley", "data-banzhaf", "influence-function"),
    *("knn-shapley", "ame", "data-oob", "lava", "du-shapley", "ghostsuite"),
]


def problem(features: int) -> Problem:
    if features == 10:
        return make_problem("2dplanes", 1000, "label10", SEED)[0]
    rng = np.random.default_rng(SEED)
    y = rng.integers(5, size=2000)
    X = 0.15 * rng.normal(size=(5, features))[y] + rng.normal(size=(2000, features))
    table = Table(X, y, list("abcde"), name=f"clusters{features}")
    return make_problem(table, 1000, "label10", SEED)[0]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--features", type=int, nargs="+", default=[10, 768])
    arguments.add_argument("--methods", nargs="+", choices=list(METHODS))
    chosen = arguments.parse_args()
    settings = yaml.safe_load(SETTINGS.read_text())["settings"]
    names = chosen.methods or [*IN_THE_TABLE, *(m for m in METHODS if m not in IN_THE_TABLE)]
    for features in chosen.features:
        given = problem(features)
        spent: dict[str, float] = {}
        print(f"\nn = 1000, {features} features, one seed")
        for name in names:
            if features > 100 and name in SLOW and not chosen.methods:
                print(f"  {name:20}  left out: minutes; --methods {name} runs it")
                continue
            key = "nddv" if name.startswith("nddv-") else name
            start = time.perf_counter()
            try:
                value(name, given, SEED, **settings[key])
            except ValueError as error:
                print(f"  {name:20}  no values: {str(error)[:60]}")
                continue
            spent[name] = time.perf_counter() - start
            print(f"  {name:20} {spent[name]:8.2f} s", flush=True)
        table, everything = (
            sum(seconds for name, seconds in spent.items() if name in wanted)
            for wanted in (IN_THE_TABLE, METHODS)
        )
        print(f"  rules of the paper's table together: {table:.0f} s; all: {everything:.0f} s")


if __name__ == "__main__":
    main()
