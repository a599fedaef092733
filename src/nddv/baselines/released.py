"""The procedure that the paper's authors released, as it runs in effect.

Written from a description of what that code computes, not from the code. Its class with a weight
map, nominally, trains a flow and the map by look-ahead on meta data. In effect

- the look-ahead network is the network itself: the step on every k-th batch is the only one that
  changes anything, save for the k − 1 steps before the first; the mean field is off in it;
- nothing that is differentiated depends on the weight map: it stays as it was drawn;
- the gradients of the head cancel: it stays as it was drawn, up to rounding;
- of the meta data only the features enter, by the running statistics of BatchNorm;
- the score of a point is a function of its output probabilities.

``tests/unit/test_baselines_released.py`` shows each of these. Two things are not described: in
which batches meta data are read (here like the training points, over and over) and the random
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nddv.baselines.released_flow import Flow, Row, surrogate
from nddv.support.settings import Count, checked, choice
from nddv.values import NoValues, Values

GENERIC = Row()
ROWS = {
    "2dplanes": Row(every=4, steps=3, weight_decay=2.9e-4, meta_hidden=100),
    "electricity": Row(every=4, weight_decay=1e-4, weighted=False),
    "pol": Row(every=4, steps=3),
    "fire": Row(every=4, weight_decay=1e-4),
    "bbc": Row(batch_size=100),
    "imdb": Row(steps=3, weight_decay=1e-4),
    "stl10": Row(batch_size=100, steps=1, head="sigmoid"),
    "cifar10": Row(steps=1, weight_decay=8e-4, meta_hidden=100, head="sigmoid", interaction=0.1),
}
"""The settings that the released notebooks print, for 10 % label noise, of the data sets that we
have; any other has the defaults of the class."""

LEARNING_RATE = 0.01
DECAYS = ((0.6, 0.1), (0.8, 0.01))
"""From this share of the epochs on, this factor of the learning rate."""


@checked
def released(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_meta: NDArray[np.floating],
    dataset: str,
    rng: np.random.Generator,
    *,
    row: Annotated[
        str,
        choice(
            "auto",
            "generic",
            "2dplanes",
            "electricity",
            "pol",
            "fire",
            "bbc",
            "imdb",
            "stl10",
            "cifar10",
        ),
    ] = "auto",
    epochs: Count = 50,
) -> Values:
    """NDDV as released: the values are the centered scores after the last epoch.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes.
    X_meta : (m, d) features of the meta points.
    dataset : name of the data set, perhaps with an encoder, as in ``bbc@minilm``.
    row : data set whose printed settings are taken; auto takes those of the data set itself, and
        generic the defaults of the class.
    epochs : passes through the training points.
    """
    named = dataset.partition("@")[0] if row == "auto" else row
    chosen = ROWS.get(named, GENERIC)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise NoValues("the released procedure needs at least two classes")
    points = torch.as_tensor(np.asarray(X, dtype=np.float32))
    labels = torch.as_tensor(codes)
    meta = torch.as_tensor(np.asarray(X_meta, dtype=np.float32))
    flow = Flow(points.shape[1], len(classes), chosen, rng)
    updates = train(flow, points, labels, meta, epochs, rng)
    scores = score(flow, points, labels)
    record = {"fits": 1, "row": named if named in ROWS else "generic", "updates": updates}
    return Values.centered(scores, None, record)


def train(
    flow: Flow, points: Tensor, labels: Tensor, meta: Tensor, epochs: int, rng: np.random.Generator
) -> int:
    """Train a flow; the number of steps that changed its parameters.

    AdamW takes the steps before the first look-ahead. Each later step is Adam's, with the moments
    of the earlier ones: AdamW without weight decay.
    """
    row = flow.row
    optimizer = torch.optim.AdamW(flow.learned(), LEARNING_RATE, weight_decay=row.weight_decay)
    meta_batches = _cycled(meta, row.batch_size, rng)
    looked_ahead, updates = False, 0

    def step(x: Tensor, target: Tensor, mean: Tensor | None) -> Tensor:
        """One update; the sum (d,) of the weighted last states."""
        path = flow(x, mean)
        cost, weights = surrogate(flow, path, target)
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        return weights @ path.states[-1].detach()

    # At first a random pull for each position in the epoch, then one vector for all.
    mean = torch.as_tensor(rng.normal(size=points.shape), dtype=points.dtype)
    flow.train()
    for epoch in range(epochs):
        factor = min([1.0, *(factor for share, factor in DECAYS if epoch >= share * epochs)])
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * factor
        order = torch.as_tensor(rng.permutation(len(points)))
        pulls = mean.split(row.batch_size) if epoch == 0 else None
        total = torch.zeros(points.shape[1])
        for i, batch in enumerate(order.split(row.batch_size)):
            x, target = points[batch], labels[batch]
            if (i + 1) % row.every == 0:
                flow.train()
                optimizer.param_groups[0]["weight_decay"] = 0.0
                step(x, target, None)
                looked_ahead, updates = True, updates + 1
                with torch.no_grad():
                    flow(next(meta_batches))
            pull = pulls[i] if pulls else mean
            if looked_ahead:  # the optimiser's step would change tensors that nothing uses
                with torch.no_grad():
                    last = flow(x, pull).states[-1]
                    total += flow.weights(flow.losses(flow.output(last), target)) @ last
            else:
                total += step(x, target, pull)
                updates += 1
        mean = total / len(points)
        flow.eval()  # the test accuracy of the epoch is measured, and this mode stays
    return updates


def _cycled(points: Tensor, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """Batches in random order, the last one smaller, over and over."""
    while True:
        for batch in torch.as_tensor(rng.permutation(len(points))).split(size):
            yield points[batch]


@torch.no_grad()
def score(flow: Flow, points: Tensor, labels: Tensor) -> NDArray[np.float64]:
    """Scores (n,) by a trained flow, in batches, without the mean field."""
    flow.eval()
    size = flow.row.batch_size
    parts = [
        score_of_output(flow.output(flow(x).states[-1]).double(), target)
        for x, target in zip(points.split(size), labels.split(size), strict=True)
    ]
    return torch.cat(parts).numpy()


def score_of_output(output: Tensor, labels: Tensor) -> Tensor:
    """The scores (b,) of a batch by its outputs (b, C): mean_c −p_c·∂L/∂p_c.

    L is the mean of the batch: over b·2 binary cross-entropies for two classes, with torch's limit
    1e-12 of p(1 − p), else over b cross-entropies that take p for logits. So the scores of a
    smaller batch are larger. With p_y the output of the point's label they are, for two classes,
    (2 − 1/p_y)/4b by a softmax; for more, (p_y − p·softmax(p))/bC.
    """
    targets = nn.functional.one_hot(labels, output.shape[1])
    if output.shape[1] == 2:
        slopes = (output - targets) / (output * (1 - output)).clamp(min=1e-12) / 2
    else:
        slopes = output.softmax(1) - targets
    return -(output * slopes).mean(1) / len(output)
