"""The jump of a utility where a class first appears: its mean is known, so its noise can go.

A model that has never seen a class gives it no probability. The log-likelihood of its validation
points is then log ``FLOOR``, and the first member of the class lifts all of them at once. Small
coalitions lack classes often, so this jump makes most of the noise of sampled semi-values. It is
common to all points of a class, and whether it happens is a matter of counting: a random coalition
A of k of n points has no member of a class of c points besides i with the probability

    C(n − c + 1, k) / C(n, k).

So at each draw the jump that was met is replaced by its mean (a control variate: nothing is biased,
whatever size of the jump is assumed).
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
    """Whether the class of each point is absent from a coalition, and what its first member gains.

    Attributes
    ----------
    y : (n,) classes of the points.
    jumps : (n, U) assumed gain of the first member of the point's class, by utility.
    """

    y: NDArray[np.intp]
    jumps: Array

    @classmethod
    def of(cls, game: LogisticGame, utilities: Sequence[str]) -> Self:
        """From the floor to the probability of chance, for the class's share of validation points.

        Only the log-likelihood has a floor to be lifted from.
        """
        y, K = game.y_train.astype(np.intp), game.n_classes
        shares = np.bincount(game.y_valid, minlength=K) / len(game.y_valid)
        gain = shares[y] * (-np.log(K) - LOG_FLOOR)
        floors = np.array([name == "log_likelihood" for name in utilities])
        return cls(y, gain[:, None] * floors)

    def surplus(self, members: NDArray[np.bool_], stratum: Stratum) -> Array:
        """What the jumps at coalitions (B, n) of a stratum exceed their mean by, (B, n, U)."""
        return np.asarray(self.absent(members)[..., None] * self.jumps - self.mean(stratum))

    def mean(self, stratum: Stratum) -> Array:
        """Of the jumps over the coalitions of a stratum, (n, U)."""
        return np.asarray(self.probability(stratum)[:, None] * self.jumps)

    def absent(self, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether a coalition (B, n) has no member of a point's class besides the point, (B, n)."""
        counts = members @ np.eye(self.y.max() + 1)[self.y]  # (B, K)
        return np.asarray(counts[:, self.y] - members == 0)

    def probability(self, stratum: Stratum) -> Array:
        """The mean of ``absent`` over the coalitions of a stratum, (n,)."""
        n, sizes = stratum.n, stratum.sizes
        others = np.bincount(self.y)[self.y] - 1  # of the class, besides the point
        left = n - others[:, None] - sizes  # must not be negative: they are drawn from the rest
        # log of C(n − others, k) / C(n, k)
        logs = gammaln(n - others + 1)[:, None] - gammaln(np.maximum(left, 0) + 1)
        logs = logs - gammaln(n + 1) + gammaln(n - sizes + 1)
        return np.asarray(np.where(left >= 0, np.exp(logs), 0.0) @ stratum.shares)
