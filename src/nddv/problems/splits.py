"""Stratified, disjoint, seeded splits, and standardisation by the training part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.problems.addresses import RELEASED, split_regime

# Values of a feature that lie within this many rounding steps of each other count as equal.
ROUNDING_STEPS = 4


def streams(seed: int) -> list[np.random.Generator]:
    """A stream for splits, for the training part and for the validation part.

    One for each step, so that a change of one step leaves the other draws alone.
    """
    return np.random.default_rng(seed).spawn(3)


def splits_of(
    corruption: str,
    y: NDArray[Any],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
    resample: bool = False,
) -> dict[str, NDArray[np.int64]]:
    """The parts of a problem, in the regime that its corruption names."""
    if split_regime(corruption)[1] == RELEASED:
        return released_splits(y, sizes, rng)
    return stratified_splits(y, sizes, rng, resample)


def stratified_splits(
    y: NDArray[Any],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
    resample: bool = False,
) -> dict[str, NDArray[np.int64]]:
    """Draw parts that share no row and keep the class proportions of ``y``.

    All parts together have the class shares of ``y``. Each part has the class shares of the rows
    that are left when it is drawn, to within one row.

    Parameters
    ----------
    y : (rows,) classes 0..C−1; real numbers are one stratum.
    sizes : number of rows of each part; their order is the order of drawing.
    resample : if there are too few rows, draw rows more than once. The rows are first divided into
        one pool per part, in proportion to the sizes. A part has every row of its pool, and is
        filled up with rows of that pool, drawn with replacement. So parts still share no row.

    Returns
    -------
    The row numbers of each part, in random order.
    """
    wanted = sum(sizes.values())
    strata = np.zeros(len(y), dtype=np.int64) if y.dtype.kind == "f" else y
    if wanted <= len(y):
        return _draw_once(strata, sizes, rng)
    if not resample:
        parts = " + ".join(f"{size} {part}" for part, size in sizes.items())
        raise ValueError(
            f"{wanted} rows are needed ({parts}), but there are only {len(y)}: "
            "lower n or the sizes of the other parts, or draw rows repeatedly with `resample: true`"
        )
    pool_sizes = _shares(np.array(list(sizes.values())), len(y)).tolist()
    if min(pool_sizes) < 1:
        raise ValueError(
            f"{len(y)} rows are too few to give each of {', '.join(sizes)} rows of its own, "
            "even with `resample: true`"
        )
    pools = _draw_once(strata, dict(zip(sizes, pool_sizes, strict=True)), rng)
    return {part: _fill_up(pools[part], strata, size, rng) for part, size in sizes.items()}


def released_splits(
    y: NDArray[Any], sizes: Mapping[str, int], rng: np.random.Generator
) -> dict[str, NDArray[np.int64]]:
    """Draw parts that share no row as the released code does.

    The meta part is drawn first: half of it from class 0, half from all other classes, whatever
    their number. The other parts are drawn from what is left, not stratified.

    Parameters
    ----------
    y : (rows,) classes 0..C−1.
    sizes : number of rows of each part, ``meta`` among them.

    Returns
    -------
    The row numbers of each part, in random order.
    """
    halves = sizes["meta"] // 2, sizes["meta"] - sizes["meta"] // 2
    sides = [rng.permutation(np.flatnonzero(side)) for side in (y == 0, y != 0)]
    for side, half, name in zip(sides, halves, ("of class 0", "of other classes"), strict=True):
        if len(side) < half:
            raise ValueError(f"{half} meta rows {name} are needed, but there are only {len(side)}")
    chosen = [side[:half] for side, half in zip(sides, halves, strict=True)]
    left = rng.permutation(np.concatenate([s[h:] for s, h in zip(sides, halves, strict=True)]))
    others = {part: size for part, size in sizes.items() if part != "meta"}
    if sum(others.values()) > len(left):
        raise ValueError(
            f"{sum(sizes.values())} rows are needed, but there are only {len(y)}, and the released "
            "regime draws none twice: lower n or the sizes of the other parts"
        )
    cuts = np.cumsum(list(others.values()))
    drawn = dict(zip(others, np.split(left[: cuts[-1]], cuts[:-1]), strict=True))
    drawn["meta"] = rng.permutation(np.concatenate(chosen))
    return {part: drawn[part] for part in sizes}


def _draw_once(
    y: NDArray[np.int64], sizes: Mapping[str, int], rng: np.random.Generator
) -> dict[str, NDArray[np.int64]]:
    """Draw parts without replacement."""
    members = [rng.permutation(np.flatnonzero(y == c)) for c in range(int(y.max()) + 1)]
    # First reduce every class to its share of all parts, so that no part uses up a class.
    kept = _shares(np.array([len(m) for m in members]), sum(sizes.values()))
    members = [m[:count] for m, count in zip(members, kept, strict=True)]
    drawn = {}
    for part, size in sizes.items():
        take = _shares(np.array([len(m) for m in members]), size)
        rows = np.concatenate([m[:count] for m, count in zip(members, take, strict=True)])
        members = [m[count:] for m, count in zip(members, take, strict=True)]
        drawn[part] = rng.permutation(rows)
    return drawn


def _fill_up(
    pool: NDArray[np.int64], y: NDArray[np.int64], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Every row of a pool, and further rows with replacement, class by class, up to ``size``."""
    more = _shares(np.bincount(y[pool]), size - len(pool))
    drawn = [rng.choice(pool[y[pool] == c], size=count) for c, count in enumerate(more) if count]
    return rng.permutation(np.concatenate([pool, *drawn]))


def _shares(counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Divide ``size`` in proportion to ``counts`` by largest remainders.

    No share is above its count unless ``size`` is above their sum.
    """
    quota = counts * size / max(int(counts.sum()), 1)
    shares = np.floor(quota).astype(np.int64)
    remainder_order = np.argsort(-(quota - shares), kind="stable")
    shares[remainder_order[: size - int(shares.sum())]] += 1
    return shares


def standardise(
    X_train: NDArray[np.floating[Any]], *others: NDArray[np.floating[Any]]
) -> list[NDArray[np.float32]]:
    """Give the training part mean 0 and spread 1 per feature, and map the other parts alike.

    A feature that is constant on the training part teaches nothing: it becomes 0 in every part,
    even if it varies in another part. Constant means up to rounding, in the precision in which the
    features are stored. If a column holds 0.3 and 0.1 + 0.2, dividing by their spread would turn
    the last digit into a feature, and a real change in another part into 10^16.

    Parameters
    ----------
    X_train : (n, d) floats of any width. The arithmetic is in float64.
    others : (m, d) each.
    """
    train = X_train.astype(np.float64)
    tolerance = ROUNDING_STEPS * float(np.finfo(X_train.dtype).eps)
    varies = np.ptp(train, axis=0) > tolerance * np.abs(train).max(axis=0)
    mean, spread = train.mean(axis=0), train.std(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=varies)

    def standardised(X: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        result = ((X.astype(np.float64) - mean) * scale).astype(np.float32)
        result[:, ~varies] = 0.0  # not −0.0, whose sign a later sum could tell from 0.0
        return result

    return [standardised(X) for X in (X_train, *others)]
