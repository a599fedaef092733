"""What a function takes, read from its source: parts of a problem, and settings.

A setting is a parameter whose annotation is a kind of :mod:`nddv.support.settings`; its line in the
docstring says what it means. Nothing is imported: the Snakefile reads settings inside Snakemake's
own environment, without numpy.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from nddv.support import settings as vocabulary
from nddv.support.settings import Kind, Setting, kind_of

LIBRARY = Path(__file__).parents[1]

MADE = {
    "game": "nddv.methods.valuation:logistic_game",
    "class_accuracies": "nddv.methods.valuation:class_accuracies",
}
"""Parameters that a function of its own makes from the problem; a rule takes its settings too."""

OF_VALIDATION = {"X_valid", "y_valid", *MADE}
OF_META = {"X_meta"}
OF_LABELS = {"y", "y_valid", "problem", *MADE}


@dataclass(frozen=True)
class Signature:
    """The names of all parameters, and those that are settings."""

    names: tuple[str, ...]
    settings: dict[str, Setting]

    @property
    def needs(self) -> tuple[str, ...]:
        """Parts of the problem that a rule reads."""
        parts = {"meta": OF_META, "valid": OF_VALIDATION}
        return ("train", *(part for part, names in parts.items() if names & {*self.names}))

    @property
    def reads_labels(self) -> bool:
        """Whether a rule reads what is to be learnt, not features alone."""
        return bool(OF_LABELS & {*self.names})

    @property
    def all_settings(self) -> dict[str, Setting]:
        """With those of what is made for the function."""
        settings: dict[str, Setting] = {}
        for name in MADE.keys() & {*self.names}:
            settings |= read_signature(MADE[name]).settings
        return settings | self.settings


def load(function: str) -> Any:
    """The function of a ``"module:function"``."""
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)


def parse(module: str) -> ast.Module:
    """The source of a module of the library."""
    path = LIBRARY.joinpath(*module.split(".")[1:]).with_suffix(".py")
    return ast.parse(path.read_bytes())


def functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """The functions of a module."""
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


@cache
def read_signature(function: str) -> Signature:
    """The signature of a ``"module:function"`` of the library.

    What it hands on with ``**`` to another function are settings of that one.
    """
    module, _, name = function.partition(":")
    tree = parse(module)
    node = functions(tree)[name]
    taken = [*node.args.args, *node.args.kwonlyargs]
    meanings = _meanings(ast.get_docstring(node) or "")
    settings = {}
    for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        kind = _kind(parameter.annotation)
        if kind is not None and default is not None:
            own = parameter.arg
            settings[own] = Setting(own, _default(default), kind, meanings.get(own, ""))
    if node.args.kwarg:
        further = _called_with(node, node.args.kwarg.arg)
        homes = {
            alias.name: statement.module
            for statement in ast.walk(tree)
            if isinstance(statement, ast.ImportFrom)
            for alias in statement.names
        }
        settings |= read_signature(f"{homes.get(further, module)}:{further}").settings
    return Signature(tuple(parameter.arg for parameter in taken), settings)


def _default(node: ast.expr) -> Any:
    """A default as JSON has it."""
    value = ast.literal_eval(node)
    return list(value) if isinstance(value, tuple) else value


def _kind(node: ast.expr | None) -> Kind | None:
    """The kind in an annotation: ``Count``, or ``Annotated[int, whole(2)]``."""
    match node:
        case ast.Name(id=name):
            return kind_of(getattr(vocabulary, name, None))
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, call])):
            return _made(call)
    return None


def _made(node: ast.expr) -> Any:
    """A kind from its function, or an argument of that."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    assert isinstance(node.func, ast.Name)
    arguments = {str(keyword.arg): _made(keyword.value) for keyword in node.keywords}
    return getattr(vocabulary, node.func.id)(*map(_made, node.args), **arguments)


def _called_with(function: ast.FunctionDef, name: str) -> str:
    """The function that is called with ``**name`` inside another."""
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        handed = [k.value.id for k in call.keywords if not k.arg and isinstance(k.value, ast.Name)]
        if name in handed and isinstance(call.func, ast.Name):
            return call.func.id
    raise ValueError(f"{function.name} hands **{name} on to no function")


def _meanings(docstring: str) -> dict[str, str]:
    """The lines ``name : meaning`` of a docstring, with what continues them."""
    lines = re.findall(r"^(\w+) : (.*(?:\n {4}.*)*)", docstring, re.MULTILINE)
    return {name: " ".join(meaning.split()).rstrip(".") for name, meaning in lines}
