"""Words of messages: names that are looked up, errors of one line. Standard library only."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

Choice = TypeVar("Choice")
LISTED = 40  # names, beyond which not all are listed


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like another, whatever its case; None if none is much like it."""
    by_lower = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None


def hint(name: str, known: Iterable[str]) -> str:
    """What to say of an unknown name: the nearest that is known, or all of them."""
    names = list(known)
    near = nearest(name, names)
    if near is not None:
        return f"did you mean {near!r}?"
    more = f", … ({len(names)} in all)" if len(names) > LISTED else ""
    return f"known: {', '.join(names[:LISTED])}{more}" if names else "none is known"


def pick(choices: Mapping[str, Choice], name: str, what: str) -> Choice:
    """The choice of a name; the error for an unknown one suggests the nearest, or lists all."""
    if name in choices:
        return choices[name]
    raise ValueError(f"unknown {what} {name!r}; {hint(name, choices)}")


LONGEST = 600  # letters: names and entries of a strange file may be as long as the file


def one_line(message: object) -> str:
    """A message, or an error's, without line breaks; the middle of a long one is left out."""
    text = " ".join(str(message).split())
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    return text
