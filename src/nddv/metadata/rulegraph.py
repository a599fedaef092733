"""The rules of the workflow as a picture: which rule reads what another writes.

Snakemake says which arrows there are; graphviz, which would draw them, is not a Python package.
Each rule stands as far right as the rules that read from it allow. An arrow that follows from
others is left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

CONFIGURATION = ("config/config.yaml", "config/embedded.yaml")
SWEEPS = 8  # over the columns, to put rules near those they are linked with
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 138, 24, 46, 10, 12  # of a box, between boxes, around all

Graph = Mapping[str, frozenset[str]]
"""A rule -> the rules that read what it writes."""


def read_graph(root: Path) -> dict[str, frozenset[str]]:
    """Ask Snakemake for the rules that the embedded configuration uses; no job is run."""
    files = [str((root / name).absolute()) for name in CONFIGURATION]
    snakefile = str((root / "Snakefile").absolute())
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            snakefile,
            "--rulegraph",
            "dot",
        ]
        command += ["--directory", folder, "--configfile", *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"snakemake --rulegraph failed:\n{done.stderr.strip()}")
    return parse_dot(done.stdout)


def parse_dot(text: str) -> dict[str, frozenset[str]]:
    """The graph in Snakemake's output; a rule that reads its own files is no arrow."""
    names = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)', text, flags=re.MULTILINE))
    arrows = re.findall(r"^\s*(\d+) -> (\d+)", text, flags=re.MULTILINE)
    return {
        name: frozenset(names[b] for a, b in arrows if a == key and b != key)
        for key, name in names.items()
    }


def reduced(graph: Graph) -> dict[str, frozenset[str]]:
    """The graph without arrows that a longer way replaces."""
    below: dict[str, frozenset[str]] = {}

    def reached(rule: str) -> frozenset[str]:
        if rule not in below:
            below[rule] = graph[rule].union(*map(reached, graph[rule]))
        return below[rule]

    return {
        rule: frozenset(n for n in after if not any(n in reached(o) for o in after - {n}))
        for rule, after in graph.items()
    }


def columns_of(graph: Graph) -> list[list[str]]:
    """The rules from left to right; those of a column near the rules they are linked with."""
    steps: dict[str, int] = {}  # from the end

    def step(rule: str) -> int:
        if rule not in steps:
            steps[rule] = max((step(after) + 1 for after in graph[rule]), default=0)
        return steps[rule]

    last = max(map(step, graph))
    columns = [[r for r in sorted(graph) if steps[r] == last - k] for k in range(last + 1)]
    linked = {r: graph[r] | {s for s, after in graph.items() if r in after} for r in graph}
    for _ in range(SWEEPS):
        place = {r: k - len(column) / 2 for column in columns for k, r in enumerate(column)}
        for column in columns:
            column.sort(key=lambda r: sum(place[s] for s in linked[r]) / max(len(linked[r]), 1))
            place |= {r: k - len(column) / 2 for k, r in enumerate(column)}
    return columns


def draw(graph: Graph) -> str:
    """The picture as SVG."""
    graph = reduced(graph)
    columns = columns_of(graph)
    tallest = max(map(len, columns))
    corner = {
        rule: (
            MARGIN + x * (WIDTH + ACROSS),
            MARGIN + (y + (tallest - len(column)) / 2) * (HEIGHT + DOWN),
        )
        for x, column in enumerate(columns)
        for y, rule in enumerate(column)
    }
    width = 2 * MARGIN + len(columns) * (WIDTH + ACROSS) - ACROSS
    height = 2 * MARGIN + tallest * (HEIGHT + DOWN) - DOWN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        "<title>Rules of the workflow; an arrow goes to the rule that reads the files</title>",
        '<marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" '
        'orient="auto"><path d="M0 0L6 3L0 6z" fill="#999"/></marker>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for rule, (x, y) in corner.items():
        for after in sorted(graph[rule]):
            (a, b), (c, d) = (x + WIDTH, y + HEIGHT / 2), corner[after]
            end, bend = d + HEIGHT / 2, ACROSS * 0.7
            lines.append(
                f'<path d="M{a:g} {b:g}C{a + bend:g} {b:g} {c - bend:g} {end:g} {c:g} {end:g}" '
                'fill="none" stroke="#999" marker-end="url(#tip)"/>'
            )
    for rule, (x, y) in corner.items():
        lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" '
            'fill="#eef4fb" stroke="#0072B2"/>'
            f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 4:g}" text-anchor="middle">'
            f"{rule}</text>"
        )
    return "\n".join([*lines, "</svg>", ""])
