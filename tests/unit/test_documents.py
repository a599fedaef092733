"""What the documents name exists: files, modules, functions; and lines and words are in order."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / folder / "README.md" for folder in ("reports", "results")),
]
SETTINGS = [
    *sorted((ROOT / "config").glob("*.yaml")),
    ROOT / "src" / "nddv" / "problems" / "encoders" / "encoders.yaml",
    *sorted((ROOT / "profiles").glob("*/*.yaml")),
    *sorted((ROOT / "envs").glob("*.yaml")),
]


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def exists(name: str) -> bool:
    """Whether there is the module, or the object of a module, that a dotted name means."""
    parts = name.split(".")
    module = ROOT / "src" / Path(*parts)
    if module.with_suffix(".py").exists() or module.is_dir():
        return True  # not imported: some modules need a package that is not installed
    try:
        return hasattr(import_module(".".join(parts[:-1])), parts[-1])
    except ModuleNotFoundError:  # an attribute of a class
        return hasattr(getattr(import_module(".".join(parts[:-2])), parts[-2]), parts[-1])


def lines_of_algorithm_1() -> list[list[str]]:
    text = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    table = text.partition("## From lines of Algorithm 1")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_every_line_of_algorithm_1_has_its_functions():
    rows = lines_of_algorithm_1()
    numbers = [int(number) for row in rows for number in row[0].split(", ")]
    assert sorted(numbers) == list(range(1, 14))
    for row in rows:
        functions = [name.replace(":", ".") for name in re.findall(r"`([\w.]+:[\w.]+)`", row[2])]
        assert functions, row
        for name in functions:
            assert exists(name if name.startswith("nddv.") else f"nddv.dynamics.{name}"), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=label)
def test_links_and_paths_lead_to_files(document):
    text = document.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    named = re.findall(r"`((?:src|config|profiles|workflow|envs|tests)/[\w./-]*)`", text)
    paths = [*(document.parent / link for link in links), *(ROOT / name for name in named)]
    assert [path for path in paths if not path.exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=label)
def test_modules_and_functions_that_are_named_exist(document):
    names = re.findall(r"`(nddv(?:\.\w+)+)", document.read_text(encoding="utf-8"))
    assert [name for name in names if not exists(name)] == []


@pytest.mark.parametrize("file", [*DOCUMENTS, *SETTINGS], ids=label)
def test_lines_have_fewer_than_120_characters(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    exempt = ("|", "![") if file.suffix == ".md" else ("- https://", "urls: [http")
    long = [line for line in lines if len(line) >= 120 and not line.strip().startswith(exempt)]
    assert long == []


def test_the_glossary_is_in_alphabetical_order():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = [word.lower() for word in re.findall(r"^- \*\*(.+?)\*\*", text, flags=re.MULTILINE)]
    words = [word.replace("ε", "epsilon").replace("-", "") for word in words]
    assert len(words) > 40
    assert words == sorted(words)
