"""The tables of the audits: error terms, gaps of marginals, rank correlations, retraining.

A table is a function of rows, published numbers and gaps. It has a row per problem and score with
means and spreads over seeds, the published number beside its measurement, and a gap with its reason
for every data set that was not audited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nddv.audit.errors import definitions, normalised
from nddv.reporting.certificates import certificate_summary
from nddv.reporting.tables import Provenance, format_numbers, over_seeds, write_measured

Rows = Mapping[str, pd.DataFrame]
"""Rows of the audits, of all problems and seeds, by their kind."""

Gaps = Sequence[Mapping[str, Any]]
"""Problems whose data set cannot be had, each with the ``reason``."""

PROBLEM = ["dataset", "n", "corruption"]
TERMS = ["epsilon_ref", "delta_ctx", "envelope"]
NOT_RUN = "not run in this configuration"

ABOUT = {
    "epsilon_delta": definitions(),
    "value_gaps": definitions(),
    "rank_correlations": (
        "Spearman's ρ between values and marginals from retraining a logistic regression: exact "
        "leave-one-out, sampled Shapley and Banzhaf. Reliability is the correlation that two "
        "independent samples of the reference would have; no method can be expected to correlate "
        "with a sampled reference by more than its root. No number: one side is constant."
    ),
    "certificates": (
        "Shares of pairs, chosen before any coalition was drawn, whose order by the score is "
        "certified to be that of the semi-value: the score gap is beyond the bound of its error. "
        "One pair at a time, and all pairs at once (union bound). For leave-one-out the error is "
        "known, and all bounds are that number. Scores are multiplied by one positive factor, "
        "fitted to the semi-values of other points, or raw. samples-only: what a confidence "
        "interval from the same coalitions certifies without any score. Order known: share of "
        "pairs whose order the reference tells (exact, or sampled independently and beyond two "
        "standard errors); agreement: of these, the share that the score orders alike; of "
        "certified: of those certified one at a time by Bernstein. Game: the logistic "
        "regression, or the NDDV model itself, retrained."
    ),
    "retraining_fidelity": (
        "Spearman's ρ between values and U(N) − U(N∖i), the NDDV model retrained without i with "
        "the same batches, noise and meta weights; U is its mean validation log-likelihood."
    ),
    "datamodelling": (
        "Random subsets of the training points are dropped and the NDDV model is retrained with "
        "the same batches, noise and meta weights; Spearman's ρ between the change of the "
        "validation log-likelihood and minus the sum of the dropped values (Ilyas and Engstrom "
        "2025, MAGIC)."
    ),
}

HEADINGS = {
    "dataset": "Data set",
    "n": "n",
    "corruption": "Corruption",
    "game": "Game",
    "utility": "Utility",
    "semivalue": "Semi-value",
    "title": "Score",
    "scale": "Scale",
    "epsilon_ref": "ε̂_ref",
    "published_epsilon_ref": "ε̂_ref in the paper",
    "delta_ctx": "δ̂_ctx",
    "published_delta_ctx": "δ̂_ctx in the paper",
    "envelope": "2ε̂_ref + δ̂_ctx",
    "gap_50": "Median gap",
    "published_gap_50": "Median gap in the paper",
    "gap_75": "75th percentile",
    "published_gap_75": "75th percentile in the paper",
    "gap_90": "90th percentile",
    "published_gap_90": "90th percentile in the paper",
    "envelope_terminal": "2ε̂_ref + δ̂_ctx, terminal",
    "published_envelope": "Envelope in the paper",
    "envelope_path": "2ε̂_ref + δ̂_ctx, path",
    "envelope_participation": "2ε̂_ref + δ̂_ctx, participation",
    "envelope_participation_raw": "2ε̂_ref + δ̂_ctx, participation, raw",
    "envelope_zero": "2ε̂_ref + δ̂_ctx, zero",
    "loo": "ρ with LOO",
    "published_loo": "ρ with LOO in the paper",
    "shapley": "ρ with Shapley",
    "published_shapley": "ρ with Shapley in the paper",
    "banzhaf": "ρ with Banzhaf",
    "reliability_shapley": "Reliability of Shapley",
    "reliability_banzhaf": "Reliability of Banzhaf",
    "pairs": "Pairs",
    "hoeffding": "Hoeffding",
    "bernstein": "Bernstein",
    "hoeffding_union": "Hoeffding, all pairs",
    "bernstein_union": "Bernstein, all pairs",
    "resolved": "Order known",
    "agreement": "Agreement",
    "agreement_certified": "Agreement of certified",
    "points": "Points",
    "spearman": "ρ with LOO retraining of the same model",
    "smallest": "Smallest of the seeds",
    "lds_1": "Drop 1 %",
    "lds_5": "Drop 5 %",
    "lds_10": "Drop 10 %",
    "subsets": "Subsets",
    "note": "Note",
}


def epsilon_delta(rows: Rows, published: pd.DataFrame | None, gaps: Gaps) -> pd.DataFrame:
    """ε̂_ref, δ̂_ctx and the envelope (tab:epsilon_delta), from ``errors``.

    These are rows per problem, seed, utility, ``readout`` (and its ``title``) and ``scale``.
    """
    keys = [*PROBLEM, "utility", "readout", "title", "scale"]
    found = over_seeds(_normalised_errors(rows), keys, ["factor", *TERMS])
    return _complete(found, published, ["readout"], gaps)


def value_gaps(rows: Rows, published: pd.DataFrame | None, gaps: Gaps) -> pd.DataFrame:
    """Pairwise gaps of leave-one-out marginals and the envelopes (tab:value_gap_distribution).

    From ``gaps``, rows per problem, seed and utility with gap_50, gap_75 and gap_90, and the
    envelopes of ``errors``.
    """
    keys = [*PROBLEM, "utility"]
    names = [name for name in rows["gaps"] if name.startswith("gap_")]
    found = over_seeds(normalised(rows["gaps"], names), keys, names)
    for (readout, scale), errors in _normalised_errors(rows).groupby(
        ["readout", "scale"], sort=False
    ):
        name = "envelope_" + str(readout).removeprefix("nddv-")
        name += "_raw" if (readout, scale) == ("nddv-participation", "raw") else ""
        envelope = over_seeds(errors, keys, ["envelope"])
        envelope = envelope.rename(columns={"envelope": name, "envelope_sd": f"{name}_sd"})
        found = found.merge(envelope.drop(columns=["runs", "note"]), on=keys, how="left")
    return _complete(found, published, [], gaps)


def _normalised_errors(rows: Rows) -> pd.DataFrame:
    return normalised(rows["errors"], TERMS)


def rank_correlations(rows: Rows, published: pd.DataFrame | None, gaps: Gaps) -> pd.DataFrame:
    """Spearman correlations with retraining (tab:rank_corr), from ``ranks``.

    These are rows per problem, seed, utility, ``method`` (and its ``title``) and ``reference``,
    with ``spearman`` and ``reliability``.
    """
    keys = [*PROBLEM, "utility", "method", "title"]
    wide = rows["ranks"].pivot(
        index=[*keys, "seed"], columns="reference", values=["spearman", "reliability"]
    )
    wide.columns = [
        reference if what == "spearman" else f"{what}_{reference}" for what, reference in wide
    ]
    columns = ["loo", "shapley", "banzhaf", "reliability_shapley", "reliability_banzhaf"]
    order = rows["ranks"][keys].drop_duplicates()
    found = order.merge(over_seeds(wide.reset_index(), keys, columns), on=keys)
    return _complete(_with_reasons(found, rows["ranks"], keys), published, ["method"], gaps)


def retraining_fidelity(rows: Rows, published: pd.DataFrame | None, gaps: Gaps) -> pd.DataFrame:
    """Spearman correlations with leave-one-out retraining of the NDDV model, from ``fidelity``."""
    keys = [*PROBLEM, "method", "title", "points"]
    found = over_seeds(rows["fidelity"], keys, ["spearman"])
    least = rows["fidelity"].groupby(keys, sort=False)["spearman"].min()
    found.insert(found.columns.get_loc("spearman_sd") + 1, "smallest", least.to_numpy())
    return _complete(_with_reasons(found, rows["fidelity"], keys), published, ["method"], gaps)


def _with_reasons(found: pd.DataFrame, rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Add the reason of a method that gave no values to the note."""
    reasons = rows.assign(gap=rows["gap"].fillna("")).groupby(keys, sort=False)["gap"].max()
    told = zip(found["note"], found.join(reasons, on=keys)["gap"], strict=True)
    return found.assign(note=[f"{note}: {gap}" if gap else note for note, gap in told])


def datamodelling(rows: Rows, published: pd.DataFrame | None, gaps: Gaps) -> pd.DataFrame:
    """Linear datamodelling scores, a column per share of dropped points, from ``datamodelling``."""
    scores, keys = rows["datamodelling"], [*PROBLEM, "method", "title", "subsets"]
    names = "lds_" + (100 * scores["share"]).round().astype(int).astype(str)
    wide = scores.assign(name=names).pivot(index=[*keys, "seed"], columns="name", values="spearman")
    order = scores[keys].drop_duplicates()
    found = order.merge(over_seeds(wide.reset_index(), keys, list(dict.fromkeys(names))), on=keys)
    return _complete(found, published, ["method"], gaps)


def certificates(rows: Rows, published: pd.DataFrame | None, gaps: Gaps) -> pd.DataFrame:
    """Shares of pairs with a certified order, and how many of the orders are right."""
    keys = [*PROBLEM, "game", "utility", "semivalue", "readout"]
    given = rows["certificates"]
    summary = certificate_summary(given, [*keys, "seed"])
    shares = summary.pivot(index=[*keys, "seed"], columns="bound", values="certified")
    right = summary[summary["bound"] == "bernstein"].set_index([*keys, "seed"])
    about = ["resolved", "agreement", "agreement_certified"]
    wide = shares.join(right[["pairs", *about]]).reset_index()
    found = over_seeds(wide, [*keys, "pairs"], [*shares.columns, *about])
    found = given[keys].drop_duplicates().merge(found, on=keys)
    unscaled = given[given["note"].fillna("") != ""].groupby(keys)["seed"].nunique()
    counts = found.join(unscaled.rename("unscaled"), on=keys)["unscaled"].fillna(0).astype(int)
    notes = [
        f"no positive factor fits in {k} of {runs} seeds" if k else ""
        for k, runs in zip(counts, found["runs"], strict=True)
    ]
    return _complete(found.assign(title=found["readout"], note=notes), published, [], gaps)


TABLES: dict[str, Callable[[Rows, pd.DataFrame | None, Gaps], pd.DataFrame]] = {
    "epsilon_delta": epsilon_delta,
    "value_gaps": value_gaps,
    "rank_correlations": rank_correlations,
    "certificates": certificates,
    "retraining_fidelity": retraining_fidelity,
    "datamodelling": datamodelling,
}


def _complete(
    found: pd.DataFrame, published: pd.DataFrame | None, names: list[str], gaps: Gaps
) -> pd.DataFrame:
    """Lay the published numbers beside the measured ones; add data sets that were not audited."""
    table = found
    absent: list[dict[str, Any]] = [
        {**{name: gap[name] for name in PROBLEM}, "note": gap["reason"]} for gap in gaps
    ]
    if published is not None:
        keys = ["dataset", "corruption", *names]
        printed = published.rename(columns=lambda c: c if c in keys else f"published_{c}")
        # The paper names no encoder; ours may be another.
        plain = table.assign(dataset=table["dataset"].str.partition("@")[0])
        joined = plain.merge(printed, on=keys, how="left")
        table = joined.assign(dataset=table["dataset"].to_numpy())
        told = set(zip(plain["dataset"], plain["corruption"], strict=True))
        told |= {(row["dataset"].partition("@")[0], row["corruption"]) for row in absent}
        absent += [
            {**row, "title": " ".join(row[name] for name in names), "n": "", "note": NOT_RUN}
            for row in printed.to_dict("records")
            if (row["dataset"], row["corruption"]) not in told
        ]
    return pd.concat([table, pd.DataFrame(absent)], ignore_index=True) if absent else table


def cost(records: Sequence[Mapping[str, Any]]) -> str:
    """Say what the marginals cost, from the records of their runs."""
    fits = sum(record["fits"] for record in records)
    seconds = sum(record["seconds"] for record in records)
    if not fits:
        return "All coalitions were found in the cache."
    return (
        f"{fits:,} coalitions were fitted in {seconds:,.0f} s of one core, "
        f"{fits / seconds:,.0f} a second; what was in the cache is not counted."
    )


def write_audit(
    stem: str | Path,
    name: str,
    table: pd.DataFrame,
    title: str,
    provenance: Provenance,
    remark: str = "",
) -> list[Path]:
    """Write a table of the audits with what its numbers mean and come from; give the paths."""
    text = format_numbers(table, HEADINGS)
    about = f"{ABOUT[name]} {remark}".strip()
    return write_measured(stem, table, text, title, about, provenance)
