"""Values from optimal transport of the training points to the validation points."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.support.settings import Device, NotNegative, Positive, Share, checked
from nddv.values import NoValues, Values


@checked
def lava(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_valid: NDArray[np.floating],
    y_valid: NDArray[np.int64],
    *,
    entropy: Positive = 0.1,
    label_weight: NotNegative = 0.5,
    scaling: Share = 0.5,
    device: Device = "cpu",
) -> Values:
    """LAVA: how much less mass on a point would reduce the distance to the validation set.

    Just et al., "LAVA: data valuation without pre-specified learning algorithms", ICLR 2023. With f
    the dual potential of the training points in the transport of (X, y) to (X_valid, y_valid), the
    value is the calibrated gradient with its sign turned, −(f_i − Σ_{j≠i} f_j/(n−1)). The cost of
    moving (x, y) to (x', y') is ½‖x−x'‖² + label_weight·W[y, y'], W[y, y'] being the cost of
    transport, for ½‖x−x'‖², from the training points of class y to the validation points of y'.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes of the points to value, n > 1.
    X_valid, y_valid : (m, d) and (m,) validation points.
    entropy : strength ε of the entropic regularisation of every transport problem.
    label_weight : weight of the distance between classes. ½ is what LAVA's code and OpenDataVal
        compute, 1 the distance of data sets that LAVA refers to (Alvarez-Melis and Fusi 2020).
    scaling : of the distances from step to step of :func:`sinkhorn`. The ½ of LAVA's code stops
        short of convergence, and its values are those of that many steps; near 1 they converge.
    device : where to compute.

    Returns
    -------
    Values that sum to 0.
    """
    n = len(X)
    if n < 2 or len(X_valid) == 0:
        raise NoValues(
            f"LAVA needs two training points and a validation point, got {n} and {len(X_valid)}"
        )
    points = torch.as_tensor(np.asarray(X, dtype=np.float64), device=device)
    targets = torch.as_tensor(np.asarray(X_valid, dtype=np.float64), device=device)
    cost = half_squared_distances(points, targets)
    classes, of_point = np.unique(y, return_inverse=True)
    classes_valid, of_target = np.unique(y_valid, return_inverse=True)
    between = torch.zeros(len(classes), len(classes_valid), dtype=cost.dtype, device=device)
    for k in range(len(classes)):
        rows = cost[of_point == k]
        for l in range(len(classes_valid)):
            f, g = uniform_potentials(rows[:, of_target == l], entropy, scaling)
            between[k, l] = f.mean() + g.mean()
    cost += label_weight * between[of_point][:, of_target]
    f, _ = uniform_potentials(cost, entropy, scaling)
    return Values(((f.mean() - f) * n / (n - 1)).cpu().numpy())


def uniform_potentials(cost: Tensor, entropy: float, scaling: float) -> tuple[Tensor, Tensor]:
    """Dual potentials (n,) and (m,) of the transport between uniform weights at cost (n, m)."""
    log_a, log_b = (cost.new_full((size,), -np.log(size)) for size in cost.shape)
    steps = annealing(max(2 * cost.max().item(), entropy), entropy, scaling)
    return sinkhorn(cost, log_a, log_b, steps)


def half_squared_distances(A: Tensor, B: Tensor) -> Tensor:
    """½‖a−b‖² (a, b) between the rows of A (a, d) and B (b, d)."""
    return torch.cdist(A, B).square_().div_(2)


def annealing(start: float, end: float, scaling: float) -> list[float]:
    """Strengths ε of the regularisation, from ``start`` down to ``end`` by factors ``scaling``²."""
    if not 0 < end <= start or not 0 < scaling < 1:
        raise ValueError(f"cannot anneal from {start} to {end} by factors of {scaling}²")
    count = math.ceil(math.log(end / start) / (2 * math.log(scaling)))
    return [*(start * scaling ** (2 * k) for k in range(count)), end]


def sinkhorn(
    cost: Tensor, log_a: Tensor, log_b: Tensor, steps: Sequence[float]
) -> tuple[Tensor, Tensor]:
    """Dual potentials f, g of entropic optimal transport, by annealed symmetric Sinkhorn steps.

    They maximise ⟨a, f⟩ + ⟨b, g⟩ − ε⟨a ⊗ b, exp((f ⊕ g − cost)/ε) − 1⟩ for the last ε, up to
    convergence; Feydy (2020), "Geometric data analysis, beyond convolutions", Algorithm 3.5, which
    is that of GeomLoss.

    Parameters
    ----------
    cost : (n, m).
    log_a, log_b : (n,) and (m,) logarithms of the weights.
    steps : strengths ε of the regularisation, one per step; see :func:`annealing`.

    Returns
    -------
    f (n,) and g (m,).
    """
    turned = cost.T.contiguous()

    def update(f: Tensor, g: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
        return (
            -epsilon * torch.logsumexp((log_b + g / epsilon) - cost / epsilon, dim=1),
            -epsilon * torch.logsumexp((log_a + f / epsilon) - turned / epsilon, dim=1),
        )

    f, g = update(torch.zeros_like(log_a), torch.zeros_like(log_b), steps[0])
    for epsilon in steps:
        better_f, better_g = update(f, g, epsilon)
        f, g = (f + better_f) / 2, (g + better_g) / 2
    return update(f, g, steps[-1])
