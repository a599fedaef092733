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

    The last two are sampled. ``reliability`` says how well: the correlation that two independent
    samples of this size would have (Shapley, by halves of the orders and the Spearman–Brown
    formula; Banzhaf, by its standard errors). No method can be expected to correlate with a sampled
    reference by more than the root of it.

    Returns
    -------
    One row per method and ``reference``: ``spearman`` (NaN where one side is constant, or where the
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
            "spearman": correlation(one, of_reference),
            "reliability": reliability,
        }
        for method, one in values.items()
        for reference, (of_reference, reliability) in references.items()
    ]
    return pd.DataFrame(rows)


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Spearman's correlation; NaN where one of the two says nothing."""
    if len(one) == 0 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(spearmanr(one, other).statistic)


def _halves(walks: NDArray[np.float64]) -> float:
    half = correlation(walks[::2].mean(axis=0), walks[1::2].mean(axis=0))
    return 2 * half / (1 + half) if half > 0 else 0.0


def _by_errors(values: NDArray[np.float64], stderr: NDArray[np.float64]) -> float:
    spread = float(values.var())
    return max(0.0, 1 - float(np.mean(stderr**2)) / spread) if spread > 0 else float("nan")
