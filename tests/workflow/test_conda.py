"""`snakemake --use-conda`, with a stand-in for conda whose environments have only what they name.

Snakemake runs in such an environment, too, without the numerical packages: a job sees the packages
of Snakemake behind its own, so that in the environment of the tests nothing could be missing.

That conda-forge has these versions, and that its builds agree with each other, is not tested.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from nddv.problems.encoders import known_encoders

pytest.importorskip("rattler", reason="py-rattler, of the extra dev, is not installed")
if sys.version_info[:2] != (3, 11):
    pytest.skip("the conda environments have Python 3.11", allow_module_level=True)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / "envs"
EXPERIMENTS = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())["experiments"]
ACTIVATE = 'export CONDA_PREFIX="$1"\nexport PATH="$1/bin:$PATH"\n'
PROBLEM = "2dplanes/n60/label10"
TABLE = "reports/tables/detection_n60.csv"
LITTLE = {
    "seeds": [100],
    "experiments": {name: {"grids": []} for name in EXPERIMENTS},
    "methods": ["nddv-terminal", "ame"],  # which imports scikit-learn late
    "settings": {"nddv": {"epochs": 2}, "ame": {"num_models": 20}},
}


@dataclass(frozen=True)
class Conda:
    """The stand-in, as if it were installed in a folder."""

    home: Path

    def variables(self) -> dict[str, str]:
        """What makes it the conda of a process."""
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "CONDA_HOME": str(self.home)}

    def create(self, file: Path, name: str) -> Path:
        """Make an environment; give its Python."""
        prefix = self.home / "envs" / name
        command = [self.home / "bin" / "conda", "env", "create", "--file", file, "--prefix", prefix]
        subprocess.run(command, check=True)
        return prefix / "bin" / "python"


@pytest.fixture(scope="module")
def conda(tmp_path_factory) -> Conda:
    home = tmp_path_factory.mktemp("conda")
    (home / "bin").mkdir()
    program = home / "bin" / "conda"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "conda_stand_in.py"}" "$@"\n')
    program.chmod(0o755)
    (home / "bin" / "activate").write_text(ACTIVATE)
    return Conda(home)


@pytest.fixture(scope="module")
def snakemake_only(conda) -> Path:
    """The Python of an environment with Snakemake and what it needs."""
    file = conda.home / "snakemake.yaml"
    channels = ["conda-forge", "nodefaults"]
    file.write_text(yaml.safe_dump({"channels": channels, "dependencies": ["python", "snakemake"]}))
    return conda.create(file, "snakemake")


@pytest.fixture(scope="module")
def bare(another_copy, conda, snakemake_only):
    """A project on a machine with Snakemake and conda."""
    return replace(another_copy, python=str(snakemake_only), environment=conda.variables())


@pytest.mark.slow
def test_the_workflow_runs_in_the_environments_of_its_rules(bare):
    # without them it cannot: nothing numerical is installed beside Snakemake
    done = bare.snakemake("results/data/2dplanes/files.json", overlay=LITTLE, check=False)
    assert "Error in rule fetch_dataset" in done.stdout
    assert "No module named 'numpy'" in done.stdout

    done = bare.snakemake("--use-conda", TABLE, overlay=LITTLE)
    for name in ("data", "torch", "report"):
        assert f"Creating conda environment envs/{name}.yaml" in done.stdout
    for method in LITTLE["methods"]:
        assert_values(bare, method)
    assert (bare.folder / TABLE).exists()


@pytest.mark.slow
def test_opendataval_is_added_to_its_environment(bare, package_index):
    method = "odv:KNNShapley"
    overlay = {**LITTLE, "methods": [*LITTLE["methods"], method]}
    values = f"results/values/{PROBLEM}/seed100/{method}.npz"
    done = bare.snakemake("--use-conda", values, overlay=overlay)
    assert "Running post-deploy script" in done.stdout
    assert_values(bare, method)


def assert_values(project, method: str) -> None:
    """There are values, not a gap with its reason."""
    record = project.folder / "results" / "values" / PROBLEM / "seed100" / f"{method}.json"
    assert "gap" not in json.loads(record.read_text())


def test_a_pin_that_the_tested_version_does_not_meet_is_refused(fresh, bare):
    project = replace(bare, folder=fresh.folder)
    path = project.folder / "envs" / "data.yaml"
    path.write_text(path.read_text().replace("  - numpy =", "  - numpy =0."))
    done = project.snakemake("--use-conda", "results/data/2dplanes/files.json", check=False)
    assert done.returncode != 0
    assert "Could not create conda environment" in done.stdout
    assert "numpy 0." in done.stdout


def run(python: Path, *statements: str) -> subprocess.CompletedProcess:
    """Run statements that may use the library."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [python, "-c", "; ".join(statements)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_what_an_environment_does_not_name_is_missing(conda, tmp_path):
    complete = (ENVIRONMENTS / "report.yaml").read_text()
    less = tmp_path / "less.yaml"
    less.write_text("".join(x for x in complete.splitlines(keepends=True) if "scipy" not in x))
    python = conda.create(less, "less")
    assert "No module named 'scipy'" in run(python, "import nddv.evaluation.collect").stderr


def test_encoders_load_in_their_environment(conda):
    modules = {entry["function"].partition(":")[0] for entry in known_encoders().values()}
    statements = [f"import {module}" for module in sorted(modules)]
    statements += ["import PIL.Image", "from transformers import AutoModel, AutoTokenizer"]
    python = conda.create(ENVIRONMENTS / "encode.yaml", "encode")
    done = run(python, *statements)
    assert done.returncode == 0, done.stderr
