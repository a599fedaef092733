"""Rank correlations of values with the marginals of retrained coalitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from nddv.coalitions.sampling import reliability

if TYPE_CHECKING:
    from nddv.audit.marginals import Marginals


def rank_correlations(
    values: Mapping[str, NDArray[np.float64]], marginals: Marginals
) -> pd.DataFrame:
    """Spearman correlations of every method with leave-one-out, Shapley and Banzhaf marginals.

    Shapley and Banzhaf are sampled. Their ``reliability``, from their standard errors, is the
    correlation that two independent samples of this size would have. No method can be expected to
    correlate with a sampled reference by more than its root.

    Returns
    -------
    One row per method and ``reference``: ``spearman`` (NaN if one side is constant, or if the
    method has no values) and ``reliability`` (1 for leave-one-out, which is exact).
    """
    references = {
        "loo": (marginals.loo, 1.0),
        "shapley": (marginals.shapley, _reliability(*marginals.semivalue("shapley"))),
        "banzhaf": (marginals.banzhaf, _reliability(*marginals.semivalue("banzhaf"))),
    }
    rows = [
        {
            "method": method,
            "reference": reference,
            "spearman": correlation(of_method, of_reference),
            "reliability": reliability,
        }
        for method, of_method in values.items()
        for reference, (of_reference, reliability) in references.items()
    ]
    return pd.DataFrame(rows)


def correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Spearman's correlation; NaN if one of the two is constant or empty."""
    if len(x) == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(spearmanr(x, y).statistic)


def _reliability(values: NDArray[np.float64], stderr: NDArray[np.float64]) -> float:
    """NaN where all values are equal."""
    return float(reliability(values, stderr)) if np.ptp(values) > 0 else float("nan")
