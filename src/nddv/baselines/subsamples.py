"""Values from the utilities of randomly drawn coalitions: with a point minus without it.

- ``data_banzhaf``: every point is in a coalition with probability one half.
- ``influence_subsample``: every coalition has the same size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nddv.coalitions import Game
from nddv.support.settings import Count, Share, checked
from nddv.values import Values


@checked
def data_banzhaf(game: Game, rng: np.random.Generator, *, num_models: Count = 1000) -> Values:
    """Data Banzhaf values by maximum sample reuse (Wang and Jia 2023, AISTATS).

    φ_i = 2^{1−n} Σ_{S ⊆ N∖i} [U(S ∪ i) − U(S)], estimated by the mean of U over the drawn
    coalitions with i minus the mean over those without, where each coalition serves all points.

    Parameters
    ----------
    num_models : coalitions drawn.
    """
    members = rng.random((num_models, game.n)) < 0.5
    return Values(*difference_of_means(members, game.utilities(members)), {"fits": num_models})


@checked
def influence_subsample(
    game: Game, rng: np.random.Generator, *, num_models: Count = 1000, proportion: Share = 0.7
) -> Values:
    """Influence estimated by subsampling (Feldman and Zhang 2020, NeurIPS).

    φ_i = E[U(S) | i ∈ S] − E[U(S) | i ∉ S] over uniformly drawn S of size round(proportion·n). The
    paper takes the influence on one validation point, this the influence on the utility.

    Parameters
    ----------
    num_models : coalitions drawn.
    proportion : share of the points in a coalition.
    """
    size = round(proportion * game.n)
    if not 0 < size < game.n:
        raise ValueError(
            f"proportion={proportion} of {game.n} points is {size} points, so that no point is "
            "both drawn and left out; choose another proportion"
        )
    ranks = rng.permuted(np.broadcast_to(np.arange(game.n), (num_models, game.n)), axis=1)
    members = ranks < size
    return Values(*difference_of_means(members, game.utilities(members)), {"fits": num_models})


def difference_of_means(
    members: NDArray[np.bool_], utilities: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean utility of the coalitions with a point minus that of the coalitions without it.

    Parameters
    ----------
    members : (B, n) whether a point is in the coalition.
    utilities : (B,).

    Returns
    -------
    (n,) differences and (n,) standard errors of two samples with variances of their own.
    """
    centred = utilities - utilities.mean()
    powers = np.stack([np.ones_like(centred), centred, centred**2])
    # Not a matrix product: for one this small the threads of BLAS cost more than the arithmetic.
    sums = np.einsum("kb,bn->kn", powers, members)
    counts, with_point = np.stack([sums[0], len(members) - sums[0]]), sums[1:]
    if counts.min() < 2:
        raise ValueError(
            f"{np.sum(counts.min(axis=0) < 2)} points are in fewer than two of the {len(members)} "
            "coalitions or missing from fewer than two; draw more (num_models)"
        )
    without = powers[1:].sum(axis=1)[:, None] - with_point
    mean, square = np.stack([with_point, without], axis=1) / counts
    variance = np.maximum(square - mean**2, 0.0) / (counts - 1)
    return mean[0] - mean[1], np.sqrt(variance.sum(axis=0))
