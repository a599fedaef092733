"""Seconds to precise Shapley values, as ratios measured in one run.

Levels and predicted marginals beside permutations walked by our own engine; and beside OpenDataVal
and pyDVL as their users run them, with the logistic regression of scikit-learn and their own
truncation, on the same data and by the same utility. Asked is after how many seconds the squared
correlation with the exact values is .99; what does not get there within its time is extrapolated,
since the variance of errors falls as 1/seconds. Seconds are of the processor, on one thread.

    python benchmarks/bench_semivalues.py [--quick] [--pydvl PYTHON]

PYTHON is an interpreter that has pyDVL, for it asks for other versions than ours; without, and
without OpenDataVal (``make opendataval``), the benchmark says so and goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from nddv.audit.accuracy import UTILITY, Reference, make_reference, seconds_to_target
from nddv.audit.clocked import Trail, draw_marginals, walk_orders
from nddv.audit.estimators import TARGET
from nddv.coalitions.sampling import predicted_cells
from nddv.laws import LAWS
from nddv.methods.valuation import logistic_game, value
from nddv.problems import Problem, make_problem

SEED = 100
SIZES = {"valid": 100, "test": 30, "meta": 10}
LAW = LAWS["shapley"]
TARGETS = {"2dplanes": 50, "digits": 10}
"""How many times quicker than permutations predicted marginals are to be."""

Valued = tuple[np.ndarray, float]  # values (n,), and the seconds of the processor


def say(name: str, seconds: float, words: str) -> None:
    print(f"  {name:42s} {seconds:12.3f} s   {words}", flush=True)


def of_trail(name: str, trail: Trail, known: Reference) -> float:
    """Print and return the seconds to the target of one of our estimators."""
    found, last = seconds_to_target(trail, known), trail.at()
    if "to_target" not in found:
        say(name, np.nan, found["gap"])
        return np.nan
    how = "extrapolated" if found["extrapolated"] else "measured"
    say(name, found["to_target"], f"{how}; r² {known.square(last.values):.3f} at the end")
    return float(found["to_target"])


def of_others(name: str, run: Callable[[float], Valued], known: Reference, cap: float) -> float:
    """The same for another package, by the squared correlation that it has reached."""
    try:
        values, seconds = run(cap)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(
            f"  {name}: nothing to compare with: {' '.join(str(error).split())[:200]}", flush=True
        )
        return np.nan
    r2 = known.square(values)
    if r2 <= 0:
        say(name, np.nan, f"no correlation after {seconds:.1f} s")
        return np.nan
    needed = seconds * (1 - r2) / r2 * TARGET / (1 - TARGET) if r2 < TARGET else seconds
    say(
        name,
        needed,
        f"{'extrapolated' if r2 < TARGET else 'measured'}; r² {r2:.3f} after {seconds:.1f} s",
    )
    return needed


def levels(problem: Problem, known: Reference) -> float:
    """Seconds of the levels; they are what they are, whether or not they reach the target."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        values = value("shapley-level", problem, SEED).values
        seconds.append(time.process_time() - start)
    say(
        "levels, 8 nodes",
        float(np.median(seconds)),
        f"r² {known.square(values):.3f}, no sampling",
    )
    return float(np.median(seconds))


def opendataval(problem: Problem, cap: float) -> Valued:
    """OpenDataVal's DataShapley, with as many permutations as the time allows."""
    from nddv.integrations.opendataval import data_fetcher  # first: it makes the package importable

    from opendataval.dataval import DataShapley  # isort: skip
    from opendataval.model import ModelFactory  # isort: skip

    def probability(y: torch.Tensor, predicted: torch.Tensor) -> float:
        return float((y * predicted).sum(dim=1).mean())

    fetcher = data_fetcher(problem)
    model = ModelFactory("sklogreg", fetcher)

    def run(walks: int) -> Valued:
        budget = {"max_mc_epochs": 1, "models_per_epoch": walks, "cache_name": None}
        start = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            run = DataShapley(**budget, random_state=SEED).train(fetcher, model, probability)
        return np.asarray(run.data_values, dtype=float).ravel(), time.process_time() - start

    # It ends some permutations at once, others never: only trying tells how long many take.
    walks, found = 4, run(4)
    while found[1] < cap / 2:
        walks = int(walks * min(4.0, 1 + cap / found[1] / 2))
        found = run(walks)
    return found


def pydvl(problem: Problem, python: str, cap: float) -> Valued:
    """TMC-Shapley of pyDVL, by an interpreter that has it."""
    parts = ("X_train", "y_train", "X_valid", "y_valid")
    with tempfile.TemporaryDirectory() as folder:
        given, values = Path(folder, "problem.npz"), Path(folder, "values.npz")
        np.savez(given, **{name: getattr(problem, name) for name in parts})
        script = Path(__file__).with_name("with_pydvl.py")
        command = [python, str(script), str(given), str(cap), str(values)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
        found = np.load(values)
        return found["values"], float(found["seconds"])


def compare(dataset: str, n: int, cap: float, others: float, python: str) -> None:
    """Print the seconds of all on one problem, and the ratios.

    cap, others : seconds that our estimators, and each of the other packages, may take; 0: no
        others.
    """
    problem, _ = make_problem(dataset, n, "label10", SEED, SIZES)
    play = partial(logistic_game, problem, utility=UTILITY)
    known, about = make_reference(play, LAW, SEED, {"reliability": 0.999, "seconds": 2 * cap})
    print(
        f"{dataset}, n={n}, Shapley values by {UTILITY}; reference of reliability "
        f"{about['reliability']:.4f}; seconds to r² = {TARGET}",
        flush=True,
    )
    quick = levels(problem, known)
    rng = np.random.default_rng([SEED, 1])
    marginals = draw_marginals(play, LAW, predicted_cells, rng, cap)
    predicted = of_trail("predicted marginals", marginals, known)
    usual = {"permutations": of_trail("permutations", walk_orders(play, LAW, rng, cap), known)}
    if others:
        packages = {"OpenDataVal": partial(opendataval, problem)}
        packages["pyDVL"] = partial(pydvl, problem, python)
        for name, run in packages.items():
            usual[name] = of_others(name, run, known, others)
    for name, seconds in usual.items():
        if np.isfinite(seconds):
            wanted = name == "permutations" and n >= 1000 and dataset in TARGETS
            target = f"   (target >= {TARGETS[dataset]})" if wanted else ""
            print(
                f"  {name} / predicted marginals {seconds / predicted:.1f} x{target}, "
                f"{name} / levels {seconds / quick:.0f} x",
                flush=True,
            )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="small sizes, little time")
    arguments.add_argument("--pydvl", default=sys.executable, help="an interpreter that has pyDVL")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    for dataset in TARGETS:
        if chosen.quick:
            compare(dataset, 100, 2.0, 2.0, chosen.pydvl)
        else:
            compare(dataset, 300, 20.0, 60.0, chosen.pydvl)
            compare(dataset, 1000, 20.0, 0.0, chosen.pydvl)


if __name__ == "__main__":
    main()
