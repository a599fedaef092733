"""Small loss: the control that a learned valuation has to beat to be worth its cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from nddv.support.settings import Count, Positive, checked
from nddv.values import NoValues


@checked
def small_loss(
    X: NDArray[np.floating], y: NDArray[np.int64], *, C: Positive = 1.0, max_iter: Count = 1000
) -> NDArray[np.float64]:
    """Log-likelihood of each training label under a logistic regression fitted to all of them.

    This is minus the cross-entropy of the point, so a point that the model fits badly is low.

    Parameters
    ----------
    X : (n, d) features.
    y : (n,) classes.
    C : inverse strength of the L2 penalty of scikit-learn's ``LogisticRegression``.
    max_iter : iteration limit of its solver.

    Returns
    -------
    (n,) values, at most 0.
    """
    if np.ptp(y) == 0:
        raise NoValues("logistic regression needs points of at least two classes")
    model = LogisticRegression(C=C, max_iter=max_iter).fit(X, y)
    column = np.searchsorted(model.classes_, y)
    # predict_log_proba gives −inf where the probability underflows; such points stay lowest.
    with np.errstate(divide="ignore"):
        log_likelihood: NDArray[np.float64] = model.predict_log_proba(X)[np.arange(len(y)), column]
    smallest = np.log(np.finfo(np.float64).tiny)
    return np.maximum(log_likelihood, smallest).astype(np.float64)
