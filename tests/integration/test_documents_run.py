"""Every Python block of the documents runs, and every shell command that can; outputs are as shown.

The recipes of CONTRIBUTING.md are followed by ``tests/workflow/test_recipes.py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import follow
import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
NOT_RUN = {
    "pip": "would change the environment; its extras are looked up",
    ".": "activates the environment that `make` builds",
    ".venv/bin/python": "runs these tests",
    "docker": "needs Docker",
    "apptainer": "needs Apptainer",
    "snakedeploy": "needs conda",
}
NOT_PLANNED = ("-n", "--use-conda")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def alike(printed: str, shown: str) -> bool:
    """Whether what is shown was printed, line by line, perhaps with other lines between.

    A line has the same words, and numbers that differ by a quarter at most.
    """
    lines = iter(printed.splitlines())
    return all(any(alike_line(line, wanted) for line in lines) for wanted in shown.splitlines())


def alike_line(printed: str, shown: str) -> bool:
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", shown).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    numbers = [[float(text.replace(",", "")) for text in pair] for pair in pairs]
    return all(abs(a - b) <= max(1, abs(b) / 4) for a, b in numbers)


def shown_outputs(document: Path, said: list[str]) -> list[tuple[str, str]]:
    """Where a document shows what a block prints: what it printed, and what is shown."""
    pairs = zip(follow.blocks(document), said, strict=True)
    return [(printed, block.printed) for block, printed in pairs if block.printed]


def runnable(document: Path) -> bool:
    """Whether a document has something to follow."""
    return any(
        block.language == "python"
        or (block.language in follow.SHELL and any(map(follow.is_run_here, commands_of(block))))
        for block in follow.blocks(document)
    )


def commands_of(block: follow.Block) -> list[list[str]]:
    return follow.commands(block.code) if block.language in follow.SHELL else []


def shell_commands(program: str) -> list[list[str]]:
    """All commands of the documents that start a program."""
    documents = [*DOCUMENTS, ROOT / "CONTRIBUTING.md"]
    found = [words for d in documents for block in follow.blocks(d) for words in commands_of(block)]
    return [words for words in found if words[0] == program]


@pytest.mark.slow
@pytest.mark.parametrize("document", [*filter(runnable, DOCUMENTS)], ids=lambda path: path.stem)
def test_a_document_can_be_followed(document, tmp_path):
    said = follow.followed(document, tmp_path, ROOT / "src")
    for printed, shown in shown_outputs(document, said):
        assert alike(printed, shown), f"{document.name} shows\n{shown}\nbut it is\n{printed}"


def test_the_readme_shows_three_outputs():
    assert sum(bool(block.printed) for block in follow.blocks(ROOT / "README.md")) == 3


def test_outputs_are_compared():
    assert alike("5 s\nAbout 96 of 1,000 rows\nEnd\n", "About 90 of 1,000 rows\nEnd")
    assert not alike("End\nAbout 96 rows", "About 96 rows\nEnd")
    assert not alike("About 96 of 1,000 rows", "About 60 of 1,000 rows")
    assert not alike("About 96 rows", "About 96 labels")


def test_every_shell_command_is_run_or_there_is_a_reason():
    here = {"nddv", "python", "make", "snakemake", *NOT_RUN}
    documents = [*DOCUMENTS, ROOT / "CONTRIBUTING.md"]
    programs = {w[0] for d in documents for block in follow.blocks(d) for w in commands_of(block)}
    assert programs <= here
    assert set(NOT_RUN) <= programs


@pytest.mark.parametrize("words", shell_commands("make"), ids=" ".join)
def test_make_knows_what_the_documents_ask_of_it(words):
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run(
        [*words, "--dry-run"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def planned() -> list[list[str]]:
    """The commands of Snakemake, each once; environments of conda have tests of their own."""
    asked = shell_commands("snakemake")
    without = [" ".join(w for w in words if w not in NOT_PLANNED) for words in asked]
    return [words.split() for words in dict.fromkeys(without)]


@pytest.mark.slow
@pytest.mark.parametrize("words", planned(), ids=" ".join)
def test_snakemake_knows_what_the_documents_ask_of_it(words, tmp_path):
    files = ["--snakefile", ROOT / "Snakefile", "--directory", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", *words, "--dry-run", "--quiet", "all", *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", shell_commands("pip"), ids=" ".join)
def test_pip_is_asked_for_extras_and_files_that_exist(words):
    extras = {
        one for word in words for found in re.findall(r"\[(.+)\]", word) for one in found.split(",")
    }
    assert extras <= set(EXTRAS)
    files = [word for word in words if word.startswith("requirements.")]
    assert [name for name in files if not (ROOT / name).exists()] == []
