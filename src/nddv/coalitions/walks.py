"""Walks that fit some of their prefixes and predict what each point between them adds.

A walk adds the points of an order one by one. The next prefix that is fitted has a share more
points; the marginal of each point between the two is predicted at the first of them, where the
points of the block that come before it are still missing. It is predicted as in
:mod:`nddv.coalitions.expansion`: the loss of the point itself is kept, the rest is expanded to
second order, with the blocks of the Hessian that belong to one logit each. The numbers of the
predicted fit on the validation points are exact, for accuracy too. What the predictions of a block
miss of its sum, which the two fits tell, is shared equally among its points.

A point that brings a new class is a block of its own, so nothing about it is predicted. Small
prefixes have blocks of one point: they are fitted, all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.coalitions.design import Design, Model, Span, hessian_blocks
from nddv.coalitions.game import truncate, within
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.measures import measure, with_absent
from nddv.coalitions.proximal import leverages, probabilities, prox
from nddv.coalitions.threads import apply, workers

TOGETHER = 8
"""Fitted prefixes of a walk that are fitted together."""

Numbers = Callable[[Tensor], Tensor]
"""Logits (b, K, m) of the validation points -> numbers (b, U), such as utilities."""

Enough = Callable[[NDArray[np.float64]], bool]
"""Whether numbers (L, U) of the first prefixes are enough."""


class Walks:
    """Numbers along walks in the coalitions of a logistic game.

    Parameters
    ----------
    game : its points, and the fits.
    numbers : what is wanted of a fit.
    step : a fitted prefix has this share more points than the one before, and at least one more.
    """

    def __init__(self, game: LogisticGame, numbers: Numbers, step: float) -> None:
        self.game, self.numbers, self.step = game, numbers, step
        self.design = Design.of(game).to(torch.float32)

    def along(
        self, begin: NDArray[np.intp], order: NDArray[np.intp], enough: Enough | None = None
    ) -> NDArray[np.float64]:
        """Numbers (L + 1, U) as points join the points ``begin``; L is enough, or all of them.

        Parameters
        ----------
        begin : (s,) points that are there before the walk.
        order : (L,) points that join one by one.
        """
        rows = np.concatenate([begin, order])
        stops = fitted_sizes(self.game.y_train[rows], len(begin), self.step)
        path: list[NDArray[np.float64]] = []
        last, here = self.game.engine.whole, None
        for first in range(0, len(stops), TOGETHER):
            sizes = stops[first : first + TOGETHER]
            seen = rows[: max(1, sizes[-1])]
            fits = self.game.engine.among(seen).fit(np.arange(len(seen)) < sizes[:, None], last)
            last = fits[-1:]
            for size, model in zip(sizes, self.design.models(fits), strict=True):
                now = self._numbers(model, (model.theta @ self.design.V.T)[None])[0]
                there = _Stop(int(size), model, now)
                path.append(self._between(here, there, rows) if here else now[None])
                here = there
            if enough and enough(np.concatenate(path)):
                break
        return np.concatenate(path)

    def _between(self, here: _Stop, there: _Stop, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Numbers (b, U) of the prefixes from the one after ``here`` to ``there``."""
        count = there.size - here.size
        if count == 1:
            return there.numbers[None]
        index = torch.as_tensor(rows[: there.size], device=self.design.X.device)
        near = replace(self.design, X=self.design.X[index], y=self.design.y[index])
        after = self._numbers(here.model, added_logits(near, here.model, here.size))
        gains = after - here.numbers
        missed = there.numbers - here.numbers - gains.sum(axis=0)
        return here.numbers + np.cumsum(gains + missed / count, axis=0)

    def _numbers(self, model: Model, logits: Tensor) -> NDArray[np.float64]:
        """Numbers (b, U) of logits (b, K, m) of the classes that a model has."""
        every = with_absent(logits, model.present, self.design.n_classes)
        return self.numbers(every).numpy(force=True).astype(np.float64)


@dataclass(frozen=True)
class _Stop:
    """A prefix that is fitted."""

    size: int
    model: Model
    numbers: NDArray[np.float64]  # (U,)


def fitted_sizes(y: NDArray[np.integer], begin: int, step: float) -> NDArray[np.intp]:
    """Sizes of the prefixes of points of classes y (n,) that are fitted: from ``begin`` to n.

    A block ends before a point of a new class, and such a point is a block of its own.
    """
    first = np.sort(np.unique(y, return_index=True)[1])  # where each class comes for the first time
    sizes = [begin]
    while (size := sizes[-1]) < len(y):
        ahead = first[first >= size]
        classes = len(first) - len(ahead)
        end = size + (max(1, int(step * size)) if classes > 1 else 1)
        if len(ahead):
            end = min(end, max(int(ahead[0]), size + 1))
        sizes.append(min(end, len(y)))
    return np.array(sizes, dtype=np.intp)


def added_logits(design: Design, model: Model, size: int) -> Tensor:
    """Predicted validation logits (b, K, m) of the fit of the first points with one more each.

    Parameters
    ----------
    design : the first ``size`` points are those of the fit; each of the others is added alone.
    model : the fit, in the coordinates of the design; it has the classes of all points.
    """
    members = torch.arange(len(design.X), device=design.X.device) < size
    span, C = Span.of(design, members), design.C
    inside = span.model(model)
    own = span.X[:size]
    factor = torch.linalg.cholesky(hessian_blocks(inside, own, torch.ones_like(own[:, 0]), C))
    inverse = torch.cholesky_inverse(factor)
    X, distance = span.X[size:], span.distance[size:, None]
    targets = model.targets(design.y[size:]).T
    G = leverages(X, inverse, len(inverse))
    G += torch.diag_embed((distance.square() / model.penalty).expand(-1, len(inverse)))
    a = probabilities(prox(X @ inside.theta.T, C * G, targets)) - targets
    # δ = −C H⁻¹ (a ⊗ x), block by block: (K, b, q)
    change = -C * a.T[:, :, None] * (X @ inverse)
    logits = (inside.theta[:, None] + change) @ span.V.T
    if span.beyond is not None:
        away = -C / model.penalty * a * distance
        logits += away.T[:, :, None] * span.beyond[:, size:].T
    return logits.transpose(0, 1)


def predicted_walk(
    game: LogisticGame, orders: NDArray[np.intp], tolerance: float, step: float
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Utilities of all prefixes of orders, as ``game.walk`` gives them, but most are predicted."""
    with workers(game.device) as threads:
        y_valid = torch.as_tensor(game.y_valid, device=game.device).long()
        walks = Walks(game, lambda logits: measure(logits, y_valid, (game.utility,)), step)
        ends = np.stack([np.zeros(game.n, bool), np.ones(game.n, bool)])
        empty, everyone = game.utilities(ends)

        def enough(utilities: NDArray[np.float64]) -> bool:
            return bool(within(utilities, everyone, tolerance).any())

        def walk(order: NDArray[np.intp]) -> NDArray[np.float64]:
            found = walks.along(order[:0], order[:-1], enough)[:, 0]
            utilities = np.full(game.n + 1, everyone)
            utilities[: len(found)] = found
            utilities[0] = empty
            return utilities

        paths = apply(walk, np.asarray(orders), threads)
    return truncate(np.reshape(paths, (-1, game.n + 1)), tolerance)
