"""The released procedure: what its notebooks print, and what our implementation of it finds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nddv.methods.variants import RELEASED
from nddv.reporting.frames import PROBLEM, Gaps, completed, over_seeds

MEASURED = {"f1_two_means_at_least": "two_means_at_least", "f1_budget": "f1"}


def released_procedure(
    scores: pd.DataFrame, published: pd.DataFrame, gaps: Gaps = ()
) -> pd.DataFrame:
    """One row per problem: F1 by the rule of the released code, beside the printed numbers.

    ``scores`` are those of :mod:`nddv.evaluation.collect`; ``published`` has the columns of the
    problem and ``f1``, one row per printed run. ``apart`` is how far the mean over seeds lies above
    (or, negative, below) the range of what is printed; ``within`` says whether it lies in that
    range, widened by our standard deviation over seeds.
    """
    rule = MEASURED["f1_two_means_at_least"]
    table = pd.DataFrame(columns=[*PROBLEM, "runs", rule, f"{rule}_sd"])
    if len(scores):  # none where no problem of the regime was run
        runs = scores[scores["method"] == RELEASED].rename(columns=MEASURED)
        of_rule = runs.groupby(PROBLEM, sort=False)[rule]
        ends = {"lowest": of_rule.min().to_numpy(), "highest": of_rule.max().to_numpy()}
        table = over_seeds(runs, PROBLEM, list(MEASURED.values())).assign(**ends)
    printed = published.groupby(PROBLEM, sort=False)["f1"].agg(low="min", high="max", runs="count")
    problems = [gap for gap in gaps if "method" not in gap]
    table = completed(table, printed.reset_index(), gaps=problems, unprinted=False)
    low, high = table["published_low"], table["published_high"]
    apart = (table[rule] - high).clip(lower=0) - (low - table[rule]).clip(lower=0)
    within = np.where(apart.abs() <= table[f"{rule}_sd"], "yes", "no")
    return table.assign(apart=apart, within=np.where(apart.isna(), "", within))
