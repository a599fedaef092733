"""The reproduction as a short article in the style of ReScience C, made from the committed tables.

    python -m nddv.metadata.article     # in the folder of the project

``article.typ`` has the words, and says where numbers stand; this module reads the numbers from
``reports/tables``. What the tables do not hold is stated as a gap. Writes
``reports/article/article.pdf`` and ``metadata.yaml`` beside it.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from nddv.metadata.checklist import duration, hours_of, machine
from nddv.metadata.citation import cited, read_citation
from nddv.methods.variants import RELEASED
from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.claims import PAPER, SCORES
from nddv.reporting.comparing import TABLES, read_folder
from nddv.reporting.contents import shown
from nddv.reporting.findings import find
from nddv.reporting.frames import PROBLEM, words
from nddv.reporting.numbers import NONE, number, with_spread
from nddv.reporting.tables.leaders import is_rival
from nddv.reporting.titles import title_of
from nddv.reporting.verdicts import VERDICTS, counts
from nddv.support.files import atomic_write
from nddv.support.provenance import config_hash

FOLDER = "reports/article"
TITLE = "[Re] Neural Dynamic Data Valuation"
PICTURES = ("overview", "noise_levels", "runtime_scaling")
SCORES_OF_NDDV = (PAPER.method, RELEASED, "nddv-path")
READOUTS = (PAPER.method, "nddv-path", "nddv-participation")

Frames = Mapping[str, pd.DataFrame]
Rows = list[list[str]]


def numbers(root: Path) -> dict[str, Any]:
    """All that the article is told, as plain data."""
    frames = read_folder(root / TABLES)
    report = yaml.safe_load((root / "config" / "report.yaml").read_text("utf-8"))
    citation = read_citation(root)
    found, absent = find(report["findings"]["contents"], frames)
    points = [point for section in report["sections"] for point in section.get("points", [])]
    lacking = [name for name in shown(report, "table") if name not in frames]
    hours = hours_of(frames.values())
    told = {
        "title": TITLE,
        "authors": [author["name"] for author in citation["authors"]],
        "version": citation["version"],
        "date": citation["date-released"].isoformat(),
        "license": citation["license"],
        "keywords": citation["keywords"],
        "original": cited(citation["references"][0]),
        "seeds": seeds_of(frames),
        "machine": machine(root, frames),
        "time": duration(hours) if hours else "",
        "seconds": seconds_of(frames),
        "findings": [{"title": one.title, "sentence": one.sentence} for one in found],
        "absent": absent,
        "lacking": lacking,
        "deviations": [runs_of(point) for point in points],
        "pictures": {name: pictured(root, name) for name in PICTURES},
        "datasets": datasets(frames),
        "detection": [detection(frame) for frame in of_detection(frames)],
        "fidelity": fidelity(frames),
        "ranks": ranks(frames),
        **verdicts(frames),
    }
    return {**told, "hash": config_hash(told)}  # in the PDF: the article says if it is current


# ------------------------------------------------------------------ tables of the article


def verdicts(frames: Frames) -> dict[str, Any]:
    """Verdicts: counted for each score, by section of the paper, and of every claim."""
    claims = frames.get("claims")
    if claims is None:
        return {"claims": [], "verdicts": list(VERDICTS), "scores": [], "sections": [], "why": []}
    judged = [score for score in SCORES if score.column in claims]
    places = claims["where"].str.partition(",")[0]
    reasons = words(claims.loc[claims[PAPER.column] == "not run", PAPER.reason])
    return {
        "verdicts": list(VERDICTS),
        "scores": [
            {"title": score.title, "counts": counts(claims[score.column])} for score in judged
        ],
        "sections": [
            [place, counts(claims.loc[places == place, PAPER.column])] for place in places.unique()
        ],
        "claims": [
            [row["id"], row["where"].partition(",")[0], *(row[score.column] for score in judged)]
            for row in claims.to_dict("records")
        ],
        # a reason begins with the cases that it is about
        "why": list(dict.fromkeys(text.rpartition(": ")[2] for text in reasons if text)),
    }


def datasets(frames: Frames) -> Rows:
    """A row per data set: title, kind, rows, features, classes, source, deviations."""
    table = frames.get("datasets")
    if table is None:
        return []
    texts = ["title", "type", "encoder", "source", "deviations"]
    told = table.assign(**{name: words(table[name]) for name in texts})

    def beside(row: Mapping[str, Any], name: str) -> str:
        own, printed = (number(row[key], 0) for key in (name, f"{name}_paper"))
        return own if own == printed or printed == NONE else f"{own} [{printed}]"

    return [
        [
            row["title"] + (f" ({row['encoder']})" if row["encoder"] else ""),
            *(beside(row, name) for name in ("rows", "features")),
            row["source"] or NONE,
            row["deviations"],
        ]
        for row in told.to_dict("records")
    ]


def of_detection(frames: Frames) -> list[pd.DataFrame]:
    """The tables of detection, from the smallest number of points on."""
    tables = [frame for name, frame in frames.items() if re.fullmatch(r"detection_n\d+", name)]
    return sorted(tables, key=lambda frame: frame["n"].max())


def detection(table: pd.DataFrame) -> dict[str, Any]:
    """F1 of the scores of NDDV, with what the paper prints, and of the best other method."""
    rows = []
    several = table["corruption"].nunique() > 1
    for (dataset, _, corruption), part in table.groupby(PROBLEM, sort=False):
        of = part.drop_duplicates("method").set_index("method")
        best = of[of.index.map(is_rival) & of["f1"].notna()].nlargest(1, "f1")
        cells = [cell(of, name, "f1") for name in SCORES_OF_NDDV]
        rival = [f"{cell(of, name, 'f1')} ({title_of(name)})" for name in best.index]
        if rival or any(text != NONE for text in cells):
            printed = number(float(of["published"].get(PAPER.method, math.nan)))
            name = f"{dataset}, {corruption}" if several else dataset
            rows.append([name, printed, *cells, *(rival or [NONE])])
    heads = ["data set", "printed", *map(short_title, SCORES_OF_NDDV), "best other method"]
    return {"n": f"{table['n'].max():,.0f}", "heads": heads, "rows": rows}


def fidelity(frames: Frames) -> dict[str, Any]:
    """Rank correlations with training the NDDV model again without a point."""
    table = frames.get("retraining_fidelity", pd.DataFrame(columns=[*PROBLEM, "method"]))
    rows = []
    for (dataset, _, corruption), part in table.groupby(PROBLEM, sort=False):
        of = part.drop_duplicates("method").set_index("method")
        rows.append([dataset, corruption, *(cell(of, name, "spearman") for name in READOUTS)])
    return {"heads": ["data set", "labels", *map(short_title, READOUTS)], "rows": rows}


def ranks(frames: Frames) -> dict[str, Any]:
    """Rank correlations of the paper's score with retraining a regression, beside the printed."""
    heads = ["data set", "labels", "utility", "LOO", "printed", "Shapley", "printed"]
    table = frames.get("rank_correlations")
    if table is None:
        return {"heads": heads, "rows": []}
    keys = [*PROBLEM, "utility"]
    told = table[(table["method"] == PAPER.method) & table[keys].notna().all(axis=1)]
    columns = ("loo", "published_loo", "shapley", "published_shapley")
    rows = [
        [
            *(row["dataset"], row["corruption"], row["utility"].replace("_", "-")),
            *(with_spread(row[name], row[f"{name}_sd"]) for name in columns),
        ]
        for row in told.to_dict("records")
    ]
    return {"heads": heads, "rows": rows}


def cell(rows: pd.DataFrame, method: str, column: str) -> str:
    """The number of a method with its spread; a dash where there is none."""
    if method not in rows.index:
        return NONE
    row = rows.loc[method]
    return with_spread(float(row[column]), float(row[f"{column}_sd"]))


def short_title(method: str) -> str:
    """A title without what it explains in brackets."""
    return re.sub(r"^NDDV, | \(.*\)$", "", title_of(method))


def seconds_of(frames: Frames) -> str:
    """Median seconds of a valuation with the paper's score, in the smallest table of detection."""
    tables = of_detection(frames)
    seconds = [t.loc[t["method"] == PAPER.method, "seconds"].dropna() for t in tables[:1]]
    return number(float(seconds[0].median())) if seconds and len(seconds[0]) else ""


def seeds_of(frames: Frames) -> str:
    """The seeds that the numbers are means over."""
    cells = [frame["seeds"].dropna().astype(str) for frame in frames.values() if "seeds" in frame]
    seeds = {int(seed) for column in cells for one in column for seed in one.split()}
    return ", ".join(map(str, sorted(seeds)))


def pictured(root: Path, name: str) -> dict[str, str]:
    """A figure of the report: its file, or none, and its caption."""
    path = root / "reports" / "figures" / f"{name}.pdf"
    entry = FIGURES[name]
    return {
        "file": path.name if path.exists() else "",
        "title": entry.title,
        "caption": entry.caption,
    }


def runs_of(text: str) -> list[list[str]]:
    """Text with ``**bold**``, ``*emphasis*`` and `` `code` `` as pieces: style, words."""
    pieces = re.split(r"(\*\*.+?\*\*|\*\w.*?\*|`.+?`)", text.strip())
    marks = {"**": "strong", "*": "emph", "`": "code"}

    def piece(part: str) -> list[str]:
        for mark, style in marks.items():
            if part.startswith(mark) and part.endswith(mark) and len(part) > 2 * len(mark):
                return [style, part[len(mark) : -len(mark)]]
        return ["", part]

    return [piece(part) for part in pieces if part]


# ------------------------------------------------------------------ files


def metadata(told: Mapping[str, Any]) -> str:
    """The content of metadata.yaml, as the journal asks for it; what is not known is empty."""
    content = {
        "title": told["title"],
        "authors": [{"name": name, "affiliations": "1,*"} for name in told["authors"]],
        "affiliations": [{"code": 1, "name": name} for name in told["authors"]],
        "keywords": ", ".join([*told["keywords"], "Python", "rescience c"]),
        "code": [{"url": None}, {"doi": None}, {"swh": None}],
        "data": [{"url": None}, {"doi": None}],
        "replication": [{"cite": told["original"]}, {"bib": None}, {"url": None}, {"doi": None}],
        "abstract": " ".join(one["sentence"] for one in told["findings"]),
        "type": "Replication",
        "domain": "Machine Learning",
        "language": "Python",
        "review": [{"url": None}],
        "dates": [{"received": None}, {"accepted": None}, {"published": None}],
        "article": [{"number": None}, {"doi": None}, {"url": None}],
        "journal": [
            {"name": "ReScience C"},
            {"issn": "2430-3658"},
            {"volume": None},
            {"issue": None},
        ],
    }
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=100)


def typeset(root: Path, told: Mapping[str, Any]) -> bytes:
    """The article as PDF; the same numbers give the same bytes."""
    import typst

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(Path(__file__).with_name("article.typ"), folder)
        for one in told["pictures"].values():
            if one["file"]:
                shutil.copy(root / "reports" / "figures" / one["file"], folder)
        (folder / "numbers.json").write_text(json.dumps(told), encoding="utf-8")
        page: bytes = typst.compile(str(folder / "article.typ"), root=name, format="pdf")
        return page


def main() -> int:
    """Write the article and its metadata."""
    root = Path()
    told = numbers(root)
    try:
        page = typeset(root, told)
    except ImportError:
        print("typst is not installed: `make article` installs it", file=sys.stderr)
        return 2
    folder = root / FOLDER
    for name, content in {"article.pdf": page, "metadata.yaml": metadata(told).encode()}.items():
        with atomic_write(folder / name) as temporary:
            temporary.write_bytes(content)
    gaps = [*told["absent"], *told["lacking"]]
    print(f"{folder / 'article.pdf'}; gaps: {', '.join(gaps) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
