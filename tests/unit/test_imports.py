"""What is imported when: start-up is quick, and the Snakefile needs nothing but Snakemake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "numpy", "pandas", "scipy", "sklearn", "matplotlib"}


def loaded_by(code: str, **options) -> set[str]:
    """The packages that a process has loaded after some code, which may exit."""
    ending = "import sys; print('loaded', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"import atexit\natexit.register(lambda: exec({ending!r}))\n{code}"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
        **options,
    )
    names = done.stdout.splitlines()[-1].split()
    assert names[0] == "loaded"
    return {name.partition(".")[0] for name in names[1:]}


@pytest.mark.parametrize(
    "code",
    [
        "import nddv",
        "from nddv.cli import main; main(['--help'])",
        "from nddv.cli import main; main(['value', '--help'])",
        "import nddv.support.files",
    ],
)
def test_start_up_loads_nothing_heavy(code):
    assert not HEAVY & loaded_by(code)


def test_names_of_the_package_are_loaded_when_they_are_used():
    assert "torch" not in loaded_by("import nddv; nddv.Values")
    assert "torch" in loaded_by("import nddv; nddv.NDDV")


def test_reporting_loads_neither_torch_nor_snakemake():
    folder = ROOT / "src" / "nddv"
    modules = [
        "nddv." + ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in sorted((folder / "reporting").rglob("*.py"))
    ]
    assert "nddv.reporting.figures.style" in modules
    code = f"import {', '.join(['nddv.evaluation.collect', *modules])}"
    assert not {"torch", "sklearn", "snakemake"} & loaded_by(code)


def test_the_workflow_loads_nothing_heavy():
    """Where Snakemake runs, the environments of the rules need not be installed."""
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    code = "\n".join(
        line
        for path in files
        for line in re.findall(r"^(?:from|import) nddv.*", path.read_text(), flags=re.MULTILINE)
    )
    assert "nddv.workflow.plan" in code
    assert not (HEAVY | {"snakemake"}) & loaded_by(code)


def test_reading_the_workflow_loads_no_torch(tmp_path):
    code = (
        "from snakemake.cli import main\n"
        f"main(['--snakefile', {str(ROOT / 'Snakefile')!r}, '--list-rules'])"
    )
    found = loaded_by(code, cwd=tmp_path)
    assert {"snakemake", "nddv"} <= found
    assert not {"torch", "scipy", "sklearn", "matplotlib"} & found
