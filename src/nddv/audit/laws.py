"""The laws of coalitions behind semi-values and behind their differences.

A symmetric semi-value φ_ω (Definition coalition_values) weighs the coalition sizes k = 0, …, n−1 by
ω_k. The difference of two points' values is a mean over the coalitions A without either of them
(Eq. semivalue_pairwise_decomp), with the weights of Eq. semivalue_pair_weights:

    φ_{ω,i} − φ_{ω,j} = Σ_A c_A [Δ_i(A) − Δ_j(A)],
    c_A = p_{|A|} + p_{|A|+1},    p_k = ω_k / C(n−1, k).

The c_A define a law ℙ_{ω,ij}: first draw a size, then a coalition, uniformly among those of this
size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nddv.laws import find_law


@dataclass(frozen=True)
class SemiValue:
    """A symmetric semi-value of n points."""

    name: str  # in tables
    omega: NDArray[np.float64]  # (n,) weights ω_k of the sizes of C ∌ i; they sum to one

    @property
    def n(self) -> int:
        """How many points there are."""
        return len(self.omega)

    def pair_sizes(self) -> NDArray[np.float64]:
        """Probabilities (n−1,) of the sizes of A ∌ i, j under ℙ_{ω,ij}.

        C(n−2, a)·c_A = ω_a (n−1−a)/(n−1) + ω_{a+1} (a+1)/(n−1): the binomial coefficients cancel.
        """
        smaller = np.arange(self.n - 1)
        law = self.omega[:-1] * (self.n - 1 - smaller) + self.omega[1:] * (smaller + 1)
        return np.asarray(law / law.sum(), dtype=np.float64)

    def only_coalition(self) -> bool:
        """Whether ℙ_{ω,ij} allows only one coalition: no other point, or all of them."""
        (sizes,) = np.nonzero(self.pair_sizes())
        return len(sizes) == 1 and sizes[0] in (0, self.n - 2)


def semivalue(name: str, n: int) -> SemiValue:
    """A semi-value by its name in :mod:`nddv.laws`, for n ≥ 2 points."""
    if n < 2:
        raise ValueError(f"a pair needs at least two points, got n={n}")
    return SemiValue(name, find_law(name).omega(n))


def draw_members(
    n: int, pairs: NDArray[np.intp], sizes: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Coalitions of these sizes, uniform among those without either point of the pair.

    Pairs are drawn one after the other. So drawing some now and the others later, with the same
    generator, gives the same coalitions as drawing all at once.

    Parameters
    ----------
    pairs : (P, 2), as :func:`check_pairs` returns them.
    sizes : (P, M), each at most n−2.

    Returns
    -------
    (P, M, n) whether a point is a member.
    """
    P, M = sizes.shape
    places = np.arange(n - 2, dtype=np.min_scalar_type(n))
    places = rng.permuted(np.broadcast_to(places, (P * M, n - 2)), axis=1).reshape(P, M, n - 2)
    chosen = places < sizes[..., None]
    others = np.ones((P, n), dtype=bool)
    np.put_along_axis(others, pairs, False, axis=1)
    members = np.zeros((P, n, M), dtype=bool)
    members[others] = chosen.transpose(0, 2, 1).reshape(-1, M)
    return members.transpose(0, 2, 1)


def check_pairs(pairs: ArrayLike, n: int) -> NDArray[np.intp]:
    """Pairs (P, 2) of two different points out of n."""
    indices = np.asarray(pairs)
    if indices.ndim != 2 or indices.shape[1] != 2 or len(indices) == 0:
        raise ValueError(f"pairs must have the shape (P, 2) with P ≥ 1, got {indices.shape}")
    if not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"pairs are indices of points, got numbers of type {indices.dtype}")
    if indices.min() < 0 or indices.max() >= n:
        raise ValueError(
            f"pairs must name points 0 to {n - 1}, got {indices.min()} to {indices.max()}"
        )
    if (indices[:, 0] == indices[:, 1]).any():
        same = indices[indices[:, 0] == indices[:, 1]][0, 0]
        raise ValueError(f"a pair is of two different points, got point {same} twice")
    return indices.astype(np.intp)
