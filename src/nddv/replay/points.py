"""Training points of any kind: arrays, tensors, or a data set that gives pairs (x, y)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import default_collate


class Points:
    """Points (x, y) that are taken by their indices.

    Parameters
    ----------
    X : (n, …) array or tensor; or, without y, anything with a length whose items are pairs (x, y).
    y : (n, …) targets.
    name : of these points, in errors.
    dtype, device : floating-point numbers are brought to this type, everything to this device.
    """

    def __init__(
        self, X: Any, y: Any, name: str, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        self.dtype, self.device, self.name = dtype, device, name
        self.X, self.y = X, y
        if y is None:
            if not (hasattr(X, "__len__") and hasattr(X, "__getitem__")):
                raise ValueError(
                    f"{name}: without y, X must have a length and give a pair (x, y) for an index"
                )
        else:
            self.X, self.y = self._tensor(X), self._tensor(y)
            if len(self.X) != len(self.y):
                raise ValueError(f"{name}: X has {len(self.X)} rows, but y has {len(self.y)}")
            self._check(self.X, "X")
            self._check(self.y, "y")
        if len(self) == 0:
            raise ValueError(f"{name}: there are no points")

    def __len__(self) -> int:
        return len(self.X)

    def take(self, index: Tensor) -> tuple[Any, Tensor]:
        """Inputs and targets of points (B,), as the module takes them."""
        if self.y is not None:
            return self.X[index], self.y[index]
        pairs = [self.X[int(i)] for i in index]
        try:
            x, y = default_collate(pairs)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"{self.name}: the items cannot be put together to a batch of pairs (x, y): {error}"
            ) from error
        x, y = self._on_device(x), self._on_device(y)
        self._check(x, "x")
        self._check(y, "y")
        return x, y

    def all(self) -> tuple[Any, Tensor]:
        """All inputs and targets."""
        return self.take(torch.arange(len(self)))

    def as_inputs(self, x: Any) -> Any:
        """Inputs of the module (B, …), of one input or several, in the type of these points."""
        inputs = self._on_device(x if isinstance(x, Mapping | list | tuple) else self._tensor(x))
        example = self.take(torch.zeros(1, dtype=torch.long))[0]
        if isinstance(inputs, Tensor) and isinstance(example, Tensor):
            inputs = inputs.unsqueeze(0) if inputs.ndim == example.ndim - 1 else inputs
            if inputs.shape[1:] != example.shape[1:]:
                raise ValueError(
                    f"x has the shape {tuple(inputs.shape)}, but the training points have "
                    f"{tuple(example.shape[1:])} each"
                )
        self._check(inputs, "x")
        return inputs

    def telling(self) -> list[Tensor]:
        """What tells these points from others: all inputs and targets, if they are tensors.

        Of a data set, which may not fit in memory, their number and the tensors of the first pair.
        """
        if self.y is not None:
            return [self.X, self.y]
        x, y = self.take(torch.zeros(1, dtype=torch.long))
        pair = [part for part in (x, y) if isinstance(part, Tensor)]
        return [torch.tensor(len(self)), *pair]

    def _tensor(self, values: Any) -> Tensor:
        if not isinstance(values, Tensor):
            array = np.asarray(values)
            if array.dtype.kind not in "biuf":
                raise ValueError(
                    f"{self.name}: numbers are needed, got an array of {array.dtype}: encode it"
                )
            values = torch.as_tensor(array)
        return self._on_device(values)

    def _on_device(self, values: Any) -> Any:
        """Tensors of any nest of batches, floating-point ones with the type of the module."""
        if isinstance(values, Tensor):
            return values.to(self.device, self.dtype if values.is_floating_point() else None)
        if isinstance(values, Mapping):
            return {key: self._on_device(value) for key, value in values.items()}
        if isinstance(values, Sequence) and not isinstance(values, str):
            return [self._on_device(value) for value in values]
        return values

    def _check(self, values: Any, what: str) -> None:
        if isinstance(values, Tensor):
            if values.is_floating_point() and not bool(values.isfinite().all()):
                raise ValueError(f"{self.name}: {what} has entries that are missing or infinite")
        elif isinstance(values, Mapping):
            self._check(list(values.values()), what)
        elif isinstance(values, Sequence):
            for value in values:
                self._check(value, what)
