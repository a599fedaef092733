"""Variants of NDDV: a readout with one setting changed, as in ``nddv-path:interaction=10``.

A variant is a method like any other, so that every experiment can have it beside the others. The
setting is one of NDDV's, or ``meta_size``: only so many rows of the meta part are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nddv.problems.problem import Problem

NDDV_PREFIX = "nddv-"
META_SIZE = "meta_size"
RELEASED = "nddv-released"
"""The authors' own procedure: a method of its own, no readout of our NDDV."""


def is_nddv(method: str) -> bool:
    """Whether a method is a readout of NDDV, or a variant of one."""
    return method.startswith(NDDV_PREFIX) and method != RELEASED


@dataclass(frozen=True)
class Variant:
    """One setting changed."""

    parameter: str
    setting: int | float | str

    def apply(
        self, problem: Problem, parameters: Mapping[str, Any]
    ) -> tuple[Problem, dict[str, Any]]:
        """The problem and the parameters of NDDV with the change made."""
        if self.parameter != META_SIZE:
            return problem, {**parameters, self.parameter: self.setting}
        rows = len(problem.y_meta)
        if not (isinstance(self.setting, int) and 1 <= self.setting <= rows):
            raise ValueError(f"meta_size={self.setting}: the meta part has {rows} rows")
        # The rows of a part are in random order: the first are as good as any.
        first = slice(self.setting)
        few = replace(problem, X_meta=problem.X_meta[first], y_meta=problem.y_meta[first])
        return few, dict(parameters)


def split_variant(name: str) -> tuple[str, Variant | None]:
    """The name of a method without its change, and the change; None where there is none."""
    base, colon, change = name.partition(":")
    if not colon:
        return name, None
    parameter, _, text = change.partition("=")
    if not (parameter.isidentifier() and text):
        raise ValueError(f"{name!r}: a variant is written as {base}:interaction=10")
    return base, Variant(parameter, _number_or_word(text))


def _number_or_word(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
