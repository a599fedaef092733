"""The detection table: measured beside published, with chance levels and visible gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nddv.reporting.tables import Provenance, format_numbers, write_measured

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


def read_published(path: str | Path) -> pd.DataFrame:
    """Read published numbers: dataset, n, corruption, method, title, f1, sd."""
    return pd.read_csv(path, comment="#")


def detection_table(
    scores: pd.DataFrame, published: pd.DataFrame, gaps: Sequence[Mapping[str, Any]] = ()
) -> pd.DataFrame:
    """Summarise scores per problem and method, and lay the published numbers beside them.

    Parameters
    ----------
    scores : one row per problem, method and seed, as :mod:`nddv.evaluation.collect` writes them.
    published : as :func:`read_published` gives them.
    gaps : problems whose data set could not be had, each with the ``reason``.

    Returns
    -------
    One row per problem and method; then the chance levels of the problem; then, as gaps, what the
    paper prints and this configuration did not run.
    """
    rows: list[dict[str, object]] = []
    for problem, group in scores.groupby(PROBLEM, sort=False):
        labels = dict(zip(PROBLEM, problem, strict=True))
        printed = published[(published[PROBLEM] == pd.Series(_in_paper(labels))).all(axis=1)]
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
    rows += _absent_data_sets(scores, published, gaps)
    columns = [*PROBLEM, "method", "title", "runs"]
    for name in ("f1", "published", *list(MEASURED.values())[1:]):
        columns += [name, f"{name}_sd"]
    return pd.DataFrame(rows).reindex(columns=[*columns, "note"]).fillna({"note": ""})


def _in_paper(problem: Mapping[str, object]) -> dict[str, object]:
    """A problem as the paper names it: without our encoder, which may be another than its own."""
    return {**problem, "dataset": str(problem["dataset"]).partition("@")[0]}


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


def _absent_data_sets(
    scores: pd.DataFrame, published: pd.DataFrame, gaps: Sequence[Mapping[str, Any]]
) -> list[dict[str, object]]:
    """One gap row for every problem, of the paper or of the configuration, that was not run."""
    run = scores[PROBLEM].drop_duplicates().to_dict("records")
    absent = [({name: gap[name] for name in PROBLEM}, gap["reason"]) for gap in gaps]
    told = [_in_paper(problem) for problem in [*run, *(problem for problem, _ in absent)]]
    printed = published[PROBLEM].drop_duplicates().to_dict("records")
    absent += [(problem, NOT_RUN) for problem in printed if problem not in told]
    nothing = {"method": "all", "title": "(every method)", "runs": 0}
    return [{**problem, **nothing, "note": reason} for problem, reason in absent]


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


def format_detection(table: pd.DataFrame) -> pd.DataFrame:
    """Turn numbers into text: ``0.712 ± 0.034``, two digits for published, ``—`` for none."""
    return format_numbers(table, HEADINGS, {"published": 2})


def write_detection(
    stem: str | Path, table: pd.DataFrame, title: str, provenance: Provenance
) -> list[Path]:
    """Write the detection table with its provenance; give the paths."""
    return write_measured(stem, table, format_detection(table), title, "", provenance)
