"""Verdicts on the claims of the paper: a row per claim, and a row per case that decides one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from nddv.reporting.claims import SCORES, Claim, read_claims
from nddv.reporting.registry import Result
from nddv.reporting.verdicts import (
    HOLDS,
    MARKS,
    NOT_APPLICABLE,
    NOT_RUN,
    Case,
    Judgement,
    counts,
    grouped,
    in_words,
    judge,
)


def claims_table(claims: str | Path, tables: Mapping[str, pd.DataFrame]) -> Result:
    """A row per claim of a file, judged by the tables that were made.

    id, claim (its words), where; the verdicts, a column for each of `SCORES`; ours (our readouts
    for this claim); the numbers of cases that hold, nearly hold, fail and were not run (holds,
    nearly, fails, not_run), numbers and note, with the paper's score; and reason, reason_released,
    reason_ours: why there is no verdict, or no number in some cases.
    """
    entries = read_claims(claims)
    table = pd.DataFrame([_row(c, [judge(c, tables, score) for score in SCORES]) for c in entries])
    notes = []
    for score in SCORES:
        counted = ", ".join(f"{k} {name}" for name, k in counts(table[score.column]).items())
        notes.append(f"{score.title}: {counted}.")
    return Result(table, (f"{len(table)} claims.", *notes))


def claim_cases(claims: str | Path, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row per claim, score and case, with the numbers that were compared."""
    entries = read_claims(claims)
    judged = [judge(claim, tables, score) for score in SCORES for claim in entries]
    rows = [case for one in judged for case in (*one.cases, *one.stand_ins)]
    table = pd.DataFrame(rows, columns=[field.name for field in fields(Case)])
    return table.assign(note=table.pop("notes").map("; ".join))


def _row(claim: Claim, judged: Sequence[Judgement]) -> Mapping[str, Any]:
    """A claim, judged with each score."""
    by_paper = judged[0]
    outcomes = [case.outcome for case in by_paper.cases]
    return {
        "id": claim.id,
        "claim": claim.quotation,
        "where": claim.where,
        **{score.column: of.verdict for score, of in zip(SCORES, judged, strict=True)},
        "ours": "" if judged[-1].verdict == NOT_APPLICABLE else ", ".join(claim.ours),
        **{kind.replace(" ", "_"): outcomes.count(kind) for kind in (*MARKS, NOT_RUN)},
        "numbers": "; ".join(_told(case) for case in by_paper.cases if case.outcome in MARKS),
        "note": "; ".join(filter(None, _notes(claim, by_paper))),
        **{score.reason: of.reason for score, of in zip(SCORES, judged, strict=True)},
    }


def _told(case: Case) -> str:
    return f"{in_words(vars(case))} {MARKS[case.outcome]}"


def _notes(claim: Claim, judged: Judgement) -> list[str]:
    """How the claim is read, and what is to be said of the cases that were run."""
    notes = [claim.reading and f"Read as: {claim.reading}"]
    run = [case for case in judged.cases if case.outcome != NOT_RUN]
    held = [case.outcome for case in run].count(HOLDS)
    if judged.verdict == "partly" and held == len(run) < len(judged.cases):
        notes.append(f"holds in all {held} cases that were run, of {len(judged.cases)}")
    stand_ins = [f"stand-in for {case.stands_for}: {_told(case)}" for case in judged.stand_ins]
    return [*notes, *grouped(run), *stand_ins]
