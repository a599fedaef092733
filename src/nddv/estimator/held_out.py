"""What models say of rows that they were not trained on: every row is held out once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nddv.dynamics.runs import Run
from nddv.estimator.folds import train_folds
from nddv.estimator.planning import plan_without
from nddv.estimator.settings import Settings

Index = NDArray[np.intp]
Scores = NDArray[np.float64]

BLOCK = 256  # rows of a block


def stratified_parts(codes: Index, count: int, rng: np.random.Generator) -> list[Index]:
    """Rows (n,) in `count` parts; each has its share of every class, to a row."""
    order = np.lexsort((rng.random(len(codes)), codes))
    places = np.empty(len(codes), dtype=np.intp)
    places[order] = np.arange(len(codes)) % count
    return [np.flatnonzero(places == k) for k in range(count)]


def blocks(n: int, count: int, rng: np.random.Generator) -> list[Index]:
    """Rows in `count` parts of whole blocks: rows on disk are then read in contiguous pieces."""
    numbers = np.arange(n) // max(1, min(BLOCK, n // (4 * count)))
    places = rng.permutation(numbers[-1] + 1) % count
    return [np.flatnonzero(places[numbers] == k) for k in range(count)]


def held_out_scores(
    settings: Settings, X: Any, y: Any, parts: Sequence[Index], others: Any = None
) -> tuple[Scores, Scores | None]:
    """Class scores (n, C) of every row by the model that was trained without its part.

    Parameters
    ----------
    settings : of the models; `settings.progress` shows how far they are.
    X, y : (n, d) rows and (n,) labels, as in `NDDV.fit`.
    parts : of the rows; all of them together are the rows.
    others : (m, d) further rows that no model is trained on. Each is scored by one of the models,
        in turn, as the rows are.

    Returns
    -------
    Scores of the rows, and of the others (None without any); see `NDDV.class_scores`.
    """
    plans = plan_without(settings, X, y, parts)
    scores = np.zeros((sum(map(len, parts)), plans[0][0].flow.outputs))
    more = None if others is None else np.zeros((len(others), scores.shape[1]))
    total = sum(plan.training.epochs * plan.training.members for plan, _ in plans)
    with tqdm(total=total, desc="held-out runs", unit="step", disable=not settings.progress) as bar:

        def count(run: Run) -> None:
            bar.update()

        for k, ((plan, held), part) in enumerate(zip(plans, parts, strict=True)):
            (fold,) = train_folds([plan], count)
            scores[part] = fold.class_scores(held)
            if more is not None:
                more[k :: len(parts)] = fold.class_scores(others[k :: len(parts)])
    return scores, more
