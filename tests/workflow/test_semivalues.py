"""The comparison of estimators of semi-values on a small problem, run for real."""

from __future__ import annotations

import pandas as pd
import pytest

from nddv.audit.estimators import CERTIFYING, ESTIMATORS
from nddv.reporting.catalogue.tables import TABLES as ENTRIES

TABLES = [name for name, entry in ENTRIES.items() if entry.part == "semivalues"]
FIGURES = ("semivalue_accuracy", "certified_shares")


@pytest.fixture(scope="module")
def compared(another_copy):
    """A project whose semi-values have been compared. Look, do not change."""
    another_copy.snakemake("semivalues")
    return another_copy


def table(project, name):
    return pd.read_csv(project.folder / "reports" / "tables" / f"{name}.csv")


def test_every_table_has_its_problem_and_the_gap(compared):
    assert len(TABLES) == 3
    for name in TABLES:
        found = table(compared, name).set_index("dataset")
        assert "imagenet" in found.loc["imagenet100@resnet50", "note"]
        assert set(found.loc["2dplanes", "semivalue"]) == {"shapley", "banzhaf"}
        assert found["config"].str.fullmatch("[0-9a-f]{12}").all()
        text = (compared.folder / "reports" / "tables" / f"{name}.md").read_text(encoding="utf-8")
        assert "Seed 100." in text


def test_estimators_and_methods_are_compared_and_what_came_too_late_is_a_gap(compared):
    found = table(compared, "semivalue_accuracy").dropna(subset="method")
    assert {*ESTIMATORS, "shapley-level", "knn-shapley"} <= set(found["method"])
    early, late = (found[found["budget"] == budget] for budget in (0.001, 0.3))
    assert early["pearson"].isna().all()
    assert early["note"].str.contains("no values before").all()
    assert late["pearson"].notna().any()
    shares = table(compared, "certified_shares").dropna(subset="method")
    assert set(shares["method"]) == set(CERTIFYING)
    assert (table(compared, "semivalue_seconds")["to_target"].dropna() > 0).all()


def test_figures_are_drawn(compared):
    for name in FIGURES:
        assert (compared.folder / "reports" / "figures" / f"{name}.png").stat().st_size > 10_000


def test_a_second_run_does_nothing(compared):
    assert compared.planned("semivalues") == set()
