"""How labels went wrong: a channel from true labels to given ones, fitted to held-out predictions.

A model that has not seen row i gives every class a score, the mean log-probability along its
training. Two things stand between these scores and the given label:

- the probability of the true label, η_i = softmax(β b(s_i) + α): the scores, bent so that rows of
  large margin become certain, on a scale β and with shifts α of the classes;
- the channel T_jk = P(given k | true j), which does not look at the features: a label of class j is
  wrong with probability ρ_j, and then becomes k with probability m_jk.

All of them are fitted by maximum likelihood of the given labels, P(y_i) = Σ_j η_ij T_{j,y_i}. What
tells wrong labels from doubtful rows: where the scores are sure, labels that contradict them are
wrong; where they are not, labels may differ by nature. So ρ is read off the rows of large margin
(anchor points: Scott 2015; Patrini et al. 2017), by all rows at once. The probability that the
label of row i is wrong is the posterior 1 − P(true = y_i | s_i, y_i).

How sharply scores bend is not known. Several bends are fitted, and averaged with weights by their
likelihood; how far they differ is a part of the error, beside that of the parameters (the inverse
of the summed squares of their scores: Berndt, Hall, Hall and Hausman 1974) and the chance of each
row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

FARTHEST = 15.0  # of a bend: sinh of more would overflow what follows
ANOTHER_TRAINING = 1.2  # widens errors: other runs would have scored the rows a little differently
MISFIT = 0.07  # of a number: the channel is a model, and labels may go wrong in other ways
CHUNK = 50_000  # rows whose slopes are in memory at a time
IMPOSSIBLE = -30.0  # log of the chance of what cannot be


@dataclass(frozen=True)
class Fit:
    """The channel at one bend.

    Attributes
    ----------
    bend : how sharp it is.
    unit : of the bent scores: their median size.
    scale : log β.
    shifts : (C,) α.
    odds : (C,) log-odds of ρ_j.
    pairs : (C, C) m_jk; rows sum to one, zero on the diagonal.
    """

    bend: float
    unit: float
    scale: float
    shifts: Floats
    odds: Floats
    pairs: Floats

    @property
    def log_channel(self) -> Floats:
        """log T (C, C)."""
        with np.errstate(divide="ignore"):
            wrong = np.log(expit(self.odds))[:, None] + np.log(self.pairs)
        right = np.diag(np.log(expit(-self.odds)))
        return np.maximum(np.where(np.eye(len(self.odds), dtype=bool), right, wrong), IMPOSSIBLE)


@dataclass(frozen=True)
class Posterior:
    """What a fit says of rows.

    Attributes
    ----------
    truth : (n, C) η, before the given label is looked at.
    given : (n, C) P(true label | scores, given label).
    log_likelihood : (n,) of the given labels.
    """

    truth: Floats
    given: Floats
    log_likelihood: Floats


def margins(scores: Floats) -> Floats:
    """How far the highest score of each row (n, C) is above the second."""
    two = np.partition(scores, scores.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def bent(scores: Floats, bend: float, middle: float) -> Floats:
    """Scores (n, C), centered and stretched by sinh(x)/x, where x is `bend` · margin / `middle`."""
    x = np.clip(bend * margins(scores) / middle, 1e-3, FARTHEST)
    centered = scores - scores.mean(1, keepdims=True)
    return np.asarray(centered * (np.sinh(x) / x)[:, None])


def posterior(fit: Fit, z: Floats, y: Labels, trusted: NDArray[np.bool_]) -> Posterior:
    """Of rows with bent scores z (n, C) over their unit; trusted labels are true."""
    truth = log_softmax(np.exp(fit.scale) * z + fit.shifts, axis=1)
    passed = fit.log_channel[:, y].T.copy()
    passed[trusted] = np.where(np.arange(z.shape[1]) == y[trusted, None], 0.0, IMPOSSIBLE)
    joint = truth + passed
    top = joint.max(1, keepdims=True)
    share = np.exp(joint - top)
    total = share.sum(1, keepdims=True)
    return Posterior(np.exp(truth), share / total, (np.log(total) + top)[:, 0])


@dataclass(frozen=True)
class Channel:
    """A fitted channel: several bends, averaged.

    Attributes
    ----------
    middle : the median margin of the scores.
    fits : one for each bend.
    weights : (B,) of the bends.
    covariances : (B, 2C + 1, 2C + 1) of the parameters (scale, shifts, odds) of each fit.
    """

    middle: float
    fits: tuple[Fit, ...]
    weights: Floats
    covariances: Floats

    def posteriors(
        self, scores: Floats, y: Labels, trusted: NDArray[np.bool_] | None = None
    ) -> list[Posterior]:
        """What each fit says of rows with scores (n, C) and given labels (n,)."""
        known = np.zeros(len(y), dtype=bool) if trusted is None else trusted
        return [
            posterior(f, bent(scores, f.bend, self.middle) / f.unit, y, known) for f in self.fits
        ]

    def mean(self, posteriors: list[Posterior]) -> Floats:
        """P(true label | scores, given label), (n, C), averaged over the bends."""
        return np.asarray(sum(w * p.given for w, p in zip(self.weights, posteriors, strict=True)))

    def truth(self, scores: Floats) -> Floats:
        """P(true label | scores), (n, C), where no label is given."""
        found = self.posteriors(scores, np.zeros(len(scores), dtype=np.intp))
        return np.asarray(sum(w * p.truth for w, p in zip(self.weights, found, strict=True)))

    def wrong_counts(
        self, scores: Floats, y: Labels, trusted: NDArray[np.bool_] | None = None
    ) -> tuple[Floats, Floats]:
        """Expected wrong labels of each given class and of all (C + 1,), and their standard errors.

        The error has the chance of each row, the parameters and the bends.
        """
        known = np.zeros(len(y), dtype=bool) if trusted is None else trusted
        counts, variances = [], []
        for fit, covariance in zip(self.fits, self.covariances, strict=True):
            # wrong labels, the chance of each row, and slopes by the parameters: sums of rows
            sums = np.zeros((scores.shape[1] + 1, 2 + len(covariance)))
            for start in range(0, len(y), CHUNK):
                c = slice(start, start + CHUNK)
                sums += _sums(
                    fit, bent(scores[c], fit.bend, self.middle) / fit.unit, y[c], known[c]
                )
            slopes = sums[:, 2:]
            counts.append(sums[:, 0])
            variances.append(sums[:, 1] + np.einsum("kp,pq,kq->k", slopes, covariance, slopes))
        each, spread = np.stack(counts), np.stack(variances)
        mean = self.weights @ each
        error = np.sqrt(self.weights @ (spread + (each - mean) ** 2))
        return mean, np.hypot(ANOTHER_TRAINING * error, MISFIT * mean)


def _sums(fit: Fit, z: Floats, y: Labels, trusted: NDArray[np.bool_]) -> Floats:
    """Wrong labels, their variance and slopes, summed over each class and all: (C + 1, …)."""
    found = posterior(fit, z, y, trusted)
    wrong = np.where(trusted, 0.0, 1.0 - found.given[np.arange(len(y)), y])
    slopes = np.where(trusted[:, None], 0.0, wrong_slopes(fit, z, y, found))
    rows = np.concatenate([np.stack([wrong, wrong * (1.0 - wrong)], axis=1), slopes], axis=1)
    by_class = np.stack([rows[y == k].sum(0) for k in range(z.shape[1])])
    return np.concatenate([by_class, rows.sum(0, keepdims=True)])


def wrong_slopes(fit: Fit, z: Floats, y: Labels, found: Posterior) -> Floats:
    """Derivatives (n, 2C + 1) of the probability that a label is wrong, by the parameters."""
    rows, classes = np.arange(len(y)), np.arange(z.shape[1])
    own, is_own = found.given[rows, y], y[:, None] == classes
    rho = expit(fit.odds)
    scale = np.exp(fit.scale) * (z[rows, y] - (found.given * z).sum(1))
    shifts = is_own - found.given
    odds = -(is_own * rho) - found.given * (~is_own - rho)
    return np.asarray(-own[:, None] * np.concatenate([scale[:, None], shifts, odds], axis=1))
