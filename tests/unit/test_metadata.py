"""What the project says of itself in the formats of others is current, and as they ask for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import yaml

from nddv.metadata import __main__ as command
from nddv.metadata.checklist import checklist, duration, hours_of, machine
from nddv.metadata.citation import cited, codemeta, read_citation, zenodo
from nddv.metadata.configuration import first_words
from nddv.metadata.files import CROISSANTS, TEXTS
from nddv.metadata.markdown import table_lines
from nddv.metadata.rulegraph import columns_of, draw, parse_dot, reduced
from nddv.support.files import as_json

ROOT = Path(__file__).parents[2]
ANEW = "is not what `make metadata` writes; run it"
DATASETS = yaml.safe_load((ROOT / "config" / "datasets.yaml").read_text("utf-8"))["datasets"]
NEEDS = {"ro-crate-metadata.json": "rocrate"}
PICTURE = "images/rulegraph.svg"  # only Snakemake knows the arrows, and takes its time


@pytest.mark.parametrize("name", [name for name in TEXTS if name != PICTURE])
def test_every_file_is_current(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason="make conventions installs it")
    assert (ROOT / name).read_text("utf-8") == TEXTS[name](ROOT), f"{name} {ANEW}"


# ------------------------------------------------------------------ citation


def test_the_citation_has_what_its_format_requires():
    """The rest is checked by `make conform`."""
    citation = read_citation(ROOT)
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert all({"type", "title", "authors"} <= set(one) for one in citation["references"])


def test_codemeta_and_zenodo_say_the_same_as_the_citation():
    citation = read_citation(ROOT)
    ours, theirs = codemeta(ROOT), zenodo(ROOT)
    assert ours["name"] == theirs["title"] == citation["title"]
    assert ours["version"] == theirs["version"] == citation["version"]
    assert ours["license"].endswith(f"/{citation['license']}")
    assert [one["name"] for one in ours["author"]] == [one["name"] for one in theirs["creators"]]
    assert theirs["references"] == [cited(citation["references"][0])]
    assert "(2026), Neural Dynamic Data Valuation" in theirs["references"][0]


# ------------------------------------------------------------------ data sets


@pytest.fixture(scope="module")
def croissant():
    pytest.importorskip("mlcroissant", reason="make conventions installs it")
    from nddv.metadata import croissant

    return croissant


def test_there_is_a_croissant_of_every_data_set_and_no_other():
    files = {path.stem for path in (ROOT / CROISSANTS).glob("*.json")}
    assert files == set(DATASETS), f"{CROISSANTS} {ANEW}"


@pytest.mark.parametrize("name", DATASETS)
def test_a_croissant_is_current_and_valid(croissant, name):
    import mlcroissant

    path = ROOT / CROISSANTS / f"{name}.json"
    text = as_json(croissant.croissant(name, DATASETS[name]))
    assert path.read_text("utf-8") == text, f"{path.name} {ANEW}"
    read = mlcroissant.Dataset(jsonld=path).metadata  # raises for what is wrong
    assert read.name == name
    assert read.cite_as == DATASETS[name]["citation"]
    assert read.license == [DATASETS[name]["licence"]]


def test_a_checksum_is_that_of_the_file_it_stands_with(croissant):
    """The checksum of a listing of several files is not told as one of a file."""
    for name, entry in DATASETS.items():
        files = croissant.croissant(name, entry).get("distribution", [])
        told = {file["sha256"] for file in files if "sha256" in file}
        of_one = {
            source.get("archive_sha256") or source["sha256"]
            for source in entry["sources"]
            if "archive_sha256" in source
            or ("sha256" in source and not any("*" in one for one in source.get("members", [])))
        }
        assert told == of_one, name


def test_a_data_set_without_files_says_where_its_rows_come_from(croissant):
    made = croissant.croissant("houses", DATASETS["houses"])
    assert "distribution" not in made
    assert "drawn from a formula: houses of nddv.problems.formulas, seed 1." in made["description"]
    shipped = croissant.croissant("wine", DATASETS["wine"])
    assert "sklearn.datasets.load_wine" in shipped["description"]


# ------------------------------------------------------------------ workflow

DOT = """digraph snakemake_dag {
    0[label = "all", color = "red"];
    1[label = "table", color = "red"];
    2[label = "fetch", color = "red"];
    1 -> 0
    1 -> 1
    2 -> 1
    2 -> 0
}"""


def test_the_rule_graph_is_read_reduced_and_laid_out():
    graph = parse_dot(DOT)
    assert graph == {"all": set(), "table": {"all"}, "fetch": {"table", "all"}}
    assert reduced(graph)["fetch"] == {"table"}
    assert columns_of(reduced(graph)) == [["fetch"], ["table"], ["all"]]
    assert draw(graph).count("<text") == 3
    assert draw(graph).count("marker-end") == 2


def test_the_picture_of_the_rules_shows_no_rule_that_is_gone():
    shown = set(re.findall(r">(\w+)</text>", (ROOT / PICTURE).read_text("utf-8")))
    files = [*(ROOT / "workflow" / "rules").glob("*.smk"), ROOT / "Snakefile"]
    text = "\n".join(path.read_text("utf-8") for path in files)
    rules = set(re.findall(r"^ *(?:use rule \w+ as|rule) (\w+)", text, flags=re.MULTILINE))
    assert shown <= rules, f"{PICTURE} {ANEW}"
    # those that the embedded configuration does not use
    assert rules - shown == {"table_as", "value_opendataval"}, f"{PICTURE} {ANEW}"


def test_the_workflow_catalog_finds_what_it_asks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert usage["report"] is True
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    assert 'include: "../Snakefile"' in (ROOT / "workflow" / "Snakefile").read_text()
    assert (ROOT / "config" / "README.md").exists()


@pytest.mark.slow
def test_both_snakefiles_ask_for_the_same_jobs(tmp_path):
    pytest.importorskip("snakemake")

    def jobs(snakefile):
        files = [ROOT / "config" / f"{name}.yaml" for name in ("config", "embedded", "quick")]
        command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / snakefile, "--dry-run"]
        command += ["--directory", tmp_path, "--config", 'parts=["semivalues"]']
        command += ["--configfile", *files]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        return dict(re.findall(r"^(\w+) +(\d+)$", done.stdout + done.stderr, flags=re.MULTILINE))

    at_root, of_catalog = jobs("Snakefile"), jobs("workflow/Snakefile")
    assert at_root.pop("all") == of_catalog.pop("everything") == "1"
    assert at_root["compare_semivalues"] == of_catalog["compare_semivalues"]
    assert {**at_root, "total": 0} == {**of_catalog, "total": 0}


def test_the_first_words_of_a_file_are_one_sentence(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("# What it is,\n# in words. `make it` runs it.\nkey: 1\n# More.\n")
    assert first_words(path) == "What it is, in words."


# ------------------------------------------------------------------ checklist


def test_hours_count_a_valuation_once():
    row = {"dataset": "a", "n": 10, "corruption": "clean", "method": "m", "runs": 4}
    table = pd.DataFrame([{**row, "seconds": 900.0}, {**row, "method": "k", "seconds": None}])
    assert hours_of([table]) == pytest.approx(1.0)
    assert hours_of([table, table]) == pytest.approx(1.0)
    assert hours_of([pd.DataFrame({"f1": [1.0]})]) is None
    sums = pd.DataFrame({"method": ["m"], "runs": [4], "seconds": [3600.0]})
    assert hours_of([table, sums]) == pytest.approx(1.0)
    assert [duration(h) for h in (2.04, 0.5, 0.001)] == ["2.0 h", "30 min", "4 s"]


def test_a_machine_is_told_only_of_the_run_that_recorded_it(tmp_path):
    record = {"configuration": "abc", "machine": "a computer", "python": "3"}
    record |= {"numpy": "2", "torch": "2"}
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "environment.json").write_text(json.dumps(record))
    made = {"t": pd.DataFrame({"config": ["abc"]})}
    assert machine(tmp_path, made).startswith("a computer; python 3")
    other = {"t": pd.DataFrame({"config": ["other"]})}
    assert machine(tmp_path, other) == "not recorded for the committed tables"


def test_every_claim_is_on_the_checklist():
    claims = yaml.safe_load((ROOT / "config" / "claims.yaml").read_text("utf-8"))["claims"]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", checklist(ROOT), flags=re.MULTILINE)
    assert rows == [claim["id"] for claim in claims]


def test_a_table_in_markdown():
    assert list(table_lines(("a", "b"), [("1", "x|y")])) == [
        "| a | b |",
        "| --- | --- |",
        "| 1 | x&#124;y |",
    ]


# ------------------------------------------------------------------ the command


def test_the_command_writes_what_has_changed_and_removes_what_is_gone(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    made = [("a.json", "{}\n"), (f"{CROISSANTS}/planes.json", "{}\n")]
    monkeypatch.setattr(command, "texts", lambda root: iter(made))
    (tmp_path / CROISSANTS).mkdir(parents=True)
    (tmp_path / CROISSANTS / "gone.json").write_text("{}")
    (tmp_path / "a.json").write_text("{}\n")
    assert command.main() == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        f"{CROISSANTS}/planes.json",
        f"{CROISSANTS}/gone.json (removed: no such data set)",
    ]
    assert not (tmp_path / CROISSANTS / "gone.json").exists()


def test_what_is_not_installed_is_said(monkeypatch, capsys, tmp_path):
    def lacking(root):
        raise ModuleNotFoundError("No module named 'rocrate'", name="rocrate")
        yield

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "texts", lacking)
    assert command.main() == 2
    assert "rocrate is not installed: `make metadata`" in capsys.readouterr().err


def test_the_extra_names_what_is_imported_late():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split("[<>=]", one)[0] for one in project["optional-dependencies"]["conventions"]}
    text = "\n".join(path.read_text() for path in (ROOT / "src/nddv/metadata").glob("*.py"))
    late = set(re.findall(r"^ +(?:import|from) (\w+)", text, flags=re.MULTILINE))
    assert late == names
