"""The report as one HTML page: verdicts, tables, figures, records; nothing fetched from elsewhere.

``config/report.yaml`` says what stands where, and in which words. Tables are read from their
Markdown files, figures from their PNG files, which are put into the page as smaller pictures; the
full files are linked. What the page announces but was not made is a visible gap.
"""

from __future__ import annotations

import base64
import io
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape
from PIL import Image

from nddv.reporting.catalogue import FIGURES
from nddv.reporting.verdicts import ABOUT, VERDICTS, counts
from nddv.support.files import atomic_write
from nddv.support.measuring import versions

LONG_TABLE = 25  # rows, beyond which a table scrolls inside its box
LONG_NOTE = 320  # letters, beyond which a footnote is folded away
MANY_CASES = 4  # of a claim, beyond which the others are folded away
PICTURE_WIDTH = 1400
PICTURE_COLOURS = 256

NUMBER = re.compile(r"[-+−]?(\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?(?=$|[\s%±(×])", re.IGNORECASE)
NO_NUMBER = ("", "—")

SCORES = {
    "verdict": "The paper's score (terminal)",
    "verdict_path": "The path-integrated score",
}
MARKS = {"✓": "reproduced", "≈": "partly", "✗": "not-reproduced"}


@dataclass(frozen=True)
class TextTable:
    """A table of text: (rows, columns) cells, as it was laid out for reading."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    footnote: str = ""

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers, apart from cells that are blank or ``—``."""
        return tuple(
            any(cell not in NO_NUMBER for cell in column)
            and all(cell in NO_NUMBER or NUMBER.match(cell) for cell in column)
            for column in (
                [row[j].strip("*") for row in self.rows] for j in range(len(self.columns))
            )
        )

    @property
    def long(self) -> bool:
        return len(self.rows) > LONG_TABLE


def read_markdown(path: str | Path) -> TextTable:
    """Read a table as :func:`nddv.reporting.tables.to_markdown` writes it."""
    lines = Path(path).read_text(encoding="utf-8").strip().splitlines()
    rows = [_cells(line) for line in lines if line.startswith("|")]
    if len(rows) < 2 or not lines[0].startswith("# "):
        raise ValueError(f"{path} is not a Markdown table with a title")
    head, _, *body = rows
    for row in body:
        if len(row) != len(head):
            raise ValueError(f"{path}: {len(row)} cells below {len(head)} headings: {row}")
    last = max(i for i, line in enumerate(lines) if line.startswith("|"))
    return TextTable(lines[0][2:], head, tuple(body), " ".join(lines[last + 1 :]).strip())


def _cells(line: str) -> tuple[str, ...]:
    """The cells of a line; a bar inside a cell is escaped by a backslash."""
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in cells)


def picture(path: str | Path) -> dict[str, Any]:
    """A PNG file as a data URI of limited width and colours, with its width and height."""
    with Image.open(path) as opened:
        image = Image.alpha_composite(
            Image.new("RGBA", opened.size, "white"), opened.convert("RGBA")
        ).convert("RGB")
    if image.width > PICTURE_WIDTH:
        height = round(image.height * PICTURE_WIDTH / image.width)
        image = image.resize((PICTURE_WIDTH, height), Image.Resampling.LANCZOS)
    # The default, median cut, spends its colours on the many greys of thin lines and merges the
    # blue of a few bars with their green. Dithering would freckle flat areas.
    flat = image.quantize(PICTURE_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    flat.save(buffer, "PNG", optimize=True)
    uri = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
    return {"uri": uri, "width": image.width, "height": image.height}


def run_records(folder: str | Path, without: Sequence[str] = ()) -> pd.DataFrame:
    """Sum up Snakemake's benchmark files: rule, jobs, seconds (in all), memory_mb (the largest).

    The rule is the first part of a file's path below ``folder``. ``without`` names rules to leave
    out: the page's own, which would differ whenever the page is made again.
    """
    folder = Path(folder)
    rows = []
    for path in sorted(folder.rglob("*.tsv")):
        rule = path.relative_to(folder).with_suffix("").parts[0]
        if rule not in without:
            job = pd.read_csv(path, sep="\t")
            times, memory = (pd.to_numeric(job[c], errors="coerce") for c in ("s", "max_rss"))
            rows.append({"rule": rule, "seconds": times.sum(), "memory_mb": memory.max()})
    if not rows:
        return pd.DataFrame(columns=["rule", "jobs", "seconds", "memory_mb"])
    jobs = pd.DataFrame(rows).groupby("rule", sort=True)
    return jobs.agg(
        jobs=("rule", "size"), seconds=("seconds", "sum"), memory_mb=("memory_mb", "max")
    ).reset_index()


def environment(config: str, seeds: Sequence[int]) -> dict[str, str]:
    """What the page was made with, by name: configuration, seeds, versions and machine."""
    return {
        "configuration": config,
        "seeds": ", ".join(str(seed) for seed in seeds),
        **versions(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores",
    }


def write_page(
    path: str | Path,
    report: Mapping[str, Any],
    claims: pd.DataFrame,
    tables: Mapping[str, str | Path],
    figures: Mapping[str, str | Path],
    record: Mapping[str, str],
    runs: pd.DataFrame,
) -> None:
    """Write :func:`render_page` whole or not at all; links are seen from the page's folder."""
    path = Path(path)
    page = render_page(report, claims, tables, figures, record, runs, path.parent)
    with atomic_write(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def render_page(
    report: Mapping[str, Any],
    claims: pd.DataFrame,
    tables: Mapping[str, str | Path],
    figures: Mapping[str, str | Path],
    record: Mapping[str, str],
    runs: pd.DataFrame,
    folder: Path,
) -> str:
    """Render the page.

    Parameters
    ----------
    report : as :func:`read_report` gives it.
    claims : a row per claim, as :func:`nddv.reporting.verdicts.claims_table` gives it.
    tables, figures : the Markdown and PNG files that were made, by name.
    record : as :func:`environment` gives it.
    runs : as :func:`run_records` gives them.
    folder : of the page; a file is linked only where it exists, seen from there.
    """
    sections = [
        {
            "id": _anchor(section["title"]),
            "title": section["title"],
            "introduction": _inline(section["introduction"]),
            "points": [_inline(point) for point in section.get("points", [])],
            "links": _existing(section.get("links", {}), folder),
            "contents": [
                _table(item, tables, folder)
                if "table" in item
                else _figure(item["figure"], figures, folder)
                for item in section.get("contents", [])
            ],
        }
        for section in report["sections"]
    ]
    return _template().render(
        title=report["title"],
        about=_inline(report["about"]),
        verdicts=_opening(report["verdicts"]),
        claims=[_claim(row) for row in claims.fillna("").to_dict("records")],
        claim_links=_files("tables/claims", ("csv", "md"), folder),
        about_claims=ABOUT,
        scores=[
            {"title": title, "counts": counts(claims, column)}
            for column, title in SCORES.items()
            if column in claims
        ],
        order=VERDICTS,
        long_note=LONG_NOTE,
        sections=sections,
        records=_opening(report["records"]),
        record=record,
        runs=_runs(runs),
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["slug"] = _anchor
    environment.filters["bold"] = _bold
    source = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return environment.from_string(source)


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _bold(text: str) -> Markup:
    """Escaped text, with ``**bold**``."""
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text))))


def _inline(text: str) -> Markup:
    """Escaped text, with ``**bold**``, ``*emphasis*`` and `` `code` ``."""
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", str(_bold(text)))
    return Markup(re.sub(r"\*(\w.*?)\*", r"<em>\1</em>", text))


def _opening(section: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": _anchor(section["title"]),
        "title": section["title"],
        "introduction": _inline(section["introduction"]),
    }


def _existing(links: Mapping[str, str], folder: Path) -> dict[str, str]:
    return {text: target for text, target in links.items() if (folder / target).exists()}


def _files(stem: str, suffixes: Sequence[str], folder: Path) -> dict[str, str]:
    """Links to the files with a stem, by what they are."""
    return _existing({suffix.upper(): f"{stem}.{suffix}" for suffix in suffixes}, folder)


def _table(
    item: Mapping[str, str], tables: Mapping[str, str | Path], folder: Path
) -> dict[str, Any]:
    name = item["table"]
    table = read_markdown(tables[name]) if name in tables else None
    return {
        "kind": "table",
        "id": f"table-{_anchor(name)}",
        "title": table.title if table else _words(name),
        "caption": _inline(item["caption"]),
        "label": item.get("label", ""),
        "links": _files(f"tables/{name}", ("csv", "md", "tex"), folder) if table else {},
        "table": table,
    }


def _figure(name: str, figures: Mapping[str, str | Path], folder: Path) -> dict[str, Any]:
    entry = FIGURES.get(name)
    made = name in figures
    links = _files(f"figures/{name}", ("pdf", "png"), folder) if made else {}
    return {
        "kind": "figure",
        "id": f"figure-{_anchor(name)}",
        "title": entry.title if entry else _words(name),
        "caption": _inline(entry.caption) if entry else Markup(),
        "label": entry.label if entry else "",
        "links": links,
        "picture": picture(figures[name]) if made else None,
    }


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _claim(row: Mapping[str, Any]) -> dict[str, Any]:
    """A claim for the template: its cases one by one, each with its mark."""
    cases = [
        {
            "text": case[:-1].strip().replace(">=", "≥").replace("<=", "≤"),
            "mark": case[-1],
            "kind": MARKS[case[-1]],
        }
        for case in re.split(rf"(?<=[{''.join(MARKS)}]); ", row["numbers"])
        if case
    ]
    verdicts = {SCORES[column]: row[column] for column in SCORES if column in row}
    for verdict in verdicts.values():
        if verdict not in VERDICTS:
            raise ValueError(f"claim {row['id']}: {verdict!r} is not one of {', '.join(VERDICTS)}")
    return {
        **row,
        "verdicts": verdicts,
        "cases": cases[:MANY_CASES],
        "more": cases[MANY_CASES:],
    }


def _runs(runs: pd.DataFrame) -> dict[str, Any]:
    rows = tuple(
        (
            row.rule,
            str(row.jobs),
            f"{row.seconds:.1f}",
            "—" if pd.isna(row.memory_mb) else f"{row.memory_mb:.0f}",
        )
        for row in runs.itertuples()
    )
    columns = ("Rule", "Jobs", "Seconds in all", "Largest memory, MB")
    return {
        "table": TextTable("Run times", columns, rows),
        "jobs": int(runs["jobs"].sum()),
        "hours": float(runs["seconds"].sum()) / 3600,
    }
