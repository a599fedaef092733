"""The workflow from data to table, figure and report, run for real."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from nddv.evaluation.ceiling import CEILING
from nddv.values import load_values

METHODS = [
    "nddv-terminal",
    "nddv-path",
    "nddv-participation",
    "small-loss",
    "knn-shapley",
    "random",
]
PROBLEM = "2dplanes/n60/label10"
TABLE = "reports/tables/detection_n60.csv"
NDDV_RULES = {"value_nddv", "value_replayed"}
VALUE_RULES = NDDV_RULES | {"value_baseline"}
PROBLEM_RULES = {"make_problems", "evaluate_ceiling"}
REPORT_RULES = {"table", "figure"}
EVALUATION_RULES = {"evaluate_detection"} | REPORT_RULES


@pytest.mark.parametrize("seed", [100, 101])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_leaves_values_and_a_record(finished, method, seed):
    folder = finished.folder / "results" / "values" / PROBLEM / f"seed{seed}"
    values = load_values(folder / f"{method}.npz").values
    assert values.shape == (60,)
    assert np.isfinite(values).all()
    record = json.loads((folder / f"{method}.json").read_text())
    assert record["method"] == method
    assert record["problem"] == f"{PROBLEM}/seed{seed}"
    assert record["seed"] == seed
    assert record["seconds"] > 0
    assert record["versions"]["numpy"] == np.__version__
    assert len(record["params_hash"]) == 12
    if method.startswith("nddv-"):
        assert record["params"]["epochs"] == 2
        assert abs(values.sum()) < 1e-6 * max(1.0, np.abs(values).sum())


def test_the_table_has_every_method_and_chance(finished):
    table = pd.read_csv(finished.folder / TABLE)
    ours = table[table["n"] == 60].set_index("method")
    assert list(ours.index) == [*METHODS, CEILING, "chance", "chance-everything"]
    assert (ours.loc[METHODS, "runs"] == 2).all()
    assert ours.loc[METHODS, "f1"].between(0, 1).all()
    assert ours.loc["chance", "f1"] == pytest.approx(0.1)
    assert set(table["seeds"]) == {"100 101"}
    assert table["config"].str.fullmatch("[0-9a-f]{12}").all()
    text = finished.folder / "reports" / "tables" / "detection_n60.md"
    assert "KNN-Shapley" in text.read_text(encoding="utf-8")


def test_other_formats_of_a_table_are_made_on_demand(project):
    files = [f"reports/tables/detection_n60.{suffix}" for suffix in ("html", "tex")]
    done = project.snakemake(*files)
    assert "2 of 2 steps" in done.stdout
    for file in files:
        assert "KNN-Shapley" in (project.folder / file).read_text(encoding="utf-8")


def test_figures_logs_and_benchmarks_exist(finished):
    figures = finished.folder / "reports" / "figures"
    assert (figures / "detection_curve.png").stat().st_size > 10_000
    assert (figures / "detection_curve.pdf").read_bytes().startswith(b"%PDF")
    results = finished.folder / "results"
    logs = {path.relative_to(results / "logs").parts[0] for path in results.glob("logs/**/*.log")}
    assert VALUE_RULES | {"make_problems", "evaluate_detection"} <= logs
    assert (results / "benchmarks" / "value_nddv" / f"{PROBLEM}.tsv").exists()
    assert not list(finished.folder.glob("results/**/.*"))  # no temporary files left


def test_a_second_run_does_nothing(finished):
    assert finished.planned() == set()


@pytest.mark.parametrize(
    ("source", "rerun"),
    [
        ("reporting/inputs.py", REPORT_RULES),
        ("reporting/writing.py", {"table"}),
        ("reporting/figures/style.py", {"figure"}),
        ("reporting/tables/datasets.py", {"table"}),
        ("evaluation/detection.py", EVALUATION_RULES),
        ("dynamics/__init__.py", NDDV_RULES | EVALUATION_RULES),
        ("dynamics/readouts.py", REPORT_RULES),  # titles, which nothing that computes reads
        ("estimator/nddv.py", NDDV_RULES | EVALUATION_RULES),
        ("baselines/neighbours.py", {"value_baseline"} | EVALUATION_RULES),
        ("problems/corruption.py", PROBLEM_RULES | VALUE_RULES | EVALUATION_RULES),
        ("problems/readers.py", {"load_dataset"} | PROBLEM_RULES | VALUE_RULES | EVALUATION_RULES),
    ],
)
def test_a_changed_source_reruns_what_depends_on_it(project, source, rerun):
    project.append(source, "\n# changed\n")
    assert project.planned() == rerun


def test_a_changed_source_that_nothing_depends_on_reruns_nothing(project):
    for source in (
        *("evaluation/curation.py", "anatomy/kernels.py"),  # of parts that are not asked for
        "problems/encoders/text.py",  # a table is not encoded
    ):
        project.append(source, "\n# changed\n")
    assert project.planned() == set()


def test_a_changed_setting_reruns_its_method_only(project):
    settings = {"nddv": {"epochs": 2}, "knn-shapley": {"k": 3}}
    project.snakemake(TABLE, overlay={"settings": settings})
    table = project.folder / "results" / "values" / PROBLEM / "seed100"
    assert json.loads((table / "knn-shapley.json").read_text())["params"]["k"] == 3
    kept = (table / "small-loss.npz").stat().st_mtime
    assert kept < (table / "knn-shapley.npz").stat().st_mtime
    assert project.planned(TABLE, overlay={"settings": settings}) == set()
    assert project.planned(
        overlay={"settings": {"nddv": {"epochs": 3}, "knn-shapley": {"k": 3}}}
    ) == (NDDV_RULES | EVALUATION_RULES)


def test_values_made_again_are_the_same(project):
    folder = project.folder / "results" / "values" / PROBLEM / "seed101"
    before = {path.name: load_values(path).values for path in folder.glob("*.npz")}
    shutil.rmtree(folder)
    project.snakemake(*(f"results/values/{PROBLEM}/seed101/{name}" for name in before))
    assert set(before) == {f"{method}.npz" for method in METHODS}
    for name, values in before.items():
        np.testing.assert_array_equal(load_values(folder / name).values, values)


def test_a_method_that_cannot_is_a_visible_gap(project):
    project.append(
        "baselines/loss.py",
        "\n\ndef small_loss(X, y):\n    raise NoValues('too few | points')\n",
    )
    project.snakemake()
    table = pd.read_csv(project.folder / TABLE)
    row = table[table["method"] == "small-loss"].iloc[0]
    assert row["runs"] == 0
    assert np.isnan(row["f1"])
    assert row["note"] == "2 of 2 seeds gave no values: NoValues: too few | points"
    text = (project.folder / "reports" / "tables" / "detection_n60.md").read_text(encoding="utf-8")
    assert "(a) 2 of 2 seeds gave no values: NoValues: too few | points." in text
    log = project.folder / "results" / "logs" / "value_baseline" / PROBLEM / "small-loss.log"
    assert "Traceback" in log.read_text()


def test_a_bug_fails_loudly_and_leaves_no_output(project):
    project.append(
        "baselines/loss.py",
        "\n\ndef small_loss(X, y):\n    raise KeyError('a bug')\n",
    )
    done = project.snakemake(check=False)
    assert done.returncode != 0
    log = project.folder / "results" / "logs" / "value_baseline" / PROBLEM / "small-loss.log"
    assert "KeyError: 'a bug'" in log.read_text()
    assert "a bug" in done.stdout  # shown, not only stored
    assert not list(project.folder.glob("results/values/**/small-loss.npz"))


def test_too_few_rows_names_data_set_and_remedy(project):
    overlay = {"problems": [{"dataset": "digits", "n": 1790, "corruption": "label10"}]}
    done = project.snakemake(overlay=overlay, check=False)
    assert done.returncode != 0
    assert "data set digits: 1850 rows are needed" in done.stdout
    assert "lower n" in done.stdout


def test_the_report_carries_captions_and_no_path_of_this_machine(project):
    report = project.folder / "reports" / "report.html"
    project.snakemake("--report", str(report))
    text = report.read_text(encoding="utf-8")
    assert "Budget-matched" in text
    assert "Neural Dynamic Data Valuation, reproduced" in text
    assert str(project.folder) not in text


def test_results_can_live_in_another_folder(finished, tmp_path):
    overlay = {"methods": ["random"]}
    finished.snakemake(TABLE, "--directory", str(tmp_path), overlay=overlay)
    table = pd.read_csv(tmp_path / TABLE)
    assert table["method"].iloc[0] == "random"


@pytest.mark.skipif(find_spec("opendataval") is None, reason="OpenDataVal: make opendataval")
def test_an_evaluator_of_opendataval_stands_beside_ours(project):
    overlay = {"methods": ["knn-shapley", "odv:KNNShapley"], "settings": {"knn-shapley": {"k": 10}}}
    project.snakemake(TABLE, overlay=overlay)
    table = pd.read_csv(project.folder / TABLE).set_index("method")
    assert table.loc["odv:KNNShapley", "title"] == "OpenDataVal's KNNShapley"
    assert table.loc["odv:KNNShapley", "runs"] == 2
    assert table.loc["odv:KNNShapley", "note"] != table.loc["odv:KNNShapley", "note"]  # no gap
    assert table.loc["odv:KNNShapley", "f1"] == pytest.approx(
        table.loc["knn-shapley", "f1"], abs=0.2
    )
