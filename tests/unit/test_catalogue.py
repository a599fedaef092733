"""Every figure of the registry can be loaded, says what it is, and is given what it takes."""

from __future__ import annotations

import inspect
import re

import pytest

from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.registry import Figure
from nddv.workflow.sources import FACTS, SOURCES

ENTRIES = pytest.mark.parametrize(("name", "entry"), FIGURES.items(), ids=list(FIGURES))


@ENTRIES
def test_the_function_takes_what_is_read_and_known_by_name(name, entry):
    function = entry.load()
    parameters = inspect.signature(function).parameters
    handed = {**entry.reads, **entry.facts}
    assert handed.keys() <= parameters.keys()
    needed = {key for key, one in parameters.items() if one.default is inspect.Parameter.empty}
    assert needed <= handed.keys()
    assert function.__module__ == f"nddv.{entry.module}"


@ENTRIES
def test_sources_and_facts_are_those_that_a_plan_knows(name, entry):
    assert {source.partition(":")[0] for source in entry.reads.values()} <= set(SOURCES)
    facts = [*entry.facts.values(), *filter(None, [entry.methods])]
    assert {fact.partition(":")[0] for fact in facts} <= set(FACTS)


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
    assert name == entry.name


def test_an_entry_names_a_function_that_it_imports():
    def entry(function):
        return Figure(name="f", title="T", caption="C.", part="p", function=function, reads={})

    saved = entry("nddv.reporting.figures.style:save_figure")
    assert saved.module == "reporting.figures.style"
    assert saved.load().__name__ == "save_figure"
    with pytest.raises(AttributeError):
        entry("nddv.reporting.figures.style:no_such_figure").load()
