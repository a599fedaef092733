"""Real Snakemake runs on a copy of the project, with problems of 60 points."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import pytest
import yaml
from filelock import FileLock

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "workflow", "config", "profiles", "envs", "src")

CONFIG = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
EXPERIMENTS = CONFIG["experiments"]
SENSITIVITY = {
    **{"reweighting": ["none"], "interaction": [1, 10], "meta_size": [5]},
    **{"diffusion": [0.01], "meta_hidden": [16]},  # as usual: no variants
}
PROBLEM = {"dataset": "2dplanes", "n": 60, "corruption": "label10"}


def grid(corruptions: list[str], *methods: str) -> dict:
    """Small problems, with the readouts, some methods and the control."""
    names = ["nddv-terminal", "nddv-path", *methods, "small-loss"]
    return {"datasets": ["2dplanes"], "n": [60], "corruptions": corruptions, "methods": names}


def timings(*methods: str) -> list[dict]:
    """Small sizes of synthetic data."""
    return [{"n": [60, 120], "features": [4], "valid": ["fixed"], "methods": list(methods)}]


MICRO = {
    "parts": ["detection"],
    "sources": ["generated", "scikit-learn", "local"],  # no network
    "problems": [PROBLEM],
    # two tables with something in them; the others have no problems
    "experiments": {
        **{name: {"grids": []} for name in EXPERIMENTS},
        "label_noise_rates": {"grids": [grid(["label10", "label20"])]},
        "structured_noise_rates": {
            "grids": [grid(["label20"], "nddv-terminal:control=mlp", "nddv-path:control=mlp")]
        },
    },
    "sensitivity": {"problem": PROBLEM, "grid": SENSITIVITY},
    "pictures": {
        **{"problem": PROBLEM, "seed": 100},
        "regressions": {"repetitions": 2, "steps": 20},
    },
    "seeds": [100, 101],
    "sizes": {"valid": 20, "test": 20, "meta": 20},
    "settings": {"nddv": {"epochs": 2}},
    "methods": [
        *("nddv-terminal", "nddv-path", "nddv-participation"),
        *("small-loss", "knn-shapley", "random"),
    ],
    "timings": {
        "repeats": 1,
        "tables": {
            "wallclock_scaling": timings("nddv-terminal", "knn-shapley"),
            "elapsed_time": timings("nddv-terminal", "knn-shapley"),
            "runtime_scaling": timings("nddv-terminal", "ghostsuite"),
        },
    },
    "audits": {
        "methods": ["nddv-terminal", "nddv-path", "nddv-participation", "small-loss"],
        "marginals": {
            **{"datasets": ["2dplanes", "imagenet100@resnet50"], "n": 60},
            **{"coalitions": 60, "reliability": 1.0},
        },
        "certificates": {"pairs": 4, "samples": 3},
        "retraining": {
            **{"datasets": ["2dplanes"], "n": 60, "corruptions": ["label10"]},
            **{"points": 6, "coalitions": 2, "pairs": 4, "subsets": 5},
        },
        "bridge": {"datasets": ["2dplanes"], "points": 2, "sizes": [1.0], "intervals": 4},
    },
    "semivalues": {
        **{"datasets": ["2dplanes", "imagenet100@resnet50"], "n": 60, "seeds": 1},
        **{"budgets": [0.001, 0.3], "reference": {"reliability": 0.9, "seconds": 1}},
    },
    "modules": {
        **{"n": 60, "seeds": 1, "points": 3, "groups": 3, "methods": ["small-loss"]},
        "trained": {
            "mlp": {"datasets": ["digits"], "replay": {"epochs": 2}},
            "convolution": {"datasets": ["imagenet100@resnet50"]},
            "bag": {"datasets": ["bbc@distilbert"]},
        },
    },
}


@dataclass(frozen=True)
class Project:
    """A copy of the project in which Snakemake can run without touching the original."""

    folder: Path
    python: str = sys.executable
    environment: dict[str, str] = field(default_factory=dict)

    def snakemake(
        self,
        *arguments: str,
        overlay: dict | None = None,
        check: bool = True,
        data: Path | None = None,
    ):
        """Run Snakemake on the micro configuration, overlaid; give the finished process.

        data : the folder for NDDV_DATA, which is not set otherwise.
        """
        given = {} if data is None else {"NDDV_DATA": str(data)}
        with self.start(*arguments, overlay=overlay, **given) as process:
            text, _ = process.communicate(timeout=600)
        done = subprocess.CompletedProcess(process.args, process.returncode, text)
        if check:
            assert done.returncode == 0, done.stdout
        return done

    def start(
        self,
        *arguments: str,
        overlay: dict | None = None,
        within: tuple[str, ...] = (),
        output: int | IO[str] = subprocess.PIPE,
        **variables: str,
    ) -> subprocess.Popen[str]:
        """Start Snakemake on the micro configuration, overlaid, as a group of processes.

        within : a command that is given this one.
        variables : of the environment.
        """
        configuration = self.folder / "micro.yaml"
        configuration.write_text(yaml.safe_dump({**MICRO, **(overlay or {})}))
        command = [self.python, "-m", "snakemake", "--cores", "2", *arguments]
        cache = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        environment = {**os.environ, **cache, **self.environment}
        for name in ("PYTHONPATH", "SNAKEMAKE_PROFILE", "NDDV_DATA", "NDDV_CACHE"):
            environment.pop(name, None)
        return subprocess.Popen(
            [*within, *command, "--configfile", str(configuration)],
            cwd=self.folder,
            env={**environment, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def planned(self, *targets: str, overlay: dict | None = None) -> set[str]:
        """The rules that Snakemake would run now."""
        text = self.snakemake("--dry-run", *targets, overlay=overlay).stdout
        if "Nothing to be done" in text:
            return set()
        stats = text.split("Job stats:")[1].split("\n\n")[0].splitlines()[3:]
        return {line.split()[0] for line in stats} - {"all", "total"}

    def append(self, source: str, text: str) -> None:
        """Add text to a module of the library."""
        path = self.folder / "src" / "nddv" / source
        path.write_text(path.read_text() + text)

    def copy(self, folder: Path) -> Project:
        """A copy, with all that was made and the times of its files."""
        shutil.copytree(self.folder, folder)
        return replace(self, folder=folder)


@pytest.fixture(scope="session")
def pristine(tmp_path_factory) -> Project:
    """A copy of the project whose sources are compiled: every job would do it anew.

    Look, do not run anything.
    """
    folder = tmp_path_factory.mktemp("workflow") / "pristine"
    folder.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / part, folder / part, ignore=ignore)
        else:
            shutil.copy2(ROOT / part, folder / part)
    assert compileall.compile_dir(folder / "src", quiet=2)
    return Project(folder)


@pytest.fixture
def fresh(pristine, tmp_path) -> Project:
    """A copy of the project in which nothing has been run."""
    return pristine.copy(tmp_path / "fresh")


@pytest.fixture(scope="module")
def another_copy(pristine, tmp_path_factory) -> Project:
    """A copy of the project for the tests of one module, in which nothing has been run."""
    return pristine.copy(tmp_path_factory.mktemp("workflow") / "another")


@pytest.fixture(scope="session")
def finished(pristine, tmp_path_factory) -> Project:
    """A project whose micro configuration has been run. Look, do not change.

    Where tests run in several processes, one of them runs it and each has a copy.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with FileLock(shared / "finished.lock"):
        if not (shared / "finished").exists():
            made = pristine.copy(tmp_path_factory.mktemp("workflow") / "finished")
            made.snakemake()
            made.folder.rename(shared / "finished")
    return Project(shared / "finished").copy(tmp_path_factory.mktemp("workflow") / "finished")


@pytest.fixture(scope="module")
def continued(finished, tmp_path_factory) -> Project:
    """A copy of the finished project for the tests of one module, which run more in it."""
    return finished.copy(tmp_path_factory.mktemp("workflow") / "continued")


@pytest.fixture
def project(finished, tmp_path) -> Project:
    """A copy of the finished project that the test may change."""
    return finished.copy(tmp_path / "project")
