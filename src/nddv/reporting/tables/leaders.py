"""Who leads: the readouts of NDDV beside the best baseline of every problem."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from nddv.methods.variants import RELEASED, is_nddv
from nddv.reporting.frames import PROBLEM
from nddv.reporting.registry import Result
from nddv.reporting.titles import title_of

READOUTS = ("nddv-path", "nddv-terminal")
CONTROLS = ("random", RELEASED)  # the authors' own NDDV is no rival of it
COLUMNS = [*PROBLEM, "method", "title", "f1", "f1_sd", "baseline", "baseline_title", "baseline_f1"]
COLUMNS += ["baseline_f1_sd", "ahead", "ahead_sd", "ahead_se", "wins", "leads"]


def leaders(scores: pd.DataFrame, methods: Collection[str]) -> Result:
    """One row per problem and readout, beside the best of the other methods.

    ``scores`` are those of :mod:`nddv.evaluation.collect`; ``methods`` are compared. The columns:
    problem, method, title, f1, baseline, baseline_title, baseline_f1, ahead (each mean with its
    ``_sd`` over seeds), ahead_se (its standard error), wins (``"4 of 5"``), leads (yes or no); and
    as notes, in how many problems each readout leads.
    """
    rows = []
    compared = scores[scores["method"].isin(methods)]
    for problem, group in compared.groupby(PROBLEM, sort=False):
        by_seed = group.pivot(index="seed", columns="method", values="f1_budget")
        others = [m for m in by_seed if not is_nddv(m) and m not in CONTROLS]
        means = by_seed[others].mean().dropna()
        if means.empty:
            continue
        best = means.idxmax()
        for readout in (name for name in READOUTS if name in by_seed):
            ahead = (by_seed[readout] - by_seed[best]).dropna()
            row = dict(zip(PROBLEM, problem, strict=True))
            row |= {"method": readout, "title": title_of(readout)}
            row |= {"baseline": best, "baseline_title": title_of(best)}
            row |= _spread("f1", by_seed[readout]) | _spread("baseline_f1", by_seed[best])
            row |= _spread("ahead", ahead)
            row |= {"ahead_se": ahead.std(ddof=1) / len(ahead) ** 0.5}
            row |= {"wins": f"{int((ahead >= 0).sum())} of {len(ahead)}"}
            rows.append(row | {"leads": "yes" if ahead.mean() >= 0 else "no"})
    table = pd.DataFrame(rows, columns=COLUMNS)
    notes = [
        f"{title} leads in {(part['leads'] == 'yes').sum()} of {len(part)}."
        for title, part in table.groupby("title", sort=False)
    ]
    return Result(table, tuple(notes))


def _spread(name: str, numbers: pd.Series) -> dict[str, float]:
    return {name: numbers.mean(), f"{name}_sd": numbers.std(ddof=1)}
