"""What a valuation costs, as ratios measured in one run on one thread.

1. `path`, with all members, beside a random forest of 500 trees with out-of-bag scores: ten
   features, many features, many rows.
2. One more member beside a fit of one.
3. `participation` beside the fit that it replays.

    python benchmarks/bench_cost.py [--quick]
"""

from __future__ import annotations

import argparse
import os

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import time  # noqa: E402
from collections.abc import Callable, Mapping  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

from nddv import NDDV  # noqa: E402
from nddv.problems import make_problem  # noqa: E402

SIZES = {"valid": 100, "test": 100, "meta": 100}
# rows and features: the most that `path` may take of the time of the forest
AGAINST_FORESTS = {(1000, 10): 2.5, (1000, 384): 1.0, (1000, 2048): 1.0, (10_000, 10): 3.0}


def seconds(run: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(calls: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """Median seconds of each call, interleaved: a noisy machine disturbs all alike."""
    for call in calls.values():  # warm up
        call()
    times = [[seconds(call) for call in calls.values()] for _ in range(repetitions)]
    return dict(zip(calls, np.median(times, axis=0).tolist(), strict=True))


def rows(n: int, features: int) -> tuple[Any, Any]:
    """Rows and labels, one in ten of them wrong: 2dplanes, or drawn with more columns."""
    if features == 10:
        problem, _ = make_problem("2dplanes", n, "label10", 100, SIZES)
        return problem.X_train, problem.y_train
    return make_classification(n, features, n_informative=20, flip_y=0.1, random_state=100)


def compare_with_forests(
    repetitions: int, targets: Mapping[tuple[int, int], float], trees: int = 500, **settings: Any
) -> None:
    """`path` beside a forest on the same rows."""
    for (n, features), target in targets.items():
        data = rows(n, features)
        spent = medians(
            {
                "forest": lambda data=data: RandomForestClassifier(
                    trees, oob_score=True, n_jobs=1, random_state=0
                ).fit(*data),
                "path": lambda data=data: NDDV(**settings).fit(*data),
            },
            repetitions,
        )
        ratio = spent["path"] / spent["forest"]
        print(
            f"n = {n}, d = {features}: path {spent['path']:.2f} s, forest {spent['forest']:.2f} s\n"
            f"  path / forest({trees}, oob)      {ratio:6.2f}   (target <= {target})",
            flush=True,
        )


def compare_members(repetitions: int, n: int = 1000, members: int = 8, **settings: Any) -> None:
    """What one more member costs, in fits of one."""
    data = rows(n, 10)
    spent = medians(
        {
            str(count): lambda count=count: NDDV(members=count, **settings).fit(*data)
            for count in (1, members)
        },
        repetitions,
    )
    one, all_members = spent["1"], spent[str(members)]
    share = (all_members - one) / (members - 1) / one
    print(f"one member {one:.2f} s, {members} members {all_members:.2f} s")
    print(f"  one more member / a fit of one  {share:6.2f}   (target < 0.35)", flush=True)


def compare_replay(repetitions: int, n: int = 1000, **settings: Any) -> None:
    """Participation beside the fit that it replays."""
    problem, _ = make_problem("2dplanes", n, "label10", 100, SIZES)
    p = problem
    data = (p.X_train, p.y_train, p.X_meta, p.y_meta, p.X_valid, p.y_valid)
    spent = medians(
        {
            name: lambda name=name: NDDV(name, **settings).fit(*data)
            for name in ("terminal", "participation")
        },
        repetitions,
    )
    ratio = spent["participation"] / spent["terminal"]
    print(f"terminal {spent['terminal']:.2f} s, participation {spent['participation']:.2f} s")
    print(
        f"  participation / fit          {ratio:6.2f}   (target <= 3, the fit included)", flush=True
    )


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, fewer repetitions")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    targets = {
        size: target for size, target in AGAINST_FORESTS.items() if not quick or size[0] == 1000
    }
    compare_with_forests(2 if quick else 5, targets)
    compare_members(2 if quick else 5)
    compare_replay(2 if quick else 5)


if __name__ == "__main__":
    main()
