"""Pairs of points: which to compare, and the utilities that decide a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nddv.audit.laws import SemiValue, check_pairs, draw_members
from nddv.coalitions.game import CHUNK_ELEMENTS

if TYPE_CHECKING:
    from nddv.coalitions import Game

CANDIDATES = 200_000
"""If there are more pairs, they are chosen from this many random ones."""


def choose_pairs(
    scores: ArrayLike, count: int, rng: np.random.Generator, strata: int = 4
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs to compare, stratified by the size of their score gap.

    Candidates (all pairs, or a random sample of them) are ordered by |s_i − s_j| and cut into
    strata of equal size. Pairs are drawn from each stratum without replacement. Only scores decide,
    no utilities: the corollary demands that pairs are chosen before the samples that judge them.

    Parameters
    ----------
    scores : (n,) of one readout.
    count : number of pairs; if it is no multiple of ``strata``, the first strata have one more.

    Returns
    -------
    pairs : (count, 2), i < j.
    stratum : (count,) 0 for the smallest gaps, …, strata − 1 for the largest.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise ValueError(f"scores must be n finite numbers, got the shape {scores.shape}")
    everything = len(scores) * (len(scores) - 1) // 2
    if not 1 <= strata <= count <= min(everything, CANDIDATES):
        raise ValueError(
            f"cannot choose {count} pairs in {strata} strata: {len(scores)} points have "
            f"{everything} pairs; there must be 1 ≤ strata ≤ count ≤ {min(everything, CANDIDATES)}"
        )
    number = rng.choice(everything, size=min(everything, CANDIDATES), replace=False)
    # The pair i < j has the number j(j−1)/2 + i. Roots of squares are exact, so j is right.
    second = ((1 + np.sqrt(1 + 8 * number)) // 2).astype(np.intp)
    candidates = np.column_stack([number - second * (second - 1) // 2, second])
    gaps = np.abs(scores[candidates[:, 0]] - scores[candidates[:, 1]])
    # Equal gaps stay in their random order.
    parts = np.array_split(np.argsort(gaps, kind="stable"), strata)
    shares = [len(part) for part in np.array_split(np.arange(count), strata)]
    drawn = [rng.choice(p, size=k, replace=False) for p, k in zip(parts, shares, strict=True)]
    return candidates[np.concatenate(drawn)], np.repeat(np.arange(strata), shares)


@dataclass(frozen=True)
class PairUtilities:
    """Utilities of coalitions from ℙ_{ω,ij}, without and with each point of a pair.

    The utilities are those of A, A ∪ i, A ∪ j. M = 1 where the law has a single coalition.
    """

    law: SemiValue  # of the coalitions
    pairs: NDArray[np.intp]  # (P, 2)
    utilities: NDArray[np.float64]  # (P, M, 3)

    @property
    def exact(self) -> bool:
        """Whether means over the coalitions are exact expectations."""
        return self.law.only_coalition()

    @property
    def count(self) -> int:
        """M_coal, the coalitions of a pair."""
        return self.utilities.shape[1]

    def marginals(self) -> NDArray[np.float64]:
        """Δ_i(A) and Δ_j(A), (P, M, 2)."""
        return self.utilities[..., 1:] - self.utilities[..., :1]

    def gaps(self) -> NDArray[np.float64]:
        """Δ_i(A) − Δ_j(A) = U(A ∪ i) − U(A ∪ j), (P, M), with the mean φ_{ω,i} − φ_{ω,j}."""
        return self.utilities[..., 1] - self.utilities[..., 2]

    def mean_gaps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Unbiased estimates (P,) of φ_{ω,i} − φ_{ω,j}, and their standard errors (P,).

        Both points are added to the same coalitions. So many coalitions give a precise reference
        for fewer, other draws.
        """
        gaps = self.gaps()
        if self.exact:
            return gaps.mean(axis=1), np.zeros(len(gaps))
        return gaps.mean(axis=1), gaps.std(axis=1, ddof=1) / np.sqrt(self.count)


def pair_utilities(
    game: Game, law: SemiValue, pairs: ArrayLike, count: int, rng: np.random.Generator
) -> PairUtilities:
    """Utilities of ``count`` independent coalitions per pair, from ℙ_{ω,ij}.

    They serve every readout. If the law has a single coalition, as for leave-one-out, only this one
    is evaluated, whatever ``count`` is. Equal coalitions are evaluated once.
    """
    if law.n != game.n:
        raise ValueError(f"the semi-value is of {law.n} points, the game of {game.n}")
    pairs = check_pairs(pairs, law.n)
    if law.only_coalition():
        count = 1
    elif count < 2:
        raise ValueError(f"{law.name} needs at least two coalitions a pair, got {count}")
    # of A under ℙ_{ω,ij}; which pair does not matter
    sizes = rng.choice(law.n - 1, size=(len(pairs), count), p=law.pair_sizes())
    together = max(1, CHUNK_ELEMENTS // (3 * count * law.n))
    parts = []
    for first in range(0, len(pairs), together):
        some = pairs[first : first + together]
        members = draw_members(law.n, some, sizes[first : first + together], rng)
        parts.append(_utilities(game, members, some))
    return PairUtilities(law, pairs, np.concatenate(parts))


def _utilities(
    game: Game, members: NDArray[np.bool_], pairs: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Utilities (P, M, 3) of coalitions (P, M, n) as they are, with i, and with j."""
    coalitions = np.repeat(members[:, :, None, :], 3, axis=2)
    pair = np.arange(len(pairs))
    for added in (0, 1):
        coalitions[pair, :, 1 + added, pairs[:, added]] = True
    rows = np.packbits(coalitions.reshape(-1, game.n), axis=1)
    different, place = np.unique(rows, axis=0, return_inverse=True)
    weights = np.unpackbits(different, axis=1, count=game.n).astype(bool)
    return game.utilities(weights)[place.ravel()].reshape(coalitions.shape[:3])
