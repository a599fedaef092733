"""Data sets that are formulas: their rows are drawn, and equivalent to the published rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd


def two_d_planes(rows: int, seed: int) -> pd.DataFrame:
    """Draw ``2dplanes`` of Breiman et al. (1984): columns x1..x10 and the numeric target y.

    x1 is ±1; x2..x10 are −1, 0 or 1; all independent and uniform. With ε ~ N(0, 1),
    y = 3 + 3·x2 + 2·x3 + x4 + ε where x1 = +1 and y = −3 + 3·x5 + 2·x6 + x7 + ε where x1 = −1.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(rows, 10)).astype(np.float64)
    X[:, 0] = rng.choice([-1.0, 1.0], size=rows)
    upper = 3 + X[:, 1:4] @ [3.0, 2.0, 1.0]
    lower = -3 + X[:, 4:7] @ [3.0, 2.0, 1.0]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(1, 11)])
    return frame.assign(y=np.where(X[:, 0] > 0, upper, lower) + rng.normal(size=rows))


def friedman(rows: int, seed: int) -> pd.DataFrame:
    """Draw ``fried`` of Friedman (1991): uniform X1..X10, of which five carry signal, and Y.

    Y = 10·sin(π·X1·X2) + 20·(X3 − ½)² + 10·X4 + 5·X5 + ε with ε ~ N(0, 1).
    """
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n_samples=rows, n_features=10, noise=1.0, random_state=seed)
    return pd.DataFrame(X, columns=[f"X{j}" for j in range(1, 11)]).assign(Y=y)


FORMULAS: dict[str, Callable[[int, int], pd.DataFrame]] = {
    "2dplanes": two_d_planes,
    "friedman": friedman,
}
