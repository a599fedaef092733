"""What was found: one sentence and one small picture each, from the tables of this run.

A finding is an entry of ``config/report.yaml``: a title, the tables it reads, a function of this
module, and a sentence whose words in braces the function gives. No sentence says more than its
numbers: the functions count cases, and choose words by comparison. ``±`` is the standard deviation
over seeds; that of a mean over data sets is that of the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nddv.audit.choices import PARTICIPATION
from nddv.audit.estimators import PUBLISHED, TWO_LEVEL
from nddv.replay.choices import REPLAY, TERMINAL
from nddv.reporting.claims import PAPER
from nddv.reporting.dots import Dots, Picture, lay_out_dots
from nddv.reporting.frames import PROBLEM, without_variants
from nddv.reporting.numbers import number, short, with_spread
from nddv.reporting.registry import load
from nddv.reporting.tables.leaders import is_rival
from nddv.reporting.titles import CHANCE, title_of

MOST = 5  # findings on a page
MOST_ROWS = 14  # of a picture

PAPER_SCORE, PATH = PAPER.method, "nddv-path"
STRENGTH = {0.9: "almost perfectly", 0.7: "strongly", 0.4: "moderately", 0.2: "weakly"}

Words = tuple[dict[str, str], Dots]
"""The words of a sentence, and the numbers of its picture."""


@dataclass(frozen=True)
class Finding:
    """A finding as the page shows it."""

    title: str
    sentence: str
    tables: tuple[str, ...]
    picture: Picture


def find(
    entries: Sequence[Mapping[str, Any]], frames: Mapping[str, pd.DataFrame]
) -> tuple[list[Finding], list[str]]:
    """The first findings whose tables were made, and the titles of those that this run lacks."""
    findings: list[Finding] = []
    absent = []
    for entry in entries:
        names = entry["tables"]
        made = all(name in frames for name in names)
        told = load(entry["function"])(*(frames[name] for name in names)) if made else None
        if told is None:
            absent.append(entry["title"])
        elif len(findings) < MOST:
            words, dots = told
            sentence = entry["sentence"].format_map(words)
            picture = lay_out_dots(dots)
            findings.append(Finding(entry["title"], sentence, tuple(names), picture))
    return findings, absent if len(findings) < MOST else []


# ------------------------------------------------------------------ the findings


def detection(table: pd.DataFrame) -> Words | None:
    """F1 of the paper's score, of the path readout, of the best other method, and of chance."""
    rows = without_variants(table[table["f1"].notna()])
    others = rows.loc[[is_rival(name) for name in rows["method"]]]
    best = others.sort_values("f1", ascending=False).drop_duplicates(PROBLEM)
    named = {
        "path": rows[rows["method"] == PATH],
        "paper": rows[rows["method"] == PAPER_SCORE],
        "best": best,
        "chance": rows[rows["method"] == CHANCE],
    }
    by = {name: _on_all(part, named.values()) for name, part in named.items()}
    if by["best"].empty:
        return None
    leads = {
        f"{name}_leads": str((by[name]["f1"] > by["best"]["f1"]).sum())
        for name in ("path", "paper")
    }
    sizes = " or ".join(f"{n:,}" for n in by["best"].reset_index()["n"].unique())
    means = {name: _average(part, "f1") for name, part in by.items()}
    series = {
        "path": title_of(PATH),
        "paper": title_of(PAPER_SCORE),
        "best": "best other method",
        "chance": "chance",
    }
    points = [_points(by[name], "f1", series[name]) for name in series]
    words = {**means, **leads, "problems": str(len(by["best"])), "n": sizes}
    return words, Dots(pd.concat(points), "F1 of detection")


def retraining(table: pd.DataFrame) -> Words | None:
    """Rank correlations with retraining: of the derivative of a run, and of the terminal score."""
    keys = [*PROBLEM, *(["module"] if "module" in table else [])]
    rows = table[table["spearman"].notna()]
    of = {
        "derivative": rows[rows["method"].isin([PARTICIPATION, REPLAY])],
        "terminal": rows[rows["method"].isin([PAPER_SCORE, TERMINAL])],
    }
    by = {name: _on_all(part, of.values(), keys) for name, part in of.items()}
    if by["terminal"].empty:
        return None
    words = {"problems": str(len(by["terminal"]))}
    for name, part in by.items():
        words[name] = _average(part, "spearman")
        words[f"{name}_agrees"] = agrees(part["spearman"].mean())
    words["higher"] = str((by["derivative"]["spearman"] > by["terminal"]["spearman"]).sum())
    points = [_points(part, "spearman", part["title"].iloc[0]) for part in by.values()]
    return words, Dots(pd.concat(points), "ρ with retraining")


def ranks(table: pd.DataFrame) -> Words | None:
    """Rank correlations of the paper's score with Shapley values: measured beside printed."""
    rows = table[(table["method"] == PAPER_SCORE) & table["published_shapley"].notna()]
    rows = rows[rows["shapley"].notna()].set_index(PROBLEM)
    if rows.empty:
        return None
    printed = pd.DataFrame(
        {"shapley": rows["published_shapley"], "shapley_sd": rows["published_shapley_sd"]}
    )
    spread = (rows["shapley_sd"].fillna(0) ** 2 + printed["shapley_sd"].fillna(0) ** 2) ** 0.5
    within = (rows["shapley"] - printed["shapley"]).abs() <= 2 * spread
    words = {
        "cases": str(len(rows)),
        "within": str(within.sum()),
        "printed": _range(printed["shapley"]),
        "measured": _range(rows["shapley"]),
        "reliability": _range(rows["reliability_shapley"]),
    }
    points = [
        _points(part, "shapley", f"measured, {str(utility).replace('_', '-')}")
        for utility, part in rows.groupby("utility", sort=False)
    ]
    points.append(_points(printed[~printed.index.duplicated()], "shapley", "printed"))
    return words, Dots(pd.concat(points), "ρ with Shapley values")


def semivalues(seconds: pd.DataFrame, shares: pd.DataFrame) -> Words | None:
    """Seconds to precise semi-values, and the share of pairs whose order is then certain."""
    keys = [*PROBLEM, "semivalue"]
    timed = seconds[seconds["to_target"].notna()].sort_values("to_target")
    usual = timed["method"].isin(PUBLISHED)
    parts = [timed[which].drop_duplicates(keys).sort_index() for which in (~usual, usual)]
    ours, theirs = (_on_all(part, parts, keys) for part in parts)
    certain = shares[(shares["method"] == TWO_LEVEL) & shares["certified_one"].notna()]
    certain = certain[certain["budget"] == certain["budget"].max()]
    if ours.empty or certain.empty:
        return None
    words = {
        "names": " and ".join(
            name.capitalize() for name in ours.reset_index()["semivalue"].unique()
        ),
        "seconds": _range(ours["to_target"]),
        "usual_seconds": _range(theirs["to_target"]),
        "quicker": _range(theirs["to_target"] / ours["to_target"]),
        "cases": str(len(ours)),
        "budget": short(certain["budget"].max()),
        "certain_one": _average(certain, "certified_one"),
        "certain_all": _average(certain, "certified_all"),
        "agreement": _average(certain, "agreement"),
    }
    points = [
        _points(ours, "to_target", "quickest of ours"),
        _points(theirs, "to_target", "usual sampling"),
    ]
    return words, Dots(pd.concat(points), "seconds to r² = .99", log=True)


def growth(table: pd.DataFrame) -> Words | None:
    """Seconds of the paper's score and of KNN-Shapley where all were measured, and their growth."""
    rows = table[table["seconds"].notna() & table["method"].isin([PAPER_SCORE, "knn-shapley"])]
    nddv = rows[rows["method"] == PAPER_SCORE].drop_duplicates("n")
    knn = rows[(rows["method"] == "knn-shapley") & rows["n"].isin(nddv["n"])]
    curves = {"nddv": nddv, **{name: knn[knn["valid"] == name] for name in ("fixed", "tenth")}}
    common = set.intersection(*(set(part["n"]) for part in curves.values()))
    if not common:
        return None
    n = max(common)
    words = {"n": f"{n:,}"}
    for name, part in curves.items():
        row = part[part["n"] == n].iloc[0]
        words[name] = with_spread(row["seconds"], row["seconds_sd"])
        power = row["exponent"]  # which one size alone does not have
        words[f"{name}_growth"] = "" if pd.isna(power) else f" (growing as n^{round(power, 2):g})"
    titles = {
        "nddv": title_of(PAPER_SCORE),
        "fixed": "KNN-Shapley, 100 validation rows",
        "tenth": "KNN-Shapley, n/10 validation rows",
    }
    points = [
        pd.DataFrame(
            {
                "label": [f"n = {size:,}" for size in part["n"]],
                "series": titles[name],
                "value": part["seconds"],
                "sd": part["seconds_sd"],
            }
        )
        for name, part in curves.items()
    ]
    return words, Dots(pd.concat(points), "seconds", log=True)


def run_seconds(table: pd.DataFrame) -> Words | None:
    """Median seconds of the valuations of this run."""
    rows = without_variants(table[table["median_seconds"] > 0]).set_index("method")
    if PAPER_SCORE not in rows.index:
        return None
    own = rows.loc[PAPER_SCORE]
    others = rows.loc[[is_rival(name) for name in rows.index], "median_seconds"]
    words = {
        "seconds": number(own["median_seconds"]),
        "runs": str(int(own["runs"])),
        "slower": str((others > own["median_seconds"]).sum()),
        "others": str(len(others)),
    }
    shown = rows.sort_values("median_seconds").tail(MOST_ROWS)
    points = pd.DataFrame(
        {
            "label": [title_of(name) for name in shown.index],
            "series": "median of the runs",
            "value": shown["median_seconds"],
        }
    )
    return words, Dots(points, "seconds", log=True)


# ------------------------------------------------------------------ words and numbers


def agrees(correlation: float) -> str:
    """How well two orders agree, as an adverb."""
    if correlation <= -min(STRENGTH):
        return "in reverse"
    return next((word for least, word in STRENGTH.items() if correlation >= least), "hardly")


def _on_all(part: pd.DataFrame, parts: Any, keys: Sequence[str] = PROBLEM) -> pd.DataFrame:
    """The rows of a part whose keys all parts have, by key, in the order of the first part."""
    parts = [p.set_index(list(keys)) for p in parts]
    common = [key for key in parts[0].index if all(key in p.index for p in parts)]
    return part.set_index(list(keys)).loc[common]


def _average(rows: pd.DataFrame, column: str) -> str:
    """The mean over rows, with the spread over seeds that this mean has."""
    sds = rows[f"{column}_sd"] if f"{column}_sd" in rows else pd.Series(dtype=float)
    known = len(sds) and sds.notna().all()
    spread = math.sqrt((sds**2).sum()) / len(rows) if known else math.nan
    return with_spread(rows[column].mean(), spread, 2)


def _range(numbers: pd.Series) -> str:
    """``0.1 to 0.9``, or one number."""
    ends = [f"{float(f'{end:.2g}'):,.6g}" for end in (numbers.min(), numbers.max())]
    return " to ".join(dict.fromkeys(end.replace("-", "−") for end in ends))


def _points(rows: pd.DataFrame, column: str, series: str) -> pd.DataFrame:
    """The numbers of a series, labelled by what tells its rows apart."""
    keys = rows.index.to_frame(index=False)
    vary = [name for name in keys if keys[name].nunique() > 1 or name == "dataset"]
    labels = keys[vary].astype(str).agg(", ".join, axis=1)
    sd = rows[f"{column}_sd"].to_numpy() if f"{column}_sd" in rows else math.nan
    values = {"value": rows[column].to_numpy(), "sd": sd}
    return pd.DataFrame({"label": labels, "series": series, **values})
