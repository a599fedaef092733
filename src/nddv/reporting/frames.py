"""What tables share: means over seeds, published numbers beside measured ones, gaps as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from nddv.methods.variants import is_nddv

PROBLEM = ["dataset", "n", "corruption"]
NOT_RUN = "not run in this configuration"

Gaps = Sequence[Mapping[str, Any]]
"""Problems whose data set is not available, or, with a ``method``, methods that were left out of a
problem; each with the ``reason``."""


def words(column: pd.Series, missing: str = "") -> pd.Series:
    """A column of words. An empty word is missing after it was read from a file."""
    return column.astype(object).where(column.notna(), missing)


def in_paper(dataset: str) -> str:
    """A data set as the paper names it: without our encoder, which may be another than its own."""
    return dataset.partition("@")[0]


def without_variants(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of methods as they are, without variants of NDDV (:mod:`nddv.methods.variants`)."""
    return rows.loc[[not (is_nddv(name) and ":" in name) for name in rows["method"]]]


def over_seeds(rows: pd.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Means of columns over the rows with the same keys, and ``<column>_sd`` beside them.

    ``runs`` counts the seeds. Where a column has fewer numbers, ``note`` says how many, and why, if
    the rows have the reason (``gap``).
    """
    reasons = words(rows["gap"]) if "gap" in rows else ""
    groups = rows.assign(gap=reasons).groupby(list(keys), sort=False, dropna=False)
    summary = {"runs": groups["seed"].nunique()}
    for column in columns:
        summary[column] = groups[column].mean()
        summary[f"{column}_sd"] = groups[column].std(ddof=1)
    counts = groups[list(columns)].count()
    facts = zip(counts.to_dict("records"), summary["runs"], groups["gap"].max(), strict=True)
    table = pd.DataFrame({**summary, "note": [_note(*fact) for fact in facts]})
    return table.reset_index()


def _note(counts: Mapping[str, int], runs: int, reason: str) -> str:
    """Say which columns have a number in fewer than all runs; those with as few in one phrase."""
    fewer: dict[int, list[str]] = {}
    for column, count in counts.items():
        if count < runs:
            fewer.setdefault(count, []).append(column)
    note = "; ".join(f"{', '.join(names)}: in {n} of {runs} seeds" for n, names in fewer.items())
    return ": ".join(part for part in (note, reason) if part)


def widened(
    rows: pd.DataFrame, keys: Sequence[str], names: str, values: str | list[str]
) -> pd.DataFrame:
    """A row for each of the keys and seed, a column for each name, in the order of the rows."""
    index = [*keys, "seed"]
    if "gap" in rows:
        rows, index = rows.assign(gap=words(rows["gap"])), [*index, "gap"]
    wide = rows.pivot(index=index, columns=names, values=values)
    return wide.reindex(pd.MultiIndex.from_frame(rows[index].drop_duplicates())).reset_index()


def completed(
    table: pd.DataFrame,
    published: pd.DataFrame,
    names: Sequence[str] = (),
    gaps: Gaps = (),
    *,
    unprinted: bool = True,
) -> pd.DataFrame:
    """Lay the published numbers beside the measured ones; add what was not run, with the reason.

    Parameters
    ----------
    published : what the paper prints; an empty frame where it prints nothing.
    names : columns that, with the problem, tell published rows apart.
    unprinted : whether a gap has a row, too, where the paper prints nothing of its problem.
    """
    problem = [name for name in PROBLEM if name in published]
    keys = [*problem, *names]
    kept = [*keys, "title"]
    printed = published.rename(columns=lambda name: name if name in kept else f"published_{name}")
    plain = table.assign(dataset=[in_paper(name) for name in table["dataset"]])
    if len(printed):
        numbers = printed.drop(columns="title", errors="ignore")
        joined = plain.merge(numbers, on=keys, how="left")
        table = joined.assign(dataset=table["dataset"].to_numpy())
    of_gaps = {
        tuple({**gap, "dataset": in_paper(gap["dataset"])}[name] for name in problem): gap
        for gap in gaps
    }
    run = set(plain[keys].itertuples(index=False, name=None))
    absent: list[dict[str, Any]] = []
    shown = []
    for row in printed.to_dict("records"):
        gap = of_gaps.get(tuple(row[name] for name in problem))
        if gap is not None:
            shown.append(gap)
            absent.append({**row, **_gap_row(gap)})
        elif tuple(row[name] for name in keys) not in run:
            absent.append({"n": "", **row, "note": NOT_RUN})
    if unprinted:
        absent += [_gap_row(gap) for gap in gaps if gap not in shown]
    return pd.concat([table, pd.DataFrame(absent)], ignore_index=True) if absent else table


def _gap_row(gap: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: gap[name] for name in PROBLEM}, "note": gap["reason"]}
