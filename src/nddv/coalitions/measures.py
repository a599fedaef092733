"""The utilities of logits, and their slopes: the one place that says what a utility is.

Logits (..., K, m) of m points: K = 1 for two classes, the logit of class 1; else a row per class,
−inf (or nearly) for a class that is absent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from nddv.support.settings import SMOOTH_UTILITIES, UTILITIES

FLOOR = 1e-6
"""Smallest probability that counts in a log-likelihood."""

LOG_FLOOR = float(np.log(FLOOR))


def measure(logits: Tensor, classes: Tensor, utilities: Sequence[str] = UTILITIES) -> Tensor:
    """Utilities (..., U) of logits (..., K, m), each the mean over points of classes (m,).

    Accuracy: the predicted class has the largest probability; on a tie it is the first such class.
    Log-likelihood: that of a point is at least log ``FLOOR``. Probability: the one of the true
    class, 0 for a class that is absent.
    """
    measured = {}
    if "accuracy" in utilities:
        two = logits.shape[-2] == 1
        predicted = logits[..., 0, :] > 0 if two else logits.argmax(dim=-2)
        measured["accuracy"] = (predicted == classes).double().mean(dim=-1)
    if "log_likelihood" in utilities:
        logs = _log_probabilities(logits, classes)
        measured["log_likelihood"] = logs.clamp_min(LOG_FLOOR).mean(dim=-1)
    if "probability" in utilities:
        measured["probability"] = _probabilities(logits, classes).mean(dim=-1)
    return torch.stack([measured[name] for name in utilities], dim=-1)


def with_absent(logits: Tensor, present: Tensor, n_classes: int) -> Tensor:
    """Logits (..., n_classes, m) with a row of −inf for a class that is not among those present."""
    if n_classes == 2 or logits.shape[-2] == n_classes:
        return logits
    every = logits.new_full((*logits.shape[:-2], n_classes, logits.shape[-1]), -torch.inf)
    every[..., present, :] = logits
    return every


def check_smooth(utility: str) -> None:
    """Refuse a utility that changes in steps."""
    if utility not in SMOOTH_UTILITIES:
        raise ValueError(
            f"the utility {utility!r} has no slopes: it changes in steps; "
            f"choose one of {', '.join(SMOOTH_UTILITIES)}"
        )


def slopes(logits: Tensor, classes: Tensor, utility: str) -> Tensor:
    """Derivatives (K, m) of a utility by logits (K, m) of points of classes (m,)."""
    check_smooth(utility)
    m = logits.shape[-1]
    if len(logits) == 1:
        slope = classes - torch.sigmoid(logits)
    else:
        targets = F.one_hot(classes, len(logits)).T
        slope = targets - torch.softmax(logits, dim=0)
    if utility == "probability":
        return slope * _probabilities(logits, classes) / m
    return slope * (_log_probabilities(logits, classes) > LOG_FLOOR) / m


def bends(logits: Tensor, classes: Tensor, utility: str) -> Tensor:
    """Second derivatives (1, m) of a utility by logits (1, m) of points of two classes (m,)."""
    check_smooth(utility)
    right = _probabilities(logits, classes)
    bend = right * (1 - right) / logits.shape[-1]
    if utility == "probability":
        return (bend * (1 - 2 * right))[None]
    return (-bend * (_log_probabilities(logits, classes) > LOG_FLOOR))[None]


def _log_probabilities(logits: Tensor, classes: Tensor) -> Tensor:
    """Logarithms (..., m) of the probabilities of the classes (m,), in double precision."""
    if logits.shape[-2] == 1:
        return F.logsigmoid(logits[..., 0, :] * (2 * classes - 1)).double()
    return _of_classes(F.log_softmax(logits, dim=-2), classes)


def _probabilities(logits: Tensor, classes: Tensor) -> Tensor:
    """Probabilities (..., m) of the classes (m,), in double precision."""
    if logits.shape[-2] == 1:
        return (logits[..., 0, :] * (2 * classes - 1)).sigmoid_().double()
    return _of_classes(torch.softmax(logits, dim=-2), classes)


def _of_classes(rows: Tensor, classes: Tensor) -> Tensor:
    """The entry (..., m) of each point's class, of a row a class (..., K, m)."""
    index = classes.expand(*rows.shape[:-2], 1, -1)
    return rows.gather(-2, index)[..., 0, :].double()
