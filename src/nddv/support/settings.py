"""What a setting may be: the kinds of settings, each with its check, its schema and its words.

A setting is written once, where it is used: its name, its default, its kind as the annotation, and
a line of meaning. Checks, schemas and tables of documentation are derived from that. Settings of
a function stand in its signature, those of a class in the fields of a dataclass::

    def data_banzhaf(game: Game, rng: Generator, *, num_models: Count = 1000) -> Values:

    @dataclass
    class Settings:
        width: Count = setting(32, "dimension W of the state")

Needs the standard library only: the Snakefile reads settings inside Snakemake's own environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import wraps
from textwrap import fill
from typing import Annotated, Any, ParamSpec, TypeVar, get_type_hints

from nddv.support.wording import shown

P = ParamSpec("P")
R = TypeVar("R")

LARGEST = 1_000_000  # of a setting that counts something: more is a slip, or beyond any memory
FINITE = 3e38  # the end of float32


@dataclass(frozen=True)
class Kind:
    """What a setting may be.

    Attributes
    ----------
    words : what it must be, after "must be".
    schema : the same as JSON Schema.
    fits : whether a value, a Python scalar, is of the kind.
    """

    words: str
    schema: Mapping[str, Any]
    fits: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> None:
        """Raise for a value that does not fit."""
        if not self.fits(_plain(value)):
            raise ValueError(f"{name} must be {self.words}, got {shown(value)}")


@dataclass(frozen=True)
class Setting:
    """A setting: what it is called, its default, what it may be, and what it means.

    configurable : whether the configuration of the workflow may set it.
    named : what the default "auto" stands for in each named set of settings, if there are some.
    """

    name: str
    default: Any
    kind: Kind
    meaning: str
    configurable: bool = True
    named: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def value(self, name: str) -> Any:
        """The default in a named set; a set that does not name it has that of the first."""
        return self.named.get(name, next(iter(self.named.values()), self.default))

    @property
    def usual(self) -> str:
        """The default in words, as in "8 (paper: 1)"."""
        first, *others = self.named.items() or [("", self.default)]
        also = ", ".join(f"{name}: {value!r}" for name, value in others)
        return f"{first[1]!r} ({also})" if also else repr(first[1])


def setting(value: Any, meaning: str, /, configurable: bool = True, **named: Any) -> Any:
    """A field of a dataclass that is a setting; `named` is for a default of "auto"."""
    metadata = {"meaning": meaning, "configurable": configurable, "named": named}
    return dataclasses.field(default=value, metadata=metadata)


def settings_of(kind: type) -> dict[str, Setting]:
    """The settings that are the fields of a dataclass, by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        f.name: Setting(f.name, f.default, hints[f.name].__metadata__[0], **f.metadata)
        for f in dataclasses.fields(kind)
    }


def parameters_section(settings: Mapping[str, Setting]) -> str:
    """Settings as the "Parameters" of a docstring in numpy's style."""
    indented: dict[str, Any] = {"initial_indent": " " * 4, "subsequent_indent": " " * 4}
    return "\n".join(
        f"{s.name} : {s.kind.words}; default {s.usual}\n{fill(s.meaning, 96, **indented)}"
        for s in settings.values()
    )


def whole(least: int = 1, most: int = LARGEST) -> Kind:
    """A whole number within limits."""
    words = "a positive integer" if least == 1 else f"an integer of at least {least}"
    words += f", at most {most:,}" if most == LARGEST else ""

    def fits(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Kind(words, {"type": "integer", "minimum": least, "maximum": most}, fits)


def number(
    least: float = 0.0,
    most: float = FINITE,
    *,
    above: float | None = None,
    below: float | None = None,
) -> Kind:
    """A finite number: at least `least`, or above `above`; at most `most`, or below `below`."""
    words = f"a finite number >= {least:g}" if above is None else f"a finite number > {above:g}"
    schema: dict[str, Any] = {"type": "number"}
    schema |= {"minimum": least} if above is None else {"exclusiveMinimum": above}
    schema |= {"maximum": most} if below is None else {"exclusiveMaximum": below}
    if below is not None or most < FINITE:
        words += f" and <= {most:g}" if below is None else f" and < {below:g}"

    def fits(value: Any) -> bool:
        # compared, not converted: a whole number may be too long for a float
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        enough = value >= least if above is None else value > above
        return enough and (value <= most if below is None else value < below)

    return Kind(words, schema, fits)


def choice(*values: Any) -> Kind:
    """One of some values."""
    names = ", ".join(repr(value) for value in values)
    return Kind(f"one of {names}", {"enum": list(values)}, lambda value: _among(value, values))


def either(kind: Kind, *values: Any) -> Kind:
    """A kind, or one of some values, as in "a positive integer, or 'auto'"."""
    names = " or ".join(repr(value) for value in values)
    constants: list[Any] = [{"const": value} for value in values]
    return Kind(
        f"{kind.words}, or {names}",
        {"anyOf": [dict(kind.schema), *constants]},
        lambda value: _among(value, values) or kind.fits(value),
    )


def even(least: int = 2, most: int = LARGEST) -> Kind:
    """An even whole number within limits."""
    kind = whole(least, most)
    return Kind(
        kind.words.replace("integer", "even integer"),
        {**kind.schema, "multipleOf": 2},
        lambda value: kind.fits(value) and value % 2 == 0,
    )


def list_of(kind: Kind) -> Kind:
    """A list with at least one entry, all of one kind."""
    return Kind(
        f"a list of entries that are each {kind.words}",
        {"type": "array", "minItems": 1, "items": dict(kind.schema)},
        lambda value: (
            isinstance(value, list | tuple) and len(value) > 0 and all(map(kind.fits, value))
        ),
    )


def _among(value: Any, values: tuple[Any, ...]) -> bool:
    # the type is looked at first: an array is neither equal to a word nor unequal
    return isinstance(value, str | int | float | None) and value in values


def _plain(value: Any) -> Any:
    """A scalar of numpy as one of Python."""
    scalar = type(value).__module__ == "numpy" and isinstance(value, Hashable)
    return value.item() if scalar else value


Count = Annotated[int, whole()]
Positive = Annotated[float, number(above=0.0)]
NotNegative = Annotated[float, number()]
Share = Annotated[float, number(above=0.0, below=1.0)]
Flag = Annotated[bool, dataclasses.replace(choice(False, True), schema={"type": "boolean"})]
Name = Annotated[str, Kind("a name", {"type": "string"}, lambda value: isinstance(value, str))]
UTILITIES = ("accuracy", "log_likelihood", "probability")
"""What a fitted model may be measured by on other points; higher is better."""

SMOOTH_UTILITIES = ("log_likelihood", "probability")
"""Those that have a derivative by the model; accuracy changes in steps."""

Utility = Annotated[str, choice(*UTILITIES)]
SmoothUtility = Annotated[str, choice(*SMOOTH_UTILITIES)]
Precision = Annotated[str, choice("float32", "float64")]
Device = Annotated[str, choice("cpu", "cuda")]


def kind_of(annotation: Any) -> Kind | None:
    """The kind in an annotation such as ``Count``; None where it has none."""
    parts = getattr(annotation, "__metadata__", ())
    return next((part for part in parts if isinstance(part, Kind)), None)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function that refuses settings that are not of their kinds; they are given by name."""
    hints = get_type_hints(function, include_extras=True)
    kinds = {name: kind for name, hint in hints.items() if (kind := kind_of(hint))}

    @wraps(function)
    def call(*arguments: P.args, **settings: P.kwargs) -> R:
        for name, value in settings.items():
            if name in kinds:
                kinds[name].check(name, value)
        return function(*arguments, **settings)

    return call
