"""A verdict on every claim of the paper, with the cases that decide it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from nddv.reporting.claims import PAPER, SCORED, Check, Claim, Score, Selection
from nddv.reporting.numbers import short, with_spread
from nddv.reporting.selecting import Number, Tables, matching, number_of

VERDICTS = ("reproduced", "partly", "not reproduced", "not run", "not applicable")
HOLDS, NEARLY, FAILS, NOT_RUN = "holds", "nearly", "fails", "not run"
NOT_APPLICABLE = VERDICTS[-1]
MARKS = {HOLDS: "✓", NEARLY: "≈", FAILS: "✗"}
EXPECTED = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most"}

ROUNDING = 1e-12  # of a difference of two decimals, which must not decide


@dataclass(frozen=True)
class Case:
    """What came out of a check for one data set, or one of whatever it is ``per``.

    A row of the table of cases; of a case that was not run the numbers are missing.

    Attributes
    ----------
    score : name of the score that the claim is judged with.
    method : that ``nddv`` stands for.
    check : which of the claim's checks, counted from 1.
    case : data set, corruption or size; empty if the check has one case only.
    left_whose, right_whose : the method with the largest or smallest number; or how several rows
        were averaged.
    right : what is expected, times and plus in it.
    notes : which named rows have no number, and the encoder; or why the case was not run.
    stands_for : the data set that cannot be had, of a case with its stand-in. It is not counted.
    """

    claim: str
    score: str
    method: str
    check: int
    case: str
    outcome: str
    left: float = math.nan
    left_sd: float = math.nan
    left_whose: str = ""
    operator: str = ""
    right: float = math.nan
    right_sd: float = math.nan
    right_whose: str = ""
    times: float = 1.0
    plus: float = 0.0
    tolerance: float = 0.0
    notes: tuple[str, ...] = ()
    stands_for: str = ""


def compare(left: Number, right: Number, op: str, tolerance: float, within: float) -> str:
    """Whether a comparison of means holds, nearly holds or fails.

    It *holds* if it is true of the means, up to ``tolerance``. If it is not, it *nearly* holds
    where no more than ``within`` standard errors of the difference are missing, these being
    √(sd²/runs + sd²/runs) over the seeds; with ``within`` 0 the spread plays no part. What holds
    only because rows that the check names have no numbers *nearly* holds too: the best of the
    baselines may be among those that were not run.
    """
    difference = left.value - right.value
    ahead = {"<": -difference, "<=": -difference, "=": -abs(difference)}.get(op, difference)
    ahead += tolerance
    holds = ahead > ROUNDING if op in ("<", ">") else ahead >= -ROUNDING
    if holds:
        return NEARLY if left.absent or right.absent else HOLDS
    error = math.hypot(left.standard_error, right.standard_error)
    return NEARLY if within * error > 0 and ahead >= -within * error else FAILS


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim with one score; why it is, or some of its cases are, without one."""

    verdict: str
    reason: str
    cases: tuple[Case, ...] = ()
    stand_ins: tuple[Case, ...] = ()


def judge(claim: Claim, tables: Tables, score: Score = PAPER) -> Judgement:
    """Judge a claim with one score.

    *Not applicable*: the claim says so; or no number of it depends on the score of NDDV, so that
    the verdict with the paper's says all; or no table that was made has a row of the method,
    although the claim was run with the paper's.

    tables : those that were made, by name, as their CSV files have them.
    """
    reason = claim.not_applicable.get(score.name, "")
    if not (reason or claim.checks):
        return Judgement(NOT_RUN, claim.undefined)
    if reason := reason or _inapplicable(claim, tables, score):
        return Judgement(NOT_APPLICABLE, reason)
    cases = _cases(claim, tables, score)
    counted = tuple(case for case in cases if not case.stands_for)
    stand_ins = tuple(case for case in cases if case.stands_for)
    missing = [case for case in counted if case.outcome == NOT_RUN]
    outcomes = [case.outcome for case in counted]
    return Judgement(verdict(outcomes), "; ".join(grouped(missing)), counted, stand_ins)


def verdict(outcomes: Sequence[str]) -> str:
    """The verdict on a claim whose cases came out so.

    *Reproduced*: all cases hold. *Partly*: some hold, or nearly; a case that was not run does not
    hold. *Not reproduced*: none holds of those that were run. *Not run*: none was.
    """
    if set(outcomes) <= {NOT_RUN}:
        return "not run"
    if set(outcomes) == {HOLDS}:
        return "reproduced"
    return "partly" if HOLDS in outcomes or NEARLY in outcomes else "not reproduced"


def counts(verdicts: pd.Series) -> dict[str, int]:
    """How many claims have each verdict, the best verdict first; their sum is all claims."""
    return {name: int((verdicts == name).sum()) for name in VERDICTS}


def grouped(cases: Sequence[Case]) -> list[str]:
    """What is to be said of cases, each thing once, after the cases that it is true of."""
    said = []
    for note in dict.fromkeys(note for case in cases for note in case.notes):
        named = dict.fromkeys(case.case for case in cases if note in case.notes)
        names = ", ".join(filter(None, named))
        said.append(f"{names}: {note}" if names else note)
    return said


def in_words(case: Mapping[str, Any]) -> str:
    """A row of the table of cases as a sentence: ``bbc: 0.712 ± 0.034, expected at least 0.7``."""
    label = f"{case['case']}: " if case["case"] else ""
    left = _side(case["left"], case["left_sd"], case["left_whose"])
    times, plus, tolerance = case["times"], case["plus"], case["tolerance"]
    sd = case["right_sd"] / abs(times) if times else math.nan
    right = _side((case["right"] - plus) / times if times else 0.0, sd, case["right_whose"])
    right = right if times == 1 else f"{short(times)} × {right}"
    right += f" {'+' if plus > 0 else '−'} {short(abs(plus))}" if plus else ""
    if case["operator"] == "=":
        expected = f"{right} up to {short(tolerance)}" if tolerance else f"exactly {right}"
    else:
        expected = f"{EXPECTED[case['operator']]} {right}"
        enough = "less" if case["operator"] in (">", ">=") else "more"
        expected += f" ({short(tolerance)} {enough} is enough)" if tolerance else ""
    return f"{label}{left}, expected {expected}"


def _side(value: float, sd: float, whose: str) -> str:
    text = short(value) if math.isnan(sd) else with_spread(value, sd)
    return f"{text} ({whose})" if whose else text


def _inapplicable(claim: Claim, tables: Tables, score: Score) -> str:
    """Why a claim that does not say so cannot be judged with a score; empty if it can."""
    scored = [side for check in claim.checks for side in check.scored(score.of(check))]
    if score is PAPER:
        return ""
    if not scored:
        return "no number of this claim depends on the score of NDDV"
    # Every claim names one of ours: without its rows, the claim was not run.
    lacking = [side.table for side in scored if not _has(tables.get(side.table), score.method)]
    if not score.method or len(lacking) < len(scored):
        return ""
    run = any(case.outcome != NOT_RUN for case in _cases(claim, tables, PAPER))
    return f"no row of {score.method} in {', '.join(dict.fromkeys(lacking))}" if run else ""


def _has(table: pd.DataFrame | None, method: str) -> bool:
    """Whether a table has rows of a method."""
    columns = () if table is None else [name for name in SCORED if name in table]
    return table is not None and any((table[name] == method).any() for name in columns)


def _cases(claim: Claim, tables: Tables, score: Score) -> list[Case]:
    """The cases of a claim; after one that was not run, that of its stand-in, if it was."""
    cases = []
    for k, check in enumerate(claim.checks, start=1):
        method = score.of(check)
        named = {"claim": claim.id, "score": score.name, "method": method, "check": k}
        for fixed in _fixed(check.left, check.per or {}, tables, method):
            case = _case(named, check, tables, fixed)
            cases.append(case)
            wanted = str(fixed.get("dataset", ""))
            if case.outcome != NOT_RUN or wanted not in claim.stand_ins:
                continue
            per = {name: [value] for name, value in fixed.items()}
            per["dataset"] = [claim.stand_ins[wanted]]
            others = [
                _case({**named, "stands_for": wanted}, check, tables, other)
                for other in _fixed(check.left, per, tables, method)
            ]
            cases += [other for other in others if other.outcome != NOT_RUN]
    return cases


def _fixed(
    left: Selection, per: Mapping[str, Sequence[Any]], tables: Tables, score: str
) -> Iterator[dict[str, Any]]:
    """What each case of a check fixes; a data set once for every encoder it was run with."""
    table = tables.get(left.table)
    for values in itertools.product(*per.values()):
        fixed = dict(zip(per, values, strict=True))
        if "dataset" not in fixed or table is None or "dataset" not in table:
            yield fixed
            continue
        rows = matching(table, {**left.where, **fixed}, score)
        if left.column in rows:
            rows = rows[rows[left.column].notna()]
        for name in list(rows["dataset"].unique()) or [fixed["dataset"]]:
            yield {**fixed, "dataset": name}


def _label(fixed: Mapping[str, Any]) -> str:
    """What a case fixes: ``bbc@minilm · label10``, or ``features 100 · n 1000``."""
    return " · ".join(v if isinstance(v, str) else f"{name} {v}" for name, v in fixed.items())


def _case(named: Mapping[str, Any], check: Check, tables: Tables, fixed: Mapping[str, Any]) -> Case:
    """One case; ``named`` are the fields that say which."""
    label, score = _label(fixed), named["method"]
    left = number_of(check.left, tables, fixed, score)
    right: Number | str
    if isinstance(check.than, Selection):
        # What the right side says of a column that the case fixes is kept: it compares two of them.
        kept = {key: value for key, value in fixed.items() if key not in check.than.where}
        right = number_of(check.than, tables, kept, score)
        if isinstance(right, Number):
            value = check.times * right.value + check.plus
            right = replace(right, value=value, sd=abs(check.times) * right.sd)
    else:
        right = Number(check.than)
    if isinstance(left, str) or isinstance(right, str):
        reason = left if isinstance(left, str) else str(right)
        return Case(**named, case=label, outcome=NOT_RUN, notes=(reason,))
    notes = []
    if absent := [*left.absent, *right.absent]:
        notes.append(f"no number of {', '.join(absent)}")
    if encoder := str(fixed.get("dataset", "")).partition("@")[2]:
        notes.append(f"our encoder is {encoder}")
    return Case(
        **named,
        case=label,
        outcome=compare(left, right, check.op, check.tolerance, check.within),
        left=left.value,
        left_sd=left.sd,
        left_whose=left.whose,
        operator=check.op,
        right=right.value,
        right_sd=right.sd,
        right_whose=right.whose,
        times=check.times,
        plus=check.plus,
        tolerance=check.tolerance,
        notes=tuple(notes),
    )
