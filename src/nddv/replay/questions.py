"""What a trained module is asked: functions of its outputs, whose derivatives are replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from nddv.replay.modules import Loss, cross_entropy

Predict = Callable[[Any], Tensor]
"""The trained module in evaluation mode: inputs -> outputs."""

Question = Callable[[Predict], Tensor]
"""A number that depends on outputs of the module."""

Utility = str | Callable[[Tensor, Tensor], Tensor]
"""Of outputs and targets: by name, or a function of both."""


def measure_of(utility: Utility, loss: Loss) -> Callable[[Tensor, Tensor], Tensor]:
    """A utility as a function of outputs and targets."""
    if callable(utility):
        return utility
    if utility == "log_likelihood":
        return lambda outputs, y: -loss(outputs, y).mean()
    if utility == "probability" and loss is cross_entropy:
        return lambda outputs, y: (-loss(outputs, y)).exp().mean()
    known = "log_likelihood, with cross_entropy probability, or a function"
    raise ValueError(f"unknown utility {utility!r}: {known}")


def name_of(function: Any) -> str:
    """The name of a function, or the name itself."""
    return function if isinstance(function, str) else getattr(function, "__name__", "a function")
