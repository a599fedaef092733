"""Every table and figure of the paper for small problems, run for real."""

from __future__ import annotations

import pandas as pd
import pytest

from nddv.audit.estimators import CERTIFYING, ESTIMATORS
from nddv.evaluation.ceiling import CEILING
from nddv.replay.choices import REPLAY, TERMINAL, TRACIN
from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.catalogue.tables import TABLES

PARTS = [
    *("detection", "experiments", "sensitivity", "curation", "groups", "scaling", "pictures"),
    *("semivalues", "modules", "claims", "page"),
]
SEMIVALUES = [name for name, entry in TABLES.items() if entry.part == "semivalues"]


@pytest.fixture(scope="module")
def evaluated(continued):
    """A project where all but the audits has been run. Look, do not change."""
    continued.snakemake(overlay={"parts": PARTS})
    return continued


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
    kinds = {"reproduced", "partly", "not reproduced", "not run"}
    assert set(claims["verdict"]) <= kinds
    assert set(claims["verdict_ours"]) <= {*kinds, "not applicable"}
    missing = claims[claims["verdict"] == "not run"]
    assert len(missing)  # the claims are about n = 1000
    assert missing["reason"].str.len().min() > 5


def test_tables_of_experiments_have_their_own_methods_and_variants(evaluated):
    rates = table(evaluated, "label_noise_rates")
    ours = rates[(rates["n"] == 60) & (rates["runs"] > 0)]
    assert set(ours["corruption"]) == {"label10", "label20"}
    assert set(ours["method"]) == {"nddv-terminal", "nddv-path", "small-loss", CEILING}
    structured = table(evaluated, "structured_noise_rates")
    assert (structured["method"] == "nddv-path:control=mlp").sum() == 1
    # without problems there are the paper's numbers, as gaps
    pictures = table(evaluated, "imagenet100_scaling")
    assert pictures["published"].notna().any()
    assert pictures["f1"].isna().all()


def test_one_setting_is_changed_at_a_time(evaluated):
    found = table(evaluated, "sensitivity")
    settings = found.groupby("parameter")["setting"].apply(lambda column: set(map(str, column)))
    assert settings["reweighting"] == {"none", "lookahead", "self"}
    assert settings["meta_size"] == {"5", "20"}
    assert set(found.loc[found["parameter"] == "meta_size", "method"]) == {"nddv-terminal"}
    norms = table(evaluated, "adjoint_norms")
    assert len(norms) == 4  # one problem, two readouts, two seeds
    assert (norms["largest_ratio"] > 0).all()


def test_run_times_are_measured_and_what_was_not_is_a_gap(evaluated):
    times = table(evaluated, "wallclock_scaling")
    ours = times[times["features"] == 4]
    assert (ours["seconds"] > 0).all()
    assert set(ours["method"]) == {"nddv-terminal", "knn-shapley"}
    published = times[times["features"] == 500]
    assert published["seconds"].isna().all()
    assert published["published_seconds"].notna().any()


def test_every_figure_of_the_parts_is_drawn(evaluated):
    audits = ("certificates", "bridge", "stability")
    for name in FIGURES:
        if not name.startswith(audits):
            for suffix in ("pdf", "png"):
                path = evaluated.folder / "reports" / "figures" / f"{name}.{suffix}"
                assert path.stat().st_size > 8_000, name


def test_the_page_has_verdicts_figures_and_says_what_is_missing(evaluated):
    page = (evaluated.folder / "reports" / "index.html").read_text(encoding="utf-8")
    assert FIGURES["sensitivity"].title in page
    assert "Not made in this configuration" in page  # the audits
    assert str(evaluated.folder) not in page


def test_one_deleted_figure_is_one_job(evaluated):
    figure = evaluated.folder / "reports" / "figures" / "noise_levels.pdf"
    before = figure.read_bytes()
    figure.unlink()
    again = "reports/figures/noise_levels.pdf"
    assert evaluated.planned(again, overlay={"parts": PARTS}) == {"figure"}
    done = evaluated.snakemake(again, overlay={"parts": PARTS})
    assert "1 of 1 steps (100%) done" in done.stdout
    assert figure.read_bytes() == before


def test_a_part_that_is_not_asked_for_says_so(evaluated):
    done = evaluated.snakemake("-n", "reports/tables/label_noise_rates.csv", check=False)
    assert done.returncode != 0
    assert "`experiments` is not among the parts of this configuration" in done.stdout


def test_a_second_run_does_nothing(evaluated):
    assert evaluated.planned(overlay={"parts": PARTS}) == set()


def test_networks_are_trained_end_to_end_and_what_is_absent_is_a_gap(evaluated):
    fidelity, costs = (table(evaluated, f"module_{name}") for name in ("fidelity", "costs"))
    methods = fidelity["method"].dropna()
    assert list(methods) == [REPLAY, TRACIN, TERMINAL, "small-loss"]
    for found in (fidelity, costs):
        absent = found[found["note"].str.contains("its ", na=False)]
        assert set(absent["dataset"]) == {"imagenet100@resnet50", "bbc@distilbert"}
        assert set(found["module"].dropna()) == {"mlp"}
    for name in ("module_fidelity", "module_changes"):
        figure = evaluated.folder / "reports" / "figures" / f"{name}.png"
        assert figure.stat().st_size > 10_000


def test_every_table_of_semivalues_has_its_problem_and_the_gap(evaluated):
    assert len(SEMIVALUES) == 3
    for name in SEMIVALUES:
        found = table(evaluated, name).set_index("dataset")
        assert "imagenet" in found.loc["imagenet100@resnet50", "note"]
        assert set(found.loc["2dplanes", "semivalue"]) == {"shapley", "banzhaf"}
        assert found["config"].str.fullmatch("[0-9a-f]{12}").all()
        text = (evaluated.folder / "reports" / "tables" / f"{name}.md").read_text(encoding="utf-8")
        assert "Seed 100." in text


def test_estimators_and_methods_are_compared_and_what_came_too_late_is_a_gap(evaluated):
    found = table(evaluated, "semivalue_accuracy").dropna(subset="method")
    assert {*ESTIMATORS, "shapley-level", "knn-shapley"} <= set(found["method"])
    early, late = (found[found["budget"] == budget] for budget in (0.001, 0.3))
    assert early["pearson"].isna().all()
    assert early["note"].str.contains("no values before").all()
    assert late["pearson"].notna().any()
    shares = table(evaluated, "certified_shares").dropna(subset="method")
    assert set(shares["method"]) == set(CERTIFYING)
    assert (table(evaluated, "semivalue_seconds")["to_target"].dropna() > 0).all()


def test_figures_of_semivalues_are_drawn(evaluated):
    for name in ("semivalue_accuracy", "certified_shares"):
        assert (evaluated.folder / "reports" / "figures" / f"{name}.png").stat().st_size > 10_000
