"""The recipes of CONTRIBUTING.md, each followed in a copy of the project."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_FILES = {"readout": 3, "method": 3, "setting": 2, "table": 3, "figure": 3, "data set": 2}


def blocks_of(recipe: str) -> list[tuple[str, str]]:
    """The first line, and the others, of every block of code below the heading of a recipe."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = re.search(rf"^### A {recipe}\n(.*?)^##", text, re.MULTILINE | re.DOTALL)
    assert section, recipe
    blocks = re.findall(r"^```\w+\n# (.*?)\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    assert blocks, recipe
    return blocks


def follow(recipe: str, folder: Path) -> set[str]:
    """Do what a recipe says in a copy of the project; the files that were touched."""
    touched = set()
    for where, code in blocks_of(recipe):
        if new := re.fullmatch(r"new file (\S+)", where):
            path, content = folder / new[1], code
            assert not path.exists()
        elif end := re.fullmatch(r"at the end of (\S+)", where):
            path = folder / end[1]
            content = f"{path.read_text(encoding='utf-8')}\n\n{code}"
        else:
            place = re.fullmatch(r"in (\S+), after: (.*)", where)
            assert place, where
            path = folder / place[1]
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            at = [i for i, line in enumerate(lines) if line.rstrip() == place[2]]
            at += [i for i, line in enumerate(lines) if line.strip().startswith(place[2])]
            assert at, f"{place[1]} has no line {place[2]!r}"
            content = "".join([*lines[: at[0] + 1], code, *lines[at[0] + 1 :]])
        path.write_text(content, encoding="utf-8")
        touched.add(path.relative_to(folder).as_posix())
    return touched


def python(project, code: str) -> str:
    """What some code prints, with the library of the copy."""
    done = subprocess.run(
        [project.python, "-c", code],
        cwd=project.folder,
        env={**os.environ, "PYTHONPATH": str(project.folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("recipe", MOST_FILES)
def test_a_recipe_touches_few_files(fresh, recipe):
    assert len(follow(recipe, fresh.folder)) <= MOST_FILES[recipe]


def test_a_readout(fresh):
    follow("readout", fresh.folder)
    code = (
        "import numpy as np, nddv\n"
        "from nddv.methods.registry import METHODS\n"
        "assert METHODS['nddv-weighted'].title == 'NDDV, weighted'\n"
        "assert 'weighted' in nddv.NDDV.__doc__\n"
        "rng = np.random.default_rng(100)\n"
        "X = rng.normal(size=(60, 3)); y = (X[:, 0] > 0).astype(int)\n"
        "model = nddv.NDDV('weighted', epochs=2).fit(X, y, X, y)\n"
        "assert abs(model.values_.sum()) < 1e-6 < model.values_.std()\n"
    )
    python(fresh, code)
    arguments = "['value', '--help']"
    assert "weighted" in python(fresh, f"from nddv.cli import main; main({arguments})")


def test_a_method(fresh):
    follow("method", fresh.folder)
    code = (
        "from nddv.methods.settings import defaults, schema\n"
        "from nddv.methods.valuation import value\n"
        "from nddv.problems import make_problem\n"
        "assert defaults('centroid') == {'power': 2.0}\n"
        "assert 'power' in schema()['properties']['centroid']['properties']\n"
        "problem, _ = make_problem('digits', 60, 'label10', 100)\n"
        "assert value('centroid', problem, 100, power=1.0).record['params'] == {'power': 1.0}\n"
    )
    python(fresh, code)
    done = fresh.snakemake("--dry-run", overlay={"methods": ["random", "centroid"]})
    assert "centroid on 2dplanes" in done.stdout
    settings = {"settings": {"centroid": {"power": -1}}}
    done = fresh.snakemake("--dry-run", overlay=settings, check=False)
    assert "settings.centroid.power" in done.stdout


def test_a_setting(fresh):
    follow("setting", fresh.folder)
    code = (
        "import inspect, nddv\n"
        "from nddv.dynamics.schedule import Training\n"
        "from nddv.estimator.settings import resolved\n"
        "assert inspect.signature(nddv.NDDV).parameters['shuffle'].default is True\n"
        "assert 'shuffle : ' in nddv.NDDV.__doc__\n"
        "assert Training.of(resolved(nddv.NDDV(shuffle=False)), 60).shuffle is False\n"
    )
    python(fresh, code)
    overlay = {"settings": {"nddv": {"shuffle": "no"}}}
    done = fresh.snakemake("--dry-run", overlay=overlay, check=False)
    assert "settings.nddv.shuffle" in done.stdout


def test_a_table(project):
    follow("table", project.folder)
    stem = "reports/tables/corrupted_points"
    project.snakemake(f"{stem}.md", f"{stem}.tex", f"{stem}.html")
    text = (project.folder / f"{stem}.md").read_text(encoding="utf-8")
    assert "| 2dplanes | 60 | label10 | 6 |" in text
    assert project.planned("detection") <= {"table", "detection"}


def test_a_figure(project):
    follow("figure", project.folder)
    project.snakemake("reports/figures/corrupted_bars.png")
    assert (project.folder / "reports/figures/corrupted_bars.pdf").stat().st_size > 1000


def test_a_data_set(fresh):
    follow("data set", fresh.folder)
    overlay = {"problems": [{"dataset": "small_planes", "n": 60, "corruption": "label10"}]}
    target = "results/problems/small_planes/n60/label10/seed100/problem.npz"
    fresh.snakemake(target, overlay=overlay)
    assert (fresh.folder / target).exists()


TITLES = [
    ("src/nddv/methods/registry.py", '"Random"', '"By chance"'),
    ("src/nddv/dynamics/readouts.py", "NDDV, path-integrated", "NDDV along the path"),
    ("src/nddv/reporting/catalogue/tables.yaml", "NDDV beside the best", "NDDV and the best"),
]


def test_changed_titles_rerun_only_the_report_and_show_at_once(project):
    for source, old, new in TITLES:
        path = project.folder / source
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
    assert "table" in project.planned() <= {"table", "figure"}
    project.snakemake()
    reports = (project.folder / "reports" / "tables").glob("*.md")
    shown = "\n".join(report.read_text(encoding="utf-8") for report in reports)
    assert [new for _, _, new in TITLES if new.strip('"') not in shown] == []
