"""Certificates in context: whether the order of two points' semi-values is certain.

The paper's certificate compares marginals with one score for all coalitions, so its error is the
variation of marginals over contexts, which no constant score removes. Here the score is one of the
context: G̃(A), the gap of the predicted marginals of two points at the coalition A, beside the gap
G(A) of the marginals by fits. With octaves h of sizes and their weights W_h

    φ_i − φ_j = Σ_h W_h E_h[G̃] + Σ_h W_h E_h[G − G̃],

and both means are estimated from independent draws: many of the first, which is cheap, few of the
second, which hardly varies. The sum is unbiased whatever the predictions are worth.

- ``student``: a t-interval with the degrees of freedom of Welch and Satterthwaite. It assumes that
  the means of the draws are nearly normal, so that their variance is finite and no tail of G − G̃ is
  so thin that no draw has met it. Numbers of draws count as fixed, though a pilot has chosen them.
- For all pairs at once: ``bonferroni`` holds all certified orders with probability 1 − α;
  ``benjamini-hochberg`` holds all but a share α of them on average, if the gaps of pairs depend on
  each other positively, or not at all.
- ``bernstein``: the empirical Bernstein bound of Maurer and Pontil (2009), for utilities of a known
  range. It assumes nothing about tails, and is so much wider that it rarely certifies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student_law

from nddv.audit.bounds import bernstein_radius, check_alpha, range_width
from nddv.audit.laws import check_pairs
from nddv.coalitions.sampling import Cell, Estimate

Array = NDArray[np.float64]

FIT_ERROR = 1e-7
"""How far, at most, the tolerance of fits moves a marginal; a smaller gap is no order."""

MOST_POINTS = 6000
"""Points whose pairs are judged all at once; for more, name the pairs."""

FAMILIES = ("single", "bonferroni", "benjamini-hochberg")

CERTIFIED = ("certified_one", "certified_all", "certified_discoveries", "certified_bernstein")
"""Shares of pairs: by each of the families, and by the empirical Bernstein bound."""

TRIED = 1000
"""Pairs on which a bound that needs all their draws is tried."""

TOGETHER = 2**22
"""Draws of gaps that are in memory at once."""


@dataclass(frozen=True)
class Gaps:
    """Estimates of some differences, with what an interval around each needs."""

    gap: Array  # (P,)
    stderr: Array  # (P,)
    freedom: Array  # (P,) degrees of freedom; inf where nothing was drawn

    def p_values(self) -> Array:
        """Two-sided, of the hypothesis that the difference is zero; (P,)."""
        ratio = np.divide(
            np.abs(self.gap),
            self.stderr,
            out=np.where(np.abs(self.gap) > FIT_ERROR, np.inf, 0.0),
            where=self.stderr > 0,
        )
        return np.asarray(2 * student_law.sf(ratio, self.freedom))

    def radius(self, alpha: float) -> Array:
        """Half the width (P,) of the t-interval of each alone."""
        check_alpha(alpha)
        quantile = student_law.isf(alpha / 2, self.freedom)
        return np.maximum(FIT_ERROR, np.where(self.stderr > 0, quantile * self.stderr, 0.0))

    def certain(self, alpha: float, family: str = "single") -> NDArray[np.bool_]:
        """Which differences (P,) have a certain sign; ``family``: one of ``FAMILIES``."""
        check_alpha(alpha)
        p, count = self.p_values(), len(self.gap)
        if family == "single":
            return p <= alpha
        if family == "bonferroni":
            return p <= alpha / count
        if family == "benjamini-hochberg":
            order = np.sort(p)
            below = np.flatnonzero(order <= alpha * np.arange(1, count + 1) / count)
            return p <= (order[below[-1]] if len(below) else -1.0)
        raise ValueError(f"unknown family {family!r}; known: {', '.join(FAMILIES)}")


def pair_gaps(cells: Sequence[Cell], pairs: ArrayLike, utility: int = 0) -> Gaps:
    """Gaps φ_i − φ_j of pairs (P, 2), from the draws of cells.

    utility : which column of the draws.
    """
    chosen = check_pairs(pairs, cells[0].stratum.n)

    def of(some: NDArray[np.intp]) -> Gaps:
        return _combined(cells, lambda draws: draws[:, some[:, 0]] - draws[:, some[:, 1]], utility)

    most = max(len(cell.draws) for cell in cells)
    parts = [of(some) for some in np.array_split(chosen, 1 + len(chosen) * most // TOGETHER)]
    return Gaps(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))


def point_gaps(cells: Sequence[Cell], threshold: float = 0.0, utility: int = 0) -> Gaps:
    """Differences (n,) of the values of all points from a threshold."""
    found = _combined(cells, lambda draws: draws, utility)
    return Gaps(found.gap - threshold, found.stderr, found.freedom)


def all_gaps(cells: Sequence[Cell], utility: int = 0) -> tuple[NDArray[np.intp], Gaps]:
    """All pairs i < j (P, 2), and their gaps.

    The variance of a gap is c_ii + c_jj − 2 c_ij, so one product of the draws serves all pairs.
    """
    n = cells[0].stratum.n
    if n > MOST_POINTS:
        raise ValueError(
            f"{n} points have {n * (n - 1) // 2:,} pairs: name the pairs to compare, "
            f"or take at most {MOST_POINTS} points"
        )
    i, j = np.triu_indices(n, k=1)
    values, variance, squares = np.zeros(n), np.zeros(len(i)), np.zeros(len(i))
    for cell in cells:
        draws, weight = cell.all_draws()[..., utility], cell.stratum.weight
        values += weight * draws.mean(axis=0)
        if not cell.single:
            covariance = np.cov(draws, rowvar=False).reshape(n, n)
            own = covariance.diagonal()
            part = np.maximum(own[i] + own[j] - 2 * covariance[i, j], 0.0)
            part *= weight**2 / len(draws)
            variance += part
            squares += part**2 / (len(draws) - 1)
    gaps = Gaps(values[i] - values[j], np.sqrt(variance), _freedom(variance, squares))
    return np.column_stack([i, j]), gaps


def bernstein_radii(
    cells: Sequence[Cell],
    pairs: ArrayLike,
    utility_range: tuple[float, float],
    alpha: float,
    utility: int = 0,
) -> Array:
    """Half the widths (P,) of intervals by the empirical Bernstein bound, of each pair alone.

    A gap of marginals of utilities in [lo, hi] is within ±2(hi − lo), an error of predictions
    within twice that. Each cell has its share of α.
    """
    chosen = check_pairs(pairs, cells[0].stratum.n)
    drawn = [cell for cell in cells if not cell.single]
    width = 4 * range_width(utility_range)
    radius = np.full(len(chosen), FIT_ERROR)
    for cell in drawn:
        draws = cell.all_draws()[..., utility]
        variance = (draws[:, chosen[:, 0]] - draws[:, chosen[:, 1]]).var(axis=0, ddof=1)
        widest = 2 * width if cell.kind == "errors" else width
        level = alpha / (2 * len(drawn))
        radius += cell.stratum.weight * bernstein_radius(variance, widest, len(draws), level)
    return radius


def certified_shares(
    estimates: Mapping[str, Estimate],
    utilities: Mapping[str, tuple[float, float]],
    alpha: float,
    rng: np.random.Generator,
    stretches: Mapping[str, float] | None = None,
    gap: str = "",
) -> pd.DataFrame:
    """What share of all pairs has a certain order.

    Parameters
    ----------
    estimates : by the name of the semi-value.
    utilities : the columns of their draws, with the lowest and highest utility.
    rng : draws the pairs on which the empirical Bernstein bound is tried.
    stretches : how many times wider than marginals the draws of an estimate may be; else 1.
    gap : why the estimates certify nothing, if their cells are not unbiased.

    Returns
    -------
    A row per semi-value and utility: coalitions, seconds, reliability, pairs, the ``gap``, and the
    shares certified_one (each pair alone), certified_all (Bonferroni), certified_discoveries
    (Benjamini and Hochberg), certified_bernstein (each alone).
    """
    rows = []
    for name, estimate in estimates.items():
        n, stretch = len(estimate.values), (stretches or {}).get(name, 1.0)
        for column, (utility, (low, high)) in enumerate(utilities.items()):
            shares = dict.fromkeys(CERTIFIED, np.nan)
            if not gap:
                wide = (stretch * low, stretch * high)
                shares = _shares(estimate.cells, wide, alpha, rng, column)
            rows.append(
                {
                    "semivalue": name,
                    "utility": utility,
                    "coalitions": estimate.coalitions,
                    "seconds": estimate.seconds,
                    "reliability": estimate.reliability[column],
                    "pairs": n * (n - 1) // 2,
                    **shares,
                    "gap": gap,
                }
            )
    return pd.DataFrame(rows)


def _shares(
    cells: Sequence[Cell],
    limits: tuple[float, float],
    alpha: float,
    rng: np.random.Generator,
    utility: int,
) -> dict[str, float]:
    """The shares of pairs that are ``CERTIFIED``."""
    pairs, gaps = all_gaps(cells, utility)
    some = rng.choice(len(pairs), size=min(len(pairs), TRIED), replace=False)
    radius = bernstein_radii(cells, pairs[some], limits, alpha, utility)
    found = [gaps.certain(alpha, family).mean() for family in FAMILIES]
    found.append(np.mean(np.abs(gaps.gap[some]) > radius))
    return dict(zip(CERTIFIED, map(float, found), strict=True))


def _combined(cells: Sequence[Cell], view: Callable[[Array], Array], utility: int) -> Gaps:
    """The sum over cells of the means of a view (M, P) of their draws (M, n)."""
    gap, variance, squares = np.zeros((3, 1))
    for cell in cells:
        draws, weight = view(cell.all_draws()[..., utility]), cell.stratum.weight
        gap = gap + weight * draws.mean(axis=0)
        part = np.zeros_like(gap)
        if not cell.single:
            part = weight**2 * draws.var(axis=0, ddof=1) / len(draws)
        variance = variance + part
        squares = squares + part**2 / max(1, len(draws) - 1)
    return Gaps(gap, np.sqrt(variance), _freedom(variance, squares))


def _freedom(variance: Array, squares: Array) -> Array:
    """Welch and Satterthwaite: (Σ v)² / Σ v²/(M − 1)."""
    return np.divide(variance**2, squares, out=np.full_like(squares, np.inf), where=squares > 0)
