"""What a valuation costs, as ratios measured in one run on one thread.

1. `path` at n=1000, d=10 beside a random forest of 500 trees with out-of-bag scores.
2. `participation` beside the fit that it replays.

    python benchmarks/bench_cost.py [--quick]
"""

from __future__ import annotations

import argparse
import os

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import time  # noqa: E402
from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

from nddv import NDDV  # noqa: E402
from nddv.problems import make_problem  # noqa: E402

SIZES = {"valid": 100, "test": 300, "meta": 100}


def seconds(run: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare_with_a_forest(
    repetitions: int, n: int = 1000, epochs: int = NDDV().epochs, trees: int = 500
) -> None:
    """Interleaved repetitions, so that a noisy machine disturbs both alike."""
    problem, _ = make_problem("2dplanes", n, "label10", 100, SIZES)
    train, meta = (problem.X_train, problem.y_train), (problem.X_meta, problem.y_meta)
    valid = (problem.X_valid, problem.y_valid)

    def fit(readout: str) -> None:
        NDDV(readout=readout, epochs=epochs).fit(*train, *meta, *valid)

    def forest() -> None:
        RandomForestClassifier(trees, oob_score=True, n_jobs=1, random_state=0).fit(*train)

    calls = {
        "forest": forest,
        "terminal": lambda: fit("terminal"),
        "path": lambda: fit("path"),
        "participation": lambda: fit("participation"),
    }
    for call in calls.values():  # warm up
        call()
    times = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            times[name].append(seconds(call))
    median = {name: float(np.median(t)) for name, t in times.items()}
    print(f"2dplanes, n={n}, d=10, {epochs} epochs, one thread, median of {repetitions}")
    for name, value in median.items():
        print(f"  {name:14s} {value:7.2f} s")
    ratio = median["path"] / median["forest"]
    print(f"  path / forest({trees}, oob)      {ratio:6.2f}   (target <= 2)")
    ratio = median["participation"] / median["terminal"]
    print(f"  participation / fit          {ratio:6.2f}   (target <= 3, the fit included)")


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repetitions")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    compare_with_a_forest(2 if quick else 5)


if __name__ == "__main__":
    main()
