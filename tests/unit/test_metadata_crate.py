"""RO-Crates of the workflow and of a run can be read back, and say what is there."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from nddv.metadata import crate
from nddv.metadata.crate import CRATE, FILES, FOLDERS, LISTING, PICTURE, WORKFLOW
from nddv.metadata.environment import ENVIRONMENT
from nddv.support.files import write_json
from nddv.support.integrity import keep

rocrate = pytest.importorskip("rocrate.rocrate", reason="make conventions installs rocrate")

ROOT = Path(__file__).parents[2]
VALUES = "results/values/planes/n60/clean/seed0/random.json"
FETCHED = "results/data/planes/files.json"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The files of a run, as its jobs leave them."""
    monkeypatch.chdir(tmp_path)
    record = {"kind": "local", "where": "NDDV_DATA/planes.csv", "sha256": "ab" * 32, "bytes": 7}
    write_json(VALUES, {"versions": {"numpy": "2.4.6", "python": "3.11.7"}})
    write_json(FETCHED, {"data": {"record": record}})
    for path in (VALUES, FETCHED):
        keep(Path(path), "a_rule", "results/logs/a.log")
    write_json(ENVIRONMENT, {"configuration": "abc", "machine": "a computer", "numpy": "2"})
    Path("reports/tables").mkdir()
    Path("reports/tables/t.csv").write_text("a,b\n1,2\n")
    return tmp_path


def test_the_crate_of_the_workflow_can_be_read_back():
    read = rocrate.ROCrate(ROOT)
    assert read.mainEntity.id == WORKFLOW
    assert "ComputationalWorkflow" in read.mainEntity["@type"]
    assert read.mainEntity["image"].id == PICTURE
    parts = {part.id.rstrip("/") for part in read.root_dataset["hasPart"]}
    assert parts == {*FILES, *FOLDERS, WORKFLOW, PICTURE}
    assert [part for part in parts if not (ROOT / part).exists()] == []


def test_the_crate_of_a_run_has_inputs_outputs_checksums_and_versions(run):
    path, summary = crate.write_run_crate(ROOT, run)
    assert path == run / CRATE
    assert "0 damaged" in summary
    read = rocrate.ROCrate(path)
    (action,) = read.get_by_type("CreateAction")
    assert action["instrument"].id == WORKFLOW
    assert "abc" in action["description"]
    assert "a computer" in action["description"]
    results = {one.id: one for one in action["result"]}
    assert set(results) == {LISTING, ENVIRONMENT, "reports/tables/t.csv"}
    table = (run / "reports/tables/t.csv").read_bytes()
    assert results["reports/tables/t.csv"]["sha256"] == hashlib.sha256(table).hexdigest()
    inputs = {one.id: one for one in action["object"]}
    assert inputs["#planes-data"]["sha256"] == "ab" * 32
    assert "config/" in inputs
    versions = {one["name"]: one["version"] for one in read.mainEntity["softwareRequirements"]}
    assert versions == {"numpy": "2.4.6", "python": "3.11.7"}


def test_its_archive_has_the_workflow_and_a_list_of_all_results(run):
    path, _ = crate.write_run_crate(ROOT, run)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        listing = archive.read(LISTING).decode()
        told = json.loads(archive.read("ro-crate-metadata.json"))
    assert {WORKFLOW, "Snakefile", "config/config.yaml", "src/nddv/values.py"} <= set(names)
    assert len(names) == len(set(names))
    assert [name for name in names if "__pycache__" in name] == []
    sums = {
        name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in (VALUES, FETCHED)
    }
    assert listing == "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    descriptor = next(one for one in told["@graph"] if one["@id"] == "./")
    profiles = [one["@id"] for one in descriptor["conformsTo"]]
    assert any("wfrun/workflow" in one for one in profiles)


def test_a_damaged_or_unfinished_run_is_refused(run, capsys, monkeypatch):
    (run / VALUES).write_text("{}")
    with pytest.raises(ValueError, match="random.json is damaged"):
        crate.write_run_crate(ROOT, run)
    with pytest.raises(FileNotFoundError, match="run it first"):
        crate.write_run_crate(ROOT, run / "elsewhere")
    assert not (run / CRATE).exists()
    monkeypatch.chdir(ROOT)
    assert crate.main([str(run)]) == 2
    assert "is damaged" in capsys.readouterr().err
