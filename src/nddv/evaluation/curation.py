"""Curation: how removing or adding points by value changes a model that is trained afterwards.

Points are removed from the training set, or added to an empty one, in the order of their values. At
every step the downstream logistic regression is fitted again and scored on the test part
(fig:corrupt_remove_add_exp). Every point keeps the label that the method saw, corrupted or not.
Only the chosen points are trained on; the released code's `add_high_value` trains on all points at
every step.

- remove_low: good values raise the curve above that of random orders (harmful points go first).
- remove_high: good values lower it (useful points go first).
- add_high: good values raise it.
- add_low: good values lower it.

The k points that are added lowest first are those left after the n − k highest were removed. Ties
are broken once per method, so the curves share many of their fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nddv.coalitions import Engine
from nddv.coalitions.predict import scores
from nddv.evaluation.detection import order_lowest_first
from nddv.evaluation.thresholds import Codes, Flags, Floats
from nddv.problems.problem import Problem
from nddv.support.settings import UTILITIES
from nddv.values import Values

DIRECTIONS = ("remove_low", "remove_high", "add_high", "add_low")
GOOD = {"remove_low": 1, "remove_high": -1, "add_high": 1, "add_low": -1}
"""Sign of the area between a curve and that of random orders, for good values."""

SHARES = {"remove": np.linspace(0, 0.5, 21).round(3), "add": np.linspace(0, 1, 21).round(3)}
"""Shares of the training points that are removed or added."""

MEASURES = ("accuracy", "log_likelihood")
"""The utilities whose curves are drawn."""

CONTROL = "random-order"
DRAWS = 10

TIES = 2  # stream of random numbers, the same as for detection, so that both break ties alike
ORDERS = 20  # stream of the random orders


def curation_curves(
    problem: Problem,
    values: Sequence[Values],
    seed: int,
    draws: int = DRAWS,
    C: float = 1.0,
    device: str = "cpu",
    dtype: str = "float64",
) -> pd.DataFrame:
    """Test scores after removing and adding points by the values of many methods.

    Parameters
    ----------
    problem : its test part is predicted; methods must not have seen it.
    values : of any methods; a record with a ``gap`` becomes rows with its reason.
    seed : breaks ties, alike for all methods, and draws the random orders.
    draws : random orders, each used in every direction.
    C, device, dtype : of the downstream logistic regression.

    Returns
    -------
    One row per method, direction and step: method, seed, ``draw`` (which random order; 0
    for a method), direction, ``share`` removed or added, ``size`` of the training set, accuracy,
    log_likelihood, gap. A method without values has one row per direction, with the reason and no
    numbers. ``chance_accuracy`` and ``chance_log_likelihood`` belong to a prediction that knows
    only the class frequencies of the test part.
    """
    if draws < 2:
        raise ValueError(f"the spread of random orders needs at least 2 draws, got {draws}")
    n = len(problem.y_train)
    usable = [valued for valued in values if not valued.record.get("gap")]
    for valued in usable:
        if valued.values.shape != (n,):
            raise ValueError(
                f"{valued.record['method']}: {len(valued.values)} values for {n} training points"
            )
    rng = np.random.default_rng([seed, ORDERS])
    orders = [order_lowest_first(v.values, np.random.default_rng([seed, TIES])) for v in usable]
    orders += [rng.permutation(n) for _ in range(draws)]
    labels = [(valued.record["method"], 0) for valued in usable]
    labels += [(CONTROL, draw) for draw in range(draws)]
    names = pd.DataFrame(labels, columns=["method", "draw"])
    steps = pd.DataFrame(
        [(name, share) for name in DIRECTIONS for share in SHARES[name.partition("_")[0]]],
        columns=["direction", "share"],
    )
    # (orders, steps of all directions, n): who is trained on
    weights = np.concatenate([_members(np.stack(orders), name) for name in DIRECTIONS], axis=1)
    rows = names.merge(steps, how="cross")
    rows["size"] = weights.sum(axis=2).ravel()
    rows[list(MEASURES)] = _test_scores(problem, weights.reshape(-1, n), C, device, dtype)
    rows["gap"] = ""
    gaps = {v.record["method"]: v.record["gap"] for v in values if v.record.get("gap")}
    if gaps:
        absent = pd.DataFrame(gaps.items(), columns=["method", "gap"]).assign(draw=0)
        absent = absent.merge(pd.DataFrame({"direction": DIRECTIONS}), how="cross")
        rows = pd.concat([rows, absent], ignore_index=True)
    frequencies = np.unique(problem.y_test, return_counts=True)[1] / len(problem.y_test)
    return rows.assign(
        seed=seed,
        chance_accuracy=frequencies.max(),
        chance_log_likelihood=frequencies @ np.log(frequencies),
    )


def _members(orders: Codes, direction: str) -> Flags:
    """Coalitions (orders, steps, n) of one direction, for orders (orders, n) lowest first."""
    task, _, end = direction.partition("_")
    n = orders.shape[1]
    taken = np.rint(SHARES[task] * n)[:, None]
    rank = np.argsort(orders, axis=1)[:, None]
    if end == "high":
        rank = n - 1 - rank
    return rank < taken if task == "add" else rank >= taken


def _test_scores(problem: Problem, weights: Flags, C: float, device: str, dtype: str) -> Floats:
    """Accuracy and log-likelihood (B, 2) on the test part of coalitions (B, n), equal ones once."""
    _, first, which = np.unique(
        np.packbits(weights, axis=1), axis=0, return_index=True, return_inverse=True
    )
    labels = problem.y_train, problem.y_test
    known = problem.record.get("classes") or range(1 + int(max(y.max() for y in labels)))
    fits = Engine(problem.X_train, labels[0], len(known), C, device, dtype).fit(weights[first])
    columns = [UTILITIES.index(measure) for measure in MEASURES]
    return scores(fits, problem.X_test, labels[1], device)[which.ravel()][:, columns]


def curation_scores(curves: pd.DataFrame) -> pd.DataFrame:
    """One number per curve: the mean height above the curve of random orders.

    It is the area between the two curves, divided by the range of shares, in units of the measure:
    0.02 of accuracy means two points in a hundred more, on average over the steps. Good values make
    it *positive* for remove_low and add_high, and *negative* for remove_high and add_low
    (``GOOD``). Values without information give 0 on average, with the spread ``random_<measure>``
    of a single random order.

    ``curves`` are those of :func:`curation_curves`, of one or several seeds. The result has one row
    per method, seed and direction: ``accuracy`` and ``log_likelihood`` are areas,
    ``random_accuracy`` and ``random_log_likelihood`` the standard deviations of the areas of random
    orders; gap as in the curves.
    """
    scored = []
    # An empty reason comes back from a file as a missing one.
    for seed, of_seed in curves.fillna({"gap": ""}).groupby("seed", sort=False):
        control = of_seed[of_seed["method"] == CONTROL]
        for direction in DIRECTIONS:
            # Random orders have no high and low end: both are draws of one curve.
            ends = control[control["direction"].str.startswith(direction.partition("_")[0])]
            reference = ends.groupby("share")[list(MEASURES)].mean()
            drawn = [_areas(part, reference) for _, part in ends.groupby(["direction", "draw"])]
            spread = np.std(drawn, axis=0, ddof=1)
            rows = of_seed[(of_seed["direction"] == direction) & (of_seed["method"] != CONTROL)]
            for method, curve in rows.groupby("method", sort=False):
                gap = str(curve["gap"].iloc[0])
                areas = np.full(len(MEASURES), np.nan) if gap else _areas(curve, reference)
                scored.append([method, seed, direction, *areas, *spread, gap])
    columns = ["method", "seed", "direction", *MEASURES, *(f"random_{m}" for m in MEASURES), "gap"]
    return pd.DataFrame(scored, columns=columns)


def _areas(curve: pd.DataFrame, reference: pd.DataFrame) -> Floats:
    """Mean heights (2,) of a curve above the reference, by the trapezoidal rule."""
    above = curve.set_index("share")[list(MEASURES)] - reference
    share = above.index.to_numpy()
    return np.trapezoid(above.to_numpy(), share, axis=0) / (share[-1] - share[0])


def curation_tables(
    problems: Mapping[int, Problem],
    values: Sequence[Values],
    address: Mapping[str, Any],
    **settings: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves and their areas, of every values file of one problem, by its seeds.

    address : ``dataset``, ``n`` and ``corruption``: the first columns of both tables.
    settings : of :func:`curation_curves`.
    """
    of_seeds = {seed: [v for v in values if int(v.record["seed"]) == seed] for seed in problems}
    curves = pd.concat(
        [curation_curves(problems[seed], of_seeds[seed], seed, **settings) for seed in problems],
        ignore_index=True,
    )
    first = [*address, "method", "seed"]
    tables = [frame.assign(**address) for frame in (curves, curation_scores(curves))]
    curves, areas = (t[[*first, *t.columns.difference(first, sort=False)]] for t in tables)
    return curves, areas
