"""cleanlab: its scores of label quality on our problems, as its users compute them.

    value("cleanlab:self_confidence", problem, seed=100)

cleanlab goes with our versions: ``pip install 'nddv[cleanlab]'``. Without it the methods are gaps.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from nddv.baselines.out_of_fold import logistic_probabilities
from nddv.support.settings import Count, Positive, checked, whole
from nddv.values import NoValues, Values

HOW_TO_INSTALL = (
    "cleanlab cannot be imported ({error}). Install it with `pip install 'nddv[cleanlab]'`, or in "
    "the project's folder with `make environment`"
)


@checked
def run_cleanlab(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    evaluator: str,
    *,
    folds: Annotated[int, whole(2)] = 5,
    C: Positive = 1.0,
    max_iter: Count = 1000,
) -> Values:
    """cleanlab's ``get_label_quality_scores`` of probabilities out of fold.

    The model is the usual one of its tutorials for tables and embeddings: scikit-learn's
    ``LogisticRegression`` with its own defaults.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes.
    evaluator : a score of cleanlab: ``"self_confidence"``, ``"normalized_margin"`` or
        ``"confidence_weighted_entropy"``.
    folds : parts of the points, with all classes in each as far as possible.
    C : inverse strength of the L2 penalty of the logistic regression.
    max_iter : iteration limit of its solver.

    Returns
    -------
    Values from 0 to 1.
    """
    try:
        cleanlab, rank = import_module("cleanlab"), import_module("cleanlab.rank")
    except ImportError as error:
        raise NoValues(HOW_TO_INSTALL.format(error=error)) from error
    probabilities, labels, _ = logistic_probabilities(
        X, y, rng, folds=folds, C=C, max_iter=max_iter
    )
    scores = rank.get_label_quality_scores(labels, probabilities, method=evaluator)
    record = {"fits": folds, "cleanlab": cleanlab.__version__}
    return Values(np.asarray(scores, dtype=np.float64), record=record)
