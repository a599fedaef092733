"""Stratified, disjoint, seeded splits, and standardisation by the training part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


def stratified_splits(
    y: NDArray[np.int64], sizes: Mapping[str, int], rng: np.random.Generator
) -> dict[str, NDArray[np.int64]]:
    """Draw disjoint parts that keep the class proportions of ``y`` as closely as whole rows can.

    Parameters
    ----------
    y : (rows,) classes 0..C−1.
    sizes : number of rows of each part; their order is the order of drawing.

    Returns
    -------
    The row numbers of each part, in random order.
    """
    wanted = sum(sizes.values())
    if wanted > len(y):
        parts = " + ".join(f"{size} {part}" for part, size in sizes.items())
        raise ValueError(
            f"{wanted} rows are needed ({parts}), but there are only {len(y)}: "
            "lower n or the sizes of the other parts"
        )
    members = [rng.permutation(np.flatnonzero(y == c)) for c in range(int(y.max()) + 1)]
    # Thin every class to its share of all parts first, so that no part runs a class dry.
    kept = _shares(np.array([len(m) for m in members]), wanted)
    members = [m[:count] for m, count in zip(members, kept, strict=True)]
    parts_drawn = {}
    for part, size in sizes.items():
        take = _shares(np.array([len(m) for m in members]), size)
        rows = np.concatenate([m[:count] for m, count in zip(members, take, strict=True)])
        members = [m[count:] for m, count in zip(members, take, strict=True)]
        parts_drawn[part] = rng.permutation(rows)
    return parts_drawn


def _shares(counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Divide ``size`` in proportion to ``counts`` by largest remainders; never above ``counts``."""
    quota = counts * size / max(int(counts.sum()), 1)
    shares = np.floor(quota).astype(np.int64)
    remainder_order = np.argsort(-(quota - shares), kind="stable")
    shares[remainder_order[: size - int(shares.sum())]] += 1
    return shares


def standardise(
    X_train: NDArray[np.float64], *others: NDArray[np.float64]
) -> list[NDArray[np.float32]]:
    """Give the training part mean 0 and spread 1 per feature, and the other parts the same map.

    A feature that is constant on the training part carries nothing to learn from: it becomes 0 in
    every part, also where another part varies.
    """
    mean = X_train.mean(axis=0)
    spread = X_train.std(axis=0)
    varies = np.ptp(X_train, axis=0) > 0
    scale = np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)
    return [((X - mean) * scale).astype(np.float32) for X in (X_train, *others)]
