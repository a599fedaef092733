"""LossVal: a weight for each training point, learned by the loss that also trains the model."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nddv.baselines.networks import perceptron
from nddv.baselines.transport import annealing, half_squared_distances, sinkhorn
from nddv.support.settings import Count, Device, Positive, checked
from nddv.values import Values

NO_WEIGHT = -1e5
"""Logarithm that stands for that of a weight that is not positive."""


@checked
def lossval(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_valid: NDArray[np.floating],
    rng: np.random.Generator,
    *,
    epochs: Count = 30,
    batch_size: Count = 32,
    learning_rate: Positive = 0.01,
    hidden: Count = 100,
    layers: Count = 5,
    blur: Positive = 0.05,
    device: Device = "cpu",
) -> Values:
    """LossVal (Wibiral et al. 2024, arXiv 2412.04158).

    A multilayer perceptron and a weight w_i for each point, at first 1, are trained together by
    Adam on the loss (Σ_{i∈B} w_i·CE_i)·D(w_B)² of batches B. D is the Sinkhorn divergence between
    the features of the batch, weighted by w, and those of the validation points, weighted by 1. As
    in the authors' code the two sides need not have the same mass, and weights may become negative:
    these count for the sums and not for the transport. The value of a point is its weight.
    Validation labels do not enter.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes.
    X_valid : (m, d) features of the validation points.
    epochs : passes through the training points; the default is the authors'.
    batch_size : points in a batch.
    learning_rate : of Adam.
    hidden : width of the perceptron's hidden layers.
    layers : number of its linear layers.
    blur : root of the last strength of the entropic regularisation, in units of the features.
    device : where to compute.
    """
    points = torch.as_tensor(np.asarray(X, dtype=np.float32), device=device)
    targets = torch.as_tensor(np.asarray(X_valid, dtype=np.float32), device=device)
    classes, of_point = np.unique(y, return_inverse=True)
    labels = torch.as_tensor(of_point, device=device)
    distance = SinkhornDivergence(points, targets, blur)
    model = perceptron([points.shape[1], *[hidden] * (layers - 1), len(classes)], rng).to(device)
    weights = nn.Parameter(torch.ones(len(points), device=device))
    optimizer = torch.optim.Adam([*model.parameters(), weights], lr=learning_rate)
    for _ in range(epochs):
        for batch in torch.as_tensor(rng.permutation(len(points)), device=device).split(batch_size):
            optimizer.zero_grad()
            x, w = points[batch], weights[batch]
            losses = nn.functional.cross_entropy(model(x), labels[batch], reduction="none")
            loss = (w @ losses) * distance(x, w) ** 2
            loss.backward()
            optimizer.step()
    return Values(weights.detach().cpu().numpy().astype(np.float64))


class SinkhornDivergence:
    """Debiased entropic transport cost ½‖x−x'‖² from weighted points to fixed ones of weight 1.

    S(w) = T(w, 1) − ½T(w, w) − ½T(1, 1) in units of the squared diameter of the data, which an
    optimiser like Adam does not see, with T(a, b) = ⟨a, f⟩ + ⟨b, g⟩ by the potentials f, g of
    :func:`sinkhorn`; these, by the envelope theorem, are also its derivatives. It is GeomLoss's
    ``SamplesLoss`` with the diameter of all points instead of that of a batch.

    Parameters
    ----------
    points : (n, d), of which batches will be taken.
    targets : (m, d).
    blur : root of the regularisation, in units of the features.
    """

    def __init__(self, points: Tensor, targets: Tensor, blur: float) -> None:
        farthest = max(torch.cdist(part, targets).max().item() for part in points.split(1000))
        diameter = max(1.1 * farthest, blur)
        self.scale = 1 / diameter**2
        self.steps = annealing(1.0, (blur / diameter) ** 2, 0.5)
        self.targets = targets
        self.log_targets = targets.new_zeros(len(targets))
        logs = self.log_targets
        self.self_targets = self._potentials(targets, targets, logs, logs)[0]

    def __call__(self, x: Tensor, w: Tensor) -> Tensor:
        """Divergence of points x (b, d) with weights w (b,), differentiable by w."""
        with torch.no_grad():
            log_w = torch.where(w > 0, w.clamp_min(torch.finfo(w.dtype).tiny).log(), NO_WEIGHT)
            f, g = self._potentials(x, self.targets, log_w, self.log_targets)
            self_x = self._potentials(x, x, log_w, log_w)[0]
        return w @ (f - self_x) + (g - self.self_targets).sum()

    def _potentials(
        self, A: Tensor, B: Tensor, log_a: Tensor, log_b: Tensor
    ) -> tuple[Tensor, Tensor]:
        return sinkhorn(self.scale * half_squared_distances(A, B), log_a, log_b, self.steps)
