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
    NOT_RUN,
    Case,
    Tables,
    by_claim,
    counts,
    evaluate,
    in_words,
    verdict,
)


def claims_table(claims: str | Path, tables: Tables) -> Result:
    """A row per claim: its words, a verdict for each score, and what the paper's score gave.

    Parameters
    ----------
    claims : the file of the claims.
    tables : those that were made, by name.

    Returns
    -------
    id, claim (its words), where, the verdicts (a column for each of `SCORES`), the numbers of cases
    that hold, nearly hold, fail and were not run (holds, nearly, fails, not_run), numbers and note.
    """
    entries = read_claims(claims)
    cases = [by_claim(entries, evaluate(entries, tables, score.method)) for score in SCORES]
    table = pd.DataFrame([_row(claim, [of[claim.id] for of in cases]) for claim in entries])
    counted = ", ".join(f"{k} {name}" for name, k in counts(table[SCORES[0].column]).items())
    return Result(table, (f"{len(table)} claims: {counted}.",))


def claim_cases(claims: str | Path, tables: Tables) -> pd.DataFrame:
    """A row per claim, score and case, with the numbers that were compared."""
    entries = read_claims(claims)
    cases = [case for score in SCORES for case in evaluate(entries, tables, score.method)]
    table = pd.DataFrame(cases, columns=[field.name for field in fields(Case)])
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
        "note": "; ".join(_notes(claim, cases[0])),
    }


def _notes(claim: Claim, cases: Sequence[Case]) -> list[str]:
    """How the claim is read, and what is to be said of its cases, each thing once."""
    notes = [f"Read as: {claim.reading}"] if claim.reading else []
    notes += [claim.undefined] if claim.undefined else []
    outcomes = [case.outcome for case in cases]
    held = outcomes.count(HOLDS)
    if verdict(outcomes) == "partly" and held + outcomes.count(NOT_RUN) == len(cases):
        notes.append(f"holds in all {held} cases that were run, of {len(cases)}")
    labels: dict[str, dict[str, None]] = {}
    for case in cases:
        for note in case.notes:
            labels.setdefault(note, {})[case.case] = None
    for note, named in labels.items():
        names = ", ".join(filter(None, named))
        notes.append(f"{names}: {note}" if names else note)
    return notes
