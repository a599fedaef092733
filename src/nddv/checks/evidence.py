"""Why a label looks wrong: trusted rows that are most similar, and columns that contradict it.

*Similar rows* are the nearest in Euclidean distance between standardised features. Features beyond
three standard deviations count as three: else a rare level of a category, or one strange entry,
would outweigh all the others.

*Contradictions* are found by exchange with a row that is typical of the given class. How far the
model's lead of the suggested class over the given one falls, when the entry of one column is
replaced by the typical one, says how the entry speaks for the suggested class. Where many columns
say the same, no single replacement changes much; so the rise of the lead is looked at as well, when
the entry is put into the typical row. The weight of a column is the mean of fall and rise: its
marginal contribution as the last of all columns and as the first, two of those that the Shapley
value averages. In a linear model both are the column's own term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from nddv.estimator.validation import check_features

TRUSTED = 0.05  # a row is trusted if its label is wrong with a smaller probability
FARTHEST = 3.0  # standard deviations
SLIGHT = 0.05  # columns with a smaller share of all weight are not named
MANY = 60  # columns, of which all are tried for every row
SAMPLED = 2000  # trusted rows of a class that show what is typical of it
CHUNK_ELEMENTS = 4_000_000

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Columns = Sequence[tuple[str, Sequence[int]]]
"""Names of columns, each with the features that were made of it."""


@dataclass(frozen=True)
class Contradiction:
    """A column that speaks against the given label.

    Attributes
    ----------
    column : its name.
    weight : what the entry adds to the lead of the suggested class over the given one.
    """

    column: str
    weight: float


@dataclass(frozen=True)
class Evidence:
    """What speaks for and against the labels of m rows.

    Attributes
    ----------
    similar : (m, k) positions of the nearest trusted rows, the nearest first; −1 where there are
        fewer.
    contradictions : for each row columns that contradict its label, the strongest first; none for
        rows whose suggested label is the given one.
    """

    similar: Indices
    contradictions: list[list[Contradiction]]


class Scorer(Protocol):
    """A model that gives any rows (m, d) a score (m, C) for each of ``classes_``."""

    classes_: NDArray[Any]

    def class_scores(self, X: Any) -> Floats: ...


def gather_evidence(
    rows: pd.DataFrame, model: Scorer, X: Any, chosen: ArrayLike, columns: Columns = (), k: int = 3
) -> Evidence:
    """Evidence on some rows of a report.

    Parameters
    ----------
    rows : ``Report.rows``, with columns label, p_wrong and suggested.
    model : ``Report.model``.
    X : (n, d) features that the report is about.
    chosen : (m,) positions of the rows to explain.
    columns : those that can be named. Leave out features of texts and pictures: single ones of
        them mean nothing to a reader.
    k : similar rows, and columns, of each row.
    """
    features, positions = check_features(X, "X"), np.asarray(chosen, dtype=np.intp)
    trusted = rows["p_wrong"].to_numpy() < TRUSTED
    codes = pd.Index(model.classes_)
    given, suggested = (codes.get_indexer(rows[name]) for name in ("label", "suggested"))
    reasons: list[list[Contradiction]] = [[] for _ in positions]
    doubted = np.flatnonzero(given[positions] != suggested[positions])
    if columns and len(doubted):
        at = positions[doubted]
        typical = typical_rows(features, given, trusted, columns, len(codes))
        found = contradictions(
            model.class_scores, features, at, given[at], suggested[at], columns, typical, k
        )
        for place, own in zip(doubted, found, strict=True):
            reasons[place] = own
    return Evidence(similar_rows(features, positions, trusted, k), reasons)


def similar_rows(X: Any, rows: ArrayLike, trusted: NDArray[np.bool_], k: int = 3) -> Indices:
    """Positions (m, k) of the trusted rows nearest to each of m rows, but never the row itself.

    Parameters
    ----------
    X : (n, d) features: an array, a data frame, a sparse matrix or rows on disk.
    rows : (m,) positions.
    trusted : (n,) which rows may be shown. Where there are fewer than k, −1 fills the rest.
    """
    features, positions = check_features(X, "X"), np.asarray(rows, dtype=np.intp)
    center, spread = _scale(features)

    def standard(where: Indices) -> Floats:
        return np.clip((_dense(features, where) - center) / spread, -FARTHEST, FARTHEST)

    queries = standard(positions)
    nearest = np.full((len(positions), k), np.inf)
    places = np.zeros((len(positions), k), dtype=np.intp)
    width = max(features.shape[1], len(positions), 1)
    for block in _blocks(np.flatnonzero(trusted), width):
        others = standard(block)
        squared = np.einsum("ij,ij->i", others, others) - 2.0 * (queries @ others.T)
        squared += np.einsum("ij,ij->i", queries, queries)[:, None]
        squared[positions[:, None] == block] = np.inf
        best = np.argpartition(squared, k - 1, axis=1)[:, :k] if k < len(block) else None
        own = np.broadcast_to(np.arange(len(block)), squared.shape) if best is None else best
        nearest = np.concatenate([nearest, np.take_along_axis(squared, own, axis=1)], axis=1)
        places = np.concatenate([places, block[own]], axis=1)
        order = np.lexsort((places, nearest), axis=1)[:, :k]
        nearest = np.take_along_axis(nearest, order, axis=1)
        places = np.take_along_axis(places, order, axis=1)
    places[np.isinf(nearest)] = -1
    return places


def typical_rows(
    X: Any, given: Indices, trusted: NDArray[np.bool_], columns: Columns, classes: int
) -> Floats:
    """What is typical of each class: (classes, d).

    A feature has its median. Several features of 0 and 1 that were made of one column have the most
    frequent combination. Only trusted rows count, or all rows of a class that has no trusted one.
    """
    features = check_features(X, "X")
    typical = np.zeros((classes, features.shape[1]))
    several = [np.asarray(own) for _, own in columns if len(own) > 1]
    for label in np.unique(given):
        members = np.flatnonzero((given == label) & trusted)
        members = members if len(members) else np.flatnonzero(given == label)
        drawn = np.linspace(0, len(members) - 1, min(len(members), SAMPLED)).astype(np.intp)
        sample = _dense(features, members[drawn])
        typical[label] = np.median(sample, axis=0)
        for own in several:
            if np.isin(sample[:, own], (0.0, 1.0)).all():
                levels, counts = np.unique(sample[:, own], axis=0, return_counts=True)
                typical[label, own] = levels[counts.argmax()]
    return typical


def contradictions(
    score: Callable[[Floats], Floats],
    X: Any,
    rows: ArrayLike,
    given: ArrayLike,
    suggested: ArrayLike,
    columns: Columns,
    typical: Floats,
    k: int = 3,
) -> list[list[Contradiction]]:
    """Columns that contradict the given label of each row: at most k, the strongest first.

    Parameters
    ----------
    score : gives rows (b, d) the scores (b, C) of all classes.
    X : (n, d) features.
    rows : (m,) positions.
    given, suggested : (m,) classes, from 0.
    columns : J columns. Of more than sixty, those with the largest weights for a part of the rows
        are tried for all.
    typical : (C, d) what is typical of each class; see `typical_rows`.
    """
    positions, old, new = (np.asarray(a, dtype=np.intp) for a in (rows, given, suggested))
    own, usual = _dense(check_features(X, "X"), positions), typical[np.asarray(given, np.intp)]

    def lead(inputs: Floats, of: Indices) -> Floats:
        scores, each = score(inputs), np.arange(len(of))
        return np.asarray(scores[each, new[of]] - scores[each, old[of]])

    if len(columns) > MANY and len(positions):
        some = np.arange(0, len(positions), -(-len(columns) // MANY))
        heavy = np.maximum(_weights(lead, own, usual, columns, some), 0.0).sum(axis=0)
        columns = [columns[j] for j in np.sort(np.argsort(-heavy, kind="stable")[:MANY])]
    weights = _weights(lead, own, usual, columns, np.arange(len(positions)))
    least = SLIGHT * np.maximum(weights, 0.0).sum(axis=1)
    order = np.argsort(-weights, axis=1, kind="stable")[:, :k]
    return [
        [Contradiction(columns[j][0], float(line[j])) for j in best if line[j] > bound]
        for line, best, bound in zip(weights, order, least, strict=True)
    ]


def _weights(
    lead: Callable[[Floats, Indices], Floats],
    own: Floats,
    usual: Floats,
    columns: Columns,
    some: Indices,
) -> Floats:
    """Weights (s, J) of the columns for some of the rows own (m, d), against typical rows (m, d).

    lead : (b,) of the suggested class, for inputs (b, d) in place of the rows at (b,).
    """
    is_of = np.zeros((len(columns), own.shape[1]), dtype=bool)
    for j, (_, made) in enumerate(columns):
        is_of[j, np.asarray(made, dtype=np.intp)] = True
    change = lead(own[some], some) - lead(usual[some], some)
    weights = np.empty(len(some) * len(columns))
    for pairs in _blocks(np.arange(weights.size), own.shape[1]):
        place, column = np.divmod(pairs, len(columns))
        of, exchanged = some[place], is_of[column]
        without = lead(np.where(exchanged, usual[of], own[of]), of)
        alone = lead(np.where(exchanged, own[of], usual[of]), of)
        weights[pairs] = (change[place] - without + alone) / 2
    return weights.reshape(len(some), len(columns))


def _blocks(places: Indices, width: int) -> Iterator[Indices]:
    """Places in pieces, each of a bounded number of elements if every place has `width`."""
    step = max(1, CHUNK_ELEMENTS // max(width, 1))
    for start in range(0, len(places), step):
        yield places[start : start + step]


def _dense(features: Any, where: Indices) -> Floats:
    """Some rows (m, d) of an array, a sparse matrix or rows on disk."""
    block = features[where]
    return np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)


def _scale(features: Any) -> tuple[Floats, Floats]:
    """Mean and standard deviation (d,) of every feature; 1 for features that do not vary."""
    n, d = features.shape
    total, largest = np.zeros(d), np.zeros(d)
    for block in _blocks(np.arange(n), d):
        part = _dense(features, block)
        total += part.sum(axis=0) / n
        largest = np.maximum(largest, np.abs(part).max(axis=0))
    squares, unit = np.zeros(d), np.where(largest > 0, largest, 1.0)
    for block in _blocks(np.arange(n), d):
        # over the largest first: the square of a large number may be beyond float64
        squares += (((_dense(features, block) - total) / unit) ** 2).sum(axis=0) / n
    spread = np.sqrt(squares)
    return total, np.where(spread > np.finfo(np.float32).eps, spread * unit, 1.0)
