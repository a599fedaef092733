"""Removal and addition, groups and claims of a small problem, run for real."""

from __future__ import annotations

import pandas as pd
import pytest

PARTS = ["detection", "curation", "groups", "claims"]


@pytest.fixture(scope="module")
def evaluated(another_copy):
    """A project whose evaluation has been run. Look, do not change."""
    another_copy.snakemake(overlay={"parts": PARTS})
    return another_copy


def table(project, name):
    return pd.read_csv(project.folder / "reports" / "tables" / f"{name}.csv")


def test_removal_and_addition_of_every_method(evaluated):
    curation = table(evaluated, "curation")
    assert {"nddv-path", "small-loss", "random"} <= set(curation["method"])
    figure = evaluated.folder / "reports" / "figures" / "detection_removal_addition.png"
    assert figure.stat().st_size > 10_000


def test_gaps_between_groups_stand_beside_the_published(evaluated):
    found = table(evaluated, "threshold_sensitivity")
    assert {"nddv-terminal", "small-loss"} <= set(found["method"].dropna())
    assert found.filter(like="published").notna().any(axis=None)
    # no Adult in this configuration: its tables are not made, and its claims are not run
    assert not (evaluated.folder / "reports" / "tables" / "adult_score_gaps.csv").exists()


def test_every_claim_has_a_verdict_and_a_reason_where_it_was_not_run(evaluated):
    claims = table(evaluated, "claims")
    assert len(claims) >= 30
    assert set(claims["verdict"]) <= {"reproduced", "partly", "not reproduced", "not run"}
    missing = claims[claims["verdict"] == "not run"]
    assert len(missing)  # the claims are about n = 1000
    assert missing["note"].str.len().min() > 5


def test_a_second_run_does_nothing(evaluated):
    assert evaluated.planned(overlay={"parts": PARTS}) == set()
