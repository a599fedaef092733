"""Shapley values by pyDVL, as its users run it: truncated Monte Carlo with its default truncation.

    python benchmarks/with_pydvl.py PROBLEM.npz SECONDS VALUES.npz

Apart from the other benchmarks, because pyDVL asks for other versions: an interpreter that has it
is enough, without this project. The problem has X_train, y_train, X_valid and y_valid. Written are
the values, the seconds of the processor, and the version of pyDVL.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

SEED = 100


def probability(model: LogisticRegression, X: np.ndarray, y: np.ndarray) -> float:
    """Mean probability of the true label; 0 for a class that the model has not seen."""
    shares = np.zeros((len(X), int(y.max()) + 1 + int(model.classes_.max())))
    shares[:, model.classes_] = model.predict_proba(X)
    return float(shares[np.arange(len(y)), y].mean())


def main(problem: str, seconds: float, values: str) -> None:
    warnings.simplefilter("ignore")
    logging.disable()
    import pydvl
    from pydvl.valuation import (
        Dataset,
        MaxTime,
        ModelUtility,
        SupervisedScorer,
        TMCShapleyValuation,
    )

    data = np.load(problem)
    train, valid = (Dataset(data[f"X_{part}"], data[f"y_{part}"]) for part in ("train", "valid"))
    # what a coalition has without a model: the frequencies of the classes
    frequencies = np.bincount(data["y_train"]) / len(data["y_train"])
    default = float(frequencies[data["y_valid"]].mean())
    scorer = SupervisedScorer(probability, valid, default=default, range=(0.0, 1.0))
    utility = ModelUtility(LogisticRegression(), scorer, catch_errors=True, show_warnings=False)
    start = time.process_time()
    valuation = TMCShapleyValuation(utility, is_done=MaxTime(seconds), seed=SEED)
    found = valuation.fit(train).result
    taken = time.process_time() - start
    ordered = np.asarray(found.values)[np.argsort(found.indices)]
    np.savez(values, values=ordered, seconds=taken, version=pydvl.__version__)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
