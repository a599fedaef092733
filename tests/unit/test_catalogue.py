"""Every figure of the registry can be loaded, says what it is, and is given what it takes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
from docutils.core import publish_parts

from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.catalogue.tables import TABLES
from nddv.reporting.registry import Figure
from nddv.workflow.sources import FACTS, SOURCES

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize("entry", [*TABLES.values(), *FIGURES.values()], ids=lambda e: e.title)
def test_captions_are_sound_in_the_report_of_snakemake(entry):
    template = (ROOT / "workflow" / "report" / "entry.rst").read_text(encoding="utf-8")
    job = SimpleNamespace(params=SimpleNamespace(entry=entry))
    text = jinja2.Environment(autoescape=False).from_string(template).render(snakemake=job)
    strict = {"halt_level": 2, "report_level": 5}  # a warning is an error
    assert entry.title in publish_parts(text, writer="html", settings_overrides=strict)["body"]
