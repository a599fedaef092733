"""Mixing laws: the one table of semi-values.

A symmetric semi-value is fixed by a law μ of a share t. Draw t from μ, and let every point take
part with probability t, independently; A are those that do. Then, for *every* point i at once,

    φ_i = E[Δ_i(A∖i)],    Δ_i(C) = U(C ∪ i) − U(C).

Proof: whether i takes part is independent of A∖i, whose size is k with the probability
ω_k = E[C(n−1, k) t^k (1−t)^{n−1−k}], uniform among the sets of this size: the definition of φ_i.
Shapley is the uniform law, since all ω_k are then 1/n; Banzhaf is t = ½, leave-one-out t = 1, and
Beta(α, β)-Shapley has the density t^{β−1}(1−t)^{α−1}, in the order of Kwon and Zou (2022), for
which a large α favours small coalitions. (Owen 1972; Dubey, Neyman and Weber 1981.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, betaln, roots_jacobi, xlog1py, xlogy

from nddv.support.wording import pick

Array = NDArray[np.float64]

NODES = 8
"""Levels at which a law with a density is evaluated."""

TAIL = 1e-6
"""Mass of a law that its levels may leave out at either end."""


@dataclass(frozen=True)
class Law:
    """The law μ of the share t: a point mass, or a beta density.

    Attributes
    ----------
    name : in tables, and to find it again.
    share : of a point mass; None for a density.
    exponents : (a, b) of the density t^{a−1}(1−t)^{b−1}.
    """

    name: str
    share: float | None = None
    exponents: tuple[float, float] = (1.0, 1.0)

    @property
    def efficient(self) -> bool:
        """Whether the values of all points sum to U(all) − U(none): Shapley's do, no others."""
        return self.share is None and self.exponents == (1.0, 1.0)

    def sizes(self, n: int) -> Array:
        """Probabilities (n + 1,) that 0, …, n of n points take part."""
        k = np.arange(n + 1)
        logarithm = -betaln(k + 1, n - k + 1)  # of the binomial coefficients, but for a constant
        if self.share is None:
            a, b = self.exponents
            logarithm += betaln(k + a, n - k + b)
        else:
            logarithm += xlogy(k, self.share) + xlog1py(n - k, -self.share)
        probabilities = np.exp(logarithm - logarithm.max())
        return np.asarray(probabilities / probabilities.sum(), dtype=np.float64)

    def omega(self, n: int) -> Array:
        """Weights ω_k (n,) of the sizes k = 0, …, n−1 of the coalitions without one of n points."""
        return self.sizes(n - 1)

    def levels(self, n: int, nodes: int = NODES) -> tuple[Array, Array]:
        """Levels t (L,) and weights (L,): Σ weight·m(t) approximates E[m(t)], for n points.

        Gauss–Legendre nodes in log t, from 1/n on: below that level no point takes part. The
        weights sum to the mass of the law between the ends.
        """
        if self.share is not None:
            return np.array([self.share]), np.ones(1)
        a, b = self.exponents
        low = max(1 / n, float(betaincinv(a, b, TAIL)))
        high = max(low, float(betaincinv(a, b, 1 - TAIL)))
        if b <= 1:
            high = 1.0
        places, lengths = np.polynomial.legendre.leggauss(nodes)
        middle, half = np.log(high * low) / 2, np.log(high / low) / 2
        t = np.exp(middle + half * places)
        logarithm = xlogy(a, t) + xlog1py(b - 1, -t)  # of t times the density
        weights = lengths * np.exp(logarithm - logarithm.max())
        return t, weights / weights.sum() * (betainc(a, b, high) - betainc(a, b, low))

    def quadrature(self, nodes: int) -> tuple[Array, Array]:
        """Levels t (L,) and weights (L,), whose mean is E[m(t)] for polynomials m below 2L.

        The Gauss quadrature of the law itself, for what is smooth down to t = 0: a training run of
        so many steps, which there stays where it began.
        """
        if self.share is not None:
            return np.array([self.share]), np.ones(1)
        a, b = self.exponents
        places, weights = roots_jacobi(nodes, b - 1, a - 1)
        return (places + 1) / 2, weights / weights.sum()


def beta_shapley_law(alpha: float, beta: float) -> Law:
    """The law of Beta(α, β)-Shapley."""
    if not (0 < alpha < np.inf and 0 < beta < np.inf):
        raise ValueError(f"alpha and beta must be positive, got {alpha} and {beta}")
    return Law(f"beta({alpha:g},{beta:g})", exponents=(beta, alpha))


LAWS = {
    "loo": Law("loo", share=1.0),
    "banzhaf": Law("banzhaf", share=0.5),
    "shapley": Law("shapley"),
    "beta": beta_shapley_law(4.0, 1.0),
}
"""The laws by name; ``"beta(α,β)"`` names any other of Beta Shapley."""


def find_law(name: str) -> Law:
    """A law by its name: of ``LAWS``, or as in "beta(16,1)"."""
    number = r"\s*([-+.\w]+)\s*"
    parts = re.fullmatch(rf"beta\({number},{number}\)", name.strip())
    if parts is None:
        return pick({**LAWS, "beta(α,β)": LAWS["beta"]}, name, "semi-value")
    try:
        alpha, beta = map(float, parts.groups())
    except ValueError:
        raise ValueError(f"{name!r}: α and β are two numbers, as in 'beta(4,1)'") from None
    return beta_shapley_law(alpha, beta)
