"""``docs/reproducibility.md``: what a reader of the field asks before she repeats an experiment.

Every answer is read from the registries, from the configuration or from the committed tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from nddv.metadata.citation import read_citation, read_project
from nddv.metadata.environment import read_environment
from nddv.metadata.markdown import table_lines
from nddv.reporting.claims import SCORES, Claim, read_claims
from nddv.reporting.comparing import TABLES, read_folder
from nddv.reporting.frames import PROBLEM
from nddv.reporting.numbers import NONE
from nddv.reporting.verdicts import VERDICTS, counts

Frames = Mapping[str, pd.DataFrame]

CONFIGURATION = "config/config.yaml config/embedded.yaml config/complete.yaml"
"""That of the committed report."""

NOT_MADE = "not among the committed tables"

INTRODUCTION = """\
# Reproducibility

Written by `make metadata`, from the registries, the configuration and the committed tables. The
first part answers the questions of a reproducibility checklist. The second says for every claim of
the paper which tables decide it, how to make them, and how long that took.
"""
COMMANDS = f"""\
## Claims

A command makes the tables of a claim, and what they need, in the folder where it is given:

```sh
snakemake --configfile {CONFIGURATION} --cores all claims
```

makes all verdicts; `NDDV_DATA` names the files that only you can supply. Below, `$C` stands for
`--configfile {CONFIGURATION} --cores all`.

The time is that of the valuations in these tables: the seconds of a run, times the number of runs,
summed. Readouts of one training are each counted with it. {NONE}: the table has no times; audits
retrain models, and their jobs are timed in `results/benchmarks/` of a run.
"""


def checklist(root: Path) -> str:
    """The text of the page."""
    frames = read_folder(root / TABLES)
    claims = read_claims(root / "config" / "claims.yaml")
    lines = [INTRODUCTION, *_questions(root, frames), "", COMMANDS, *_claims(claims, frames), ""]
    return "\n".join(lines)


# ------------------------------------------------------------------ the questions


def _questions(root: Path, frames: Frames) -> Iterator[str]:
    config = yaml.safe_load((root / "config" / "config.yaml").read_text("utf-8"))
    answers = {
        "Code": _code(root),
        "Software": _software(root),
        "Data": _data(root),
        "Splits": _splits(config["sizes"]),
        "Seeds": _seeds(config, frames),
        "Settings": "[Every setting of every method](settings.md); one for all data sets",
        "Spread": "± is the standard deviation over seeds; `runs` in a table counts them",
        "Hardware": machine(root, frames),
        "Time": f"{duration(hours_of(frames.values()) or 0)} of valuations in the committed tables",
        "Verdicts": "; ".join(_verdicts(frames)),
    }
    yield from table_lines(("question", "answer"), answers.items())


def _code(root: Path) -> str:
    citation = read_citation(root)
    return f"version {citation['version']}, {citation['license']}; [how to cite](../CITATION.cff)"


def _software(root: Path) -> str:
    lines = (root / "requirements.lock").read_text("utf-8").splitlines()
    packages = sum("==" in line for line in lines)
    environments = len(list((root / "envs").glob("*.yaml")))
    python = read_project(root)["requires-python"]
    return (
        f"Python {python}; {packages} packages with one tested version each and checksums of "
        f"their files ([requirements.lock](../requirements.lock)); {environments} conda "
        "environments, a Dockerfile and an Apptainer definition ([environments](environments.md))"
    )


def _data(root: Path) -> str:
    content = yaml.safe_load((root / "config" / "datasets.yaml").read_text("utf-8"))
    entries = content["datasets"].values()

    def having(test: Any) -> int:
        return sum(any(test(source) for source in entry["sources"]) for entry in entries)

    checked = having(lambda source: "sha256" in source or "archive_sha256" in source)
    formula = having(lambda source: source["kind"] == "generated")
    shipped = having(lambda source: source["kind"] == "scikit-learn")
    return (
        f"{len(entries)} data sets: {checked} with SHA-256 of their files, {formula} that a "
        f"formula draws (some have both), {shipped} that scikit-learn ships; licences and "
        "citations in `config/datasets.yaml` and, as Croissant, in "
        "`metadata/croissant`; "
        "[how they are fetched](data.md)"
    )


def _splits(sizes: Mapping[str, float]) -> str:
    def part(name: str) -> str:
        size = sizes[name]
        return f"{name} {f'{size:.0%} of n' if size < 1 else f'{size} rows'}"

    return f"{', '.join(map(part, sizes))}, besides the n points that are valued"


def _seeds(config: Mapping[str, Any], frames: Frames) -> str:
    reported = {
        seed
        for frame in frames.values()
        if "seeds" in frame
        for cell in frame["seeds"].dropna().astype(str)
        for seed in cell.split()
    }
    committed = ", ".join(sorted(reported, key=int)) or NONE
    configured = ", ".join(map(str, config["seeds"]))
    return f"{committed} in the committed tables; {configured} in the configuration"


def machine(root: Path, frames: Frames) -> str:
    """The machine that the committed tables were made on, if their run has recorded it."""
    record = read_environment(root)
    made = {name for frame in frames.values() if "config" in frame for name in frame["config"]}
    if record.get("configuration") not in made:
        return "not recorded for the committed tables"
    versions = ("python", "numpy", "torch")
    return f"{record['machine']}; {', '.join(f'{name} {record[name]}' for name in versions)}"


def _verdicts(frames: Frames) -> Iterator[str]:
    claims = frames.get("claims")
    if claims is None:
        yield f"claims: {NOT_MADE}"
        return
    for score in SCORES:
        if score.column in claims:
            found = counts(claims[score.column])
            told = ", ".join(f"{found[name]} {name}" for name in VERDICTS if found.get(name))
            yield f"{score.title[0].lower()}{score.title[1:]}: {told}"


# ------------------------------------------------------------------ claims


def _claims(claims: Iterable[Claim], frames: Frames) -> Iterator[str]:
    judged = frames["claims"].set_index("id") if "claims" in frames else pd.DataFrame()

    def verdict(claim: Claim, column: str) -> str:
        known = claim.id in judged.index and column in judged
        return str(judged.loc[claim.id, column]) if known else NOT_MADE

    rows = []
    for claim in claims:
        files = " ".join(f"{TABLES}/{name}.csv" for name in claim.needs)
        rows.append(
            (
                f"`{claim.id}`",
                claim.where,
                ", ".join(_linked(name, frames) for name in claim.needs) or claim.undefined,
                f"`snakemake $C {files}`" if files else NONE,
                _time(claim.needs, frames),
                *(verdict(claim, score.column) for score in SCORES),
            )
        )
    titles = [score.title for score in SCORES]
    yield from table_lines(("claim", "where", "tables", "command", "time", *titles), rows)


def _linked(table: str, frames: Frames) -> str:
    if table in frames:
        return f"[{table}](../{TABLES}/{table}.md)"
    return f"{table} ({NOT_MADE})"


def _time(tables: Iterable[str], frames: Frames) -> str:
    hours = hours_of(frames[name] for name in tables if name in frames)
    return NONE if hours is None else duration(hours)


def hours_of(tables: Iterable[pd.DataFrame]) -> float | None:
    """Hours of the valuations of some tables, each counted once; None if none has times.

    A table without sizes sums up valuations of others: its seconds are those of all runs.
    """
    timed = [table for table in tables if {"seconds", "runs", "n"} <= set(table)]
    if not timed:
        return None
    rows = pd.concat(timed)
    # not the part for validation: what reads none has the same time in several rows
    keys = [key for key in (*PROBLEM, "features", "method", "seconds") if key in rows]
    rows = rows.drop_duplicates(keys)
    return float((rows["seconds"] * rows["runs"]).sum()) / 3600


def duration(hours: float) -> str:
    """Hours in the unit that a reader would use."""
    if hours >= 1:
        return f"{hours:.1f} h"
    return f"{hours * 60:.0f} min" if hours * 60 >= 1 else f"{hours * 3600:.0f} s"
