"""Configuration, schemas, environments and the library say the same thing."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from nddv.methods.registry import METHODS
from nddv.methods.settings import defaults
from nddv.problems.encoders.known import FILE as ENCODERS
from nddv.problems.formulas import FORMULAS
from nddv.problems.make import SIDE_SIZES
from nddv.problems.readers import READERS, SCIKIT_LEARN
from nddv.problems.registry import BUILT_IN, check_name
from nddv.problems.sizes import part_sizes
from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.contents import read_report, shown

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "workflow" / "schemas"
OVERLAYS = ("config", "embedded", "quick", "complete")


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def config(name):
    return read(ENCODERS if name == "encoders" else ROOT / "config" / f"{name}.yaml")


@pytest.fixture(scope="module")
def schema():
    return {
        name: read(SCHEMAS / f"{name}.schema.yaml") for name in ("config", "datasets", "encoders")
    }


def objects(schema):
    """Every part of a schema that describes an object with named properties."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            yield schema
        for key, part in schema.items():
            if key not in ("if", "then", "allOf"):
                yield from objects(part)


def test_schemas_let_no_unknown_key_pass(schema):
    for one in schema.values():
        for part in objects(one):
            assert part["additionalProperties"] is False


def test_config_and_schema_name_the_same_keys(schema):
    properties = schema["config"]["properties"]
    keys = {
        key: value
        for name in ("config", "datasets", "encoders", "methods")
        for key, value in config(name).items()
    }
    assert set(properties) == set(keys) == set(schema["config"]["required"])
    for name in OVERLAYS[1:]:
        assert set(config(name)) <= set(keys)
    for name in ("sizes", "detection"):
        assert set(properties[name]["properties"]) == set(keys[name])


def test_the_configuration_names_every_method():
    own = [name for name in config("config")["methods"] if ":" not in name]  # not of packages
    assert own == list(METHODS)


def test_the_run_that_is_drawn_has_one_of_the_seeds():
    # problems are made for these only
    assert config("config")["pictures"]["seed"] in config("config")["seeds"]


def test_the_configuration_repeats_no_default():
    for method, settings in config("methods")["settings"].items():
        for key, value in settings.items():
            assert value != defaults(method)[key], (method, key)


def test_data_sets_that_need_no_file_are_known_to_the_library_by_name():
    entries = config("datasets")["datasets"]
    ours = {}
    for name, entry in entries.items():
        sources = [s for s in entry["sources"] if s["kind"] in ("generated", "scikit-learn")]
        if sources:
            kept = {key: entry[key] for key in ("data", "target", "task") if key in entry}
            ours[name] = {**kept, "sources": sources}
    assert ours == BUILT_IN


def test_names_in_the_schema_are_those_of_the_library(schema):
    source = schema["datasets"]["$defs"]["source"]["properties"]
    assert set(source["read"]["enum"]) == set(READERS)
    assert set(source["formula"]["enum"]) == set(FORMULAS)
    assert set(source["loader"]["enum"]) == set(SCIKIT_LEARN)
    assert config("config")["sources"] == source["kind"]["enum"]


def test_sizes_are_those_of_the_paper():
    sizes = config("config")["sizes"]
    assert part_sizes(1000, sizes) == {"train": 1000, "valid": 100, "test": 300, "meta": 100}
    assert part_sizes(10000, sizes) == {"train": 10000, "valid": 1000, "test": 3000, "meta": 1000}
    assert sizes == SIDE_SIZES


def test_every_problem_names_a_data_set_and_an_encoder_that_fit():
    datasets, encoders = config("datasets")["datasets"], config("encoders")["encoders"]
    named = [
        *(one["dataset"] for name in OVERLAYS for one in config(name)["problems"]),
        *(
            dataset
            for name in OVERLAYS
            for entry in config(name).get("experiments", {}).values()
            for grid in entry["grids"]
            for dataset in grid["datasets"]
        ),
    ]
    assert len(named) > 40
    for name in named:
        check_name(name, datasets, encoders)


def test_every_table_and_figure_of_the_configuration_is_on_the_page():
    page = read_report(ROOT / "config" / "report.yaml", SCHEMAS / "report.schema.yaml")
    assert set(config("config")["experiments"]) <= set(shown(page, "table"))
    assert set(shown(page, "figure")) == set(FIGURES)


def test_a_quick_run_is_part_of_the_embedded_one():
    quick, embedded = config("quick"), config("embedded")

    def addresses(of):
        return {(one["dataset"], one["n"], one["corruption"]) for one in of["problems"]}

    assert addresses(quick) <= addresses(embedded)
    assert set(quick["methods"]) <= set(METHODS)


def test_no_package_source_goes_without_a_checksum():
    for registry in ("datasets", "encoders"):
        for name, entry in config(registry)[registry].items():
            for source in entry.get("sources", []):
                if source["kind"] == "package":
                    assert "sha256" in source, name


def test_reporting_seeds_are_five():
    """Also in the committed report; what lies between takes the first of them."""
    seeds = config("config")["seeds"]
    assert seeds == config("complete")["seeds"] == [10, 11, 12, 13, 14]
    assert config("embedded")["seeds"] == seeds[:3]
    assert "seeds" not in config("quick")


# Every kind of mistake is in tests/unit/test_configuration.py; here is that they stop Snakemake.
@pytest.mark.parametrize(
    ("overlay", "arguments", "message"),
    [
        (
            {"settings": {"nddv": {"epochz": 3}}},
            (),
            "settings.nddv.epochz: unknown key; did you mean 'epochs'?",
        ),
        ({}, ("--config", "seedz=3"), "seedz: unknown key; did you mean 'seeds'?"),
        ({"methods": ["nddv-pat"]}, (), "methods[0]: unknown method 'nddv-pat'; did you mean"),
    ],
)
def test_a_mistake_is_refused_before_anything_runs(another_copy, overlay, arguments, message):
    done = another_copy.snakemake("--dry-run", *arguments, overlay=overlay, check=False)
    assert done.returncode != 0
    _, *where = done.stdout[done.stdout.index(message) :].strip().splitlines()
    assert len(where) == 1  # of the rules: no traceback of the library
    assert where[0].strip().startswith("File ")
    assert "common.smk" in where[0]


@pytest.mark.parametrize(
    ("part", "file", "right", "wrong"),
    [
        ("claims", "claims", "method: nddv", "methd: nddv"),
        ("page", "report", "figure: overview", "figure: overveiw"),
    ],
)
def test_a_mistake_in_the_files_of_the_last_rules_stops_the_first(fresh, part, file, right, wrong):
    path = fresh.folder / "config" / f"{file}.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(right, wrong, 1), encoding="utf-8")
    overlay = {"parts": ["detection", part]}
    done = fresh.snakemake("--dry-run", overlay=overlay, check=False)
    assert done.returncode != 0
    name = wrong.removesuffix(": nddv").removeprefix("figure: ")
    assert re.search(rf"config/{file}\.yaml: .*unknown .*'{name}'; did you mean '", done.stdout)


def test_snakemake_lint_and_snakefmt_are_content(finished):
    finished.snakemake("--lint")
    done = subprocess.run(
        [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def rules():
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        for block in re.split(r"^rule ", path.read_text(), flags=re.MULTILINE)[1:]:
            yield pytest.param(block, id=block.split(":")[0])


@pytest.mark.parametrize("block", list(rules()))
def test_every_rule_is_fully_described(block):
    directives = set(re.findall(r"^    (\w+):", block, flags=re.MULTILINE))
    # without threads a job has one
    wanted = {"output", "params", "log", "benchmark", "conda", "resources", "message"}
    assert wanted | {"script"} <= directives
    assert "run" not in directives
    assert re.search(r"source_hash\(|sources=.*_sources", block)
    for resource in ("mem_mb=", "runtime="):
        assert resource in block


PROGRAMS = {"pip", "nodejs"}  # they fetch packages; the library does not import them
CONDA_TO_PIP = {"pytorch": "torch", "matplotlib-base": "matplotlib"}


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.stem)
def test_environments_are_pinned_within_the_bounds_of_the_package(path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = project["dependencies"] + extras["encode"] + extras["workflow"]
    bounds = {r.name: r.specifier for r in map(Requirement, listed)}
    environment = read(path)
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    for line in environment["dependencies"]:
        match = re.fullmatch(r"([a-z0-9-]+) =(\d+(?:\.\d+)+)", line)
        assert match, f"{line!r} is not pinned"
        name, version = CONDA_TO_PIP.get(match[1], match[1]), match[2]
        if name == "python":
            assert version == "3.11"
        elif name not in PROGRAMS:
            assert bounds[name].contains(version), f"{line!r} is outside {bounds[name]}"
