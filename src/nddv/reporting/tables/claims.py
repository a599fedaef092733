"""Verdicts on the claims of the paper: a row per claim, and a row per case that decides one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from nddv.reporting.claims import SCORES, Claim, read_claims
from nddv.reporting.registry import Result
from nddv.reporting.verdicts import HOLDS, MARKS, NOT_RUN, Case, counts, evaluate, in_words, verdict


def claims_table(claims: str | Path, tables: Mapping[str, pd.DataFrame]) -> Result:
    """A row per claim of a file, judged by the tables that were made.

    id, claim (its words), where, the verdicts (a column for each of `SCORES`), the numbers of cases
    that hold, nearly hold, fail and were not run (holds, nearly, fails, not_run), numbers and note.
    """
    entries = read_claims(claims)
    cases = [evaluate(entries, tables, score.method) for score in SCORES]
    table = pd.DataFrame([_row(claim, [of[claim.id] for of in cases]) for claim in entries])
    counted = ", ".join(f"{k} {name}" for name, k in counts(table[SCORES[0].column]).items())
    return Result(table, (f"{len(table)} claims: {counted}.",))


def claim_cases(claims: str | Path, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row per claim, score and case, with the numbers that were compared."""
    entries = read_claims(claims)
    cases = [evaluate(entries, tables, score.method).values() for score in SCORES]
    rows = [case for of_score in cases for of_claim in of_score for case in of_claim]
    table = pd.DataFrame(rows, columns=[field.name for field in fields(Case)])
    return table.assign(note=table.pop("notes").map("; ".join))


def _row(claim: Claim, cases: Sequence[Sequence[Case]]) -> Mapping[str, Any]:
    """A claim; ``cases`` are those of each score."""
    outcomes = [[case.outcome for case in of_score] for of_score in cases]
    return {
        "id": claim.id,
        "claim": claim.quotation,
        "where": claim.where,
        **{score.column: verdict(of) for score, of in zip(SCORES, outcomes, strict=True)},
        **{kind.replace(" ", "_"): outcomes[0].count(kind) for kind in (*MARKS, NOT_RUN)},
        "numbers": "; ".join(
            f"{in_words(vars(case))} {MARKS[case.outcome]}"
            for case in cases[0]
            if case.outcome in MARKS
        ),
        "note": "; ".join(filter(None, _notes(claim, cases[0]))),
    }


def _notes(claim: Claim, cases: Sequence[Case]) -> list[str]:
    """How the claim is read, and what is to be said of its cases, each thing once."""
    notes = [claim.reading and f"Read as: {claim.reading}", claim.undefined]
    outcomes = [case.outcome for case in cases]
    held = outcomes.count(HOLDS)
    if verdict(outcomes) == "partly" and held + outcomes.count(NOT_RUN) == len(cases):
        notes.append(f"holds in all {held} cases that were run, of {len(cases)}")
    for note in dict.fromkeys(note for case in cases for note in case.notes):
        named = dict.fromkeys(case.case for case in cases if note in case.notes)
        names = ", ".join(filter(None, named))
        notes.append(f"{names}: {note}" if names else note)
    return notes
