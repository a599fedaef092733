"""How typical the features of each row are; labels do not enter.

Two ways in which features can be strange, and the score of a row is that of the stranger one:

- *rare*: single entries lie where their columns have few values. With r_ij the distance of entry
  (i, j) to its k-th nearest value in column j, in standard deviations, the rarity of row i is
  Σ_j log max(r_ij, ε): minus the log-likelihood of the row, up to a constant, if columns were
  independent. In a column of few different values an entry between them stands out.
- *remote*: the entries together lie where few rows are. It is the log of the mean distance to the
  K nearest rows after the columns are decorrelated, with Ledoit and Wolf's shrunken covariance.

Both are put on one scale, (v − median)/(upper quartile − median), so that no label and no setting
weighs them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf_shrinkage

from nddv.support.settings import Count, checked
from nddv.values import NoValues

NEIGHBOURS = 5
"""K: rows that a typical row has near it; more than a pair of duplicates."""

SHARE = 0.01
"""k as a share of the rows: so many values of a column are near a typical entry; at least K."""

FLOOR = 1e-4
"""ε, in standard deviations: nearer values of a column count as equal."""

CHUNK_ELEMENTS = 4_000_000

Floats = NDArray[np.float64]


@checked
def typicality(
    X: NDArray[np.floating], rng: np.random.Generator, *, references: Count = 5000
) -> Floats:
    """Minus how strange each row is: 0 is usual, −1 as strange as an upper quartile, and so on.

    Parameters
    ----------
    X : (n, d) features on any scale. Constant columns do not count.
    rng : draws the reference rows.
    references : rows, drawn at random from more, among which nearest rows are looked for.
    """
    return -np.maximum(*strangeness(X, rng, references))


def strangeness(
    X: NDArray[np.floating], rng: np.random.Generator, references: int
) -> tuple[Floats, Floats]:
    """How rare and how remote each row is, (n,) and (n,), both on the scale of the module."""
    if len(X) < 3:
        raise NoValues(f"typical features need at least three rows, got {len(X)}")
    standard = standardise(X)
    return upper_scale(rarity(standard)), upper_scale(remoteness(standard, rng, references))


def standardise(X: NDArray[np.floating]) -> Floats:
    """Columns (n, d') that vary, with mean 0 and standard deviation 1."""
    features = np.asarray(X, dtype=np.float64)
    # by its largest entry first: the square of a large number may be beyond float64
    largest = np.abs(features).max(axis=0)
    features = features / np.where(largest > 0, largest, 1.0)
    features = features - features.mean(axis=0)
    spread = features.std(axis=0)
    varies = spread > np.finfo(np.float32).eps
    return np.asarray(features[:, varies] / spread[varies])


def upper_scale(scores: Floats) -> Floats:
    """(v − median)/(upper quartile − median); where these agree, by the mean excess instead."""
    excess = scores - np.median(scores)
    unit = np.quantile(excess, 0.75)
    if unit <= 1e-9:
        # ln 2: the upper quartile of an exponential excess, as a multiple of its mean
        unit = np.log(2) * np.maximum(excess, 0.0).mean()
    return excess / unit if unit > 1e-9 else np.zeros_like(excess)


def rarity(standard: Floats) -> Floats:
    """Σ_j log max(r_ij, ε), (n,), of standardised columns (n, d)."""
    n, d = standard.shape
    k = min(n - 1, max(NEIGHBOURS, round(SHARE * n)))
    total = np.zeros(n)
    step = max(1, CHUNK_ELEMENTS // n)
    for start in range(0, d, step):
        distances = nearest_values(standard[:, start : start + step], k)
        total += np.log(np.maximum(distances, FLOOR)).sum(axis=1)
    return total


def nearest_values(columns: Floats, k: int) -> Floats:
    """Distance (n, d) of every entry to the k-th nearest of the others in its column, k < n.

    In a sorted column the k nearest of entry i are k + 1 entries in a row, from place a to a + k,
    i among them. The farther a, the less the entry is away from the first of them, and the more
    from the last: bisection finds where the two distances cross.
    """
    order = np.argsort(columns, axis=0, kind="stable")
    ranked = np.take_along_axis(columns, order, axis=0)
    n = len(columns)
    place = np.broadcast_to(np.arange(n)[:, None], ranked.shape)
    first = np.maximum(place - k, 0)
    low, high = first, np.minimum(place, n - 1 - k)

    def sides(a: NDArray[np.intp]) -> tuple[Floats, Floats]:
        below = ranked - np.take_along_axis(ranked, a, axis=0)
        return below, np.take_along_axis(ranked, a + k, axis=0) - ranked

    for _ in range(int(k).bit_length() + 1):
        middle = (low + high) // 2
        below, above = sides(middle)
        crossed = above >= below
        high = np.where(crossed, middle, high)
        low = np.where(crossed, low, np.minimum(middle + 1, high))
    distances = np.minimum(
        np.maximum(*sides(high)), np.maximum(*sides(np.maximum(high - 1, first)))
    )
    result = np.empty_like(ranked)
    np.put_along_axis(result, order, distances, axis=0)
    return result


def remoteness(standard: Floats, rng: np.random.Generator, references: int) -> Floats:
    """Log of the mean distance (n,) to the K nearest reference rows, of decorrelated columns."""
    n, d = standard.shape
    if d == 0:
        return np.zeros(n)
    chosen = np.arange(n)
    if n > max(references, NEIGHBOURS + 1):
        chosen = np.sort(rng.choice(n, max(references, NEIGHBOURS + 1), replace=False))
    rows = standard @ decorrelation(standard[chosen])
    others = rows[chosen]
    norms = np.einsum("ij,ij->i", others, others)
    among = np.isin(np.arange(n), chosen)
    k = min(NEIGHBOURS, len(chosen) - 1)
    mean = np.empty(n)
    step = max(1, CHUNK_ELEMENTS // len(chosen))
    for start in range(0, n, step):
        chunk = slice(start, start + step)
        squared = norms - 2.0 * (rows[chunk] @ others.T)
        squared += np.einsum("ij,ij->i", rows[chunk], rows[chunk])[:, None]
        nearest = np.sort(np.partition(squared, k, axis=1)[:, : k + 1], axis=1)
        distances = np.sqrt(np.maximum(nearest, 0.0) / rows.shape[1])
        # a reference row finds itself first
        mean[chunk] = np.where(
            among[chunk], distances[:, 1:].mean(axis=1), distances[:, :k].mean(axis=1)
        )
    return np.log(np.maximum(mean, FLOOR))


def decorrelation(rows: Floats) -> Floats:
    """(d, r) matrix that turns rows (n, d), centred, into r uncorrelated columns of equal spread.

    Of the shrunken covariance (1 − a)·S + a·mean(S)·1; r is the rank of the rows, at most n.
    """
    centred = rows - rows.mean(axis=0)
    n, d = centred.shape
    shrinkage = float(ledoit_wolf_shrinkage(centred, assume_centered=True)) if d > 1 else 0.0
    if d <= n:
        eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / n)
    else:
        eigenvalues, left = np.linalg.eigh(centred @ centred.T / n)
        vectors = centred.T @ left
        vectors /= np.maximum(np.linalg.norm(vectors, axis=0), np.finfo(np.float64).tiny)
    kept = eigenvalues > eigenvalues.max() * max(n, d) * np.finfo(np.float64).eps
    shrunken = (1 - shrinkage) * eigenvalues[kept] + shrinkage * eigenvalues.sum() / d
    return np.asarray(vectors[:, kept] / np.sqrt(shrunken))
