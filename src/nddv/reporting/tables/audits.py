"""The tables of the audits: error terms, gaps of marginals, rank correlations, retraining.

A table has a row per problem and score with means and spreads over seeds, the published number
beside its measurement, and a gap with its reason for every data set that was not audited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from nddv.audit.choices import PARTICIPATION
from nddv.audit.errors import normalised
from nddv.audit.ranks import LEAST_RELIABILITY
from nddv.reporting.frames import PROBLEM, Gaps, completed, over_seeds, widened
from nddv.reporting.registry import Result
from nddv.reporting.titles import with_titles

TERMS = ["epsilon_ref", "delta_ctx", "envelope"]
REFERENCES = ["loo", "shapley", "banzhaf"]
SAMPLED = ["shapley", "banzhaf"]
RANKS = ["spearman", "reliability", "disattenuated"]

Records = Sequence[Mapping[str, Any]]
"""Of the runs that computed marginals."""


def epsilon_delta(
    errors: pd.DataFrame, published: pd.DataFrame, records: Records, gaps: Gaps = ()
) -> Result:
    """ε̂_ref, δ̂_ctx and the envelope (tab:epsilon_delta).

    errors : a row per problem, seed, utility, ``readout`` and ``scale``.
    """
    keys = [*PROBLEM, "utility", "readout", "scale"]
    table = over_seeds(normalised(errors, TERMS), keys, ["factor", *TERMS])
    ranks = over_seeds(errors, keys, RANKS).drop(columns=["runs", "note"])
    table = _remarked(table.merge(ranks, on=keys), errors, keys)
    table = with_titles(completed(table, published, ["readout"], gaps), "readout")
    return Result(table, (cost(records),))


def value_gaps(
    value_gaps: pd.DataFrame,
    errors: pd.DataFrame,
    published: pd.DataFrame,
    records: Records,
    gaps: Gaps = (),
) -> Result:
    """Pairwise gaps of leave-one-out marginals and the envelopes (tab:value_gap_distribution).

    value_gaps : a row per problem, seed and utility with gap_50, gap_75 and gap_90.
    errors : the rows with the envelopes.
    """
    keys = [*PROBLEM, "utility"]
    names = [name for name in value_gaps if name.startswith("gap_")]
    table = over_seeds(normalised(value_gaps, names), keys, names)
    terms = normalised(errors, TERMS)
    for (readout, scale), of_readout in terms.groupby(["readout", "scale"], sort=False):
        name = "envelope_" + str(readout).removeprefix("nddv-")
        name += "_raw" if (readout, scale) == (PARTICIPATION, "raw") else ""
        envelope = over_seeds(of_readout.rename(columns={"envelope": name}), keys, [name])
        table = table.merge(envelope.drop(columns=["runs", "note"]), on=keys, how="left")
    return Result(completed(table, published, gaps=gaps), (cost(records),))


def rank_correlations(
    ranks: pd.DataFrame, published: pd.DataFrame, records: Records, gaps: Gaps = ()
) -> Result:
    """Spearman correlations with retraining (tab:rank_corr).

    ranks : a row per problem, seed, utility, ``method`` and ``reference``, of
        ``nddv.audit.ranks.rank_correlations``.
    """
    keys = [*PROBLEM, "utility", "method"]
    wide = widened(ranks, keys, "reference", RANKS)
    wide.columns = [
        reference if what == "spearman" else "_".join(filter(None, (what, reference)))
        for what, reference in wide
    ]
    raw = over_seeds(wide, keys, REFERENCES)
    others = [f"{what}_{name}" for what in ("reliability", "disattenuated") for name in SAMPLED]
    rest = over_seeds(wide, keys, others).drop(columns=["runs", "note"])
    table = _remarked(raw.merge(rest, on=keys), ranks, [*keys, "reference"])
    return Result(with_titles(completed(table, published, ["method"], gaps)), (cost(records),))


def _remarked(table: pd.DataFrame, rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The table; its notes also say where a ρ was capped, or could not be disattenuated.

    rows : a row per seed and keys, with ``spearman``, ``disattenuated`` and ``capped``. Among the
        keys may be ``reference``, which the table has not.
    """
    of_table = [key for key in keys if key != "reference"]
    noisy = rows["spearman"].notna() & rows["disattenuated"].isna()
    facts = {
        "disattenuated ρ capped at ±1": rows["capped"].astype(bool),
        f"no disattenuated ρ, reliability below {LEAST_RELIABILITY}": noisy,
    }
    remarks: dict[tuple[Any, ...], list[str]] = {}
    for words, holds in facts.items():
        for key, count in rows[holds].groupby(list(keys), sort=False)["seed"].nunique().items():
            of = dict(zip(keys, key, strict=True))
            name = f" ({of['reference']})" if "reference" in of else ""
            where = tuple(of[column] for column in of_table)
            remarks.setdefault(where, []).append(f"{words}{name}: in {count} seeds")
    places = table[of_table].itertuples(index=False, name=None)
    extra = ["; ".join(remarks.get(place, [])) for place in places]
    notes = zip(table["note"], extra, strict=True)
    return table.assign(note=["; ".join(filter(None, pair)) for pair in notes])


def retraining_fidelity(fidelity: pd.DataFrame, gaps: Gaps = ()) -> pd.DataFrame:
    """Spearman correlations with leave-one-out and Shapley retraining of the NDDV model."""
    keys = [*PROBLEM, "method", "points"]
    table = over_seeds(fidelity, keys, ["spearman", "shapley", "reliability_shapley"])
    least = fidelity.groupby(keys, sort=False)["spearman"].min()
    table.insert(table.columns.get_loc("spearman_sd") + 1, "smallest", least.to_numpy())
    return with_titles(completed(table, pd.DataFrame(), gaps=gaps))


def datamodelling(scores: pd.DataFrame, gaps: Gaps = ()) -> pd.DataFrame:
    """Linear datamodelling scores, a column per share of dropped points."""
    keys = [*PROBLEM, "method", "subsets"]
    names = "lds_" + (100 * scores["share"]).round().astype(int).astype(str)
    wide = widened(scores.assign(name=names), keys, "name", "spearman")
    table = over_seeds(wide, keys, list(dict.fromkeys(names)))
    return with_titles(completed(table, pd.DataFrame(), gaps=gaps))


def cost(records: Records) -> str:
    """Say what the marginals cost, from the records of their runs."""
    fits = sum(record["fits"] for record in records)
    seconds = sum(record["seconds"] for record in records)
    if not fits:
        return "All coalitions were found in the cache."
    return (
        f"{fits:,} coalitions were fitted in {seconds:,.0f} s of one core, "
        f"{fits / seconds:,.0f} a second; what was in the cache is not counted."
    )
