"""Five seeds fitted together beside one, and beside five fits one after the other.

The seeds of a small problem (n = 1000), as the workflow fits them in the paper's configuration, of
one member each; interleaved repetitions, so that a noisy machine disturbs all alike. One thread,
and two, of which one model alone makes little use.

    python benchmarks/bench_together.py [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from nddv import NDDV, fit_together
from nddv.estimator.settings import resolved

SEEDS = range(100, 105)
TARGET = 2.5
SHAPES = {"10 features, 2 classes": (10, 2), "384 features, 5 classes": (384, 5)}


def make_data(n: int, features: int, classes: int, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    X, X_meta = (rng.standard_normal((k, features), dtype=np.float32) for k in (n, 100))
    return {
        **{"X": X, "y": X[:, :classes].argmax(1)},
        **{"X_meta": X_meta, "y_meta": X_meta[:, :classes].argmax(1)},
    }


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, n: int, shape: tuple[int, int], epochs: int, repetitions: int) -> None:
    """Print the ratios of medians."""
    data = [make_data(n, *shape, seed) for seed in SEEDS]

    def models() -> list[NDDV]:
        return [NDDV("terminal", epochs=epochs, random_state=seed) for seed in SEEDS]

    calls = {
        "one": lambda: models()[0].fit(**data[0]),
        "together": lambda: fit_together(models(), data),
        "in turn": lambda: [m.fit(**d) for m, d in zip(models(), data, strict=True)],
    }
    times = {call: [] for call in calls}
    for repetition in range(repetitions + 1):
        for call, run in calls.items():
            taken = seconds(run)
            if repetition:  # the first warms up
                times[call].append(taken)
    median = {call: float(np.median(t)) for call, t in times.items()}
    print(
        f"  {name}, {torch.get_num_threads()} thread(s): five together / one "
        f"{median['together'] / median['one']:.2f} (target < {TARGET}), in turn / one "
        f"{median['in turn'] / median['one']:.2f}   (one: {median['one']:.2f} s)",
        flush=True,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="one repetition")
    repetitions = 1 if arguments.parse_args().quick else 5
    epochs = resolved(NDDV("terminal")).epochs
    print(f"n = 1000, {epochs} epochs, terminal readout, median of {repetitions}")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, shape in SHAPES.items():
            compare(name, 1000, shape, epochs, repetitions)


if __name__ == "__main__":
    main()
