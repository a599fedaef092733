"""How tables are written: every number as CSV, and text for reading as Markdown, HTML and LaTeX.

Text that is wrapped in ``**`` is printed bold in all three.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nddv.reporting.latex import BOLD, to_latex
from nddv.support.files import atomic_write, read_csv


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


def read_frame(paths: Sequence[str | Path], comment: str | None = None) -> pd.DataFrame:
    """The rows of CSV files together; an empty frame where there are none.

    comment : what lines that are none of them begin with, as in the files of published numbers.
    """
    frames = [read_csv(path, comment) for path in paths]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def mean_and_spread(mean: float, spread: float, digits: int) -> str:
    """Write ``0.712 ± 0.034``, or ``—`` where there is no number."""
    if pd.isna(mean):
        return "—"
    if pd.isna(spread):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {spread:.{max(digits, 3)}f}"


def format_numbers(
    table: pd.DataFrame, headings: Mapping[str, str], digits: Mapping[str, int] | int = 3
) -> pd.DataFrame:
    """Turn the columns with a heading into text; a heading without a column is left out.

    A column with a ``<column>_sd`` beside it becomes ``0.712 ± 0.034``; other numbers with a
    fraction get as many digits, and ``—`` where there is none. Missing words are left blank.
    """
    text = pd.DataFrame(index=table.index)
    for name, heading in headings.items():
        if name not in table:
            continue
        places = digits if isinstance(digits, int) else digits.get(name, 3)
        spread = table.get(f"{name}_sd")
        if spread is None and table[name].dtype.kind != "f":
            text[heading] = table[name].astype(object).where(table[name].notna(), "").astype(str)
            continue
        spread = pd.Series(index=table.index, dtype=float) if spread is None else spread
        pairs = zip(table[name], spread, strict=True)
        text[heading] = [mean_and_spread(mean, sd, places) for mean, sd in pairs]
    return text


def over_seeds(rows: pd.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Means of columns over the rows with the same keys, and ``<column>_sd`` beside them.

    ``runs`` counts the seeds. Where a column has fewer numbers, ``note`` says how many.
    """
    groups = rows.groupby(list(keys), sort=False, dropna=False)
    summary = {"runs": groups["seed"].nunique()}
    for column in columns:
        summary[column] = groups[column].mean()
        summary[f"{column}_sd"] = groups[column].std(ddof=1)
    counts = groups[list(columns)].count()
    found = pd.DataFrame(summary)
    found["note"] = [
        _missing(dict(zip(columns, of_columns, strict=True)), runs)
        for of_columns, runs in zip(counts.to_numpy(), found["runs"], strict=True)
    ]
    return found.reset_index()


def _missing(counts: Mapping[str, int], runs: int) -> str:
    """Say which columns have a number in fewer than all runs; those with as few in one phrase."""
    fewer: dict[int, list[str]] = {}
    for column, count in counts.items():
        if count < runs:
            fewer.setdefault(int(count), []).append(column)
    return "; ".join(
        f"{', '.join(columns)}: in {count} of {runs} seeds" for count, columns in fewer.items()
    )


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
        return "<tr>" + "".join(f"<{tag}>{_bold_html(cell)}</{tag}>" for cell in cells) + "</tr>"

    rows = "\n".join(line("td", row) for row in text.itertuples(index=False, name=None))
    style = (
        "body{font-family:sans-serif;margin:1.5em}table{border-collapse:collapse}"
        "th,td{padding:.3em .7em;border-bottom:1px solid #ccc;text-align:left}"
        "td{max-width:26em}td:last-child{color:#666}"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        f"</title><style>{style}</style></head>\n<body><h1>{html.escape(title)}</h1>\n<table>\n"
        f"{line('th', list(text.columns))}\n{rows}\n</table>\n<p>{html.escape(footnote)}</p>"
        "</body></html>\n"
    )


def _bold_html(cell: str) -> str:
    return BOLD.sub(r"<b>\1</b>", html.escape(cell))


def write_table(
    stem: str | Path, table: pd.DataFrame, text: pd.DataFrame, title: str, footnote: str
) -> list[Path]:
    """Write ``stem`` with .csv (the table), .md, .html and .tex (the text); give the paths."""
    stem = Path(stem)
    contents = {
        ".csv": table.to_csv(index=False, float_format="%.6g"),
        ".md": to_markdown(text, title, footnote),
        ".html": to_html(text, title, footnote),
        ".tex": to_latex(text, title, footnote),
    }
    paths = []
    for suffix, content in contents.items():
        path = stem.with_name(stem.name + suffix)
        with atomic_write(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
        paths.append(path)
    return paths


def write_measured(
    stem: str | Path,
    table: pd.DataFrame,
    text: pd.DataFrame,
    title: str,
    about: str,
    provenance: Provenance,
) -> list[Path]:
    """Write a table of measurements with what they are about and come from; give the paths."""
    numbers = table.assign(
        config=provenance.config, seeds=" ".join(str(seed) for seed in provenance.seeds)
    )
    return write_table(stem, numbers, text, title, f"{about} {provenance.sentence()}".strip())
