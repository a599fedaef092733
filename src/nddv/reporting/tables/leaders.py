"""Who leads: the readouts of NDDV beside the best other method of every problem."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from scipy.stats import t as student_law

from nddv.methods.registry import get_method
from nddv.methods.variants import RELEASED, is_nddv
from nddv.reporting.frames import PROBLEM
from nddv.reporting.registry import Result
from nddv.reporting.titles import title_of

READOUTS = ("nddv-path", "nddv-terminal")
"""Stated in advance: ours for detection, and the paper's. The best of several is not taken."""

NO_RIVALS = ("random", RELEASED)  # the authors' own NDDV is no rival of it
CONFIDENCE = 0.95
COLUMNS = [*PROBLEM, "method", "title", "f1", "f1_sd", "baseline", "baseline_title", "baseline_f1"]
COLUMNS += ["baseline_f1_sd", "ahead", "ahead_sd", "ahead_low", "ahead_high"]
COLUMNS += ["wins", "leads", "zero_inside"]


def is_rival(method: object) -> bool:
    """Whether a row of a table is of a method that NDDV is compared with."""
    if not isinstance(method, str) or is_nddv(method) or method in NO_RIVALS:
        return False
    try:
        get_method(method)
    except ValueError:  # chance, or a ceiling
        return False
    return True


def leaders(scores: pd.DataFrame, methods: Collection[str]) -> Result:
    """One row per problem and readout, beside the best of the other methods.

    ``scores`` are those of :mod:`nddv.evaluation.collect`; ``methods`` are compared. The columns:
    problem, method, title, f1, baseline, baseline_title, baseline_f1, ahead (each mean with its
    ``_sd`` over seeds; ahead is the mean of the differences seed by seed), ahead_low and ahead_high
    (Student's interval for that mean), wins (``"4 of 5"``), leads (yes if the mean is above zero),
    zero_inside (whether the interval holds zero; empty for a single seed); and as notes, in how
    many problems each readout leads.
    """
    rows = []
    compared = scores[scores["method"].isin(methods)]
    for problem, group in compared.groupby(PROBLEM, sort=False):
        by_seed = group.pivot(index="seed", columns="method", values="f1_budget")
        others = [m for m in by_seed if is_rival(m)]
        means = by_seed[others].mean().dropna()
        if means.empty:
            continue
        best = means.idxmax()
        for readout in (name for name in READOUTS if name in by_seed):
            row = dict(zip(PROBLEM, problem, strict=True))
            row |= {"method": readout, "title": title_of(readout)}
            row |= {"baseline": best, "baseline_title": title_of(best)}
            row |= _spread("f1", by_seed[readout]) | _spread("baseline_f1", by_seed[best])
            rows.append(row | _difference((by_seed[readout] - by_seed[best]).dropna()))
    table = pd.DataFrame(rows, columns=COLUMNS)
    notes = [_counted(str(title), part) for title, part in table.groupby("title", sort=False)]
    return Result(table, tuple(notes))


def mean_interval(numbers: pd.Series, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Student's interval for the mean of independent numbers; NaN for fewer than two."""
    k = len(numbers)
    if k < 2:
        return np.nan, np.nan
    half = student_law.ppf((1 + confidence) / 2, k - 1) * numbers.std(ddof=1) / k**0.5
    return numbers.mean() - half, numbers.mean() + half


def _difference(ahead: pd.Series) -> dict[str, float | str]:
    """What is said of the differences, one for each seed."""
    low, high = mean_interval(ahead)
    inside = "yes" if low <= 0 <= high else "no"
    return {
        **_spread("ahead", ahead),
        **{"ahead_low": low, "ahead_high": high},
        "wins": f"{int((ahead > 0).sum())} of {len(ahead)}",
        "leads": "yes" if ahead.mean() > 0 else "no",
        "zero_inside": "" if np.isnan(low) else inside,
    }


def _counted(title: str, rows: pd.DataFrame) -> str:
    leads, inside = rows["leads"] == "yes", rows["zero_inside"] == "yes"
    behind = ~leads & (rows["zero_inside"] == "no")
    return (
        f"{title} leads in {leads.sum()} of {len(rows)}, with zero inside the interval in "
        f"{(leads & inside).sum()} of these; it is behind, with zero outside, in {behind.sum()}."
    )


def _spread(name: str, numbers: pd.Series) -> dict[str, float | str]:
    return {name: numbers.mean(), f"{name}_sd": numbers.std(ddof=1)}
