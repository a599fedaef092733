"""Stand-ins for packages that another package imports and that nobody uses."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Refusal(type):
    """The type of classes that may be named but not used."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise ImportError(cls.__doc__)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):  # Python's own questions about a class
            raise AttributeError(name)
        raise ImportError(cls.__doc__)


class StandIn(ModuleType):
    """A module in which every name is found, as a class that refuses to be used."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "Stands in for a package that was not imported.")
        self.__spec__ = ModuleSpec(name, None)  # without one, importlib takes it for broken

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        message = (
            f"{self.__name__}.{name} is a stand-in: install {self.__name__.partition('.')[0]}, and "
            "import it before anything else that would do without it"
        )
        return Refusal(name, (), {"__doc__": message})


@contextmanager
def stand_ins(modules: Sequence[str]) -> Iterator[None]:
    """Let stand-ins be imported in place of some modules, for the time of a ``with`` block.

    Packages that were imported before stay what they are.

    Parameters
    ----------
    modules : full names, a package before the modules inside.
    """
    added = [name for name in modules if name.partition(".")[0] not in sys.modules]
    for name in added:
        sys.modules[name] = StandIn(name)
        package, _, own = name.rpartition(".")
        if package:
            setattr(sys.modules[package], own, sys.modules[name])
    try:
        yield
    finally:
        for name in added:
            sys.modules.pop(name, None)
