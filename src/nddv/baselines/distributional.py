"""DU-Shapley: Shapley values from random pools, one for each size.

Garrido-Lucero et al., "DU-Shapley: a Shapley value proxy for efficient dataset valuation",
NeurIPS 2024.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from nddv.baselines.leave_one_out import marginals_at_size, predicted_at_size
from nddv.coalitions import Game
from nddv.support.settings import Flag, checked, even
from nddv.values import Values


@checked
def du_shapley(
    game: Game,
    rng: np.random.Generator,
    *,
    num_pools: Annotated[int, even()] = 100,
    predicted: Flag = False,
) -> Values:
    """Discrete uniform Shapley values, each data owner having one point.

    ψ_i = E[U(D_k ∪ i) − U(D_k)] with k uniform on 0, …, n−1 and D_k a random pool of k points
    without i. The paper takes one pool for each k. For single points this is the Shapley value,
    estimated with stratified sizes, and the utility may depend on more than the size.

    Parameters
    ----------
    num_pools : pools drawn. The sizes are cut into half as many strata of equal probability, with
        two pools each: their differences give unbiased standard errors. 2n is two for each size.
    predicted : predict the marginals at a pool from its fit, one Newton or proximal step each
        (:mod:`nddv.coalitions.contexts`), instead of fitting with and without each point. For the
        game of the logistic regression only.

    Notes
    -----
    The cost is ``num_pools · (n + 2)`` fits, points that are not in the pool sharing it; if
    predicted, ``2 · num_pools`` fits and the inverses of their Hessians.
    """
    n, strata = game.n, num_pools // 2
    stratum = np.repeat(np.arange(strata), 2)
    sizes = ((stratum + rng.random(num_pools)) * n / strata).astype(np.intp)
    ranks = rng.permuted(np.broadcast_to(np.arange(n), (num_pools, n)), axis=1)
    if predicted:
        marginals, fits = predicted_at_size(game, ranks, sizes)
    else:
        marginals, fits = marginals_at_size(game, ranks, sizes), num_pools * (n + 2)
    pairs = marginals.reshape(strata, 2, n)
    stderr = np.sqrt((np.diff(pairs, axis=1) ** 2).sum(axis=(0, 1))) / num_pools
    return Values(pairs.mean(axis=(0, 1)), stderr, {"fits": fits})
