"""Check settings against schemas; the error is one line that names the key.

    settings.nddv.epochz: unknown key; did you mean 'epochs'?
    problems[3].n: must be at least 10, not -5

A schema is JSON Schema: a file, ``workflow/schemas/*.schema.yaml``, or a mapping. Needs jsonschema
and PyYAML, which Snakemake brings, and the standard library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from nddv.support.wording import hint, nearest, one_line

DEEPEST = 40  # levels of a file; more are a mistake, or an entry contains itself
SHOWN_LETTERS = 60
TYPES = {
    "object": "a mapping of keys to values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, if it was built


class ConfigurationError(ValueError):
    """A mistake in a file of settings, in one line: where it is, and what would be right."""

    def __init__(self, message: str):
        super().__init__(one_line(message))


def read_yaml(path: str | Path) -> Any:
    """Read a YAML file; a broken one is an error of one line."""
    try:
        return yaml.load(Path(path).read_bytes(), Loader=_Loader)
    # besides its own errors PyYAML raises those of impossible dates and numbers
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not YAML: {error}") from None


@cache
def read_schema(path: Path) -> dict[str, Any]:
    """Read a schema, only once: a schema is part of the program."""
    content: dict[str, Any] = read_yaml(path)
    return content


def check(content: Any, schema: str | Path | Mapping[str, Any]) -> None:
    """Raise if some content does not fit a schema."""
    mistake = fault(content, schema)
    if mistake is not None:
        where, what = mistake
        raise ConfigurationError(f"{where or 'the file'}: {what}")


def fault(content: Any, schema: str | Path | Mapping[str, Any]) -> tuple[str, str] | None:
    """Where the mistake is that should be corrected first, and what it is; None without any."""
    for steps, what in _not_plain(content):
        return place(content, steps), what
    if isinstance(schema, Mapping):
        validator = _Validator(schema)
    else:
        validator = _validator(Path(schema).resolve())
    errors = list(validator.iter_errors(content))
    # A misspelt key is also a missing key: the message is about what was written.
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    error = best_match(unknown or errors)
    if error is None:
        return None
    steps, say = tuple(error.absolute_path), _SENTENCES.get(str(error.validator), _description)
    if say is _unknown_key:
        steps = (*steps, _unknown_keys(error)[0])
    what = say(error)
    if error.validator == "required" and "title" not in error.instance:
        what += _for_another_name(content, steps)
    return place(content, steps), what


def place(content: Any, steps: Sequence[str | int]) -> str:
    """Steps into some content as ``problems[3].n``; an entry with an ``id`` is named by it."""
    text = ""
    for step in steps:
        with suppress(KeyError, IndexError, TypeError):  # a missing key is a step, too
            content = content[step]
        if isinstance(step, int):
            name = content.get("id", step) if isinstance(content, Mapping) else step
            text += f"[{_brief(str(name))}]"
        else:
            text += ("." if text else "") + (_brief(step) or "''")
    return text


def shown(value: Any) -> str:
    """A value in a form that fits into a sentence."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return str({None: "null", True: "true", False: "false"}[value])
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        text = "a very long number"
    return _brief(text)


def _brief(text: str) -> str:
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 1] + "…"


def _not_plain(content: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Mistakes that JSON cannot express but YAML can: keys that are no text, dates, .nan."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), content)]
    while waiting:
        steps, value = waiting.pop()
        if len(steps) > DEEPEST:
            yield steps[:3], "nested too deeply"
            return
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    yield steps, f"the key {shown(key)} is not text: put it in quotes"
            waiting += [((*steps, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [((*steps, i), inner) for i, inner in enumerate(value)]
        elif isinstance(value, float) and math.isnan(value):  # neither too small nor too large
            yield steps, "must be a number, not nan"
        elif isinstance(value, date):
            yield steps, f"{value} is read as a date: put it in quotes if it is text"
        elif not isinstance(value, str | int | float | None):
            yield steps, f"holds a {type(value).__name__}, which no setting is"


# ------------------------------------------------------------------ jsonschema


def _is_whole(_: Any, value: Any) -> bool:
    """Reject 60.0, a whole number in JSON Schema: files are named by these numbers."""
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole),
)
_formats = FormatChecker(formats=())


@_formats.checks("class-pattern")
def _is_class_pattern(value: object) -> bool:
    """A regular expression with one group."""
    try:
        return not isinstance(value, str) or re.compile(value).groups == 1
    except re.error:
        return False


@cache
def _validator(path: Path) -> Any:
    """The validator of a schema, which may refer by name to other schemas in its folder."""
    registry: Registry[Any] = Registry().with_resources(
        (other.name, DRAFT202012.create_resource(read_schema(other)))
        for other in path.parent.glob("*.schema.yaml")
    )
    return _Validator(read_schema(path), registry=registry.crawl(), format_checker=_formats)


# ------------------------------------------------------------------ sentences


def _unknown_keys(error: ValidationError) -> list[str]:
    known, patterns = error.schema.get("properties", {}), error.schema.get("patternProperties", {})
    return [
        key
        for key in error.instance
        if key not in known and not any(re.search(pattern, key) for pattern in patterns)
    ]


def _unknown_key(error: ValidationError) -> str:
    return f"unknown key; {hint(_unknown_keys(error)[0], error.schema.get('properties', {}))}"


def _missing_key(error: ValidationError) -> str:
    missing = [key for key in error.validator_value if key not in error.instance]
    return f"the key {missing[0]!r} is missing"


def _for_another_name(content: Any, steps: Sequence[str | int]) -> str:
    """Suggest a titled entry with a similar name: an entry without a title may be meant for it."""
    if len(steps) != 2 or not isinstance(steps[1], str):
        return ""
    entries = content[steps[0]].items()
    titled = [name for name, entry in entries if isinstance(entry, Mapping) and "title" in entry]
    near = nearest(steps[1], titled)
    return f"; or did you mean {near!r}?" if near else ""


def _wrong_type(error: ValidationError) -> str:
    wanted = error.validator_value
    names = " or ".join(TYPES[name] for name in ([wanted] if isinstance(wanted, str) else wanted))
    value, remedy = error.instance, ""
    with suppress(ValueError):
        if isinstance(value, str) and "number" in str(wanted) and math.isfinite(float(value)):
            remedy = "; without quotes, and with a point and a sign in the exponent, as in 1.0e-3"
    return f"must be {names}, not {shown(value)}{remedy}"


def _not_a_choice(error: ValidationError) -> str:
    value, choices = error.instance, error.validator_value
    if not isinstance(value, str):
        return f"must be one of {', '.join(map(str, choices))}, not {shown(value)}"
    return f"unknown name {shown(value)}; {hint(value, map(str, choices))}"


def _twice(error: ValidationError) -> str:
    repeated = (item for i, item in enumerate(error.instance) if item in error.instance[:i])
    return f"{shown(next(repeated, None))} is listed twice"


def _description(error: ValidationError) -> str:
    """The message for rules that only their description explains."""
    wanted = error.schema.get("description", "")
    return f"{shown(error.instance)} does not fit" + (f": {wanted.rstrip('.')}" if wanted else "")


def _bound(words: str) -> Callable[[ValidationError], str]:
    return lambda error: f"must be {words} {error.validator_value}, not {shown(error.instance)}"


def _empty(error: ValidationError) -> str:
    what = "letters" if isinstance(error.instance, str) else "entries"
    return f"has too few {what}: {len(error.instance)}, and needs {error.validator_value}"


def _choice_of_keys(error: ValidationError) -> str:
    """The message for alternatives that need different keys."""
    names = " or ".join(key for part in error.validator_value for key in part["required"])
    return f"needs one of the keys {names}, and one only"


def _no_alternative(error: ValidationError) -> str:
    """Of a value that may also be a certain word: what is wrong with it otherwise."""
    alternatives = error.validator_value
    words = [shown(one["const"]) for one in alternatives if "const" in one]
    others = [e for e in error.context or () if "const" not in alternatives[e.schema_path[0]]]
    if not words or len(alternatives) != len(words) + 1:
        return _description(error)
    say = _SENTENCES.get(str(others[0].validator), _description)
    return f"{say(others[0])}; it may also be {' or '.join(words)}"


_SENTENCES: dict[str, Callable[[ValidationError], str]] = {
    "additionalProperties": _unknown_key,
    "required": _missing_key,
    "type": _wrong_type,
    "enum": _not_a_choice,
    "uniqueItems": _twice,
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("above"),
    "exclusiveMaximum": _bound("below"),
    "multipleOf": _bound("a multiple of"),
    "minItems": _empty,
    "minProperties": _empty,
    "minLength": _empty,
    "oneOf": _choice_of_keys,
    "anyOf": _no_alternative,
}
