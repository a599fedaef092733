"""How tables are written: every number as CSV, and text for reading as Markdown, HTML and LaTeX.

The text is laid out from the CSV file, the entry of the table and its notes, so that it can be made
again at any time. Text that is wrapped in ``**`` is printed bold.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nddv.reporting.frames import words
from nddv.reporting.numbers import NONE, with_spread
from nddv.reporting.registry import Result, Table, load
from nddv.reporting.titles import EVERY_METHOD, with_titles
from nddv.support.files import atomic_write, read_csv, read_json, write_json

BOLD = re.compile(r"\*\*(.+?)\*\*")
IN_BRACKETS = "In brackets: the number that the paper prints."
WIDE_CELL = 40  # characters from which a column of a LaTeX table wraps


@dataclass(frozen=True)
class Text:
    """A table as it is read: cells of text, and what stands below them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    footnotes: tuple[str, ...] = ()


def write_table(
    entry: Table,
    result: pd.DataFrame | Result,
    provenance: Mapping[str, Any],
    csv: str | Path,
    markdown: str | Path,
    record: str | Path,
) -> None:
    """Write the numbers (``csv``), the text (``markdown``) and the notes (``record``, JSON).

    provenance : ``config``, the hash of the configuration; ``seeds``; ``corrupt_valid``, whether
        the validation part is corrupted as well. A table made of other tables has theirs.
    """
    if isinstance(result, pd.DataFrame):
        result = Result(result)
    columns, sentences = _origin(entry, provenance)
    write_text(csv, result.frame.assign(**columns).to_csv(index=False, float_format="%.6g"))
    notes = [*result.notes, *sentences]
    write_json(record, {"notes": notes, "provenance": dict(provenance)})
    write_text(markdown, to_markdown(read_text(entry, csv, record)))


def write_text(path: str | Path, content: str) -> None:
    """Write a text whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


def _origin(entry: Table, provenance: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """What a table was made from: as columns, and in words."""
    if "tables" in entry.reads:
        return {}, []
    columns = {"config": provenance["config"]}
    sentences = [f"Configuration {provenance['config']}."]
    if entry.seeded:
        seeds = [str(seed) for seed in provenance["seeds"]]
        columns["seeds"] = " ".join(seeds)
        if provenance["corrupt_valid"]:
            sentences.insert(0, "The validation part is corrupted as well.")
        sentences.insert(0, f"Mean ± standard deviation over seeds {', '.join(seeds)}.")
    return columns, sentences


def read_text(entry: Table, csv: str | Path, record: str | Path) -> Text:
    """The text of a table that was written."""
    return lay_out(entry, read_csv(csv), read_json(record)["notes"])


def lay_out(entry: Table, frame: pd.DataFrame, notes: Sequence[str] = ()) -> Text:
    """The text of a table, from its numbers as they are read from the CSV file.

    Columns stand in the order of the entry, under its headings. One that the frame lacks is left
    out, but for titles of methods, which are looked up.
    """
    if "note" in frame:
        frame = frame.assign(note=words(frame["note"]))
    if entry.columns.get("title") and "title" not in frame:
        frame = with_titles(frame)
    result = load(entry.layout)(entry, frame) if entry.layout else _by_row(entry, frame)
    footnotes = tuple(filter(None, (entry.about, *result.notes, *notes)))
    rows = tuple(result.frame.itertuples(index=False, name=None))
    return Text(entry.title, tuple(result.frame.columns), rows, footnotes)


def _by_row(entry: Table, frame: pd.DataFrame) -> Result:
    """A row of text for each of the frame; a published number stands in brackets."""
    shown = {name: heading for name, heading in entry.columns.items() if heading and name in frame}
    printed = {
        name: beside
        for name in shown
        for beside in (f"published_{name}", f"{name}_paper")
        if beside in shown
    }
    cells = {
        heading: text_cells(frame, name, entry.digits.get(name))
        for name, heading in shown.items()
        if name not in printed.values()
    }
    for name, beside in printed.items():
        numbers = text_cells(frame, beside, entry.digits.get(beside))
        pairs = zip(cells[shown[name]], numbers, strict=True)
        cells[shown[name]] = [
            cell if number in ("", NONE) else f"{cell or NONE} [{number}]" for cell, number in pairs
        ]
    notes = (IN_BRACKETS,) if printed else ()
    return Result(pd.DataFrame(cells, columns=list(cells), dtype=object), notes)


def text_cells(frame: pd.DataFrame, name: str, digits: int | None = None) -> list[str]:
    """The cells of a column; a number has the spread beside it in ``<column>_sd``.

    digits : decimals of a number without a spread; otherwise three digits.
    """
    cells, spreads = frame[name], frame.get(f"{name}_sd")
    if cells.dtype.kind == "b":
        return ["yes" if cell else "" for cell in cells]
    if spreads is None and (cells.dtype.kind not in "if" or cells.isna().all()):
        return [str(cell) for cell in words(cells, EVERY_METHOD if name == "title" else "")]
    if digits is None and spreads is None and cells.dropna().mod(1).eq(0).all():
        digits = 0  # whole numbers are printed as such
    spreads = [math.nan] * len(cells) if spreads is None else spreads.astype(float)
    pairs = zip(cells.astype(float), spreads, strict=True)
    return [with_spread(mean, spread, digits) for mean, spread in pairs]


# ------------------------------------------------------------------ formats


def to_markdown(text: Text) -> str:
    """Lay a text out as GitHub Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    lines = [line(text.columns), line(["---"] * len(text.columns)), *map(line, text.rows)]
    return "\n".join([f"# {text.title}", "", *lines, "", " ".join(text.footnotes), ""])


def to_html(text: Text) -> str:
    """Lay a text out as one self-contained HTML page."""

    def escaped(cell: str) -> str:
        return BOLD.sub(r"<b>\1</b>", html.escape(cell))

    title = html.escape(text.title)
    table = _escaped(text, escaped).to_html(index=False, escape=False, border=0, justify="left")
    style = (
        "body{font-family:sans-serif;margin:1.5em}table{border-collapse:collapse}"
        "th,td{padding:.3em .7em;border-bottom:1px solid #ccc;text-align:left}"
        "td{max-width:26em}td:last-child{color:#666}"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style></head>\n<body><h1>{title}</h1>\n{table}\n"
        f"<p>{html.escape(' '.join(text.footnotes))}</p></body></html>\n"
    )


def to_latex(text: Text) -> str:
    """Lay a text out for LaTeX: a ``longtable``; it needs longtable, booktabs and amssymb."""
    widths = [max(map(len, cells), default=0) for cells in zip(*text.rows, strict=True)]
    formats = "".join("p{0.25\\linewidth}" if width > WIDE_CELL else "l" for width in widths)
    table = _escaped(text, _latex).to_latex(
        index=False,
        escape=False,
        longtable=True,
        column_format=formats or "l" * len(text.columns),
        caption=_latex(text.title),
    )
    footnotes = _latex(" ".join(text.footnotes))
    return f"% \\usepackage{{longtable,booktabs,amssymb}}\n{table}\\par {footnotes}\n"


def _escaped(text: Text, escape: Any) -> pd.DataFrame:
    columns = [escape(heading) for heading in text.columns]
    return pd.DataFrame([[*map(escape, row)] for row in text.rows], columns=columns)


_LATEX: dict[str, str | int | None] = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"±": r"$\pm$", "−": "$-$", "×": r"$\times$", "·": r"$\cdot$", "√": r"$\surd$"},
    **{"∂": r"$\partial$", "∇": r"$\nabla$", "ℓ": r"$\ell$", "η": r"$\eta$"},
    **{"≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "≡": r"$\equiv$", "∞": r"$\infty$"},
    **{"✓": r"\checkmark{}", "✗": r"$\times$", "—": "---", "–": "--", "…": r"\ldots{}"},
    **{"ε": r"$\varepsilon$", "δ": r"$\delta$", "φ": r"$\phi$", "Δ": r"$\Delta$", "α": r"$\alpha$"},
    **{"β": r"$\beta$", "σ": r"$\sigma$", "μ": r"$\mu$", "ψ": r"$\psi$", "²": "$^2$", "‖": r"$\|$"},
    **{"∼": r"$\sim$", "½": r"$\frac12$", "∅": r"$\emptyset$", "ρ": r"$\rho$", "∖": r"$\setminus$"},
}
_HAT = re.compile("(\\w|\\$[^$]*\\$)\u0302")


def _latex(cell: str) -> str:
    """Text for LaTeX: specials escaped, Greek and signs as mathematics, ** as bold."""
    signs = cell.translate(str.maketrans(_LATEX))
    hats = _HAT.sub(lambda match: rf"$\hat{{{match[1].strip('$')}}}$", signs)
    return BOLD.sub(r"\\textbf{\1}", hats)


FORMATS = {".md": to_markdown, ".html": to_html, ".tex": to_latex}
"""How a text is laid out, by the suffix of its file."""
