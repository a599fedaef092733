"""AME: the average marginal effect of a point, by a sparse regression on its inclusion.

Lin et al., "Measuring the effect of training data on deep learning predictions via randomized
experiments", ICML 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from nddv.coalitions import Game
from nddv.support.settings import Count, checked, either, list_of, number
from nddv.values import Values


@checked
def average_marginal_effect(
    game: Game,
    rng: np.random.Generator,
    *,
    num_models: Count = 1000,
    rates: Annotated[Sequence[float], list_of(number(above=0, below=1))] = (0.2, 0.4, 0.6, 0.8),
    smallest_penalty: Annotated[float | None, either(number(above=0, below=1), None)] = None,
) -> Values:
    """AME_i = E_p E_{S ~ Bernoulli(p)} [U(S ∪ i) − U(S∖i)] with p uniform on ``rates``.

    The regression is a lasso with the penalty of least 5-fold cross-validation error. It often sets
    most or all coefficients to exactly zero: such points have the same value, and the record says
    how many do (``tied``). There is no order among them.

    Parameters
    ----------
    num_models : coalitions drawn for each rate.
    rates : probabilities with which a point is in a coalition.
    smallest_penalty : of the 100 that are tried, relative to the least that sets all coefficients
        to zero. None: 1e-3, scikit-learn's, or 1e-1 if there are no fewer points than coalitions,
        for which smaller penalties all but interpolate, at a high price.
    """
    from sklearn.linear_model import LassoCV

    # One coalition of each rate in turn: the folds, which are runs of rows, are alike.
    p = np.tile(np.asarray(rates, dtype=np.float64), num_models)[:, None]
    members = rng.random((len(p), game.n)) < p
    features, scale = inclusion_features(members, p)
    if smallest_penalty is None:
        smallest_penalty = 1e-3 if len(p) > game.n else 1e-1
    # In single precision the lasso takes half the time, and moves coefficients by 1e-9.
    lasso = LassoCV(cv=5, eps=smallest_penalty).fit(
        features.astype(np.float32), game.utilities(members).astype(np.float32)
    )
    values = scale * lasso.coef_.astype(np.float64)
    counts = np.unique(values, return_counts=True)[1]
    record = {
        "fits": len(p),
        "penalty": float(lasso.alpha_),
        "least_tried_penalty": float(lasso.alphas_[-1]),
        "tied": int(counts[counts > 1].sum()),
    }
    return Values(values, record=record)


def inclusion_features(
    members: NDArray[np.bool_], p: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Uncorrelated features of mean zero and variance one whose regression gives the AME.

    A point is 1/(√v·p) in a coalition and −1/(√v·(1−p)) out of it, v = E[1/(p(1−p))]. The
    coefficients of the best linear predictor of U are AME/√v (Lin et al. 2022, Section 3.1).

    Parameters
    ----------
    members : (B, n) whether a point is in the coalition.
    p : (B, 1) the probability with which it was put there.

    Returns
    -------
    (B, n) features, and √v.
    """
    scale = np.sqrt(np.mean(1.0 / (p * (1.0 - p))))
    return np.where(members, 1.0 / p, -1.0 / (1.0 - p)) / scale, float(scale)
