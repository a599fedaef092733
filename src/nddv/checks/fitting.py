"""Fit the channel (`nddv.checks.channel`) to held-out scores and given labels.

The parameters of a bend, (log β, α, log-odds of ρ), climb the likelihood of the labels and what is
mildly believed of them before. In between, the pairs m and the mean that every ρ_j is pulled to
follow from the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nddv.checks.channel import (
    Channel,
    Fit,
    Floats,
    Labels,
    Posterior,
    bent,
    margins,
    posterior,
)

BENDS = {0.5: 0.1, 1.0: 0.2, 2.0: 0.4, 3.0: 0.3}
"""How sharply scores bend, with what is believed of each before the data are seen."""

PRIOR_ROWS = 20.0  # every ρ_j is pulled to the mean as by so many rows of its class
PRIOR_PAIRS = 5.0  # every m_j is pulled to equal shares as by so many wrong labels
SCALE = (0.5, 0.6)  # mean and spread of log β, before the data are seen: what most tables have
SHIFT = 0.5  # pull of the shifts α to zero: one over their variance
STARTS = (0.05, 0.3)  # wrong shares that a fit starts from
ROUNDS, SETTLED = 8, 3e-4  # of the pairs and the mean
MOST_STEPS, GAIN = 50, 1e-2  # of a climb; what is gained by the last step
LIMIT = 12.0  # of every parameter
LARGEST = 20_000  # rows that a channel is fitted to: more tell little more


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
    pairs = equal = (1.0 - np.eye(classes)) / max(classes - 1, 1)
    theta = np.concatenate([np.zeros(classes + 1), np.full(classes, np.log(start / (1 - start)))])
    mean = start
    for _ in range(ROUNDS):
        target = Target(bend, unit, z, y, trusted, pairs, mean)
        theta, found = target.climb(theta)
        wrong = found.given.copy()
        wrong[np.arange(len(y)), y] = 0.0
        before, mean = mean, min(max(float(wrong.sum()) / len(y), 1e-6), 0.5)
        counts = np.stack([wrong[y == k].sum(0) for k in range(classes)], axis=1)
        pairs = counts + PRIOR_PAIRS * equal
        pairs /= np.maximum(pairs.sum(1, keepdims=True), 1e-300)
        if abs(mean - before) < SETTLED:
            break
    _, curvature = target.slope(theta, found)
    likelihood = float(found.log_likelihood.sum())
    return likelihood, target.fit(theta), np.asarray(np.linalg.inv(curvature))


@dataclass(frozen=True)
class Target:
    """What is maximised by the parameters (scale, shifts, odds): likelihood and mild beliefs."""

    bend: float
    unit: float
    z: Floats
    y: Labels
    trusted: NDArray[np.bool_]
    pairs: Floats
    mean: float

    def fit(self, theta: Floats) -> Fit:
        """The channel with these parameters."""
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
