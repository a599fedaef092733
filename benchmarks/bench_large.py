"""A million rows: features on disk, valued in pieces, with time and peak memory as n grows.

Synthetic data as for tab:wallclock_scaling (standard normal features, two classes by a logistic
model), one label in ten flipped. Each n has a process of its own, on two threads, that reads its
features from disk; the smaller ones are also valued in memory, for the ratio.

    python benchmarks/bench_large.py [--quick] [--epochs auto] [--threads 2]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from nddv.evaluation.detection import detection_scores
from nddv.support.measuring import measure

FEATURES = 500
SIZES = (10_000, 100_000, 1_000_000)
IN_MEMORY = 100_000  # the largest n that is valued in memory as well
PIECE = 50_000
FLIPPED = 0.1
TARGETS = {1_000_000: "targets: 300 s, 4000 MB"}


def make_data(folder: Path, n: int, features: int) -> None:
    """Write the features in pieces, as whoever cannot hold them would."""
    rng = np.random.default_rng([100, n])
    direction = rng.standard_normal(features, dtype=np.float32)
    direction *= 4 / np.linalg.norm(direction)
    X = np.lib.format.open_memmap(folder / "train.npy", "w+", np.float32, (n, features))
    y = np.empty(n, dtype=np.int64)
    for start in range(0, n, PIECE):
        piece = slice(start, min(start + PIECE, n))
        size = piece.stop - piece.start
        X[piece] = rng.standard_normal((size, features), dtype=np.float32)
        y[piece] = X[piece] @ direction + rng.logistic(size=size) > 0
    flipped = rng.random(n) < FLIPPED
    X.flush()
    np.savez(folder / "y.npz", y=np.where(flipped, 1 - y, y), flipped=flipped)


def value_in_this_process(folder: Path, epochs: int | str, threads: int, stored: bool) -> dict:
    """Seconds, peak memory and how well flipped labels are found."""
    import torch

    from nddv import NDDV, open_rows

    torch.set_num_threads(threads)
    targets = np.load(folder / "y.npz")
    X = open_rows(folder / "train.npy") if stored else np.load(folder / "train.npy")
    NDDV(epochs=1).fit(X[slice(0, 200)], targets["y"][:200])
    with measure() as run:
        model = NDDV(readout="path", epochs=epochs).fit(X, targets["y"])
    rng = np.random.default_rng(0)
    found, _ = detection_scores(model.values_, targets["flipped"], FLIPPED, rng)
    steps = model.folds_[0].runs[0].steps  # members take them together
    return {**run.as_record(), "f1": found["f1_budget"], "auroc": found["auroc"], "steps": steps}


def time_one(
    n: int, features: int, epochs: int | str, threads: int, stored: bool, folder: Path
) -> dict:
    """The same in a process of its own."""
    request = [str(folder), str(epochs), str(threads), str(int(stored))]
    command = [sys.executable, __file__, "--child", *request]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    row = json.loads(answer.stdout.splitlines()[-1])
    where = "on disk" if stored else "in memory"
    print(
        f"  n={n:>9,} {where:9s} {row['seconds']:8.1f} s   peak {row['peak_memory_mb']:6.0f} MB   "
        f"{row['steps']} steps   flipped labels: F1 {row['f1']:.2f}, AUROC {row['auroc']:.3f}   "
        f"{TARGETS.get(n, '') if features == FEATURES else ''}",
        flush=True,
    )
    return row


def grow(sizes: list[int], features: int, epochs: int, threads: int) -> None:
    """Print a row for every n, and the exponent of the time in n."""
    print(f"{features} features, path readout, {epochs} epochs, {threads} threads")
    seconds = []
    for n in sizes:
        with tempfile.TemporaryDirectory(prefix="nddv-bench-") as name:
            folder = Path(name)
            make_data(folder, n, features)
            row = time_one(n, features, epochs, threads, stored=True, folder=folder)
            seconds.append(row["seconds"])
            if n <= IN_MEMORY:
                memory = time_one(n, features, epochs, threads, stored=False, folder=folder)
                print(f"  time on disk / in memory: {row['seconds'] / memory['seconds']:.2f}")
    if len(sizes) > 1:
        exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        print(f"  exponent of the time in n, on disk: {exponent:.2f}   (target about 1)")


def passes(text: str) -> int | str:
    """A number of epochs, or "auto": those of the default configuration."""
    return text if text == "auto" else int(text)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        folder, epochs, threads, stored = sys.argv[2:]
        answer = value_in_this_process(Path(folder), passes(epochs), int(threads), stored == "1")
        print(json.dumps(answer))
        return
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="up to 100,000 rows")
    arguments.add_argument("--epochs", type=passes, default="auto")
    arguments.add_argument("--threads", type=int, default=2)
    chosen = arguments.parse_args()
    sizes = [n for n in SIZES if n <= 100_000 or not chosen.quick]
    grow(sizes, FEATURES, chosen.epochs, chosen.threads)


if __name__ == "__main__":
    main()
