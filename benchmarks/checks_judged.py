"""What three ways say of labels that we made wrong, and how right they are (for judge_checks.py).

- nddv: `nddv.checks.labels.judge_labels`, from scores of held-out rows.
- cleanlab: confident learning, from probabilities of the model that its users would take.
- cleanlab+nddv: the same, from our scores of held-out rows as probabilities.

cleanlab has no probability that a label is wrong. One minus its score of the label, which is the
probability of the given class, stands for it; and the most probable class is its suggestion.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax
from scipy.stats import norm

from nddv.checks.labels import judge_labels

Arrays = dict[str, np.ndarray]

WAYS = ("nddv", "cleanlab", "cleanlab+nddv")
CLOSE = (0.25, 0.02)  # of the injected number, or of the rows: so near an estimate is to be
FEW_CLASSES = 4  # for fewer, cleanlab advises a count of its own
BINS = 10


@dataclass(frozen=True)
class Answer:
    """What one way says of n labels.

    count, low, high : the number of wrong ones, with its interval if there is one.
    p_wrong : (n,)
    flagged : (n,)
    suggested : (n,) codes that the flagged ones should have.
    """

    count: float
    low: float
    high: float
    p_wrong: np.ndarray
    flagged: np.ndarray
    suggested: np.ndarray


def ours(case: Arrays) -> Answer:
    found = judge_labels(case["scores"], case["given"], np.arange(case["scores"].shape[1]))
    wrong, p = found.wrong, found.p_wrong
    return Answer(wrong.count, wrong.low, wrong.high, p, p > 0.5, found.best_other)


def by_cleanlab(cases: list[Arrays], python: str) -> tuple[dict[str, list[Answer]], str]:
    """Answers to all cases by both kinds of probabilities, and its version.

    RuntimeError if the interpreter has no cleanlab.
    """
    given: Arrays = {}
    probabilities = {
        "cleanlab": [case["usual"] for case in cases],
        "cleanlab+nddv": [softmax(case["scores"], axis=1) for case in cases],
    }
    every = [(case, p) for ps in probabilities.values() for case, p in zip(cases, ps, strict=True)]
    for k, (case, p) in enumerate(every):
        given |= {f"labels_{k}": case["given"], f"probabilities_{k}": p}
    found = _run_cleanlab(given, python)
    answers = []
    for k, (_, p) in enumerate(every):
        name = "calibrated" if p.shape[1] < FEW_CLASSES else "count"
        p_wrong, flagged = 1.0 - found[f"quality_{k}"], found[f"flagged_{k}"]
        count = float(found[f"{name}_{k}"])
        answers.append(Answer(count, np.nan, np.nan, p_wrong, flagged, p.argmax(1)))
    half = len(cases)
    by_way = {"cleanlab": answers[:half], "cleanlab+nddv": answers[half:]}
    return by_way, str(found["version"])


def _run_cleanlab(given: Arrays, python: str) -> Arrays:
    with tempfile.TemporaryDirectory() as folder:
        into, out = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(into, **given)
        command = [python, str(Path(__file__).with_name("with_cleanlab.py")), str(into), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
        return dict(np.load(out))


def calibration_error(p: np.ndarray, wrong: np.ndarray) -> float:
    """Mean distance of what p (n,) says and what is so, over bins of equal width."""
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    gaps = [abs((p - wrong)[place == b].sum()) for b in range(BINS)]
    return float(sum(gaps) / len(p))


def mean_of(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def judge(answer: Answer, case: Arrays, before: Answer) -> dict[str, Any]:
    """How right an answer is.

    before : what the same way said of the labels before any were made wrong.
    """
    wrong, flagged = case["given"] != case["clean"], answer.flagged
    n, injected, added = len(wrong), int(wrong.sum()), answer.count - before.count
    judged: dict[str, Any] = {
        "injected": injected,
        "estimate": answer.count,
        "low": answer.low,
        "high": answer.high,
        "flagged": flagged.mean(),
    }
    if injected == 0:
        return judged
    known = np.isfinite(answer.low)
    inside = answer.low <= injected + before.count <= answer.high
    reach = np.hypot(answer.high - answer.count, before.high - before.count)
    right = answer.suggested == case["clean"]
    near = max(CLOSE[0] * injected, CLOSE[1] * n)
    return judged | {
        "added": added,
        "close": float(abs(added - injected) <= near),
        "close_alone": float(abs(answer.count - injected) <= near),
        "covers": float(inside) if known else np.nan,
        "covers_added": float(abs(added - injected) <= reach) if known else np.nan,
        "ece": calibration_error(answer.p_wrong, wrong),
        "precision": mean_of(wrong[flagged]),
        "recall": mean_of(flagged[wrong]),
        "suggested_right": mean_of(right[flagged & wrong]),
    }


def two_planes(x: np.ndarray) -> np.ndarray:
    upper, lower = 3 + x[:, 1:4] @ [3.0, 2.0, 1.0], -3 + x[:, 4:7] @ [3.0, 2.0, 1.0]
    return np.where(x[:, 0] > 0, upper, lower)


def friedman(x: np.ndarray) -> np.ndarray:
    return (
        10 * np.sin(np.pi * x[:, 0] * x[:, 1])
        + 20 * (x[:, 2] - 0.5) ** 2
        + 10 * x[:, 3]
        + 5 * x[:, 4]
    )


SIGNALS = {"2dplanes": two_planes, "fire": friedman}
"""Data sets whose classes are a formula plus noise N(0, 1), below or above its mean."""


def doubtful(dataset: str, X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows whose label in the table is, by the formula, less probable than the other.

    X, y : (N, 10) and (N,), the whole table.
    """
    signal = SIGNALS[dataset](X)
    below = int(signal[y == 1].mean() < signal[y == 0].mean())  # the class of what is below
    p_below = norm.cdf(signal.mean() - signal[rows])
    return np.where(y[rows] == below, p_below, 1.0 - p_below) < 0.5
