"""In-run Data Shapley: what each point does to the validation loss along one training run.

Wang et al., "Data Shapley in one training run", ICLR 2025 (GhostSuite is the code of its authors).
A step of stochastic gradient descent on a batch is a game whose utility is the decrease of the
validation loss; its Shapley values, by a Taylor expansion of the loss in the step, are summed over
the run. The gradient of a linear model is a residual times the features, so that the values of a
batch are products of small matrices ("ghost" products).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from nddv.support.settings import Count, Positive, checked, choice
from nddv.values import Values

Array = NDArray[np.float64]


class Loss(NamedTuple):
    """A loss of outputs (m, classes) whose gradient by the outputs is predictions − indicators."""

    predict: Callable[[Array], Array]  # predictions from outputs
    curvature: Callable[[Array, Array], Array]  # second derivative at predictions times a direction
    mean: Callable[[Array, Array], float]  # of outputs against indicators of the classes


@checked
def in_run_shapley(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_valid: NDArray[np.floating],
    y_valid: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    order: Annotated[int, choice(1, 2)] = 2,
    epochs: Count = 10,
    batch_size: Count = 32,
    learning_rate: Positive = 1.0,
    loss: Annotated[str, choice("logistic", "squared")] = "logistic",
) -> Values:
    """In-run Data Shapley of a linear classifier trained by stochastic gradient descent.

    With g_i the gradient of point i at step t, g and H gradient and Hessian of the mean validation
    loss, and the step −η·Σ_{j∈B} g_j, point i of the batch B gains η·⟨g, g_i⟩, and in second order
    −(η²/2)·g_iᵀHΣ_{j∈B}g_j besides. Second order adds up to the decrease of a quadratic loss.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes.
    X_valid, y_valid : (m, d) and (m,) validation points.
    order : of the Taylor expansion of the validation loss.
    epochs : passes through the training points, from weights of zero.
    batch_size : points in a batch; batches come in a random order.
    learning_rate : of the mean gradient of a batch, times the mean of |(x, 1)|² over the points, so
        that one number suits any number and scale of features.
    loss : ``"logistic"``, the cross-entropy of a softmax; ``"squared"``, half the squared distance
        to the indicators of the classes.

    Returns
    -------
    Values, in units of the validation loss, which the record holds at both ends of the run.
    """
    kind = LOSSES[loss]
    indicators = np.eye(int(max(y.max(), y_valid.max())) + 1)
    points, targets = _with_constant(X), indicators[y]
    queries, wanted = _with_constant(X_valid), indicators[y_valid]
    step_size = learning_rate / np.mean(np.einsum("ij,ij->i", points, points))

    theta = np.zeros((points.shape[1], len(indicators)))
    values = np.zeros(len(points))
    start = kind.mean(queries @ theta, wanted)
    for _ in range(epochs):
        shuffled = rng.permutation(len(points))
        for batch in np.split(shuffled, range(batch_size, len(points), batch_size)):
            inputs = points[batch]
            eta = step_size / len(batch)
            residuals = kind.predict(inputs @ theta) - targets[batch]
            predictions = kind.predict(queries @ theta)
            step = -eta * inputs.T @ residuals
            change = queries.T @ (predictions - wanted) / len(queries)
            if order == 2:
                bent = kind.curvature(predictions, queries @ step)
                change += queries.T @ bent / (2 * len(queries))
            # −⟨change, step of point i⟩, its step being −η·x_i ⊗ residual_i
            values[batch] += eta * np.einsum("bk,bk->b", inputs @ change, residuals)
            theta += step
    end = kind.mean(queries @ theta, wanted)
    return Values(values, record={"loss_start": start, "loss_end": end})


def _with_constant(X: NDArray[np.floating]) -> Array:
    """Features (n, d) with a column of ones, for the intercepts."""
    return np.column_stack([np.asarray(X, dtype=np.float64), np.ones(len(X))])


def _softmax_curvature(probabilities: Array, direction: Array) -> Array:
    product = probabilities * direction
    return product - probabilities * product.sum(axis=1, keepdims=True)


def _cross_entropy(logits: Array, wanted: Array) -> float:
    return float(-np.mean(np.sum(wanted * log_softmax(logits, axis=1), axis=1)))


LOSSES = {
    "logistic": Loss(partial(softmax, axis=1), _softmax_curvature, _cross_entropy),
    "squared": Loss(
        lambda outputs: outputs,
        lambda _, direction: direction,
        lambda outputs, wanted: float(np.mean(np.sum((outputs - wanted) ** 2, axis=1)) / 2),
    ),
}
