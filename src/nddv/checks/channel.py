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

BENDS = {0.5: 0.1, 1.0: 0.2, 2.0: 0.4, 3.0: 0.3}
"""How sharply scores bend, with what is believed of each before the data are seen."""

FARTHEST = 15.0  # of a bend: sinh of more would overflow what follows
PRIOR_ROWS = 20.0  # every ρ_j is pulled to the mean as by so many rows of its class
PRIOR_PAIRS = 5.0  # every m_j is pulled to equal shares as by so many wrong labels
SCALE = (0.5, 0.6)  # mean and spread of log β, before the data are seen: what most tables have
SHIFT = 0.5  # pull of the shifts α to zero: one over their variance
STARTS = (0.05, 0.3)  # wrong shares that a fit starts from
ROUNDS, SETTLED = 8, 3e-4  # of the pairs and the mean
MOST_STEPS, GAIN = 50, 1e-2  # of a climb; what is gained by the last step
LIMIT = 12.0  # of every parameter
ANOTHER_TRAINING = 1.2  # widens errors: other runs would have scored the rows a little differently
CHUNK = 50_000  # rows whose slopes are in memory at a time
LARGEST = 20_000  # rows that a channel is fitted to: more tell little more
DIAGONAL = -30.0  # log of the chance of what cannot be


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
    def channel(self) -> Floats:
        """log T (C, C)."""
        with np.errstate(divide="ignore"):
            wrong = np.log(expit(self.odds))[:, None] + np.log(self.pairs)
        right = np.diag(np.log(expit(-self.odds)))
        return np.maximum(np.where(np.eye(len(self.odds), dtype=bool), right, wrong), DIAGONAL)


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
    passed = fit.channel[:, y].T.copy()
    passed[trusted] = np.where(np.arange(z.shape[1]) == y[trusted, None], 0.0, DIAGONAL)
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
        return mean, ANOTHER_TRAINING * error


def fit_channel(
    scores: Floats,
    y: Labels,
    trusted: NDArray[np.bool_] | None = None,
    seed: int = 0,
) -> Channel:
    """Fit the channel to scores (n, C) of rows that were held out, and their labels (n,)."""
    known = np.zeros(len(y), dtype=bool) if trusted is None else trusted
    if len(y) > LARGEST:
        chosen = np.sort(np.random.default_rng(seed).choice(len(y), LARGEST, replace=False))
        scores, y, known = scores[chosen], y[chosen], known[chosen]
    middle = max(float(np.median(margins(scores))), 1e-6)
    fits, covariances, evidence = [], [], []
    for bend, belief in BENDS.items():
        z = bent(scores, bend, middle)
        unit = max(float(np.median(np.abs(z))), 1e-12)
        found = [_maximise(bend, unit, z / unit, y, known, start) for start in STARTS]
        likelihood, fit, covariance = max(found, key=lambda item: item[0])
        fits.append(fit)
        covariances.append(covariance)
        evidence.append(likelihood + np.log(belief))
    weights = np.exp(np.array(evidence) - max(evidence))
    return Channel(middle, tuple(fits), weights / weights.sum(), np.stack(covariances))


def _maximise(
    bend: float, unit: float, z: Floats, y: Labels, trusted: NDArray[np.bool_], start: float
) -> tuple[float, Fit, Floats]:
    """Likelihood, fit and covariance of the most likely parameters.

    The pairs, and the mean that every ρ_j is pulled to, follow from the fit before.
    """
    classes = z.shape[1]
    pairs = (1.0 - np.eye(classes)) / max(classes - 1, 1)
    theta = np.concatenate([np.zeros(classes + 1), np.full(classes, np.log(start / (1 - start)))])
    mean = start
    for _ in range(ROUNDS):
        target = _Target(bend, unit, z, y, trusted, pairs, mean)
        theta, found = target.climb(theta)
        wrong = found.given.copy()
        wrong[np.arange(len(y)), y] = 0.0
        before, mean = mean, min(max(float(wrong.sum()) / len(y), 1e-6), 0.5)
        counts = np.stack([wrong[y == k].sum(0) for k in range(classes)], axis=1)
        pairs = counts + PRIOR_PAIRS * (1.0 - np.eye(classes)) / max(classes - 1, 1)
        pairs /= np.maximum(pairs.sum(1, keepdims=True), 1e-300)
        if abs(mean - before) < SETTLED:
            break
    _, curvature = target.slope(theta, found)
    likelihood = float(found.log_likelihood.sum())
    return likelihood, target.fit(theta), np.asarray(np.linalg.inv(curvature))


@dataclass(frozen=True)
class _Target:
    """What is maximised by the parameters (scale, shifts, odds): likelihood and mild beliefs."""

    bend: float
    unit: float
    z: Floats
    y: Labels
    trusted: NDArray[np.bool_]
    pairs: Floats
    mean: float

    def fit(self, theta: Floats) -> Fit:
        classes = self.z.shape[1]
        parts = (float(theta[0]), theta[1 : classes + 1], theta[classes + 1 :])
        return Fit(self.bend, self.unit, *parts, self.pairs)

    def value(self, theta: Floats) -> tuple[float, Posterior]:
        """The target, and what the parameters say of the rows."""
        fit = self.fit(theta)
        found = posterior(fit, self.z, self.y, self.trusted)
        rho = expit(fit.odds)
        belief = self.mean * np.log(rho) + (1.0 - self.mean) * np.log1p(-rho)
        pull = PRIOR_ROWS * belief.sum() - 0.5 * SHIFT * (fit.shifts**2).sum()
        pull -= 0.5 * ((fit.scale - SCALE[0]) / SCALE[1]) ** 2
        return float(found.log_likelihood.sum() + pull), found

    def slope(self, theta: Floats, found: Posterior) -> tuple[Floats, Floats]:
        """Derivatives (p,) of the target, and minus its curvature (p, p)."""
        fit = self.fit(theta)
        rho, surprise = expit(fit.odds), found.given - found.truth
        wrong = (self.y[:, None] != np.arange(len(rho))) - rho
        odds = np.where(self.trusted[:, None], 0.0, found.given * wrong)
        scale = np.exp(fit.scale) * (surprise * self.z).sum(1, keepdims=True)
        rows = np.concatenate([scale, surprise, odds], axis=1)
        slope = rows.sum(0)
        curvature = rows.T @ rows
        places = np.arange(len(rho))
        slope[0] -= (fit.scale - SCALE[0]) / SCALE[1] ** 2
        slope[1 + places] -= SHIFT * fit.shifts
        slope[1 + len(rho) + places] += PRIOR_ROWS * (self.mean - rho)
        pull = np.concatenate(
            [[SCALE[1] ** -2], np.full(len(rho), SHIFT), PRIOR_ROWS * rho * (1.0 - rho) + 1e-6]
        )
        return slope, curvature + np.diag(pull)

    def climb(self, theta: Floats) -> tuple[Floats, Posterior]:
        """The nearest maximum, by damped steps of Berndt, Hall, Hall and Hausman."""
        value, found = self.value(theta)
        damping = 1e-3
        for _ in range(MOST_STEPS):
            slope, curvature = self.slope(theta, found)
            damped = curvature + damping * np.diag(np.diag(curvature))
            moved = np.clip(theta + np.linalg.solve(damped, slope), -LIMIT, LIMIT)
            higher, seen = self.value(moved)
            if higher > value:
                gained, damping = higher - value, damping / 4
                theta, value, found = moved, higher, seen
                if gained < GAIN:
                    break
            else:
                damping *= 8
                if damping > 1e8:
                    break
        return theta, found


def _sums(fit: Fit, z: Floats, y: Labels, trusted: NDArray[np.bool_]) -> Floats:
    """Wrong labels, their variance and slopes, summed over each class and all: (C + 1, …)."""
    found = posterior(fit, z, y, trusted)
    wrong = 1.0 - found.given[np.arange(len(y)), y]
    slopes = np.where(trusted[:, None], 0.0, _wrong_slopes(fit, z, y, found))
    rows = np.concatenate([np.stack([wrong, wrong * (1.0 - wrong)], axis=1), slopes], axis=1)
    by_class = np.stack([rows[y == k].sum(0) for k in range(z.shape[1])])
    return np.concatenate([by_class, rows.sum(0, keepdims=True)])


def _wrong_slopes(fit: Fit, z: Floats, y: Labels, found: Posterior) -> Floats:
    """Derivatives (n, 2C + 1) of the probability that a label is wrong, by the parameters."""
    rows, classes = np.arange(len(y)), np.arange(z.shape[1])
    own, is_own = found.given[rows, y], y[:, None] == classes
    rho = expit(fit.odds)
    scale = np.exp(fit.scale) * (z[rows, y] - (found.given * z).sum(1))
    shifts = is_own - found.given
    odds = -(is_own * rho) - found.given * (~is_own - rho)
    return np.asarray(-own[:, None] * np.concatenate([scale[:, None], shifts, odds], axis=1))
