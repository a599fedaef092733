"""Words of messages: names that are looked up, errors of one line. Standard library only."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping
from typing import TypeVar

Choice = TypeVar("Choice")
LISTED = 40  # names, beyond which not all are listed


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to a name, whatever its case; None if none is similar."""
    by_lower = {known_name.lower(): known_name for known_name in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


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


def shown(value: object) -> str:
    """Anything in one short line."""
    try:
        return " ".join(reprlib.repr(value).split())
    except Exception:  # an object may not be able to say what it is
        return f"something of type {type(value).__name__}"


class InputError(ValueError):
    """What was handed in cannot be used, and something else may help.

    Attributes
    ----------
    remedies : names of what to change, each with the value to give it (None: it depends). A command
        line says which of its options they are; a Python user reads the message.
    """

    def __init__(self, message: str, **remedies: object):
        super().__init__(message)
        self.remedies = remedies


class Notice(str):
    """A sentence for people, with what they may change; see `InputError`."""

    remedies: dict[str, object]

    def __new__(cls, sentence: str, **remedies: object) -> Notice:
        notice = super().__new__(cls, sentence)
        notice.remedies = remedies
        return notice


class InputWarning(UserWarning):
    """What was handed in is used, but something else would be better; see `InputError`."""

    def __init__(self, message: str, **remedies: object):
        super().__init__(message)
        self.remedies = remedies
