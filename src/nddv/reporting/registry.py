"""What an entry of the report says of itself: a table or a figure.

The entries are in :mod:`nddv.reporting.catalogue`. Functions are named, not imported: the Snakefile
reads the entries inside Snakemake's own environment, which has neither pandas nor matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def load(function: str) -> Callable[..., Any]:
    """Import a function by its name, ``"module:function"``."""
    module, _, name = function.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), name)
    return loaded


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One table or figure of the report.

    Attributes
    ----------
    name : of its files.
    title : what is seen, as a heading.
    caption : how to read it, in plain words.
    part : of the configuration that asks for it.
    function : ``"module:function"``; called with what it reads and the facts, by keyword.
    reads : argument of the function -> source of its files.
    facts : argument of the function -> fact of the plan.
    label : of the paper's table or figure that it reproduces; empty for ours.
    requires : the data set without which it is not made.
    """

    name: str
    title: str
    caption: str
    part: str
    function: str
    reads: Mapping[str, str]
    facts: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    requires: str = ""

    @property
    def module(self) -> str:
        """The module of the function, below the library."""
        return self.function.partition(":")[0].removeprefix("nddv.")

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        return load(self.function)


@dataclass(frozen=True, kw_only=True)
class Table(Entry):
    """A table: its function gives a data frame, or one with notes.

    Attributes
    ----------
    columns : column -> heading; a column with an empty heading is in the CSV file only.
    about : what the numbers mean; printed below the table.
    layout : ``"module:function"`` for a table that is not laid out row by row; called with the
        entry and the frame of the CSV file, it gives cells of text under headings, and notes.
    digits : column -> decimals of a number without a spread; otherwise three.
    seeded : whether numbers are means over seeds; otherwise only the configuration is printed.
    """

    columns: Mapping[str, str]
    about: str = ""
    layout: str = ""
    digits: Mapping[str, int] = field(default_factory=dict)
    seeded: bool = True


@dataclass(frozen=True)
class Result:
    """What the function of a table may give: a data frame, and footnotes about its numbers."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Figure(Entry):
    """A figure: its function gives a matplotlib ``Figure``.

    Attributes
    ----------
    methods : the fact that names the methods to show; empty for all.
    """

    methods: str = ""
