"""Error terms of Theorem ranking_consistency, beside the gaps of the marginals that they bound.

With e_i(A) = |s_i − Δ_i(A)|, the error of a pair of points in the theorem is the mean of
e_i(A) + e_j(A) over contexts A. Since e_i(A) ≤ |s_i − Δ_i(N∖i)| + |Δ_i(A) − Δ_i(N∖i)|, its mean
over all pairs is at most 2 ε̂_ref + δ̂_ctx:

- ε̂_ref is the mean over points of |s_i − Δ_i(N∖i)|, the discrepancy at the reference coalition
  (leave-one-out);
- δ̂_ctx is twice the mean over points and contexts of |Δ_i(A) − Δ_i(N∖i)|. Contexts are drawn by the
  law of the Shapley value: the points that come before i in a random order.

The table `epsilon_delta` says how scores are scaled and in which unit the terms are printed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.audit.ranks import correlation, disattenuated

if TYPE_CHECKING:
    from nddv.audit.marginals import Marginals

ZERO = "zero"
"""The name of a score of zero everywhere among the readouts."""

QUANTILES = (0.5, 0.75, 0.9)
PROBLEM_OF_SEED = ["dataset", "n", "seed", "utility"]


def scale_factor(scores: NDArray[np.float64], marginals: NDArray[np.float64]) -> float:
    """The one factor that makes scores (k,) closest to marginals (k,), by least squares.

    Scores of the terminal and path readouts have their own scale, and the factor may only change
    this scale. If it is not positive, scores and marginals have no order in common: NaN.
    """
    square = float(scores @ scores)
    factor = float(scores @ marginals) / square if square > 0 else 0.0
    return factor if factor > 0 else float("nan")


def error_terms(
    scores: Mapping[str, NDArray[np.float64]],
    raw: Collection[str],
    marginals: Marginals,
    calibration: NDArray[np.intp],
) -> pd.DataFrame:
    """ε̂_ref, δ̂_ctx and the envelope of every readout, in units of the utility.

    Parameters
    ----------
    scores : readout -> s (n,).
    raw : readouts whose scores are in units of the utility; these are audited as they are too.
    marginals : of the same points.
    calibration : (k,) points that the scale is fitted to; the others are audited.

    Returns
    -------
    One row per readout and ``scale`` ("raw" or "calibrated"), and one for a score of ``ZERO``, with
    the ``factor``, ``epsilon_ref``, ``delta_ctx``, ``envelope`` and ``loo_range``, the range of the
    leave-one-out marginals. Beside them stand Spearman's correlation with the mean marginals over
    the contexts, which are the Shapley values, their ``reliability``, and what
    :func:`~nddv.audit.ranks.disattenuated` says.
    """
    loo = marginals.loo
    audited = np.setdiff1d(np.arange(len(loo)), calibration)
    if not 0 < len(audited) < len(loo):
        raise ValueError(
            f"calibration must be some of the {len(loo)} points and leave others to audit, "
            f"got {len(np.unique(calibration))}"
        )
    delta = 2 * marginals.deviation[audited].mean()
    reliability = marginals.reliability("shapley")
    rows = []
    for readout, s in [*scores.items(), (ZERO, np.zeros_like(loo))]:
        rho = correlation(s[audited], marginals.shapley[audited])
        exact, capped = disattenuated(rho, reliability)
        factors = {"raw": 1.0} if readout in (*raw, ZERO) else {}
        if readout != ZERO:
            factors["calibrated"] = scale_factor(s[calibration], loo[calibration])
        for scale, factor in factors.items():
            epsilon = np.abs(factor * s[audited] - loo[audited]).mean()
            rows.append(
                {
                    "readout": readout,
                    "scale": scale,
                    "factor": factor,
                    "epsilon_ref": epsilon,
                    "delta_ctx": delta,
                    "envelope": 2 * epsilon + delta,
                    "loo_range": np.ptp(loo),
                    "spearman": rho,
                    "reliability": reliability,
                    "disattenuated": exact,
                    "capped": capped,
                }
            )
    return pd.DataFrame(rows)


def gap_quantiles(marginals: Marginals) -> pd.DataFrame:
    """Quantiles of |Δ_i − Δ_j| over all pairs, for leave-one-out marginals, and their range."""
    i, j = np.triu_indices(len(marginals.loo), k=1)
    gaps = np.abs(marginals.loo[i] - marginals.loo[j])
    row = {f"gap_{round(100 * q)}": np.quantile(gaps, q) for q in QUANTILES}
    return pd.DataFrame([{**row, "loo_range": np.ptp(marginals.loo)}])


def normalised(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Columns divided by max − min over points of the leave-one-out marginals.

    They are those of the noisy problem of the same data set, size, seed and utility, for noisy and
    clean rows alike; of the problem itself, if there is no noisy one. Where that is zero, leaving
    one point out changes nothing, and there is no number.
    """
    noisy = rows[rows["corruption"] != "clean"]
    problems = noisy.groupby(PROBLEM_OF_SEED)
    if len(noisy) and problems["corruption"].nunique().max() > 1:
        raise ValueError(
            "a data set is audited under several kinds of noise, so that its unit is not defined: "
            "name one noise, and clean, in the corruptions of the audits"
        )
    joined = rows.join(problems["loo_range"].first().rename("unit"), on=PROBLEM_OF_SEED)
    unit = joined["unit"].fillna(joined["loo_range"]).replace(0.0, np.nan)
    return rows.assign(**{column: rows[column] / unit for column in columns})
