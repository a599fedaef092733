"""Looking things up by name. Needs the standard library only."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

Choice = TypeVar("Choice")


def pick(choices: Mapping[str, Choice], name: str, what: str) -> Choice:
    """The choice of a name; the error for an unknown one suggests the nearest, or lists all."""
    if name in choices:
        return choices[name]
    near = difflib.get_close_matches(name, choices, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(choices)}"
    raise ValueError(f"unknown {what} {name!r}; {hint}")
