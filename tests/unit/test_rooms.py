"""The rooms of the library: imports go one way, modules are small, private names stay at home."""

from __future__ import annotations

import ast
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "src" / "nddv"

# Left to right: a room may import what stands before it, or in its own group.
FLOW = [
    {"support"},
    {"values", "laws"},
    {"coalitions"},
    {"replay"},
    {"dynamics"},
    {"tabular"},
    {"problems"},
    {"baselines"},
    {"estimator"},
    {"methods"},
    {"checks"},
    {"audit", "evaluation", "anatomy", "timing"},
    {"reporting"},
    {"workflow"},
    {"metadata"},
    {"integrations", "cli"},
]
PLACE = {room: place for place, rooms in enumerate(FLOW) for room in rooms}
MOST_LINES = 400


def name_of(path):
    parts = path.relative_to(LIBRARY.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(LIBRARY.rglob("*.py"))}
TREES = {path: ast.parse(source) for path, source in SOURCES.items()}
KNOWN = {name_of(path) for path in SOURCES}


def imports_of(path, everywhere):
    """Modules of the library that a source imports: when it is loaded, or anywhere in it.

    What is only for type checkers does not count.
    """
    tree = TREES[path]
    skipped = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    names = set()
    for node in ast.walk(tree) if everywhere else tree.body:
        if node in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "nddv":
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in KNOWN else node.module for name in inner}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.split(".")[0] == "nddv"}
    return names


def room_of(name):
    return name.split(".")[1] if "." in name else ""


@cache
def graph(everywhere=False):
    return {name_of(path): imports_of(path, everywhere) for path in SOURCES}


def test_every_room_has_its_place():
    rooms = {room_of(name) for name in graph()} - {""}
    assert rooms == set(PLACE)


def test_no_arrow_goes_against_the_flow():
    """Also of imports inside functions, except those by which a registry loads what it names."""
    against = [
        f"{name} imports {target}"
        for name, targets in graph(everywhere=True).items()
        for target in targets
        if room_of(name) and room_of(target) and PLACE[room_of(target)] > PLACE[room_of(name)]
    ]
    assert against == []


def test_rooms_of_one_group_do_not_import_each_other():
    side_by_side = [
        f"{name} imports {target}"
        for name, targets in graph(everywhere=True).items()
        for target in targets
        if room_of(target) != room_of(name)
        and room_of(name)
        and room_of(target)
        and PLACE[room_of(target)] == PLACE[room_of(name)]
    ]
    assert side_by_side == []


def test_no_module_is_imported_by_what_it_imports():
    targets = graph()
    done, path = set(), []

    def visit(name):
        if name in path:
            pytest.fail(" -> ".join([*path[path.index(name) :], name]))
        if name in done:
            return
        path.append(name)
        for target in sorted(targets.get(name, ())):
            visit(target)
        path.pop()
        done.add(name)

    for name in targets:
        visit(name)


def test_modules_are_small():
    long = {
        name_of(path): lines
        for path, source in SOURCES.items()
        if (lines := len(source.splitlines())) > MOST_LINES
    }
    assert long == {}


def test_private_names_stay_in_their_module():
    """Neither imported nor reached through another module's object."""
    reached = []
    for path, tree in TREES.items():
        own = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "cls")
        } | {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        own |= {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.AnnAssign | ast.Assign)
            for target in ([node.target] if isinstance(node, ast.AnnAssign) else node.targets)
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nddv"):
                reached += [
                    f"{name_of(path)} imports {alias.name}"
                    for alias in node.names
                    if alias.name.startswith("_")
                ]
            elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
                reached.append(f"{name_of(path)}: {ast.unparse(node)}")
    assert [line for line in reached if not line.startswith(ALLOWED)] == []


# argparse tells its options only through private names.
ALLOWED = ("nddv.cli.arguments: self._", "nddv.cli.arguments: argparse._")


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_the_flow_is_a_list_of_rooms():
    assert all(not first & second for first, second in pairwise(FLOW))
