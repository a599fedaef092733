"""Semi-values of one's own data, and which of their orders are certain: ``nddv.semivalues``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nddv.audit.context import Gaps, all_gaps, pair_gaps, point_gaps
from nddv.coalitions.contexts import Contexts
from nddv.coalitions.contexts import megabytes as megabytes_of_a_coalition
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.sampling import PILOT, Cell, Limits, corrected_cells, predicted_cells, sample
from nddv.estimator.validation import check_features, check_size, check_targets, encode_labels
from nddv.laws import find_law
from nddv.support.settings import Count, Flag, Positive, Utility, checked, number, whole
from nddv.support.wording import InputError

Array = NDArray[np.float64]

WORDS = {
    "exact": "the law has one coalition, so the values are exact",
    "no spread": "no marginal varies, so the values are exact",
    "reliability": "the values have the reliability that was asked for",
    "seconds": "the time was up: more seconds give smaller errors",
    "coalitions": "the number of coalitions was reached: more give smaller errors",
    "memory": "the memory for draws was full: a larger memory_mb gives smaller errors",
}
"""Why sampling ended."""


@dataclass(frozen=True)
class Verdict:
    """What is known about one difference: of two points, or of a point and a threshold."""

    gap: float
    low: float  # of the confidence interval
    high: float
    p_value: float
    certain: bool  # whether the interval excludes zero


@dataclass(frozen=True)
class SemiValues:
    """Semi-values of training points, higher is better, with what is certain about them.

    Attributes
    ----------
    values, stderr : (n,) in units of the utility, and their standard errors.
    law, utility : what they are values of.
    reliability : correlation that two independent estimates of this kind would have.
    ended : why sampling ended, in words.
    record : how many coalitions and fits it took, seconds, the settings.
    certified : whether orders can be asked for.
    """

    values: Array
    stderr: Array
    law: str
    utility: str
    reliability: float
    ended: str
    record: dict[str, Any]
    certified: bool
    _cells: list[Cell] = field(repr=False)

    def order(self, i: int, j: int, alpha: float = 0.05) -> Verdict:
        """Say whether point i has a higher or lower value than point j, with confidence 1 − α."""
        return self._verdict(pair_gaps(self._asked(), [[i, j]]), alpha)

    def against(self, i: int, threshold: float = 0.0, alpha: float = 0.05) -> Verdict:
        """Say whether the value of point i is above or below a threshold, likewise."""
        if not 0 <= i < len(self.values):
            raise ValueError(f"there is no point {i}: points are 0 to {len(self.values) - 1}")
        gaps = point_gaps(self._asked(), threshold)
        return self._verdict(Gaps(*(array[[i]] for array in vars(gaps).values())), alpha)

    def certain_pairs(
        self, alpha: float = 0.05, family: str = "bonferroni"
    ) -> tuple[NDArray[np.intp], float]:
        """All pairs whose order is certain, and their share of all pairs.

        family : "bonferroni": all at once with confidence 1 − α; "benjamini-hochberg": at most a
            share α of them is wrong on average; "single": each alone. The assumptions are those of
            :mod:`nddv.audit.context`.

        Returns
        -------
        pairs (P, 2), the point with the higher value first.
        """
        pairs, gaps = all_gaps(self._asked())
        certain = gaps.certain(alpha, family)
        higher = np.where(gaps.gap[:, None] > 0, pairs, pairs[:, ::-1])
        return higher[certain], float(certain.mean())

    def _asked(self) -> list[Cell]:
        if not self.certified:
            raise ValueError(
                "these values rest on predicted fits, so no order is certain: "
                "compute them with certify=True"
            )
        return self._cells

    def _verdict(self, gaps: Gaps, alpha: float) -> Verdict:
        gap, radius = float(gaps.gap[0]), float(gaps.radius(alpha)[0])
        certain = bool(abs(gap) > radius)
        return Verdict(gap, gap - radius, gap + radius, float(gaps.p_values()[0]), certain)


@checked
def semivalues(
    X: Any,
    y: Any,
    X_valid: Any,
    y_valid: Any,
    law: str = "shapley",
    utility: Utility = "probability",
    certify: Flag = True,
    *,
    C: Positive = 1.0,
    standardise: Flag = True,
    seconds: Annotated[float, number(above=0.0)] = 20.0,
    coalitions: Count = 100_000,
    reliability: Annotated[float, number(0.0, 1.0)] = 1.0,
    memory_mb: Positive = 2000.0,
    random_state: Annotated[int, whole(0, 2**32 - 1)] = 0,
) -> SemiValues:
    """Semi-values of training points for a logistic regression, with standard errors.

    Parameters
    ----------
    X, y : (n, d) numbers and (n,) labels of the points to value: at least ten, of two classes.
    X_valid, y_valid : (m, d) and (m,): the points on which a model is measured.
    law : "shapley", "banzhaf", "loo", or "beta(α,β)".
    utility : "probability" (of the true label, mean), "log_likelihood" or "accuracy".
    certify : also fit exactly at some coalitions, so that the values are unbiased and orders can be
        certain; without, values rest on predicted fits, which is quicker.
    C : inverse strength of the L2 penalty.
    standardise : features to mean 0 and variance 1 over X first.
    seconds, coalitions, reliability : sampling ends at what is reached first. With ``seconds``, it
        is not the same on another machine; for that, set ``coalitions`` and allow much time.
    memory_mb : about how much memory to use.
    random_state : of the coalitions.
    """
    if not isinstance(law, str):
        raise ValueError(f"law must be a name such as 'shapley' or 'beta(4,1)', got {law!r}")
    mixing = find_law(law)
    game = _game(X, y, X_valid, y_valid, utility, C, standardise)
    most = _most_draws(game, memory_mb, coalitions)
    contexts = Contexts(game)
    cells = corrected_cells(contexts, mixing) if certify else predicted_cells(contexts, mixing)
    limits = Limits(min(coalitions, most), seconds, reliability)
    found = sample(cells, np.random.default_rng(random_state), limits)
    ended = "memory" if found.ended == "coalitions" and most < coalitions else found.ended
    record = {
        **found.record(),
        **{"law": mixing.name, "utility": utility, "certify": certify, "C": C, "ended": ended},
        **{"random_state": random_state, "seconds": round(found.seconds, 2)},
    }
    return SemiValues(
        found.values[:, 0],
        found.stderr[:, 0],
        mixing.name,
        utility,
        float(found.reliability[0]),
        WORDS[ended],
        record,
        certify,
        found.cells,
    )


def _game(
    X: Any, y: Any, X_valid: Any, y_valid: Any, utility: str, C: float, standardise: bool
) -> LogisticGame:
    """The game of checked data."""
    points = check_features(X, "X")
    check_size(points)
    valid = check_features(X_valid, "X_valid")
    if valid.shape[0] == 0:
        raise ValueError("X_valid has no rows: a model is measured on at least one")
    if valid.shape[1] != points.shape[1]:
        raise ValueError(f"X_valid has {valid.shape[1]} features, but X has {points.shape[1]}")
    classes, codes = encode_labels(check_targets(y, points.shape[0], "y", "X"), "y")
    of_valid = check_targets(y_valid, valid.shape[0], "y_valid", "X_valid")
    _, valid_codes = encode_labels(of_valid, "y_valid", classes)
    dense = [a.toarray() if sparse.issparse(a) else np.asarray(a) for a in (points, valid)]
    train, other = (a.astype(np.float64) for a in dense)
    if standardise:
        scale = train.std(axis=0)
        mean, scale = train.mean(axis=0), np.where(scale > 0, scale, 1.0)
        train, other = (train - mean) / scale, (other - mean) / scale
    return LogisticGame(train, codes, other, valid_codes, len(classes), C, utility)


def _most_draws(game: LogisticGame, memory_mb: float, coalitions: int) -> int:
    """How many coalitions may be drawn in the memory that there is."""
    one = megabytes_of_a_coalition(game)
    draw = 8 * game.n / 2**20
    least = one + 64 * PILOT * draw
    if memory_mb < least:
        raise InputError(
            f"memory_mb={memory_mb:g} is too little: one coalition of {game.n} points takes about "
            f"{np.ceil(least):.0f} MB; allow that, or value fewer points",
            memory_mb=float(np.ceil(least)),
        )
    return min(coalitions, int((memory_mb - one) / (2 * draw)))
