"""Fits of coalitions per second, utilities included, beside a loop over scikit-learn.

Both on the same coalitions, in turns, in one run; scikit-learn at its default tolerance, which is
looser than ours, and on one thread; ours on one unless more are given.

    python benchmarks/bench_coalitions.py [--quick] [--threads N]
"""

from __future__ import annotations

import argparse
import os

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import tempfile  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from nddv.baselines.leave_one_out import leave_one_out  # noqa: E402
from nddv.coalitions import LogisticGame  # noqa: E402

Parts = tuple[NDArray, NDArray, NDArray, NDArray, int]


def make_parts(n: int, d: int, n_classes: int, m: int = 100) -> Parts:
    """Correlated features, classes with noise."""
    rng = np.random.default_rng(100)
    mixing = rng.standard_normal((d, d)) * np.arange(1, d + 1)[:, None] ** -0.5
    X = rng.standard_normal((n + m, d)) @ mixing
    X /= X.std(axis=0)
    signal = X @ rng.standard_normal((d, n_classes)) * 2 / np.sqrt(d)
    y = (signal + rng.gumbel(size=signal.shape)).argmax(axis=1)
    return X[:n], y[:n], X[n:], y[n:], n_classes


def scikit_learn(parts: Parts, coalitions: NDArray[np.bool_]) -> None:
    """The loop: fit and score one coalition after the other."""
    X, y, X_valid, y_valid, _ = parts
    for coalition in coalitions:
        LogisticRegression(max_iter=200).fit(X[coalition], y[coalition]).score(X_valid, y_valid)


def rate(count: int, run: Callable[[], object], repetitions: int) -> float:
    """Coalitions per second, the best of some runs."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return count / min(times)


def compare(name: str, parts: Parts, count: int, loop: int, repetitions: int) -> None:
    """Halves, all but one, and prefixes of an order: rates, and ratios to the loop on the same."""
    rng = np.random.default_rng(101)
    n = len(parts[0])
    print(name)
    order = rng.permutation(n)
    position = np.argsort(order)
    # by what is asked for: the coalitions of the loop, and how the game is asked for its own
    halves = rng.random((count, n)) < 0.5
    asked = {
        "halves": (halves, lambda game: game.utilities(halves), count),
        "all but one": (~np.eye(n, dtype=bool), leave_one_out, n),
        "an order": (
            position < np.linspace(n // 20, n - 1, loop).astype(int)[:, None],
            lambda game: game.walk(order[None]),
            n,
        ),
    }
    games = {dtype: LogisticGame(*parts, dtype=dtype) for dtype in ("float64", "float32")}
    for what, (coalitions, ask, asked_for) in asked.items():
        base = rate(loop, lambda rows=coalitions: scikit_learn(parts, rows[:loop]), repetitions)
        line = f"  {what:12s} scikit-learn {base:7.1f}/s"
        for dtype, game in games.items():
            ours = rate(asked_for, lambda ask=ask, game=game: ask(game), repetitions)
            line += f"   {dtype} {ours:9.1f}/s ({ours / base:6.1f}x)"
        print(line, flush=True)


def compare_stored(parts: Parts, count: int) -> None:
    """The same coalitions without a cache, with a new one, and with one that knows them."""
    halves = np.random.default_rng(102).random((count, len(parts[0]))) < 0.5
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        for cache in (None, folder, folder):
            game = LogisticGame(*parts, cache=cache)
            rates.append(rate(count, lambda game=game: game.utilities(halves), 1))
    print("  halves, stored: none {:.0f}/s, new {:.0f}/s, known {:.0f}/s".format(*rates))


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repetitions")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore", ConvergenceWarning)
    repetitions = 1 if arguments.quick else 3
    small = make_parts(1000, 10, 2)
    compare("n=1000, d=10, two classes", small, 1000, 50, repetitions)
    compare_stored(small, 1000)
    compare("n=1000, d=10, five classes", make_parts(1000, 10, 5), 500, 20, 1)
    if not arguments.quick:
        compare("n=10000, d=10, two classes", make_parts(10_000, 10, 2), 200, 20, 1)
    d = 200 if arguments.quick else 768
    compare(f"n=1000, d={d}, two classes", make_parts(1000, d, 2), 100, 10, 1)


if __name__ == "__main__":
    main()
