"""The wheel has all that a user needs: the README can be followed with it alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import follow
import pytest

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory, package_index) -> Path:
    """The folder of the wheel, which is made from the archive of sources beside it."""
    if find_spec("build") is None:
        pytest.skip("there is no build here: pip install build")
    folder = tmp_path_factory.mktemp("dist")
    run("-m", "build", "--outdir", folder, ROOT)
    return folder


def run(*words: str | Path, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_is_a_wheel_and_an_archive_of_sources(built):
    names = {path.name for path in built.iterdir()}
    assert names == {f"nddv-{VERSION}-py3-none-any.whl", f"nddv-{VERSION}.tar.gz"}


def test_the_readme_can_be_followed_with_the_wheel_alone(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    library, folder = tmp_path / "library", tmp_path / "folder"
    folder.mkdir()
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", library, wheel)
    where = run("-c", "import nddv; print(nddv.__file__)", PYTHONPATH=str(library))
    assert Path(where.strip()).is_relative_to(library)
    said = run("-m", "nddv.cli", "--version", PYTHONPATH=str(library))
    assert VERSION in said
    document = ROOT / "README.md"
    printed = follow.followed(document, folder, library)
    shown = [block.printed for block in follow.blocks(document)]
    assert all(text for text, wanted in zip(printed, shown, strict=True) if wanted)
