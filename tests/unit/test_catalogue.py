"""Every figure of the registry can be loaded, and says what it is."""

from __future__ import annotations

import inspect
import re

import pytest

from nddv.reporting.catalogue import FIGURES, FigureEntry

ENTRIES = pytest.mark.parametrize(("name", "entry"), FIGURES.items(), ids=list(FIGURES))


@ENTRIES
def test_the_function_is_there_and_takes_frames_by_name(name, entry):
    function = entry.load()
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    assert kinds
    assert inspect.Parameter.POSITIONAL_ONLY not in kinds
    assert function.__module__ == f"nddv.{entry.module}"


@ENTRIES
def test_it_has_a_title_and_a_caption_of_whole_sentences(name, entry):
    assert entry.title.strip()
    assert not entry.title.endswith(".")
    assert len(entry.caption) >= 60
    assert entry.caption.endswith(".")


@ENTRIES
def test_its_name_is_a_plain_word(name, entry):
    # also the name of its files
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)


def test_an_entry_names_a_function_that_it_imports():
    entry = FigureEntry("Title", "Caption.", "nddv.reporting.figures:save_figure")
    assert entry.module == "reporting.figures"
    assert entry.load().__name__ == "save_figure"
    with pytest.raises(AttributeError):
        FigureEntry("Title", "Caption.", "nddv.reporting.figures:no_such_figure").load()
