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

REFERENCES = ("loo", "shapley", "banzhaf")

LEAST_RELIABILITY = 0.3
"""Below it, a reference is mostly noise: no correlation with the exact values can be told."""


def rank_correlations(
    values: Mapping[str, NDArray[np.float64]], marginals: Marginals
) -> pd.DataFrame:
    """Spearman correlations of every method with leave-one-out, Shapley and Banzhaf marginals.

    Shapley and Banzhaf are sampled. Their ``reliability`` is the correlation that the ranks of two
    independent samples of this size would have. No method can be expected to correlate with a
    sampled reference by more than its root.

    Returns
    -------
    One row per method and ``reference``: ``spearman`` (NaN if one side is constant, or if the
    method has no values), ``reliability`` (1 for leave-one-out, which is exact), and what
    :func:`disattenuated` says.
    """
    rows = []
    for method, of_method in values.items():
        for reference in REFERENCES:
            rho = correlation(of_method, marginals.semivalue(reference)[0])
            reliability = marginals.reliability(reference)
            exact, capped = disattenuated(rho, reliability)
            row = {"method": method, "reference": reference, "spearman": rho}
            row |= {"reliability": reliability, "disattenuated": exact, "capped": capped}
            rows.append(row)
    return pd.DataFrame(rows)


def correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Spearman's correlation; NaN if one of the two is constant or empty."""
    if len(x) == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(spearmanr(x, y).statistic)


def disattenuated(rho: float, reliability: float) -> tuple[float, bool]:
    """A correlation without what the noise of the reference takes away, ρ/√reliability.

    It estimates the correlation with the exact reference (Spearman 1904); the noise of the values
    stays in.

    Returns
    -------
    The correlation, at most 1 in absolute value, and whether it had to be capped; NaN if the
    reliability is below ``LEAST_RELIABILITY``.
    """
    if not reliability >= LEAST_RELIABILITY:
        return float("nan"), False
    exact = rho / np.sqrt(reliability)
    return float(np.clip(exact, -1.0, 1.0)), bool(abs(exact) > 1)
