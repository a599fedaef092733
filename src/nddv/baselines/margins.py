"""Margins along training: a network that fits a wrong label does so late, against the others."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from nddv.baselines.networks import perceptron
from nddv.support.settings import Count, Device, Positive, checked
from nddv.values import NoValues, Values


@checked
def area_under_margin(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    hidden: Count = 256,
    epochs: Count = 20,
    batch_size: Count = 32,
    learning_rate: Positive = 0.01,
    device: Device = "cpu",
) -> Values:
    """AUM, the area under the margin (Pleiss et al. 2020, NeurIPS), of a multilayer perceptron.

    The value of point i is the mean over epochs of its margin z_{y_i} − max_{c ≠ y_i} z_c, with the
    logits z of the step that takes the point, before the step, as in the authors' code. As there,
    the network is trained by SGD with momentum, and not until it has learned all labels by heart.
    The defaults were chosen on 2dplanes and digits with n = 1000, seeds 106 to 109. The authors
    also give some points a class of its own to find a threshold; a ranking needs none.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes.
    hidden : width of the two hidden layers.
    epochs : passes through the training points.
    batch_size : points in a batch.
    learning_rate : of SGD, with a momentum of 0.9.
    device : where to compute.
    """
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise NoValues("a margin needs at least two classes")
    points = torch.as_tensor(np.asarray(X, dtype=np.float32), device=device)
    labels = torch.as_tensor(codes, device=device)
    model = perceptron([points.shape[1], hidden, hidden, len(classes)], rng).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
    total = torch.zeros(len(points), dtype=torch.float64, device=device)
    for _ in range(epochs):
        for batch in torch.as_tensor(rng.permutation(len(points)), device=device).split(batch_size):
            logits = model(points[batch])
            total[batch] += margins(logits.detach().double(), labels[batch])
            optimizer.zero_grad()
            cross_entropy(logits, labels[batch]).backward()
            optimizer.step()
    return Values((total / epochs).cpu().numpy(), record={"fits": 1})


def margins(logits: Tensor, labels: Tensor) -> Tensor:
    """The logit of each label minus the largest other one: (b, classes) and (b,) to (b,)."""
    own = labels[:, None]
    others = logits.scatter(1, own, -torch.inf)
    return logits.gather(1, own)[:, 0] - others.amax(dim=1)
