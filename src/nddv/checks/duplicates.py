"""Rows that are there more than once, exactly or nearly, and whether their labels agree.

*Exact* duplicates have equal features. A column is *continuous* if more than half of its entries
differ; in a table without such columns equal rows are to be expected, and are no fault.

*Near* duplicates are equal in all other columns, and in the continuous ones, standardised, lie far
nearer to each other than to their surroundings: at most t times the distance to the tenth nearest
row, from both. Where rows are drawn from a density in D dimensions, a given row has a neighbour so
near with probability 9·t^D. t is chosen so that this happens to ``CHANCE`` rows of a table, with D
as the distances to the first and second neighbours tell it (Facco et al., 2017, Scientific Reports
7:12140), and is at most ``near``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from nddv.baselines.typicality import standardise
from nddv.checks.rows import dense_rows
from nddv.estimator.validation import check_targets
from nddv.support.wording import InputError

CHANCE = 0.05  # rows of a table that may have a near duplicate by chance
NEAR = 0.1
SURROUNDINGS = 10  # the neighbour whose distance is the scale
SAMPLED = 1000  # rows that show the dimension and the scale
DIRECTIONS = 10  # principal axes in which candidates are searched
CANDIDATES = 16  # nearest rows that are looked at
CHUNK_ELEMENTS = 4_000_000

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class DuplicateCheck:
    """Duplicates among n rows.

    Attributes
    ----------
    group : (n,) number of the group of duplicates that a row is in, from 0; −1 for none.
    exact : (n,) bool, whether another row has exactly the same features.
    conflicting : (n,) bool, whether its group has different labels; False without labels.
    expected : whether equal rows are to be expected, since no column is continuous.
    equal : (n,) a number that rows with equal features share.
    labels : (n,), as given, or None.
    """

    group: Integers
    exact: NDArray[np.bool_]
    conflicting: NDArray[np.bool_]
    expected: bool
    equal: Integers = field(repr=False)
    labels: NDArray[Any] | None = field(default=None, repr=False)

    def groups(self) -> pd.DataFrame:
        """A row per group: ``group``, ``rows``, ``exact``, ``labels`` and ``conflict``.

        ``exact`` says whether all its rows are equal, ``conflict`` whether its labels differ.
        ``rows`` and ``labels`` are lists; without labels these are empty.
        """
        members = np.flatnonzero(self.group >= 0)
        members = members[np.argsort(self.group[members], kind="stable")]
        starts = np.flatnonzero(np.diff(self.group[members], prepend=-1))
        rows = np.split(members, starts[1:]) if len(members) else []
        labels = [[] if self.labels is None else pd.unique(self.labels[r]).tolist() for r in rows]
        return pd.DataFrame(
            {
                "group": np.arange(len(rows)),
                "rows": [r.tolist() for r in rows],
                "exact": np.array([np.ptp(self.equal[r]) == 0 for r in rows], bool),
                "labels": labels,
                "conflict": np.array([self.conflicting[r[0]] for r in rows], bool),
            }
        )


def find_duplicates(X: Any, y: Any = None, near: float = NEAR) -> DuplicateCheck:
    """Find exact and near duplicates, and their groups.

    Parameters
    ----------
    X : (n, d) numbers without gaps: an array, a data frame, a sparse matrix or rows on disk.
    y : (n,) labels; without them no group conflicts. Leave real-valued targets out.
    near : largest distance of near duplicates, as a share of the distance to the tenth nearest
        row; 0 finds exact duplicates only.
    """
    if not 0 <= near < 1:
        raise InputError(f"near must be at least 0 and below 1, got {near}", near=NEAR)
    rows = dense_rows(X, 1, "a search for duplicates")
    labels = None if y is None else check_targets(y, len(rows), "y", "X")
    equal, first = _codes(rows)
    exact = np.bincount(equal)[equal] > 1
    continuous = _continuous(rows)
    pairs = np.empty((0, 2), np.int64)
    if near > 0 and continuous.any():
        # one row of each set of equal ones: a copy is no surrounding
        settled = _codes(rows[first][:, ~continuous])[0]
        pairs = _near_pairs(standardise(rows[first][:, continuous]), settled, near)
    group = _components(pairs, len(first))[equal]
    sizes = np.bincount(group)
    group = _numbered(np.where(sizes[group] > 1, group, -1))
    conflicting = np.zeros(len(rows), bool) if labels is None else _conflicts(group, labels)
    return DuplicateCheck(group, exact, conflicting, not continuous.any(), equal, labels)


def _codes(rows: Floats) -> tuple[Integers, Integers]:
    """A number (n,) that equal rows share, and the first row (m,) of each number."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows), np.int64), np.zeros(1, np.int64)
    rows = np.ascontiguousarray(rows + 0.0)  # −0 becomes 0, which has other bytes
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    _, first, codes = np.unique(whole, return_index=True, return_inverse=True)
    return codes.astype(np.int64), first.astype(np.int64)


def _continuous(rows: Floats) -> NDArray[np.bool_]:
    """(d,) columns in which more than half of the entries differ."""
    different = 1 + np.count_nonzero(np.diff(np.sort(rows, axis=0), axis=0), axis=0)
    return np.asarray((different > len(rows) / 2) & (len(rows) > 2 * SURROUNDINGS))


def _near_pairs(rows: Floats, settled: Integers, near: float) -> Integers:
    """Pairs (p, 2) of near duplicates among different rows (m, d) whose ``settled`` agree."""
    m, d = rows.shape
    if d == 0 or m <= 2 * SURROUNDINGS:
        return np.empty((0, 2), np.int64)
    sample = np.linspace(0, m - 1, min(m, SAMPLED)).astype(np.int64)
    distances = _distances(rows, sample)
    ratio = np.median(distances[:, 1] / np.maximum(distances[:, 0], np.finfo(float).tiny))
    dimension = np.clip(np.log(2) / np.log(max(ratio, 1 + 1e-9)), 1.0, d)
    share = min(near, (CHANCE / ((SURROUNDINGS - 1) * m)) ** (1 / dimension))
    radius = share * np.quantile(distances[:, -1], 0.99)

    # distances in some of the principal axes are no larger than those in all
    axes = np.linalg.eigh(rows.T @ rows)[1][:, -DIRECTIONS:]
    projected = rows @ axes
    tree = cKDTree(projected)
    k = min(CANDIDATES, m)
    _, neighbours = tree.query(projected, k=k, distance_upper_bound=radius * (1 + 1e-9))
    left = np.repeat(np.arange(m), k)
    pairs = np.column_stack([left, neighbours.ravel()])
    pairs = np.unique(np.sort(pairs[(pairs[:, 1] < m) & (pairs[:, 1] != left)], axis=1), axis=0)
    pairs = pairs[settled[pairs[:, 0]] == settled[pairs[:, 1]]]
    apart = _lengths(rows, pairs)
    pairs, apart = pairs[apart <= radius], apart[apart <= radius]

    involved, where = np.unique(pairs, return_inverse=True)
    if d <= DIRECTIONS:
        scale = tree.query(projected[involved], k=[SURROUNDINGS + 1])[0][:, 0]
    else:
        scale = _distances(rows, involved)[:, -1]
    return pairs[apart <= share * scale[where.reshape(pairs.shape)].min(axis=1, initial=np.inf)]


def _distances(rows: Floats, chosen: Integers) -> Floats:
    """Distances (c, 10) of the chosen rows to their nearest others, ascending."""
    norms = np.einsum("ij,ij->i", rows, rows)
    nearest = np.empty((len(chosen), SURROUNDINGS))
    step = max(1, CHUNK_ELEMENTS // len(rows))
    for start in range(0, len(chosen), step):
        queries = chosen[start : start + step]
        squared = norms - 2.0 * (rows[queries] @ rows.T) + norms[queries, None]
        squared[np.arange(len(queries)), queries] = np.inf
        lowest = np.partition(squared, SURROUNDINGS - 1, axis=1)[:, :SURROUNDINGS]
        nearest[start : start + step] = np.sqrt(np.maximum(np.sort(lowest, axis=1), 0.0))
    return nearest


def _lengths(rows: Floats, pairs: Integers) -> Floats:
    """Distance (p,) of each pair."""
    apart = np.empty(len(pairs))
    step = max(1, CHUNK_ELEMENTS // rows.shape[1])
    for start in range(0, len(pairs), step):
        left, right = pairs[start : start + step].T
        apart[start : start + step] = np.linalg.norm(rows[left] - rows[right], axis=1)
    return apart


def _components(pairs: Integers, m: int) -> Integers:
    """Connected component (m,) of each of m rows, linked by pairs."""
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(m, m))
    return connected_components(links, directed=False)[1].astype(np.int64)


def _numbered(group: Integers) -> Integers:
    """Groups numbered from 0 in the order of their first rows; −1 stays."""
    inside = group >= 0
    codes, _ = pd.factorize(group[inside])
    numbered = np.full(len(group), -1, np.int64)
    numbered[inside] = codes
    return numbered


def _conflicts(group: Integers, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """(n,) whether the group of a row has more than one label."""
    inside = group >= 0
    frame = pd.DataFrame({"group": group[inside], "label": pd.factorize(labels)[0][inside]})
    conflicting = np.zeros(len(group), bool)
    conflicting[inside] = frame.groupby("group")["label"].transform("nunique").to_numpy() > 1
    return conflicting
