"""Certificates that a score orders two points as a semi-value does.

Theorem ranking_consistency: (N−1)/N (φ_i − φ_j) = s_i − s_j differs from the gap of the semi-values
by at most 𝓔_{ω,ij} = E[e_i(A) + e_j(A)], e_i(A) = |s_i − Δ_i(A)|, with A ~ ℙ_{ω,ij}. A score gap
beyond an upper bound of 𝓔 therefore has the sign of the semi-value gap. The bounds:

- ``hoeffding``: Corollary sampled_pairwise_certificate, with the B^max of
  :func:`nddv.audit.bounds.largest_error`. It holds for one pair with probability 1 − α.
- ``bernstein``: uses the observed variance of the errors; also for one pair.
- ``hoeffding_union``, ``bernstein_union``: at level α/P, so that all P pairs hold at once.

If ℙ_{ω,ij} is a point mass, as for leave-one-out, 𝓔 is known, and all four bounds are 𝓔 itself.

The control ``SAMPLES_ONLY`` shows what the same samples certify without any score. The semi-value
gap is the mean of U(A ∪ i) − U(A ∪ j) ∈ [−R, R]. A confidence interval around it (two-sided, α/2
per side) gives the order if it excludes zero. So the control says what a score adds to its samples.
On the same draws |s_i − s_j − sampled gap| ≤ Ê. If |s_i − s_j| > Ê + r, where r is the radius of
the bound, then |sampled gap| > r. So whenever a score certifies a pair, such an interval excludes
zero, up to the factor of about √(log(2/α)/log(1/α)) that two sides cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nddv.audit.bounds import (
    bernstein_radius,
    check_alpha,
    hoeffding_radius,
    largest_error,
    range_width,
)
from nddv.audit.pairs import PairUtilities

BOUNDS = ("hoeffding", "bernstein", "hoeffding_union", "bernstein_union")

_COLUMNS = [
    *("i", "j", "stratum", "readout", "semivalue", "coalitions", "exact"),
    *("score_gap", "error", "largest_error"),
    *(f"{column}_{bound}" for bound in BOUNDS for column in ("bound", "certified", "margin")),
    *("reference_gap", "reference_stderr", "agrees"),
]

SAMPLES_ONLY = "samples-only"
"""The name of the control without any score among the readouts."""

RESOLUTION = 2.0
"""A reference decides an order if its gap exceeds this many standard errors."""

RANGE_TOLERANCE = 1e-6
"""How far rounding may move utilities out of their range, relative to its width."""

Gaps = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Semi-value gaps (P,) and their standard errors (P,)."""


def certify(
    sampled: PairUtilities,
    sensitivities: Mapping[str, ArrayLike],
    utility_range: tuple[float, float] | None = None,
    alpha: float = 0.05,
    family: int | None = None,
    stratum: ArrayLike | None = None,
    reference: Gaps | None = None,
) -> pd.DataFrame:
    """Certificates for all pairs and readouts, and for the control, from the same utilities.

    Parameters
    ----------
    sampled : from :func:`nddv.audit.pairs.pair_utilities`.
    sensitivities : readout -> s (n,), raw and oriented, perhaps times a positive factor.
    utility_range : lowest and highest utility of any coalition, known beforehand and not from the
        samples (``nddv.audit.bounds.UTILITY_RANGES``). Not needed where 𝓔 is exact.
    alpha : probability of failure.
    family : how many bounds hold at once in ``*_union``. None is the number of pairs, as in the
        corollary, for one readout. For all readouts at once give readouts × pairs.
    stratum : (P,), copied to the rows.
    reference : other estimates of the gaps φ_{ω,i} − φ_{ω,j}, such as ``mean_gaps`` of many more
        draws. If 𝓔 is exact, the gaps of ``sampled`` are exact too, and are the default.

    Returns
    -------
    One row per readout and pair:

    - i, j, stratum (missing if not given), readout, semivalue;
    - coalitions: M_coal; exact: whether 𝓔 is known rather than bounded;
    - score_gap: s_i − s_j, and the sampled gap for the control;
    - error: Ê, the mean of e_i(A) + e_j(A), or 𝓔 if exact; 0 for the control;
    - largest_error: B^max, and 2R for the control; missing if there is no range;
    - bound_B, certified_B, margin_B for each B of ``BOUNDS``: the upper bound of 𝓔, whether
      |score_gap| is beyond it, and |score_gap| − bound;
    - reference_gap, reference_stderr (missing if not given); agrees: whether the order is that of
      the reference, missing if the reference decides none.
    """
    if SAMPLES_ONLY in sensitivities or not sensitivities:
        raise ValueError(
            f"sensitivities must hold at least one readout, and none called {SAMPLES_ONLY!r}; "
            f"got {list(sensitivities)}"
        )
    check_alpha(alpha)
    family = len(sampled.pairs) if family is None else family
    if family < 1:
        raise ValueError(f"family, how many bounds hold at once, must be at least 1, got {family}")
    _check_range(sampled, utility_range)
    common = _common_columns(sampled, stratum, reference)
    marginals, levels = sampled.marginals(), [alpha, alpha / family]
    frames = []
    for readout, scores in sensitivities.items():
        values = np.asarray(scores, dtype=np.float64)
        if values.shape != (sampled.law.n,) or not np.isfinite(values).all():
            raise ValueError(
                f"the sensitivities of {readout!r} must be {sampled.law.n} finite numbers"
            )
        s = values[sampled.pairs]
        errors = np.abs(s[:, None, :] - marginals).sum(axis=2)
        rows = common.assign(readout=readout, score_gap=s[:, 0] - s[:, 1])
        rows["error"] = errors.mean(axis=1)
        rows["largest_error"] = largest_error(s, utility_range) if utility_range else np.nan
        frames.append(_judge(rows, sampled, errors, levels))
    gaps, width = sampled.gaps(), 2 * range_width(utility_range) if utility_range else np.nan
    rows = common.assign(readout=SAMPLES_ONLY, score_gap=gaps.mean(axis=1), error=0.0)
    halves = [level / 2 for level in levels]
    frames.append(_judge(rows.assign(largest_error=width), sampled, gaps, halves))
    return pd.concat(frames, ignore_index=True)[_COLUMNS]


def _judge(
    rows: pd.DataFrame, sampled: PairUtilities, draws: NDArray[np.float64], levels: Sequence[float]
) -> pd.DataFrame:
    """Add bounds, certificates, margins, and whether the order is that of the reference.

    draws : (P, M), whose expectation is bounded. levels : (2,) probabilities of failure, of one
    bound and of one bound in the union.
    """
    gap, widths = rows["score_gap"].abs(), rows["largest_error"].to_numpy()
    radii = [np.zeros(len(rows))] * len(BOUNDS)
    if not sampled.exact:
        M, variances = sampled.count, draws.var(axis=1, ddof=1)
        radii = []
        for a in levels:
            radii.append(hoeffding_radius(widths, M, a))
            radii.append(bernstein_radius(variances, widths, M, a))
    for name, radius in zip(BOUNDS, radii, strict=True):
        rows[f"bound_{name}"] = rows["error"] + radius
        rows[f"certified_{name}"] = gap > rows[f"bound_{name}"]
        rows[f"margin_{name}"] = gap - rows[f"bound_{name}"]
    decided = rows["reference_gap"].abs() > RESOLUTION * rows["reference_stderr"]
    same = np.sign(rows["score_gap"]) == np.sign(rows["reference_gap"])
    return rows.assign(agrees=same.astype("boolean").where(decided, pd.NA))


def _common_columns(
    sampled: PairUtilities, stratum: ArrayLike | None, reference: Gaps | None
) -> pd.DataFrame:
    """The columns that all readouts share, one row per pair."""
    if reference is None and sampled.exact:
        reference = sampled.mean_gaps()
    gaps, stderr = (None, None) if reference is None else reference
    columns = {"stratum": stratum, "reference_gap": gaps, "reference_stderr": stderr}
    shape = (len(sampled.pairs),)
    for name, values in columns.items():
        if values is not None and np.shape(values) != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {np.shape(values)}")
    return pd.DataFrame(
        {
            "i": sampled.pairs[:, 0],
            "j": sampled.pairs[:, 1],
            "semivalue": sampled.law.name,
            "coalitions": sampled.count,
            "exact": sampled.exact,
            **{name: np.nan if v is None else np.asarray(v) for name, v in columns.items()},
        }
    )


def _check_range(sampled: PairUtilities, utility_range: tuple[float, float] | None) -> None:
    """Refuse utilities without a known range, or outside it."""
    low, high = float(sampled.utilities.min()), float(sampled.utilities.max())
    if not np.isfinite([low, high]).all():
        raise ValueError("some utilities are not finite; check the game")
    if utility_range is None:
        if not sampled.exact:
            raise ValueError(
                f"the bounds for {sampled.law.name} need utility_range, the lowest and highest "
                "utility of any coalition; a game without one cannot be certified from samples"
            )
        return
    slack = RANGE_TOLERANCE * range_width(utility_range)
    if low < utility_range[0] - slack or high > utility_range[1] + slack:
        raise ValueError(
            f"utilities from {low:g} to {high:g} are not in utility_range={utility_range}; "
            "the bounds would not hold"
        )
