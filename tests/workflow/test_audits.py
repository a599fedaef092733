"""The audits of small problems, run for real: tables, figures, gaps."""

from __future__ import annotations

import pandas as pd
import pytest

from nddv.audit.stability import CHECKS
from nddv.reporting.catalogue.tables import TABLES as ENTRIES

TABLES = [name for name, entry in ENTRIES.items() if entry.part == "audits"]
STABILITY = "stability_score_gap_transfer"  # the quickest
TARGETS = [
    *(f"reports/tables/{table}.md" for table in TABLES),
    *(f"reports/figures/{name}.png" for name in ("certificates", "bridge_budget", STABILITY)),
]


@pytest.fixture(scope="module")
def audited(continued):
    """A project whose audits have been run. Look, do not change."""
    continued.snakemake(*TARGETS)
    return continued


def table(project, name):
    return pd.read_csv(project.folder / "reports" / "tables" / f"{name}.csv")


def test_every_table_has_its_problems_the_gaps_and_what_it_is_made_of(audited):
    for name in TABLES:
        found = table(audited, name)
        assert {"2dplanes"} <= set(found["dataset"])
        assert set(found["seeds"]) == {"100 101"}
        assert found["config"].str.fullmatch("[0-9a-f]{12}").all()
    errors = table(audited, "epsilon_delta")
    gap = errors[errors["dataset"] == "imagenet100@resnet50"]
    assert list(gap["corruption"]) == ["label10", "clean"]
    assert gap["note"].str.len().min() > 10
    assert "max − min over points" in (
        audited.folder / "reports" / "tables" / "epsilon_delta.md"
    ).read_text(encoding="utf-8")


def test_readouts_and_controls_are_ranked_under_all_utilities(audited):
    ranks = table(audited, "rank_correlations")
    ours = ranks[ranks["dataset"] == "2dplanes"].dropna(subset="utility")
    audited_methods = {"nddv-terminal", "nddv-path", "nddv-participation", "small-loss"}
    assert set(ours["method"]) == audited_methods
    assert set(ours["utility"]) == {"accuracy", "log_likelihood", "probability"}
    assert set(ours["corruption"]) == {"label10", "clean"}
    assert (ours["runs"] == 2).all()


def test_participation_predicts_retraining_of_its_model(audited):
    fidelity = table(audited, "retraining_fidelity").set_index("method")["spearman"]
    assert fidelity["nddv-participation"] > 0.8
    scores = table(audited, "datamodelling").set_index("method")
    assert scores.loc["nddv-participation", "lds_10"] > 0.8


def test_figures_are_drawn(audited):
    for name in ("certificates", "bridge_budget", STABILITY):
        assert (audited.folder / "reports" / "figures" / f"{name}.png").stat().st_size > 10_000


def test_a_second_run_does_nothing(audited):
    assert audited.planned(*TARGETS) == set()


def test_the_workflow_names_every_table_and_check_of_the_library(audited):
    listed = audited.snakemake("-n", "--force", "audits").stdout
    for name in TABLES:
        assert f"reports/tables/{name}.csv" in listed
    for check in CHECKS:
        assert f"reports/figures/stability_{check}.png" in listed
