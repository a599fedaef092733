"""Rank correlations of values with the marginals of retrained coalitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

if TYPE_CHECKING:
    from nddv.audit.marginals import Marginals


def rank_correlations(
    values: Mapping[str, NDArray[np.float64]], marginals: Marginals
) -> pd.DataFrame:
    """Spearman correlations of every method with leave-one-out, Shapley and Banzhaf marginals.

    Shapley and Banzhaf are sampled. Their ``reliability`` is the correlation that two independent
    samples of this size would have (Shapley: from halves of the orders, by the Spearman–Brown
    formula; Banzhaf: from its standard errors). No method can be expected to correlate with a
    sampled reference by more than the root of its reliability.

    Returns
    -------
    One row per method and ``reference``: ``spearman`` (NaN if one side is constant, or if the
    method has no values) and ``reliability`` (1 for leave-one-out, which is exact).
    """
    references = {
        "loo": (marginals.loo, 1.0),
        "shapley": (marginals.semivalue("shapley")[0], _halves(marginals.walks)),
        "banzhaf": (marginals.banzhaf, _by_errors(marginals.banzhaf, marginals.banzhaf_stderr)),
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


def _halves(walks: NDArray[np.float64]) -> float:
    half = correlation(walks[::2].mean(axis=0), walks[1::2].mean(axis=0))
    return 2 * half / (1 + half) if half > 0 else 0.0


def _by_errors(values: NDArray[np.float64], stderr: NDArray[np.float64]) -> float:
    spread = float(values.var())
    return max(0.0, 1 - float(np.mean(stderr**2)) / spread) if spread > 0 else float("nan")
