"""The jump of a utility where a class first appears: its mean is known, so its noise can go.

A regression of two classes or more gives no probability to a class that it has never seen. The
log-likelihood of the validation points of this class is then log ``FLOOR``, and the first member of
the class lifts all of them at once. Small coalitions lack classes often, so this jump makes most of
the noise of sampled semi-values. But it can be counted: with v_c the share of class c among the
validation points, the part of the log-likelihood that is on the floor is nearly

    F(A) = −gain · Σ_c v_c · [A lacks c],   and 0 if A has fewer than two classes,

and how likely a random coalition lacks a class, or has only one, is a ratio of binomials. So the
marginal of F at each drawn coalition is replaced by its mean: a control variate. Whatever ``gain``
is assumed, nothing is biased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.measures import LOG_FLOOR
from nddv.coalitions.strata import Stratum

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Absence:
    """The part of a utility that is on the floor because classes are absent.

    Attributes
    ----------
    y : (n,) classes of the points, below K.
    shares : (K,) of the classes among the validation points.
    gains : (U,) how far the floor lies below, by utility; 0 where there is none.
    """

    y: NDArray[np.intp]
    shares: Array
    gains: Array

    @classmethod
    def of(cls, game: LogisticGame, utilities: Sequence[str]) -> Self:
        """Of the log-likelihood: from the floor up to the probability of chance."""
        K = game.n_classes
        shares = np.bincount(game.y_valid, minlength=K) / len(game.y_valid)
        floors = np.array([name == "log_likelihood" for name in utilities])
        return cls(game.y_train.astype(np.intp), shares, (-np.log(K) - LOG_FLOOR) * floors)

    def surplus(self, members: NDArray[np.bool_], stratum: Stratum) -> Array:
        """By how much the marginals of F at coalitions (B, n) exceed their mean, (B, n, U)."""
        return np.asarray(self.met(members)[..., None] * self.gains - self.mean(stratum))

    def met(self, members: NDArray[np.bool_]) -> Array:
        """Marginals of F/gain of all points at coalitions (B, n), (B, n)."""
        counts = members @ np.eye(len(self.shares))[self.y]  # (B, K)
        present = counts > 0
        own = counts[:, self.y] - members > 0  # whether the others have the point's class
        others = present.sum(axis=1)[:, None] - present[:, self.y]  # classes besides the point's
        lacking = (~present @ self.shares)[:, None] - (~present * self.shares)[:, self.y]
        without = (others + own >= 2) * (lacking + ~own * self.shares[self.y])
        return np.asarray(without - (others >= 1) * lacking)

    def mean(self, stratum: Stratum) -> Array:
        """Mean marginals of F over the coalitions of a stratum, (n, U)."""
        by_class = [self._mean(label, stratum) for label in range(len(self.shares))]
        return np.asarray(np.array(by_class)[self.y][:, None] * self.gains)

    def _mean(self, label: int, stratum: Stratum) -> float:
        """Mean marginal of F/gain of a point of one class.

        A coalition of k of n points holds the point with probability k/n, and k − 1 others then.
        """
        n, k = stratum.n, stratum.sizes
        counts = np.bincount(self.y, minlength=len(self.shares))
        counts[label] = max(0, counts[label] - 1)  # a class without points has no mean
        held = k / n
        marginals = (1 - held) * self._among(label, counts, n - 1, np.minimum(k, n - 1))
        marginals += held * self._among(label, counts, n - 1, np.maximum(k - 1, 0))
        return float(marginals @ stratum.shares)

    def _among(
        self, label: int, counts: NDArray[np.intp], n: int, sizes: NDArray[np.intp]
    ) -> Array:
        """Mean marginal (s,) of F/gain at random coalitions of some sizes of n other points."""
        lacks = _ratio(n - counts[:, None], n, sizes)  # (K, s) none of the class
        only = np.where(sizes > 0, _ratio(counts[:, None], n, sizes), 0.0)  # no other class
        # a class is lacking on the floor if the coalition has two others
        empty = sizes == 0
        below = lacks - (only.sum(axis=0) - only) - empty
        without = self.shares @ below
        joined = lacks - only[label] - empty
        joined[label] = 0.0
        return np.asarray(without - self.shares @ joined)


def _ratio(some: NDArray[np.intp], n: int, sizes: NDArray[np.intp]) -> Array:
    """C(some, k) / C(n, k): that all k drawn of n points are among some of them."""
    left = some - sizes
    logs = gammaln(some + 1) - gammaln(np.maximum(left, 0) + 1)
    logs = logs - gammaln(n + 1) + gammaln(n - sizes + 1)
    return np.asarray(np.where(left >= 0, np.exp(logs), 0.0))
