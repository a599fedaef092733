"""What certificates of pairs amount to."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from nddv.reporting.frames import PROBLEM, Gaps, completed, over_seeds, widened, words

SHARES = ["resolved", "agreement", "agreement_certified"]


def certificates(rows: pd.DataFrame, gaps: Gaps = ()) -> pd.DataFrame:
    """Shares of pairs with a certified order, and how many of the orders are right, over seeds."""
    keys = [*PROBLEM, "game", "utility", "semivalue", "readout"]
    summary = certificate_summary(rows, [*keys, "seed"])
    of_pairs = [*keys, "pairs"]
    wide = widened(summary, of_pairs, "bound", "certified")
    bounds = [name for name in wide if name not in (*of_pairs, "seed")]
    right = summary[summary["bound"] == "bernstein"]
    wide = wide.merge(right[[*of_pairs, "seed", *SHARES]])
    table = over_seeds(wide, of_pairs, [*bounds, *SHARES])
    unscaled = rows[words(rows["note"]) != ""].groupby(keys)["seed"].nunique()
    counts = table.join(unscaled.rename("unscaled"), on=keys)["unscaled"].fillna(0).astype(int)
    notes = [
        f"no positive factor fits in {count} of {runs} seeds" if count else ""
        for count, runs in zip(counts, table["runs"], strict=True)
    ]
    return completed(table.assign(note=notes, title=table["readout"]), pd.DataFrame(), gaps=gaps)


def context_certificates(rows: pd.DataFrame, gaps: Gaps = ()) -> pd.DataFrame:
    """Shares of all pairs with a certain order, from marginals in context, over seeds.

    rows : of ``nddv.audit.context.certified_shares``, with the columns of the problem and the seed.
    """
    keys = [*PROBLEM, "utility", "semivalue", "pairs"]
    columns = [name for name in rows if name.startswith("certified_")]
    table = over_seeds(rows, keys, [*columns, "reliability", "coalitions", "seconds"])
    return completed(table, pd.DataFrame(), gaps=gaps)


def certificate_summary(
    rows: pd.DataFrame, by: Sequence[str] = ("readout", "semivalue")
) -> pd.DataFrame:
    """How many orders are certified, and whether they are right.

    ``rows`` are those of ``nddv.audit.certificates.certify``, perhaps with further columns. The
    summary has one row per group and bound, in their order:

    - the columns of ``by``, bound, and how many pairs there are;
    - certified: the share of pairs whose order is certified;
    - resolved: the share of pairs whose order the reference tells;
    - agreement: the share of these, certified or not, that the score orders as the reference does;
    - certified_resolved: how many of the certified pairs the reference tells the order of;
    - agreement_certified: the share of those that agree; missing if there are none.
    """
    rows = rows.reset_index(drop=True)
    agrees = rows["agrees"].astype("boolean")
    bounds = [c.removeprefix("certified_") for c in rows.columns if c.startswith("certified_")]
    summary = []
    for key, group in rows.groupby(list(by), sort=False):
        agreement = agrees[group.index].dropna().astype(float)
        for bound in bounds:
            certified = group[f"certified_{bound}"].astype(bool)
            resolved = len(agreement) / len(group)
            right = agreement[certified[agreement.index]]
            row = [bound, len(group), certified.mean(), resolved, agreement.mean()]
            summary.append([*key, *row, len(right), right.mean()])
    columns = ["bound", "pairs", "certified", "resolved", "agreement", "certified_resolved"]
    return pd.DataFrame(summary, columns=[*by, *columns, "agreement_certified"])
