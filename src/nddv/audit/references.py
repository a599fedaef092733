"""Semi-values of the downstream regression that are precise enough to compare scores with.

All points have a marginal at every drawn coalition (:mod:`nddv.coalitions.contexts`), for all
utilities at once. The noise of classes that appear is removed (:mod:`nddv.audit.absence`).

Predicted marginals are corrected by their errors at other coalitions where that is cheap. Where
fits have very many parameters, it is not: there the predictions stand, and are checked by fits, and
drawing ends when the values by log-likelihood are reliable. Accuracy, which changes in steps, would
take twenty times the draws. It has the reliability that these draws give it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from nddv.audit.absence import Absence
from nddv.audit.context import point_gaps
from nddv.audit.ranks import correlation
from nddv.coalitions.contexts import Contexts, Marginals
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.predict import scores
from nddv.coalitions.sampling import (
    COST_OF_ERRORS,
    LEAST_WEIGHT,
    PILOT,
    Cell,
    Estimate,
    Limits,
    sample,
)
from nddv.coalitions.strata import Stratum, octaves
from nddv.laws import Law
from nddv.support.settings import UTILITIES

Array = NDArray[np.float64]

PREDICTED = "predicted"
"""The kind of cells of predicted marginals."""

LEAST_OCTAVE = 0.003
"""Weight of an octave below which it joins the next. Small coalitions are cheap, and vary most."""

MOST_PARAMETERS = 1000
"""Of a fit. With more, the errors of predictions at one coalition take many seconds."""

WAITED_FOR = ("log_likelihood",)
"""Utilities whose values must be reliable even where coalitions are expensive."""

SPLITS = 10
"""Random splits of the draws whose halves are compared."""

LOOK_AGAIN = 1.1
"""The reliability of ranks is computed again when there are so many times the draws."""

CHECKED = 100
"""Points whose predicted marginals are checked by fits."""


@dataclass(frozen=True)
class Sampled:
    """Semi-values by drawn coalitions."""

    estimate: Estimate  # without the noise of classes that appear
    met: list[Cell]  # the same draws as they were met
    sizes: list[NDArray[np.intp]]  # of the coalitions of each cell, (M,)
    reliability: Array  # (U,) of the ranks of the values, by split halves
    stretch: float  # how many times wider than marginals the draws may be


def correctable(game: LogisticGame) -> bool:
    """Whether the errors of predictions are cheap enough to be sampled too."""
    return game.engine.n_logits * (min(game.n, game.engine.d) + 1) <= MOST_PARAMETERS


def sample_reference(
    contexts: Contexts,
    law: Law,
    loo: Array,
    rng: np.random.Generator,
    limits: Limits,
    corrected: bool = True,
    absence: Absence | None = None,
) -> Sampled:
    """Draw coalitions of a law until the ranks of the values are reliable.

    Parameters
    ----------
    limits : their ``reliability`` is that of :func:`rank_reliability`.
    loo : (n, U) exact leave-one-out marginals: those at the coalition of all.
    corrected : also draw the errors of predictions, which makes the values unbiased.
    """
    utilities = contexts.utilities
    wanted = utilities if corrected else WAITED_FOR
    watched = [u for u, name in enumerate(utilities) if name in wanted]
    plain = _cells(contexts, law, loo, corrected)
    met: list[list[Array]] = [[] for _ in plain]
    sizes: list[list[int]] = [[] for _ in plain]
    freed: list[list[Array]] = [[] for _ in plain]

    def watching(number: int, cell: Cell) -> Cell:
        """A cell that shows the sampler only the utilities that must become reliable.

        It ends the sampling when their ranks are.
        """

        def found(members: NDArray[np.bool_]) -> Marginals:
            if ranks.known([replace(c, draws=d) for c, d in zip(plain, freed, strict=True)]):
                raise _Reliable
            drawn = cell.marginals(members)
            free = drawn.marginals
            if absence is not None and cell.kind == PREDICTED:
                free = free - absence.surplus(members, cell.stratum)
            met[number].extend(drawn.marginals)
            sizes[number].extend(members.sum(axis=1))
            freed[number].extend(free)
            return Marginals(free[..., watched], drawn.refits)

        return replace(cell, marginals=found)

    ranks = _Ranks(limits.reliability, watched)
    cells = [watching(number, cell) for number, cell in enumerate(plain)]
    start, ended = perf_counter(), "reliability"
    with suppress(_Reliable):
        ended = sample(cells, rng, replace(limits, reliability=1.0)).ended
    return _sampled(
        [replace(cell, draws=draws) for cell, draws in zip(cells, freed, strict=True)],
        [replace(cell, draws=draws) for cell, draws in zip(cells, met, strict=True)],
        [np.array(of_cell) for of_cell in sizes],
        rng,
        (perf_counter() - start, ended),
        # no jump is longer than the range of the log-likelihood
        1.0 if absence is None else 2.0,
    )


class _Reliable(Exception):
    """The ranks are as reliable as they must be."""


@dataclass
class _Ranks:
    """Whether the ranks of some utilities are reliable; looked at now and then."""

    wanted: float
    watched: list[int]
    looked: int = 0  # at so many draws

    def known(self, cells: Sequence[Cell]) -> bool:
        """Whether the draws of all cells are enough."""
        drawn = sum(len(cell.draws) for cell in cells)
        few = any(len(c.draws) < (1 if c.single else PILOT) for c in cells)
        if self.wanted >= 1 or few or drawn < LOOK_AGAIN * self.looked:
            return False
        self.looked = drawn
        found = rank_reliability(cells, np.random.default_rng(drawn))[self.watched]
        return bool((found >= self.wanted).all())


def reweighted(
    sampled: Sampled, law: Law, rng: np.random.Generator, absence: Absence | None = None
) -> Sampled:
    """Semi-values of another law from the same draws, each weighted by the ratio of the two laws.

    It must give no size a weight to which the law of the draws gives none, as all Beta laws do.
    """
    freed, met, largest = [], [], 1.0
    for cell, as_met, sizes in zip(sampled.estimate.cells, sampled.met, sampled.sizes, strict=True):
        drawn = cell.stratum
        probabilities = law.sizes(drawn.n)[drawn.sizes]
        weight = float(probabilities.sum())
        stratum = replace(drawn, weight=weight, shares=probabilities / weight)
        every = stratum.shares / drawn.shares
        ratios, largest = every[np.searchsorted(drawn.sizes, sizes)], max(largest, every.max())
        draws = cell.all_draws()
        if absence is not None and cell.kind == PREDICTED:
            # the jumps that were met are weighted too; their mean is that of the other law
            before, after = absence.mean(drawn), absence.mean(stratum)
            draws = ratios[:, None, None] * (draws - before) + after
        else:
            draws = ratios[:, None, None] * draws
        freed.append(replace(cell, stratum=stratum, draws=list(draws)))
        weighted = ratios[:, None, None] * as_met.all_draws()
        met.append(replace(cell, stratum=stratum, draws=list(weighted)))
    stretch = float(largest * sampled.stretch)
    took = sampled.estimate.seconds, sampled.estimate.ended
    return _sampled(freed, met, sampled.sizes, rng, took, stretch)


def _sampled(
    freed: list[Cell],
    met: list[Cell],
    sizes: list[NDArray[np.intp]],
    rng: np.random.Generator,
    took: tuple[float, str],
    stretch: float,
) -> Sampled:
    """What the draws of all utilities say; ``took``: how many seconds, and why drawing ended."""
    each = [point_gaps(freed, utility=u) for u in range(freed[0].all_draws().shape[-1])]
    values = np.stack([of_utility.gap for of_utility in each], axis=1)
    stderr = np.stack([of_utility.stderr for of_utility in each], axis=1)
    estimate = Estimate(values, stderr, freed, *took)
    return Sampled(estimate, met, sizes, rank_reliability(freed, rng), stretch)


def _cells(contexts: Contexts, law: Law, loo: Array, corrected: bool) -> list[Cell]:
    """What is averaged: marginals by octaves of sizes, and perhaps errors of their predictions."""

    def at_all(members: NDArray[np.bool_]) -> Marginals:
        return Marginals(np.repeat(loo[None], len(members), axis=0), np.zeros(len(members), int))

    def cell(stratum: Stratum) -> Cell:
        if not stratum.single:
            return Cell(PREDICTED, stratum, contexts.predicted)
        everyone = stratum.sizes[0] == contexts.n
        return Cell("exact", stratum, at_all if everyone else contexts.exact)

    cells = [cell(stratum) for stratum in octaves(law, contexts.n, least=LEAST_OCTAVE)]
    if corrected:
        strata = octaves(law, contexts.n, factor=4, least=LEAST_WEIGHT)
        drawn = [stratum for stratum in strata if not stratum.single]
        cells += [Cell("errors", s, contexts.errors, COST_OF_ERRORS) for s in drawn]
    return cells


def rank_reliability(
    cells: Sequence[Cell], rng: np.random.Generator, splits: int = SPLITS
) -> Array:
    """Spearman's correlation (U,) that two independent estimates of the values would have.

    The draws of each cell are split into random halves, which give two estimates. Their mean
    correlation r over splits is stepped up to the whole, 2r/(1 + r) (Spearman 1910, Brown 1910).
    NaN where all values are equal.
    """
    if all(cell.single for cell in cells):
        return np.ones(cells[0].all_draws().shape[-1])
    together = [_halves_agree(cells, rng) for _ in range(splits)]
    r = np.maximum(np.mean(together, axis=0), 0.0)
    return np.asarray(2 * r / (1 + r))


def _halves_agree(cells: Sequence[Cell], rng: np.random.Generator) -> Array:
    """Spearman's correlation (U,) of the estimates from two random halves of the draws."""
    halves: list[Array] = []
    drawn = [cell.all_draws() for cell in cells]
    orders = [rng.permutation(len(draws)) for draws in drawn]
    for side in (0, 1):
        half = np.zeros(drawn[0].shape[1:])
        for cell, draws, order in zip(cells, drawn, orders, strict=True):
            some = order if cell.single else order[side::2]
            half += cell.stratum.weight * draws[some].mean(axis=0)
        halves.append(rankdata(half, axis=0))
    a, b = (half - half.mean(axis=0) for half in halves)
    scale = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    return np.divide((a * b).sum(axis=0), scale, out=np.full_like(scale, np.nan), where=scale > 0)


def check_predictions(contexts: Contexts, rng: np.random.Generator) -> dict[str, float]:
    """Spearman's correlation of predicted with fitted marginals, by utility.

    They are those of ``CHECKED`` points at one random coalition of half of the points.
    """
    game, n = contexts.game, contexts.n
    order = rng.permutation(n)
    members = (order < n // 2)[None]
    points = np.sort(rng.choice(n, size=min(CHECKED, n), replace=False))
    with_and_without = np.concatenate([members, members ^ (np.arange(n) == points[:, None])])
    fits = game.engine.fit(with_and_without)
    utilities = scores(fits, game.X_valid, game.y_valid, game.device)
    signs = np.where(members[0, points], -1.0, 1.0)[:, None]
    fitted = signs * (utilities[1:] - utilities[0])
    predicted = contexts.predicted(members).marginals[0, points]
    return {
        name: correlation(predicted[:, u], fitted[:, UTILITIES.index(name)])
        for u, name in enumerate(contexts.utilities)
    }
