"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; a bar inside a cell is written as a character reference."""
    for row in (header, ["---"] * len(header), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"
