"""The conda environments and the package name what the code imports: all of it, and no more.

Imports are read from the sources: those that happen when a script starts, and those that may happen
later, inside functions or because a registry names a "module:function".
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from packaging.requirements import Requirement

from nddv.problems.encoders import known_encoders

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]

# What is imported under another name than it is installed by; conda's name first.
IMPORT_NAMES = {
    **{"pytorch": "torch", "matplotlib-base": "matplotlib"},
    **{"pillow": "PIL", "pyyaml": "yaml", "scikit-learn": "sklearn"},
}
# They are started, not imported.
PROGRAMS = {"python", "pip", "nodejs"}
NOT_NEEDED = {
    # Imported with an encoder only, and encoders have an environment of their own.
    "data": {"PIL", "torch"},
    # The registry of methods is asked for their names; none is run.
    "report": {"filelock", "sklearn", "torch", "tqdm"},
}
# What Snakemake itself is made with.
WITH_SNAKEMAKE = {"jsonschema", "referencing", "yaml"}
# OpenDataVal is installed without its dependencies, so that these are ours to name.
NEEDED_BY_OTHERS = {"opendataval": {"matplotlib", "PIL"}}


class Imports(NamedTuple):
    """Modules of the library and of others; `now` when a module is loaded, `perhaps` later."""

    now: set[str]
    perhaps: set[str]


def source_of(module: str) -> Path | None:
    """The file of a module or package of the library."""
    path = SRC.joinpath(*module.split("."))
    candidates = [path / "__init__.py", path.with_suffix(".py")]
    return next((one for one in candidates if one.exists()), None)


@cache
def homes(package: str) -> dict[str, str]:
    """The modules of the names that a package of the library loads when they are first used."""
    source = source_of(package)
    for node in ast.parse(source.read_bytes()).body if source else []:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            found = ast.literal_eval(node.value)
            return {k: v if v.startswith("nddv.") else f"{package}.{v}" for k, v in found.items()}
    return {}


def modules_of(node: ast.Import | ast.ImportFrom) -> set[str]:
    """What one import statement loads."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    assert node.module is not None, "the library has no relative imports"
    assert node.level == 0, "the library has no relative imports"
    names = {alias.name for alias in node.names}
    own = {f"{node.module}.{name}" for name in names if source_of(f"{node.module}.{name}")}
    return {node.module, *own, *(homes(node.module).get(name, node.module) for name in names)}


@cache
def imports_of(source: Path) -> Imports:
    """What one file imports."""
    found = Imports(set(), set())

    def visit(node: ast.AST, kind: set[str]) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            kind |= modules_of(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if match := re.fullmatch(r"(nddv[\w.]*):\w+", node.value):
                found.perhaps.add(match[1])
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for child in ast.iter_child_nodes(node):
                visit(child, found.perhaps if inside else kind)

    visit(ast.parse(source.read_bytes()), found.now)
    return found


def others(sources: list[Path], perhaps: bool) -> set[str]:
    """Top-level modules of other packages that files load, through all that they load of ours."""
    waiting, seen, found = list(sources), set[Path](), set[str]()
    while waiting:
        source = waiting.pop()
        if source in seen:
            continue
        seen.add(source)
        imports = imports_of(source)
        for module in imports.now | (imports.perhaps if perhaps else set()):
            first, *rest = module.split(".")
            if first != "nddv":
                found.add(first)
                continue
            around = [".".join([first, *rest[:k]]) for k in range(len(rest) + 1)]
            waiting += [path for path in map(source_of, around) if path]
    return found - set(sys.stdlib_module_names) - {"snakemake"}


def scripts_of_rules() -> dict[str, tuple[str, Path]]:
    """Of each rule: its environment and its script; a rule made from another has that one's."""
    found: dict[str, tuple[str, Path]] = {}
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        for block in re.split(r"^(?=rule |use rule )", path.read_text(), flags=re.MULTILINE):
            if head := re.match(r"(?:use rule (\w+) as|rule) (\w+)", block):
                conda = re.search(r'conda:\s+"\.\./\.\./envs/(\w+)\.yaml"', block)
                script = re.search(r'script:\s+"\.\./scripts/(\w+\.py)"', block)
                environment = conda[1] if conda else found[head[1]][0]
                source = ROOT / "workflow" / "scripts" / script[1] if script else found[head[1]][1]
                found[head[2]] = (environment, source)
    return found


def named(environment: str) -> set[str]:
    """Import names of what an environment asks for, without the programs."""
    content = yaml.safe_load((ROOT / "envs" / f"{environment}.yaml").read_text())
    names = {line.split()[0] for line in content["dependencies"]} - PROGRAMS
    return {IMPORT_NAMES.get(name, name) for name in names}


RULES = scripts_of_rules()


def roots(environment: str) -> list[Path]:
    """The scripts that run in an environment, and the encoders in the one that is theirs."""
    scripts = sorted({script for name, script in RULES.values() if name == environment})
    if environment == "encode":
        entries = known_encoders().values()
        modules = {entry["function"].partition(":")[0] for entry in entries}
        scripts += [path for path in map(source_of, sorted(modules)) if path]
    return scripts


def test_every_environment_has_rules_and_every_rule_an_environment():
    assert {environment for environment, _ in RULES.values()} == {p.stem for p in ENVIRONMENTS}
    scripts = set((ROOT / "workflow" / "scripts").glob("*.py"))
    assert {script for _, script in RULES.values()} == scripts


def test_imports_are_found():
    """Through names that are loaded late, through registries, and not for type checking only."""
    script = ROOT / "workflow" / "scripts"
    assert "numpy" in others([script / "make_problems.py"], perhaps=False)
    assert "torch" not in others([script / "value_baseline.py"], perhaps=False)
    assert {"torch", "scipy", "sklearn"} < others([script / "value_baseline.py"], perhaps=True)
    assert "numpy" not in others([SRC / "nddv" / "support" / "files.py"], perhaps=False)


@pytest.mark.parametrize("rule", RULES)
def test_the_environment_of_a_rule_names_what_its_script_imports(rule):
    environment, script = RULES[rule]
    assert others([script], perhaps=False) - named(environment) == set()


@pytest.mark.parametrize("environment", [path.stem for path in ENVIRONMENTS])
def test_an_environment_names_what_its_rules_may_import_and_nothing_else(environment):
    used = others(roots(environment), perhaps=True) | NEEDED_BY_OTHERS.get(environment, set())
    assert used - NOT_NEEDED.get(environment, set()) == named(environment)


def test_snakemake_itself_needs_nothing_else():
    """The Snakefile is read in Snakemake's own environment, where numpy need not be installed."""
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    text = "\n".join(path.read_text() for path in files)
    modules = set(re.findall(r"^from (nddv\S*) import", text, flags=re.MULTILINE))
    assert len(modules) > 5
    found = others([path for path in map(source_of, modules) if path], perhaps=False)
    assert found <= WITH_SNAKEMAKE


def requirements(*lists: list[str]) -> set[str]:
    names = {Requirement(line).name for one in lists for line in one}
    return {IMPORT_NAMES.get(name, name) for name in names}


def test_the_package_depends_on_what_it_imports():
    """The encoders, and what is made for the workflow, may have extras of their own."""
    sources = set((SRC / "nddv").rglob("*.py"))
    extra = {"encoders", "integrations", "reporting", "schemas.py"}
    special = {p for p in sources if extra & set(p.parts)}
    usual = {name.partition(".")[0] for p in sources - special for name in imports_of(p).now}
    dependencies = requirements(PROJECT["dependencies"])
    assert usual - set(sys.stdlib_module_names) - {"nddv"} - dependencies == set()
    # pygments is for Snakemake's report
    started = {"pip", "pygments", "snakemake"}
    own = (EXTRAS[name] for name in ("encode", "workflow", "conventions"))
    extras = requirements(*own) - started
    assert others(sorted(sources), perhaps=True) == dependencies | extras
