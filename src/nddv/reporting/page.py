"""The report as one HTML page: findings, verdicts, tables, figures; nothing is fetched.

``config/report.yaml`` says what stands where. Tables are laid out from their CSV files and notes,
with the words of their entries; figures are put into the page as smaller pictures, and the full
files are linked. What the page announces but was not made is a visible gap.
"""

from __future__ import annotations

import base64
import io
import os
import platform
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.claims import SCORES
from nddv.reporting.contents import find_table, shown
from nddv.reporting.findings import find
from nddv.reporting.flat import flattened
from nddv.reporting.frames import words
from nddv.reporting.registry import Entry, Table
from nddv.reporting.verdicts import FAILS, HOLDS, MARKS, NEARLY, VERDICTS, counts, in_words
from nddv.reporting.writing import lay_out
from nddv.support.measuring import versions
from nddv.support.wording import pick

LONG_TABLE = 25  # rows, beyond which a table scrolls inside its box
LONG_NOTE = 320  # letters, beyond which a footnote is folded away
MANY_CASES = 4  # of a claim, beyond which the others are folded away
PICTURE_WIDTH = 1400

JUDGED = VERDICTS[:3]  # the others say that there is no verdict
TONES = {HOLDS: "reproduced", NEARLY: "partly", FAILS: "not-reproduced"}  # colours of marks


def picture(path: str | Path) -> dict[str, Any]:
    """A PNG file as a data URI of limited width and colours, with its width and height."""
    flat = flattened(path, PICTURE_WIDTH)
    buffer = io.BytesIO()
    flat.save(buffer, "PNG", optimize=True)
    uri = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
    return {"uri": uri, "width": flat.width, "height": flat.height}


def environment(provenance: Mapping[str, Any]) -> dict[str, str]:
    """What the page was made with, by name: configuration, seeds, versions and machine."""
    return {
        "configuration": provenance["config"],
        "seeds": ", ".join(str(seed) for seed in provenance["seeds"]),
        **versions(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores",
    }


def render_page(
    report: Mapping[str, Any],
    entries: Mapping[str, Table],
    frames: Mapping[str, pd.DataFrame],
    notes: Mapping[str, Sequence[str]],
    figures: Mapping[str, str | Path],
    record: Mapping[str, str],
    folder: Path,
    full: str = "",
) -> str:
    """Render the page.

    Parameters
    ----------
    report : as :func:`nddv.reporting.contents.read_report` gives it.
    entries : the tables of the configuration, by name; those of the catalogue are known.
    frames : the tables that were made, by name, as their CSV files have them.
    notes : what stands below each of these tables, by name.
    figures : the PNG files that were made, by name.
    record : as :func:`environment` gives it.
    folder : of the page; a file is linked only where it exists, seen from there.
    full : the page of the full report as seen from there, unless this is it.
    """

    def existing(links: Mapping[str, str]) -> dict[str, str]:
        return {text: target for text, target in links.items() if (folder / target).exists()}

    def files(stem: str, *suffixes: str) -> dict[str, str]:
        return existing({suffix.upper(): f"{stem}.{suffix}" for suffix in suffixes})

    def item(of: Mapping[str, str]) -> dict[str, Any]:
        if "figure" in of:
            shown = _about("figure", pick(FIGURES, of["figure"], "figure"))
            if path := figures.get(of["figure"]):
                links = files(f"figures/{of['figure']}", "pdf", "png")
                shown |= {"links": links, "picture": picture(path)}
            return shown
        entry = find_table(entries, of["table"])
        shown = _about("table", entry)
        if entry.name in frames:
            shown |= _cells(entry, frames[entry.name], notes.get(entry.name, ()))
            shown["links"] = files(f"tables/{entry.name}", "csv", "md")
        return shown

    sections = [
        {
            **_opening(section),
            "points": [_inline(point) for point in section.get("points", [])],
            "links": existing(section.get("links", {})),
            "contents": [item(of) for of in section.get("contents", [])],
        }
        for section in report["sections"]
    ]
    judged = "claims" in frames and "claim_cases" in frames
    return _template().render(
        title=report["title"],
        about=_inline(report["about"]),
        findings=_findings(report, entries, frames) if "findings" in report else None,
        full=full,
        verdicts=_opening(report["verdicts"]),
        claims=_claims(frames["claims"], frames["claim_cases"]) if judged else [],
        claim_links=files("tables/claims", "csv", "md")
        | existing({"Cases": "tables/claim_cases.csv"}),
        about_claims=find_table(entries, "claims").about,
        scores=[
            {"title": score.title, "counts": counts(frames["claims"][score.column])}
            for score in SCORES
            if judged
        ],
        order=VERDICTS,
        judged=JUDGED,
        long_note=LONG_NOTE,
        many=MANY_CASES,
        sections=sections,
        records=_opening(report["records"]),
        record=record,
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"slug": _anchor, "bold": _bold}
    return environment.from_string(Path(__file__).with_name("page.html").read_text("utf-8"))


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


def _findings(
    report: Mapping[str, Any], entries: Mapping[str, Table], frames: Mapping[str, pd.DataFrame]
) -> dict[str, Any]:
    """The first section: the findings of this run, the tables behind them, and what it lacks."""
    findings, absent = find(report["findings"]["contents"], frames)
    places = shown(report, "table")
    links = [
        {
            find_table(entries, name).title: f"#{_place('table', name)}"
            for name in of
            if name in places
        }
        for of in (finding.tables for finding in findings)
    ]
    found = list(zip(findings, links, strict=True))
    return {**_opening(report["findings"]), "found": found, "absent": absent}


def _cells(entry: Table, frame: pd.DataFrame, notes: Sequence[str]) -> dict[str, Any]:
    """A table for the template, from its numbers and notes."""
    text = lay_out(entry, frame, notes)
    numbers = frame.dropna(axis="columns", how="all").select_dtypes("number")
    known = {heading: name in numbers for name, heading in entry.columns.items()}
    return {
        "table": text,
        # which columns hold numbers; those that a layout makes of rows do
        "numeric": [known.get(heading, True) for heading in text.columns],
        "long": len(text.rows) > LONG_TABLE,
        "about": entry.about,
        "notes": " ".join(note for note in text.footnotes if note != entry.about),
    }


def _place(kind: str, name: str) -> str:
    """The anchor of a table or figure."""
    return f"{kind}-{_anchor(name)}"


def _about(kind: str, entry: Entry) -> dict[str, Any]:
    """What is shown of a table or figure, be it made or not."""
    text = {"title": entry.title, "caption": _inline(entry.caption), "label": entry.label}
    name = {"kind": kind, "id": _place(kind, entry.name)}
    return {**name, **text, "links": {}, "table": None, "picture": None}


def _claims(claims: pd.DataFrame, cases: pd.DataFrame) -> list[dict[str, Any]]:
    """The claims for the template, each with its verdicts and the cases that were run."""
    for score in SCORES:
        for row in claims[~claims[score.column].isin(VERDICTS)].itertuples():
            wrong = getattr(row, score.column)
            raise ValueError(f"claim {row.id}: {wrong!r} is not one of {', '.join(VERDICTS)}")
    texts = ["note", "ours", *(score.reason for score in SCORES)]
    told = claims.assign(**{name: words(claims[name]) for name in texts}).to_dict("records")
    by_case: dict[tuple[str, str], list[dict[str, str]]] = {}
    shown = cases[cases["outcome"].isin(MARKS) & (words(cases["stands_for"]) == "")]
    texts = ["case", "left_whose", "right_whose"]
    for case in shown.assign(**{name: words(shown[name]) for name in texts}).to_dict("records"):
        outcome = case["outcome"]
        item = {"text": in_words(case), "mark": MARKS[outcome], "tone": TONES[outcome]}
        by_case.setdefault((case["claim"], case["score"]), []).append(item)
    for claim in told:
        claim["judged"] = [
            {
                **{"title": score.title, "verdict": claim[score.column]},
                "method": score.method or claim["ours"],
                "reason": claim[score.reason],
                "cases": by_case.get((claim["id"], score.name), []),
            }
            for score in SCORES
        ]
        claim["run"] = any(one["verdict"] in JUDGED for one in claim["judged"])
    return told
