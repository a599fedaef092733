"""Data sets that are formulas: their rows are drawn.

Where a data set is published, the drawn rows are equivalent to the published ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Of `houses`: its towns on the map, the share of districts around them, and the highest price.
TOWNS = np.array([[1.5, 7.0], [3.0, 2.0], [7.0, 5.0]])
IN_TOWN = 0.6
CEILING = 5.0

# Of `heavy_tails`: the share of the rarer class before the noise, and what the best rule reaches.
RARE_SHARE = 0.25
BAYES_ACCURACY = 0.93


def two_d_planes(rows: int, seed: int) -> pd.DataFrame:
    """Draw ``2dplanes`` of Breiman et al. (1984): columns x1..x10 and the numeric target y.

    x1 is ±1; x2..x10 are −1, 0 or 1; all independent and uniform. With ε ~ N(0, 1),
    y = 3 + 3·x2 + 2·x3 + x4 + ε where x1 = +1 and y = −3 + 3·x5 + 2·x6 + x7 + ε where x1 = −1.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(rows, 10)).astype(np.float64)
    X[:, 0] = rng.choice([-1.0, 1.0], size=rows)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(1, 11)])
    return frame.assign(y=planes_mean(X) + rng.normal(size=rows))


def planes_mean(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean target (rows,) of ``2dplanes`` at x1..x10, (rows, 10)."""
    upper = 3 + X[:, 1:4] @ [3.0, 2.0, 1.0]
    lower = -3 + X[:, 4:7] @ [3.0, 2.0, 1.0]
    return np.where(X[:, 0] > 0, upper, lower)


def friedman(rows: int, seed: int) -> pd.DataFrame:
    """Draw ``fried`` of Friedman (1991): uniform X1..X10, of which five carry signal, and Y.

    Y = 10·sin(π·X1·X2) + 20·(X3 − ½)² + 10·X4 + 5·X5 + ε with ε ~ N(0, 1).
    """
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n_samples=rows, n_features=10, noise=1.0, random_state=seed)
    return pd.DataFrame(X, columns=[f"X{j}" for j in range(1, 11)]).assign(Y=y)


def houses(rows: int, seed: int) -> pd.DataFrame:
    """Draw districts like those of California housing: eight columns and the median price.

    Incomes, populations and occupants are log-normal, rooms grow with the income, and districts
    crowd around three towns. The logarithm of the price is linear in those of income and occupants,
    plus a smooth surface over the map (towns and a coast in the west) and noise N(0, 0.15²). As in
    the census, no price is above a ceiling.
    """
    rng = np.random.default_rng(seed)
    place = np.where(
        rng.uniform(size=(rows, 1)) < IN_TOWN,
        TOWNS[rng.integers(len(TOWNS), size=rows)] + rng.normal(size=(rows, 2)),
        rng.uniform(0, 10, size=(rows, 2)),
    )
    squares = ((place[:, None] - TOWNS) ** 2).sum(axis=2)
    surface = 0.6 * np.exp(-squares / 4).sum(axis=1) + 0.6 / (1 + np.exp(place[:, 0] - 2))
    income = rng.lognormal(np.log(3.5) + 0.3 * surface, 0.45)
    rooms = 5 * (income / 3.5) ** 0.4 * rng.lognormal(0, 0.2, size=rows)
    occupants = rng.lognormal(np.log(2.8), 0.35, size=rows)
    growth = 0.7 * np.log(income / 3.5) - 0.5 * np.log(occupants / 2.8) + surface
    price = 1.3 * np.exp(growth + rng.normal(0, 0.15, size=rows))
    return pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(1, 53, size=rows).astype(np.float64),
            "rooms": rooms,
            "bedrooms": 0.2 * rooms * rng.lognormal(0, 0.15, size=rows),
            "population": rng.lognormal(np.log(1200), 0.9, size=rows),
            "occupants": occupants,
            "east": place[:, 0],
            "north": place[:, 1],
            "price": np.minimum(price, CEILING),
        }
    )


def heavy_tails(rows: int, seed: int) -> pd.DataFrame:
    """Draw a member of our family of tables with heavy tails: x1..x12 and a class, rare or common.

    The columns are independent: three Student t, three log-normal, two Pareto, two normal and two
    uniform. A sum of five terms decides the class: thresholds, products and ratios of the ranks of
    seven or eight columns. The class is uncertain where the sum is close to its cut, so that the
    best rule is right in 93 % of the rows. The seed draws the member (tails, columns, terms) and
    the rows.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    structure, draws = np.random.default_rng(seed).spawn(2)
    columns = _heavy_columns(structure)
    ranks = draws.uniform(size=(rows, len(columns)))
    total = _sum_of_terms(ranks, structure)
    total -= np.quantile(total, 1 - RARE_SHARE)

    def excess(width: float) -> float:
        return float(expit(np.abs(total) / width).mean()) - BAYES_ACCURACY

    width = brentq(excess, 1e-3, 10.0)
    rare = draws.uniform(size=rows) < expit(total / width)
    X = {f"x{j + 1}": column.ppf(ranks[:, j]) for j, column in enumerate(columns)}
    return pd.DataFrame(X).assign(y=np.where(rare, "rare", "common"))


def _heavy_columns(rng: np.random.Generator) -> list[Any]:
    """Twelve distributions of scipy, in an order that is drawn."""
    from scipy import stats

    distributions = [
        *(stats.t(freedom) for freedom in rng.uniform(1.5, 3.0, size=3)),
        *(stats.lognorm(spread) for spread in rng.uniform(1.0, 1.5, size=3)),
        *(stats.pareto(tail) for tail in rng.uniform(1.5, 2.5, size=2)),
        *(stats.norm(), stats.norm(), stats.uniform(), stats.uniform()),
    ]
    return [distributions[k] for k in rng.permutation(len(distributions))]


def _sum_of_terms(ranks: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Two thresholds, a product, a ratio and one more term, each of columns of its own; (rows,)."""
    kinds = list(TERMS)
    chosen = [*kinds, "threshold", kinds[rng.integers(len(kinds))]]
    free = iter(rng.permutation(ranks.shape[1]))
    total = np.zeros(len(ranks))
    for kind in chosen:
        columns, term = TERMS[kind]
        weight = rng.choice([-1.0, 1.0]) * rng.uniform(0.7, 1.3)
        cuts = rng.uniform(0.3, 0.7, size=columns)
        total += weight * term(ranks[:, [next(free) for _ in range(columns)]].T, cuts)
    return total


# Of `heavy_tails`: how many columns a term has, and its formula of their ranks and of cuts.
TERMS: dict[str, tuple[int, Callable[..., NDArray[np.float64]]]] = {
    "threshold": (1, lambda u, cuts: np.sign(u[0] - cuts[0])),
    "product": (2, lambda u, cuts: 5 * (u[0] - cuts[0]) * (u[1] - cuts[1])),
    "ratio": (2, lambda u, cuts: np.tanh(np.log(u[0] / u[1]) + cuts[0] - cuts[1])),
}

FORMULAS: dict[str, Callable[[int, int], pd.DataFrame]] = {
    "2dplanes": two_d_planes,
    "friedman": friedman,
    "houses": houses,
    "heavy_tails": heavy_tails,
}
