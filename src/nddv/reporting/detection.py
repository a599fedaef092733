"""The detection table: measured beside published, with chance levels and visible gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd

from nddv.reporting.tables import Provenance, mean_and_spread, write_measured

PROBLEM = ["dataset", "n", "corruption"]
CHANCE = "chance"

# Column of the scores file -> column of the table; each also gives a "<column>_sd" over seeds.
MEASURED = {
    "f1_budget": "f1",
    "f1_two_means": "two_means",
    "precision_two_means": "two_means_precision",
    "recall_two_means": "two_means_recall",
    "f1_two_means_at_least": "two_means_at_least",
    "precision_two_means_at_least": "two_means_at_least_precision",
    "recall_two_means_at_least": "two_means_at_least_recall",
    "area": "area",
    "auroc": "auroc",
    "seconds": "seconds",
}
PUBLISHED = {"f1": "published", "sd": "published_sd", "area": "published_area"}

NOT_RUN = "not run in this configuration"
EVERY_METHOD = {"method": "all", "title": "(every method)", "runs": 0}

Gaps = Sequence[Mapping[str, Any]]
"""Problems that could not be had, or, with a ``method`` and ``title``, methods that were left out
of one; each with the ``reason``."""


def read_published(path: str | Path) -> pd.DataFrame:
    """Read published numbers: dataset, n, corruption, method, title, f1, sd; area, note if any."""
    return pd.read_csv(path, comment="#")


def select_methods(scores: pd.DataFrame, methods: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Rows of the methods that each problem, ``dataset/n1000/corruption``, is to show."""
    if scores.empty:
        return scores
    named = scores[[*PROBLEM, "method"]].itertuples(index=False, name=None)
    return scores[[method in methods[f"{d}/n{n}/{c}"] for d, n, c, method in named]]


def without_variants(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of methods as they are, without variants of NDDV (:mod:`nddv.methods.variants`)."""
    names = rows["method"].astype(str)
    return rows[~(names.str.startswith("nddv-") & names.str.contains(":"))]


def detection_table(
    scores: pd.DataFrame, published: pd.DataFrame | None = None, gaps: Gaps = ()
) -> pd.DataFrame:
    """Summarise scores per problem and method, and lay the published numbers beside them.

    Parameters
    ----------
    scores : one row per problem, method and seed, as :mod:`nddv.evaluation.collect` writes them;
        empty where nothing could be run.
    published : as :func:`read_published` gives them; None where the paper prints no numbers.
    gaps : what could not be run, or was left out.

    Returns
    -------
    One row per problem and method; then the chance levels of the problem; then, as gaps with their
    reason, what was left out and what the paper prints and this configuration did not run.
    """
    printed = _PublishedRows(published)
    without_data = [gap for gap in gaps if "method" not in gap]
    left_out = [gap for gap in gaps if "method" in gap]
    rows: list[dict[str, object]] = []
    run = []
    for problem, group in scores.groupby(PROBLEM, sort=False) if len(scores) else []:
        labels = dict(zip(PROBLEM, problem, strict=True))
        run.append(labels)
        reasons = {gap["method"]: gap for gap in left_out if _problem_of(gap) == labels}
        told = [*group["method"].unique(), *reasons]
        for method, runs in group.groupby("method", sort=False):
            title = runs["title"].iloc[0]
            row = {**labels, "method": method, "title": title, **_summary(runs)}
            rows.append({**row, **printed.numbers(labels, method)})
        for method, gap in reasons.items():
            row = {**labels, "method": method, "title": gap["title"], "runs": 0}
            rows.append({**row, **printed.numbers(labels, method), "note": gap["reason"]})
        rows += printed.gaps(labels, NOT_RUN, without=told)
        rows += [{**labels, **row} for row in _chance_rows(group)]
    absent = [(_problem_of(gap), gap["reason"]) for gap in without_data]
    known = [_in_paper(problem) for problem in [*run, *(problem for problem, _ in absent)]]
    absent += [(problem, NOT_RUN) for problem in printed.problems() if problem not in known]
    for problem, reason in absent:
        rows += printed.gaps(problem, reason) or [{**problem, **EVERY_METHOD, "note": reason}]
    columns = [*PROBLEM, "method", "title", "runs"]
    for name in ("f1", "published", *list(MEASURED.values())[1:]):
        columns += [name, f"{name}_sd"]
    if published is not None and "area" in published:
        columns.append("published_area")
    return pd.DataFrame(rows).reindex(columns=[*columns, "note"]).fillna({"note": ""})


def _problem_of(gap: Mapping[str, Any]) -> dict[str, object]:
    return {name: gap[name] for name in PROBLEM}


def _in_paper(problem: Mapping[str, object]) -> dict[str, object]:
    """A problem as the paper names it: without our encoder, which may be another than its own."""
    return {**problem, "dataset": str(problem["dataset"]).partition("@")[0]}


class _PublishedRows:
    """The published numbers, looked up by problem and method."""

    def __init__(self, published: pd.DataFrame | None) -> None:
        records = [] if published is None else published.to_dict("records")
        self._rows = [
            {key: value for key, value in row.items() if not pd.isna(value)} for row in records
        ]

    def problems(self) -> list[dict[str, object]]:
        """The problems that the paper has, each once."""
        return [dict(p) for p in dict.fromkeys(tuple(_problem_of(r).items()) for r in self._rows)]

    def _of(self, problem: Mapping[str, object]) -> list[dict[str, Any]]:
        return [row for row in self._rows if _problem_of(row) == _in_paper(problem)]

    def numbers(self, problem: Mapping[str, object], method: object) -> dict[str, object]:
        """What the paper prints for a method; nothing where it prints nothing."""
        for row in self._of(problem):
            if row["method"] == method:
                return {name: row[key] for key, name in PUBLISHED.items() if key in row}
        return {}

    def gaps(
        self, problem: Mapping[str, object], reason: str, without: Sequence[object] = ()
    ) -> list[dict[str, object]]:
        """A row for each method of the paper that was not run; a note of the file's is kept."""
        return [
            {
                **problem,
                **{"method": row["method"], "title": row["title"], "runs": 0},
                **self.numbers(problem, row["method"]),
                "note": _told(row.get("note", ""), reason),
            }
            for row in self._of(problem)
            if row["method"] not in without
        ]


def _told(note: str, reason: str) -> str:
    """Why there is no number: what has no definition cannot be run in any configuration."""
    if note.startswith("undefined"):
        return note
    return f"{reason} ({note})" if note else reason


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
            "method": CHANCE,
            "title": "Chance: values without information",
            "f1": level["chance_budget"],
            "two_means": level["chance_two_means"],
            "two_means_at_least": level["chance_two_means"],
            "area": level["chance_area"],
            "auroc": 0.5,
            "note": "expectation",
        },
        {
            "method": f"{CHANCE}-everything",
            "title": "Chance: flag every point",
            "two_means": level["chance_flag_everything"],
            "two_means_at_least": level["chance_flag_everything"],
            "note": "not budget-matched",
        },
    ]


ABOUT = (
    "F1 of detection, budget-matched: as many points are flagged, the lowest values, as are "
    "corrupted. Bold: the best of a column. In brackets: the number that the paper prints. Other "
    "rules, areas, AUROC and seconds are in the CSV."
)
HEADINGS = {"dataset": "Data set", "n": "n", "corruption": "Corruption", "title": "Method"}


def format_detection(table: pd.DataFrame, across: str = "dataset") -> tuple[pd.DataFrame, str]:
    """Lay the table out as the paper does: a row per method, a column per data set, rate or size.

    Parameters
    ----------
    table : as :func:`detection_table` gives it.
    across : the column whose values become columns. The other columns of the problem stay in front
        where they vary.

    Returns
    -------
    The text, ``**0.712** ± 0.034 [0.67]``; and notes: a letter of a cell is that of its reason.
    """
    shown = table[~table["method"].isin(["all", f"{CHANCE}-everything"])]
    keys = [name for name in PROBLEM if name != across and shown[name].nunique() > 1]
    best = shown[shown["method"] != CHANCE].groupby(PROBLEM)["f1"].max()
    letters: dict[str, str] = {}
    cells = [
        _cell(row, best.get(tuple(row[PROBLEM]), np.nan), letters) for _, row in shown.iterrows()
    ]
    titles = shown.groupby("method", sort=False)["title"].first()
    # Chance stands last, whatever method only a later problem has.
    order = sorted(titles.index, key=lambda method: method == CHANCE)
    laid = shown.assign(cell=cells)
    blocks = laid[keys].drop_duplicates() if keys else pd.DataFrame(index=[0])
    rows = []
    for _, block in blocks.iterrows():
        part = laid[(laid[keys] == block).all(axis=1)] if keys else laid
        of_method = {
            method: group.set_index(across)["cell"] for method, group in part.groupby("method")
        }
        for method in (name for name in order if name in of_method):
            found = of_method[method]
            row = {**{HEADINGS[key]: str(block[key]) for key in keys}, "Method": titles[method]}
            rows.append(row | {str(v): found.get(v, "") for v in laid[across].unique()})
    apart = table[table["method"] == "all"]
    notes = [f"({letter}) {reason}." for reason, letter in letters.items()]
    notes += [f"{r.dataset}, n = {r.n}, {r.corruption}: {r.note}." for r in apart.itertuples()]
    return pd.DataFrame(rows), " ".join(notes)


def _cell(row: pd.Series, best: float, letters: dict[str, str]) -> str:
    """One number with its spread and the published one, or a gap with the letter of its reason."""
    text = mean_and_spread(row["f1"], row["f1_sd"], 3)
    if row["f1"] >= best and row["method"] != CHANCE:
        text = f"**{text}**"
    if row["note"] and row["method"] != CHANCE:
        letter = letters.setdefault(row["note"].rstrip("."), _letter(len(letters)))
        text += f" ({letter})"
    return text if pd.isna(row["published"]) else f"{text} [{row['published']:.3g}]"


def _letter(i: int) -> str:
    return ascii_lowercase[i] if i < 26 else _letter(i // 26 - 1) + ascii_lowercase[i % 26]


def write_detection(
    stem: str | Path, table: pd.DataFrame, title: str, across: str, provenance: Provenance
) -> list[Path]:
    """Write a detection table with its provenance; give the paths."""
    text, notes = format_detection(table, across)
    return write_measured(stem, table, text, title, f"{ABOUT} {notes}".strip(), provenance)
