"""Detection of corrupted points: measured beside published, with chance levels and visible gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd

from nddv.evaluation.ceiling import CEILING
from nddv.reporting.frames import NOT_RUN, PROBLEM, Gaps, in_paper, words
from nddv.reporting.numbers import short, with_spread
from nddv.reporting.registry import Result, Table
from nddv.reporting.titles import CHANCE, title_of

RULES = ("two_means", "two_means_at_least")
ENDS = {"f1": "", "precision": "_precision", "recall": "_recall"}
# Column of the scores file -> column of the table; each also gives a "<column>_sd" over seeds.
MEASURED = {
    "f1_budget": "f1",
    **{f"{score}_{rule}": f"{rule}{end}" for rule in RULES for score, end in ENDS.items()},
    **{name: name for name in ("area", "auroc", "seconds")},
}
PUBLISHED = {"f1": "published", "sd": "published_sd", "area": "published_area"}
EVERYTHING = f"{CHANCE}-everything"
REFERENCES = (CEILING, CHANCE)
"""Rows that are no methods; they stand last, in this order."""

MEAN = "Mean: of methods and rates that all data sets have; ±: of this mean, over seeds."

Problem = tuple[Any, ...]
Lines = dict[str, dict[str, Any]]
"""Rows of one problem by method."""


def detection_table(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    methods: Mapping[str, Sequence[str]],
    gaps: Gaps = (),
    ceilings: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Summarise scores per problem and method, and lay the published numbers beside them.

    Parameters
    ----------
    scores : one row per problem, method and seed, as :mod:`nddv.evaluation.collect` writes them;
        empty where nothing could be run.
    published : dataset, n, corruption, method, title, f1, sd; perhaps area and note; empty where
        the paper prints no numbers.
    methods : the methods to show of each problem, ``dataset/n1000/corruption``.
    gaps : what could not be run, or was left out.
    ceilings : the best to be expected, one row per problem and seed, of those where it is known.

    Returns
    -------
    One row per problem and method; then its ceiling and its chance levels; then, as gaps with their
    reason, what was left out and what the paper prints and this configuration did not run.
    """
    printed: dict[Problem, Lines] = {}
    for line in published.to_dict("records"):
        printed.setdefault(_problem(line), {})[line["method"]] = line
    left_out: dict[Problem, Lines] = {}
    absent: dict[Problem, str] = {}
    for gap in gaps:
        if "method" in gap:
            line = {"runs": 0, "note": gap["reason"]}
            left_out.setdefault(_problem(gap), {})[gap["method"]] = line
        else:
            absent[_problem(gap)] = gap["reason"]
    best = _ceilings(ceilings)
    tables: dict[Problem, Lines] = {}
    for problem, group in scores.groupby(PROBLEM, sort=False) if len(scores) else ():
        # in the order of the configuration, whatever that of the files
        runs = dict(iter(group.groupby("method")))
        wanted = methods["{}/n{}/{}".format(*problem)]
        lines = {name: _summary(runs[name]) for name in wanted if name in runs}
        lines |= left_out.get(problem, {})
        of_paper = printed.get(_in_paper(problem), {})
        lines |= _not_run({m: of_paper[m] for m in of_paper if m not in lines}, NOT_RUN)
        tables[problem] = lines | best.get(problem, {}) | _chance(group)
    known = {_in_paper(problem) for problem in [*tables, *absent]}
    absent |= {problem: NOT_RUN for problem in printed if problem not in known}
    for problem, reason in absent.items():
        lines = _not_run(printed.get(_in_paper(problem), {}), reason)
        tables[problem] = lines or {"all": {"runs": 0, "note": reason}}
    rows = []
    for problem, lines in tables.items():
        for method, line in lines.items():
            row = dict(zip(PROBLEM, problem, strict=True))
            row |= {"method": method, "title": title_of(method), "note": ""}
            of_paper = printed.get(_in_paper(problem), {}).get(method, {})
            row |= {name: of_paper[key] for key, name in PUBLISHED.items() if key in of_paper}
            rows.append(row | line)
    columns = [*PROBLEM, "method", "title", "runs"]
    for name in ("f1", "published", *list(MEASURED.values())[1:]):
        columns += [name, f"{name}_sd"]
    columns += ["published_area"] if "area" in published else []
    return pd.DataFrame(rows).reindex(columns=[*columns, "note"])


def _problem(row: Mapping[str, Any]) -> Problem:
    return tuple(row[name] for name in PROBLEM)


def _in_paper(problem: Problem) -> Problem:
    return in_paper(problem[0]), *problem[1:]


def _not_run(lines: Lines, reason: str) -> Lines:
    """Gaps for methods of the paper, under the titles it gives them; a note of the file is kept."""
    gaps = {}
    for method, line in lines.items():
        note, said = line.get("note"), reason
        if isinstance(note, str) and note:
            # What has no definition cannot be run in any configuration.
            said = note if note.startswith("undefined") else f"{reason} ({note})"
        gaps[method] = {"title": line["title"], "runs": 0, "note": said}
    return gaps


def _summary(runs: pd.DataFrame) -> dict[str, Any]:
    """Means and spreads over the seeds that gave values, and a note about those that did not."""
    reasons = words(runs["gap"])
    good = runs[reasons == ""].reindex(columns=list(MEASURED)).rename(columns=MEASURED)
    means, spreads = good.mean(), good.std(ddof=1).add_suffix("_sd")
    failed = list(reasons[reasons != ""])
    said = f"{len(failed)} of {len(runs)} seeds gave no values: {failed[0]}" if failed else ""
    return {"runs": len(good), **means, **spreads, "note": said}


def _ceilings(scores: pd.DataFrame | None) -> dict[Problem, Lines]:
    """The row of the ceiling of each problem that has one."""
    if scores is None or scores.empty:
        return {}
    groups = scores.groupby(PROBLEM, sort=False)["f1_budget"]
    about = {"note": "expectation of the best detector"}
    return {
        problem: {CEILING: {"runs": len(f1), "f1": f1.mean(), "f1_sd": f1.std(ddof=1), **about}}
        for problem, f1 in groups
    }


def _chance(group: pd.DataFrame) -> Lines:
    level = group.filter(like="chance_").mean()
    chance = dict.fromkeys(RULES, level["chance_two_means"])
    chance |= {"f1": level["chance_budget"], "area": level["chance_area"], "auroc": 0.5}
    everything = dict.fromkeys(RULES, level["chance_flag_everything"])
    return {
        CHANCE: {**chance, "note": "expectation"},
        EVERYTHING: {**everything, "note": "not budget-matched"},
    }


# ------------------------------------------------------------------ layout


def lay_out(entry: Table, table: pd.DataFrame) -> Result:
    """Lay the table out as the paper does: a row per method, a column per data set, rate or size.

    The column of the problem without a heading goes across; the others stay in front where they
    vary. Of several data sets the mean comes first. Cells are ``**0.71 ± 0.03** [0.67]``; the
    letter of a gap is that of its reason in the notes. Where blocks stand below each other, the
    notes name the methods that a block lacks altogether: they have no rows there.
    """
    (across,) = (name for name in PROBLEM if not entry.columns[name])
    shown = table[~table["method"].isin(["all", EVERYTHING])]
    titles = shown.groupby("method", sort=False)["title"].first()
    columns = [str(value) for value in shown[across].unique()]
    means = _means(shown) if across == "corruption" else shown[:0]
    shown = pd.concat([means, shown], ignore_index=True) if len(means) else shown
    keys = [name for name in PROBLEM if name != across and shown[name].nunique() > 1]
    best = shown[~shown["method"].isin(REFERENCES)].groupby(PROBLEM)["f1"].max()
    letters: dict[str, str] = {}
    cells = [_cell(row, best.get(_problem(row), np.nan), letters) for _, row in shown.iterrows()]
    # References stand last, whatever method only a later problem has.
    last = {name: i + 1 for i, name in enumerate(REFERENCES)}
    places = {name: (last.get(name, 0), i) for i, name in enumerate(titles.index)}
    shown = shown.assign(cell=cells, place=shown["method"].map(places))
    rows = []
    absent: dict[tuple[str, str], list[str]] = {}  # title and letter of a gap -> blocks
    for block, part in shown.groupby(keys, sort=False) if keys else [((), shown)]:
        front = {entry.columns[key]: str(value) for key, value in zip(keys, block, strict=True)}
        for _, of_method in part.sort_values("place").groupby("place"):
            across_row = dict(zip(of_method[across].astype(str), of_method["cell"], strict=True))
            title = titles[of_method["method"].iloc[0]]
            reasons = of_method["note"].where(of_method[["f1", "published"]].isna().all(axis=1))
            if keys and reasons.notna().all() and reasons.nunique() == 1:
                letter = letters[reasons.iloc[0].rstrip(".")]
                absent.setdefault((title, letter), []).append(", ".join(front.values()))
            else:
                rows.append({**front, entry.columns["title"]: title, **across_row})
    headings = [entry.columns[name] for name in (*keys, "title")]
    columns = [*headings, *columns]
    notes = [MEAN] if len(means) else []
    notes += [f"({letter}) {reason}." for reason, letter in letters.items()]
    notes += _absent_notes(absent)
    apart = table[table["method"] == "all"]
    notes += [f"{r.dataset}, n = {r.n}, {r.corruption}: {r.note}." for r in apart.itertuples()]
    return Result(pd.DataFrame(rows, columns=columns).fillna(""), tuple(notes))


def _absent_notes(absent: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """Which methods have no row in which blocks: a sentence for those of the same blocks."""
    titles: dict[tuple[str, str], list[str]] = {}
    for (title, letter), blocks in absent.items():
        titles.setdefault((letter, ", ".join(blocks)), []).append(title)
    return [
        f"({letter}) also stands for {'; '.join(of_blocks)} on {blocks}."
        for (letter, blocks), of_blocks in titles.items()
    ]


def _means(shown: pd.DataFrame) -> pd.DataFrame:
    """Means over data sets, of the methods and rates that all of them have.

    The spread is that of this mean over seeds.
    """
    run = shown[shown["f1"].notna()]
    count = run["dataset"].nunique()
    if count < 2:
        return shown[:0]
    groups = run.assign(variance=run["f1_sd"] ** 2).groupby(
        ["n", "corruption", "method"], sort=False
    )
    means = groups.agg(
        sets=("dataset", "nunique"),
        title=("title", "first"),
        f1=("f1", "mean"),
        f1_sd=("variance", lambda of: of.sum(skipna=False) ** 0.5 / count),
    ).reset_index()
    everywhere = means[means.pop("sets") == count]
    return everywhere.assign(dataset=f"mean of {count}", note="").reindex(columns=shown.columns)


def _cell(row: pd.Series, best: float, letters: dict[str, str]) -> str:
    """One number with its spread and the published one, or a gap with the letter of its reason."""
    text = with_spread(row["f1"], row["f1_sd"])
    if row["method"] not in REFERENCES:
        if row["f1"] >= best:
            text = f"**{text}**"
        if row["note"]:
            letter = letters.setdefault(row["note"].rstrip("."), _letter(len(letters)))
            text += f" ({letter})"
    return text if pd.isna(row["published"]) else f"{text} [{short(row['published'])}]"


def _letter(i: int) -> str:
    return ascii_lowercase[i] if i < 26 else _letter(i // 26 - 1) + ascii_lowercase[i % 26]
