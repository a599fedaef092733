"""The one result type of every valuation rule, and its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.support.files import load_arrays, read_json, save_arrays, write_json


class NoValues(ValueError):
    """A rule has no values for these data; the reason is shown in their place."""


def center(sensitivities: Any) -> Any:
    """φ_i = s_i − (N−1)⁻¹ Σ_{j≠i} s_j along the last axis (Eq. dynamic_dv): sums to zero.

    Of an array of numpy or a tensor of torch.
    """
    n = sensitivities.shape[-1]
    return (sensitivities - sensitivities.mean(-1, keepdims=True)) * (n / (n - 1))


@dataclass(frozen=True)
class Values:
    """One score per training point, higher is better for every method, always.

    Attributes
    ----------
    values : (n,) float64.
    stderr : (n,) float64 Monte-Carlo standard errors, or None for a rule without sampling.
    record : what was run: method, seed, parameters, seconds. JSON-able.
    sensitivities : (n,) float64, of NDDV: what was centered to the values (Eq. dynamic_dv), in
        units of its utility where the readout has some. None for rules whose values are not
        centered.
    """

    values: NDArray[np.float64]
    stderr: NDArray[np.float64] | None = None
    record: dict[str, Any] = field(default_factory=dict)
    sensitivities: NDArray[np.float64] | None = None

    @classmethod
    def centered(
        cls,
        sensitivities: NDArray[np.float64],
        stderr: NDArray[np.float64] | None = None,
        record: dict[str, Any] | None = None,
    ) -> Values:
        """Values of sensitivities."""
        return cls(center(sensitivities), stderr, record or {}, sensitivities)

    def __post_init__(self) -> None:
        if self.values.ndim != 1:
            raise ValueError(f"values must be one-dimensional, got shape {self.values.shape}")
        if not np.isfinite(self.values).all():
            raise NoValues(f"{np.sum(~np.isfinite(self.values))} values are not finite")
        if self.stderr is not None and self.stderr.shape != self.values.shape:
            raise ValueError("stderr must have the shape of values")


def save_values(path: str | Path, values: Values) -> None:
    """Write values to ``path`` (.npz) and their record to the .json file next to it.

    Of NDDV the sensitivities are stored; its values follow from them.
    """
    path = Path(path)
    if values.sensitivities is None:
        arrays = {"values": values.values}
    else:
        arrays = {"sensitivities": values.sensitivities}
    if values.stderr is not None:
        arrays["stderr"] = values.stderr
    save_arrays(path, **arrays)
    write_json(path.with_suffix(".json"), values.record)


def load_values(path: str | Path) -> Values:
    """Read values and their record as :func:`save_values` wrote them."""
    path = Path(path)
    arrays = load_arrays(path)
    if not {"values", "sensitivities"} & set(arrays):
        raise ValueError(f"{path} holds no array 'values': it was written by something else")
    stderr, record = arrays.get("stderr"), read_json(path.with_suffix(".json"))
    if "sensitivities" in arrays:
        return Values.centered(arrays["sensitivities"], stderr, record)
    return Values(arrays["values"], stderr, record)
