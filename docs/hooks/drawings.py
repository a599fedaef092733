"""Drawings of the page on architecture: the rooms of the library, and the rules of the workflow.

Both are read from the sources at every build: imports by the parser of Python, rules by Snakemake.
"""

from __future__ import annotations

import ast
import html
import re
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "src" / "nddv"
CONFIGURATION = [ROOT / "config" / name for name in ("config.yaml", "embedded.yaml")]
HEIGHT, ACROSS, DOWN = 24, 20, 12  # of a box, and between boxes
LETTER = 6.35  # its width

Graph = dict[str, set[str]]
"""What stands before each node."""


def rooms() -> Graph:
    """The rooms of the library, and which others each of them imports."""
    found: Graph = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        first = path.relative_to(LIBRARY).parts[0].removesuffix(".py")
        if first == "__init__":
            continue
        inside = found.setdefault(first, set())
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nddv."):
                inside.add(str(node.module).split(".")[1])
    return {room: before - {room} for room, before in found.items()}


def rules() -> Graph:
    """The rules of the workflow, and those whose files each of them reads."""
    with tempfile.TemporaryDirectory() as folder:
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "snakemake",
            "--rulegraph",
            "--directory",
            folder,
        ]
        command += ["--snakefile", ROOT / "Snakefile", "--configfile", *CONFIGURATION]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"Snakemake has no graph of the rules:\n{done.stderr}")
    names = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)"', done.stdout, flags=re.MULTILINE))
    found: Graph = {name: set() for name in names.values()}
    for before, after in re.findall(r"^\s*(\d+) -> (\d+)$", done.stdout, flags=re.MULTILINE):
        if before != after:
            found[names[after]].add(names[before])
    return {name: before for name, before in found.items() if name != "all"}


def direct(graph: Graph) -> Graph:
    """Without arrows that a way over other nodes makes plain."""

    def behind(node: str) -> set[str]:
        return graph[node] | {far for near in graph[node] for far in behind(near)}

    return {
        node: {one for one in before if not any(one in behind(other) for other in before)}
        for node, before in graph.items()
    }


def columns(graph: Graph) -> list[list[str]]:
    """Nodes from left to right, each as near as can be to what reads it.

    A way across a column is a node too, named ``before>after>column``; so ways avoid boxes.
    """
    after = {node: {n for n, before in graph.items() if node in before} for node in graph}

    def place(node: str) -> int:
        return 1 + max(map(place, after[node]), default=-1)

    last = max(map(place, graph))
    at = {node: last - place(node) for node in graph}
    found: list[list[str]] = [[node for node in graph if at[node] == k] for k in range(last + 1)]
    for node, before in graph.items():
        for one in sorted(before):
            for k in range(at[one] + 1, at[node]):
                found[k].append(f"{one}>{node}>{k}")
    ways = chains(graph, found)
    beside = {
        n: [w for way in ways for pair in pairwise(way) if n in pair for w in pair if w != n]
        for column in found
        for n in column
    }
    for _ in range(20):  # each node to the mean height of those it is joined to
        for column in found:
            height = {n: i / len(c) for c in found for i, n in enumerate(c)}
            column.sort(key=lambda n: sum(height[m] for m in beside[n]) / max(1, len(beside[n])))
    return found


def chains(graph: Graph, found: list[list[str]]) -> list[list[str]]:
    """Every arrow, as the nodes it passes."""
    passed = [name for column in found for name in column if ">" in name]
    return [
        [one, *(name for name in passed if name.startswith(f"{one}>{node}>")), node]
        for node, before in graph.items()
        for one in sorted(before)
    ]


def draw(graph: Graph, meanings: dict[str, str]) -> str:
    """An SVG picture of a graph; colours are those of the page around it."""
    graph = direct(graph)
    found = columns(graph)
    tallest = max(map(len, found))
    width = round(LETTER * max(map(len, graph)) + 8)
    where = {}
    for k, column in enumerate(found):
        gap = (tallest * (HEIGHT + DOWN)) / len(column)
        for i, name in enumerate(column):
            where[name] = (8 + k * (width + ACROSS), (i + 0.5) * gap)
    lines, boxes = [], []
    for way in chains(graph, found):
        path = ""
        for one, two in pairwise(way):
            (x1, y1), (x2, y2) = where[one], where[two]
            x1, middle = x1 + width, x1 + width + ACROSS / 2
            path += f"M{x1} {y1:.1f}C{middle} {y1:.1f} {middle} {y2:.1f} {x2} {y2:.1f}"
            if ">" in two:
                path += f"H{x2 + width}"
        lines.append(f'<path d="{path}"/>')
    for name in graph:
        x, y = where[name]
        boxes.append(
            f"<g><title>{html.escape(meanings.get(name, name))}</title>"
            f'<rect x="{x}" y="{y - HEIGHT / 2:.1f}" width="{width}" height="{HEIGHT}" rx="5"/>'
            f'<text x="{x + width / 2}" y="{y + 4:.1f}">{name}</text></g>'
        )
    wide, high = 16 + len(found) * (width + ACROSS) - ACROSS, tallest * (HEIGHT + DOWN)
    return (
        f'<div class="drawing"><svg viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img">{"".join(lines)}{"".join(boxes)}</svg></div>'
    )


def first_lines() -> dict[str, str]:
    """What each room says of itself."""
    found = {}
    for room in rooms():
        path = LIBRARY / room / "__init__.py"
        source = path if path.exists() else LIBRARY / f"{room}.py"
        text = ast.get_docstring(ast.parse(source.read_bytes())) or room
        found[room] = text.splitlines()[0]
    return found


def messages() -> dict[str, str]:
    """What the rules say while they run."""
    text = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "workflow/rules").glob("*.smk"))
    pairs = re.findall(
        r"^rule (\w+):\n(?:.*\n)*?    message:\n +\"(.*)\"", text, flags=re.MULTILINE
    )
    return {name: re.sub(r"\{wildcards\.(\w+)\}", r"‹\1›", said) for name, said in pairs}


DRAWINGS = {
    "<!-- drawing: rooms -->": lambda: draw(rooms(), first_lines()),
    "<!-- drawing: rules -->": lambda: draw(rules(), messages()),
}


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Draw where a page asks for it."""
    for mark, drawing in DRAWINGS.items():
        if mark in content:
            content = content.replace(mark, drawing())
    return content
