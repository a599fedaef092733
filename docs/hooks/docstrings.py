"""Docstrings as the reference shows them: what stands after ``name :`` is its meaning."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import getdoc
from typing import Any

import griffe

ROLE = re.compile(r":\w+:`~?([^`]+)`")
NAMED = re.compile(r"^(\w[\w, *]*) : (.*)$", flags=re.MULTILINE)
COMPOSED = "nddv.estimator.nddv.NDDV"  # its docstring is put together from the settings


class Docstrings(griffe.Extension):
    """Puts docstrings in the form that the reference reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is None:
            return
        if obj.path == COMPOSED:
            module, _, name = COMPOSED.rpartition(".")
            obj.docstring.value = getdoc(getattr(import_module(module), name)) or ""
        text = ROLE.sub(r"`\1`", obj.docstring.value)
        obj.docstring.value = NAMED.sub(r"\1\n    \2", text)
