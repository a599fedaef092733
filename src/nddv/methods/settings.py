"""The settings of all methods: names, defaults, what they may be, what they mean.

NDDV's stand in :mod:`nddv.estimator.settings`, a baseline's in the signature of its function.
``python -m nddv.methods.settings > docs/settings.md`` writes all for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from nddv.estimator.settings import SETTINGS, Settings, resolved
from nddv.methods.registry import (
    CLEANLAB_PREFIX,
    CLEANLAB_SCORES,
    METHODS,
    OPENDATAVAL_PREFIX,
    get_method,
)
from nddv.methods.signatures import read_signature
from nddv.methods.variants import NDDV_PREFIX, is_nddv, split_variant
from nddv.support.settings import FINITE, LARGEST, Setting

NDDV = "nddv"
EVALUATORS = f"^{OPENDATAVAL_PREFIX}[A-Za-z]+$"
OF_CLEANLAB = [CLEANLAB_PREFIX + score for score in CLEANLAB_SCORES]


def settings_key(method: str) -> str:
    """The key of a method in the configuration: methods that read the same fits share one.

    These are all readouts of NDDV, and baselines of one function, under the name of the first.
    """
    if is_nddv(method) or method == NDDV:
        return NDDV
    function = get_method(method).function
    return next((m.name for m in METHODS.values() if m.function == function), method)


def settings_of(method: str) -> dict[str, Setting]:
    """The settings that the configuration may set of a method, or of ``"nddv"``, by name.

    Those of an evaluator of OpenDataVal are its own affair: none here.
    """
    if settings_key(method) == NDDV:
        return {name: own for name, own in SETTINGS.items() if own.configurable}
    if method.startswith(OPENDATAVAL_PREFIX):
        return {}
    return read_signature(get_method(method).function).all_settings


def defaults(method: str) -> dict[str, Any]:
    """The default of every setting of a method; of a readout, as its configuration has it."""
    return completed(method, {})


def completed(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a method where some are given.

    Of a readout of NDDV nothing is left to "auto" that a configuration decides: the given one, or
    the one that the readout is made for.
    """
    own = settings_of(method)
    if not is_nddv(method):
        return {name: setting.default for name, setting in own.items()} | dict(given)
    readout = split_variant(method)[0].removeprefix(NDDV_PREFIX)
    whole = resolved(Settings(readout, **given))
    return {name: getattr(whole, name) for name in (*own, *(n for n in given if n not in own))}


def effective(config: Mapping[str, Mapping[str, Any]], method: str) -> dict[str, Any]:
    """The settings that a method runs with: its defaults, overlaid by the configuration.

    Parameters
    ----------
    config : the part ``settings`` of the configuration.
    """
    return completed(method, config.get(settings_key(method), {}))


@cache
def schema() -> dict[str, Any]:
    """JSON Schema of the part ``settings`` of the configuration."""
    names = dict.fromkeys(map(settings_key, [*METHODS, *OF_CLEANLAB]))
    return {
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {EVALUATORS: {"type": "object"}},
        "properties": {
            name: {
                "type": "object",
                "additionalProperties": False,
                "properties": {key: _schema(own) for key, own in settings_of(name).items()},
            }
            for name in names
        },
    }


def _schema(setting: Setting) -> dict[str, Any]:
    return {"description": setting.meaning, **_limited(setting.kind.schema)}


def _limited(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The library takes any finite number; in a configuration 1e9 is a slip."""
    limited = dict(schema)
    if limited.get("maximum") == FINITE:
        limited["maximum"] = LARGEST
    if "anyOf" in limited:
        limited["anyOf"] = [_limited(one) for one in limited["anyOf"]]
    return limited


# ------------------------------------------------------------------ documentation

INTRODUCTION = f"""\
# Methods and their settings

Written by `make settings`. The sources of this page: `nddv.methods.registry` for the methods,
`nddv.estimator.settings` for the settings of NDDV, the signature of its function for any other
method. `config/methods.yaml` says where the workflow departs from a default, and why.

Whole numbers are at most {LARGEST:,}; in the configuration all numbers are. The workflow itself
sets {", ".join(f"`{s.name}`" for s in SETTINGS.values() if not s.configurable)} of NDDV.

Cost: n training and m validation points, d features, C classes, E epochs, B drawn coalitions, F the
time of one fit.
"""


def _document() -> Iterator[str]:
    """Markdown of all methods and settings, line by line."""
    yield INTRODUCTION
    yield from _table(
        ("Method", "Title", "Cost", "From"),
        (
            (f"`{m.name}`", m.title, m.cost, m.citation)
            for m in (*METHODS.values(), *map(get_method, OF_CLEANLAB))
        ),
    )
    for name in schema()["properties"]:
        settings = SETTINGS if name == NDDV else settings_of(name)
        sharing = [m for m in METHODS if settings_key(m) == name] or [name]
        titles = "; ".join(get_method(m).title for m in sharing if name != NDDV)
        title = titles or "NDDV, all readouts"
        yield f"\n## `{name}`: {title}\n"
        if settings:
            most = f", at most {LARGEST:,}"  # which the introduction says of all
            rows = (
                (f"`{s.name}`", f"`{s.usual}`", s.kind.words.replace(most, ""), s.meaning)
                for s in settings.values()
            )
            yield from _table(("Setting", "Default", "May be", "Meaning"), rows)
        else:
            yield "No settings."


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (header, ["---"] * len(header), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"


if __name__ == "__main__":
    print(*_document(), sep="\n")
