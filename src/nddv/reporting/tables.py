"""How tables are written: every number as CSV, and text for reading as Markdown and HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nddv.files import atomic_write


@dataclass(frozen=True)
class Provenance:
    """What a table was made from, printed with it."""

    config: str
    seeds: Sequence[int]
    corrupt_valid: bool = False

    def sentence(self) -> str:
        """Say it in one line."""
        seeds = ", ".join(str(seed) for seed in self.seeds)
        regime = " The validation part is corrupted as well." if self.corrupt_valid else ""
        return f"Mean ± standard deviation over seeds {seeds}.{regime} Configuration {self.config}."


def mean_and_spread(mean: float, spread: float, digits: int) -> str:
    """Write ``0.712 ± 0.034``, or ``—`` where there is no number."""
    if pd.isna(mean):
        return "—"
    if pd.isna(spread):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {spread:.{max(digits, 3)}f}"


def to_markdown(text: pd.DataFrame, title: str, footnote: str) -> str:
    """Lay a table of text out as GitHub Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rows = [line(row) for row in text.itertuples(index=False, name=None)]
    head = [line(list(text.columns)), line(["---"] * len(text.columns))]
    return "\n".join([f"# {title}", "", *head, *rows, "", footnote, ""])


def to_html(text: pd.DataFrame, title: str, footnote: str) -> str:
    """Lay a table of text out as one self-contained HTML page."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    rows = "\n".join(line("td", row) for row in text.itertuples(index=False, name=None))
    style = (
        "body{font-family:sans-serif;margin:1.5em}table{border-collapse:collapse}"
        "th,td{padding:.3em .7em;border-bottom:1px solid #ccc;text-align:left}"
        "td{white-space:nowrap}td:last-child{white-space:normal;color:#666}"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        f"</title><style>{style}</style></head>\n<body><h1>{html.escape(title)}</h1>\n<table>\n"
        f"{line('th', list(text.columns))}\n{rows}\n</table>\n<p>{html.escape(footnote)}</p>"
        "</body></html>\n"
    )


def write_table(
    stem: str | Path, table: pd.DataFrame, text: pd.DataFrame, title: str, footnote: str
) -> list[Path]:
    """Write ``stem`` with .csv (the table), .md and .html (the text); give the paths."""
    stem = Path(stem)
    contents = {
        ".csv": table.to_csv(index=False, float_format="%.6g"),
        ".md": to_markdown(text, title, footnote),
        ".html": to_html(text, title, footnote),
    }
    paths = []
    for suffix, content in contents.items():
        path = stem.with_name(stem.name + suffix)
        with atomic_write(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
        paths.append(path)
    return paths
