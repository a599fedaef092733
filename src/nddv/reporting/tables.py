"""The detection table: measured beside published, with chance levels and visible gaps."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from nddv.files import atomic_write

PROBLEM = ["dataset", "n", "corruption"]

# Column of the scores file -> column of the table; each also gives a "<column>_sd" over seeds.
MEASURED = {
    "f1_budget": "f1",
    "f1_two_means": "two_means",
    "f1_two_means_at_least": "two_means_at_least",
    "area": "area",
    "seconds": "seconds",
}

NOT_RUN = "not run in this configuration"


@dataclass(frozen=True)
class Provenance:
    """What a table was made from, printed with it."""

    config: str
    seeds: Sequence[int]

    def sentence(self) -> str:
        """Say it in one line."""
        seeds = ", ".join(str(seed) for seed in self.seeds)
        return f"Mean ± standard deviation over seeds {seeds}. Configuration {self.config}."


def read_published(path: str | Path) -> pd.DataFrame:
    """Read published numbers: dataset, n, corruption, method, title, f1, sd."""
    return pd.read_csv(path, comment="#")


def detection_table(scores: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Summarise scores per problem and method, and lay the published numbers beside them.

    Parameters
    ----------
    scores : one row per problem, method and seed, as :mod:`nddv.evaluation.collect` writes them.
    published : as :func:`read_published` gives them.

    Returns
    -------
    One row per problem and method; then the chance levels of the problem; then, as gaps, what the
    paper prints and this configuration did not run.
    """
    rows: list[dict[str, object]] = []
    for problem, group in scores.groupby(PROBLEM, sort=False):
        labels = dict(zip(PROBLEM, problem, strict=True))
        printed = published[(published[PROBLEM] == pd.Series(labels)).all(axis=1)]
        printed = printed.set_index("method")
        for method, runs in group.groupby("method", sort=False):
            row = {**labels, "method": method, "title": runs["title"].iloc[0], **_summary(runs)}
            if method in printed.index:
                row["published"] = printed.loc[method, "f1"]
                row["published_sd"] = printed.loc[method, "sd"]
            rows.append(row)
        rows += [{**labels, **row} for row in _chance_rows(group)]
        for method, row in printed.drop(index=set(group["method"]), errors="ignore").iterrows():
            rows.append({**labels, "method": method, **_gap(row["title"], row["f1"], row["sd"])})
    rows += _absent_data_sets(scores, published)
    columns = [*PROBLEM, "method", "title", "runs"]
    for name in ("f1", "published", *list(MEASURED.values())[1:]):
        columns += [name, f"{name}_sd"]
    return pd.DataFrame(rows).reindex(columns=[*columns, "note"]).fillna({"note": ""})


def _summary(runs: pd.DataFrame) -> dict[str, object]:
    """Means and spreads over the seeds that gave values, and a note about those that did not."""
    reasons = runs["gap"].fillna("")
    good = runs[reasons == ""]
    row: dict[str, object] = {"runs": len(good)}
    for column, name in MEASURED.items():
        present = good[column] if column in good else pd.Series(dtype=float)
        row[name] = present.mean() if len(present) else np.nan
        row[f"{name}_sd"] = present.std(ddof=1) if len(present) > 1 else np.nan
    failed = reasons[reasons != ""]
    if len(failed):
        row["note"] = f"{len(failed)} of {len(runs)} seeds gave no values: {failed.iloc[0]}"
    return row


def _chance_rows(group: pd.DataFrame) -> list[dict[str, object]]:
    level = group.filter(like="chance_").mean()
    return [
        {
            "method": "chance",
            "title": "Chance: values without information",
            "f1": level["chance_budget"],
            "two_means": level["chance_two_means"],
            "two_means_at_least": level["chance_two_means"],
            "area": level["chance_area"],
            "note": "expectation",
        },
        {
            "method": "chance-everything",
            "title": "Chance: flag every point",
            "two_means": level["chance_flag_everything"],
            "two_means_at_least": level["chance_flag_everything"],
            "note": "not budget-matched",
        },
    ]


def _gap(title: object, f1: object, sd: object) -> dict[str, object]:
    return {"title": title, "runs": 0, "published": f1, "published_sd": sd, "note": NOT_RUN}


def _absent_data_sets(scores: pd.DataFrame, published: pd.DataFrame) -> list[dict[str, object]]:
    """One gap row for every problem of the paper's table that was not run at all."""
    run = set(scores[PROBLEM].itertuples(index=False, name=None))
    printed = published[PROBLEM].drop_duplicates().itertuples(index=False, name=None)
    return [
        {
            **dict(zip(PROBLEM, problem, strict=True)),
            "method": "all",
            "title": "(every method)",
            "runs": 0,
            "note": NOT_RUN,
        }
        for problem in printed
        if problem not in run
    ]


HEADINGS = {
    "dataset": "Data set",
    "n": "n",
    "corruption": "Corruption",
    "title": "Method",
    "f1": "F1, budget-matched",
    "published": "F1 in the paper",
    "two_means": "F1, 2-means",
    "two_means_at_least": "F1, 2-means with a minimum",
    "area": "Area under curve",
    "seconds": "Seconds a run",
    "note": "Note",
}


def format_table(table: pd.DataFrame) -> pd.DataFrame:
    """Turn numbers into text: ``0.712 ± 0.034``, two digits for published, ``—`` for none."""
    digits = {"published": 2}
    text = pd.DataFrame(index=table.index)
    for name, heading in HEADINGS.items():
        if f"{name}_sd" in table:
            pairs = zip(table[name], table[f"{name}_sd"], strict=True)
            text[heading] = [_mean_and_spread(m, s, digits.get(name, 3)) for m, s in pairs]
        else:
            text[heading] = table[name].astype(str)
    return text


def _mean_and_spread(mean: float, spread: float, digits: int) -> str:
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
    stem: str | Path, table: pd.DataFrame, title: str, provenance: Provenance
) -> list[Path]:
    """Write ``stem`` with .csv (every number), .md and .html (for reading); give the paths."""
    stem = Path(stem)
    numbers = table.assign(
        config=provenance.config, seeds=" ".join(str(seed) for seed in provenance.seeds)
    )
    text = format_table(table)
    contents = {
        ".csv": numbers.to_csv(index=False, float_format="%.6g"),
        ".md": to_markdown(text, title, provenance.sentence()),
        ".html": to_html(text, title, provenance.sentence()),
    }
    paths = []
    for suffix, content in contents.items():
        path = stem.with_name(stem.name + suffix)
        with atomic_write(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
        paths.append(path)
    return paths
