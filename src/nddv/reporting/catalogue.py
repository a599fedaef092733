"""The registry of figures: what each is called, says, and is drawn by.

A new figure is one function that takes data frames and gives a matplotlib ``Figure``, one entry
here, and the files it reads in ``workflow/rules/figures_common.smk``. The functions are named, not
imported: the Snakefile reads this registry inside Snakemake's own environment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class FigureEntry:
    """One figure of the report.

    Attributes
    ----------
    title : what is seen, as a heading.
    caption : how to read it, in plain words.
    function : ``"module:function"``; called with the frames that it reads, by name.
    label : of the paper's figure that it reproduces; empty for ours.
    """

    title: str
    caption: str
    function: str
    label: str = ""

    @property
    def module(self) -> str:
        """The module of the function, below the library."""
        return self.function.partition(":")[0].removeprefix("nddv.")

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function


FIGURES: dict[str, FigureEntry] = {}
