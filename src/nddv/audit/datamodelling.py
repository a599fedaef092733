"""The linear datamodelling score: how well summed values predict what dropping points does.

The protocol of MAGIC (Ilyas & Engstrom 2025, arXiv 2504.16430), after Park et al. 2023 (TRAK):
drop a random share of the training points and train again on the rest. Values predict that the
utility changes by minus the sum of the dropped values. The score is Spearman's ρ of predicted and
actual changes over many subsets, so the scale of the values does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from nddv.coalitions.game import Game

SHARES = (0.01, 0.05, 0.10)


def drop_subsets(n: int, share: float, subsets: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which points are dropped, (subsets, n): each time round(share·n) points, drawn uniformly."""
    size = round(share * n)
    if not 0 < size < n:
        raise ValueError(
            f"share={share} of {n} points is {size} points: at least one must be dropped and one "
            "kept; choose another share or more points"
        )
    ranks = rng.permuted(np.broadcast_to(np.arange(n), (subsets, n)), axis=1)
    return np.asarray(ranks < size)


def linear_datamodelling(
    game: Game,
    values: Mapping[str, NDArray[np.float64]],
    rng: np.random.Generator,
    shares: Sequence[float] = SHARES,
    subsets: int = 50,
) -> pd.DataFrame:
    """Linear datamodelling scores of any number of value vectors, on the same subsets.

    Parameters
    ----------
    game : its utilities are predicted; `RetrainedGame` retrains the NDDV model.
    values : method to (n,) values, higher is better.
    shares : shares of the points that are dropped.
    subsets : random subsets per share; the game evaluates len(shares)·subsets + 1 coalitions.

    Returns
    -------
    One row per share and method: share, dropped (number of points), method, spearman, stderr (of
    spearman, see `spearman_stderr`), subsets. Values that are all equal predict nothing: their
    spearman is nan.
    """
    if not values:
        raise ValueError("no values to score: give at least one method")
    for method, v in values.items():
        if np.shape(v) != (game.n,):
            raise ValueError(f"the values of {method!r} have shape {np.shape(v)}, not ({game.n},)")
        if not np.isfinite(v).all():
            raise ValueError(f"{np.sum(~np.isfinite(v))} values of {method!r} are not finite")
    stacked = np.stack([*values.values()]).astype(np.float64)
    # All subsets of a share have the same size, so a shift of the values keeps the order of sums.
    # It turns equal values into zeros.
    stacked -= stacked[:, :1]
    dropped = [drop_subsets(game.n, share, subsets, rng) for share in shares]
    kept = ~np.concatenate([np.zeros((1, game.n), bool), *dropped])
    utilities = game.utilities(kept)
    changes = (utilities[1:] - utilities[0]).reshape(len(shares), subsets)
    tables = []
    for share, left_out, change in zip(shares, dropped, changes, strict=True):
        rho = spearman(-stacked @ left_out.T, change)
        table = {"share": share, "dropped": left_out[0].sum(), "method": list(values)}
        table |= {"spearman": rho, "stderr": spearman_stderr(rho, subsets), "subsets": subsets}
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


def spearman(predicted: NDArray[np.float64], realised: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spearman's ρ of each row of `predicted` (K, B) with `realised` (B,): (K,).

    A row of equal numbers has no order: nan.
    """
    ranks = rankdata(np.vstack([predicted, realised]), axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    length = np.sqrt((ranks**2).sum(axis=1))
    with np.errstate(invalid="ignore"):
        return np.asarray(ranks[:-1] @ ranks[-1] / (length[:-1] * length[-1]))


def spearman_stderr(rho: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Standard error of Spearman's ρ of `count` pairs.

    √[(1 + ρ²/2)/(count − 3)] on Fisher's scale artanh ρ (Bonett & Wright 2000, Psychometrika 65),
    times 1 − ρ², which brings it to the scale of ρ.
    """
    if count < 4:
        raise ValueError(f"a standard error needs at least 4 subsets, got {count}")
    return np.asarray((1 - rho**2) * np.sqrt((1 + rho**2 / 2) / (count - 3)))
