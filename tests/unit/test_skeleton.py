"""What the README promises about commands and files is there, and versions agree."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


def make(*words: str, **variables: str) -> str:
    names = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "UV_FIND_LINKS", "PIP_FIND_LINKS", "NDDV_DATA")
    environment = {k: v for k, v in os.environ.items() if k not in names} | variables
    done = subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation


def test_torch_is_pinned_as_in_the_conda_environment():
    assert "torch==2.13.0" in PROJECT["dependencies"]
    assert re.search(r"pytorch *=+ *2\.13\.0", (ROOT / "envs" / "torch.yaml").read_text())


@needs_make
def test_every_make_target_of_the_documents_exists():
    listed = set(re.findall(r"^  make (\w+)", make("help"), flags=re.MULTILINE))
    text = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    used = set(re.findall(r"(?:`|^)make ([a-z]+)", text, flags=re.MULTILINE))
    assert {"reproduce", "test"} <= used <= listed


@needs_make
def test_the_tests_come_last_in_make_test():
    assert " -m pytest -n 3 --dist loadfile " in make("-n", "test", "WORKERS=3").splitlines()[-1]


def test_every_folder_of_tests_is_run():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    folders = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")}
    assert set(settings["ini_options"]["testpaths"]) == folders


@needs_make
def test_uv_is_told_what_pip_is_told():
    show = ["--eval", "show: ; @echo $$UV_FIND_LINKS", "show"]
    assert make(*show, PIP_FIND_LINKS="https://a.example/ https://b.example/").strip() == (
        "https://a.example/,https://b.example/"
    )
    assert make(*show, PIP_FIND_LINKS="a", UV_FIND_LINKS="b").strip() == "b"
    assert make(*show).strip() == ""


@needs_make
def test_the_environment_is_built_only_when_a_file_that_decides_it_is_newer(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    files = [tmp_path / "pyproject.toml", tmp_path / "requirements.lock"]
    for file in files:
        file.touch()
    ready = tmp_path / ".venv" / ".ready"
    ready.parent.mkdir()
    ready.touch()

    def up_to_date(*words: str) -> bool:
        command = ["make", "-q", "environment", *words]
        return subprocess.run(command, cwd=tmp_path, check=False).returncode == 0

    for file in files:
        os.utime(file, (1, 1))
    assert up_to_date()
    os.utime(files[1])
    os.utime(ready, (2, 2))
    assert not up_to_date()
    assert up_to_date("LOCKED=")
    os.utime(ready, (0, 0))
    assert not up_to_date("LOCKED=")


@needs_make
def test_both_installers_are_told_the_locked_versions_and_uv_their_checksums():
    usual = make("-n", "-B", "environment", "EXTRAS=workflow")
    uv, pip = re.findall(r"pip install .* --constraint (\S+) --editable '\.\[workflow\]'", usual)
    assert (uv, pip) == ("requirements.hashes", "requirements.lock")
    assert "--constraint" not in make("-n", "-B", "environment", "LOCKED=")


def test_nothing_in_the_repository_names_this_machine():
    # put together here so that this file is not found by its own search
    places = [f"/{name}/" for name in ("root", "work", "opt", "tmp")]
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = []
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        if path.suffix in {".py", ".smk", ".yaml", ".toml", ".md", ".cff", ""} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [f"{name}: {p}" for p in places if re.search(rf"(?<![\w.}}]){p}", text)]
    assert found == []
