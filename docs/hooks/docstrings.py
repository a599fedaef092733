"""Docstrings as the reference shows them: what stands after ``name :`` is its meaning."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import getdoc, signature
from typing import Any

import griffe

ROLE = re.compile(r":\w+:`~?([^`]+)`")
NAMED = re.compile(r"^(\w[\w, *]*) : (.*)$", flags=re.MULTILINE)
DEFAULT = re.compile(r"^(\w+ : .*; default .*)$", flags=re.MULTILINE)
COMPOSED = "nddv.estimator.nddv.NDDV"  # its docstring is put together from the settings


class Docstrings(griffe.Extension):
    """Puts docstrings in the form that the reference reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is None:
            return
        if obj.path == COMPOSED and isinstance(obj, griffe.Class):
            _as_it_is(obj, obj.docstring)
        text = DEFAULT.sub(r"\1:", ROLE.sub(r"`\1`", obj.docstring.value))
        obj.docstring.value = NAMED.sub(r"\1\n    \2", text)


def _as_it_is(estimator: griffe.Class, docstring: griffe.Docstring) -> None:
    """Take documentation and signature from the class itself."""
    module, _, name = COMPOSED.rpartition(".")
    made = getattr(import_module(module), name)
    docstring.value = getdoc(made) or ""
    parameters = [
        griffe.Parameter(
            p.name, kind=griffe.ParameterKind(p.kind.description), default=repr(p.default)
        )
        for p in signature(made).parameters.values()
    ]
    own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    estimator["__init__"] = griffe.Function(
        "__init__", parameters=griffe.Parameters(own, *parameters)
    )
