"""Dockerfile and apptainer.def, as far as they can be checked without building an image."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
DEFINITION = (ROOT / "apptainer.def").read_text()
WORKFLOW = {"Snakefile", "workflow", "config", "profiles", "envs", "src"}


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each with its arguments on one line."""
    lines = re.sub(r"\\\n\s*", "", DOCKERFILE).splitlines()
    found = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(name, rest) for name, rest in found]


def sections() -> dict[str, list[str]]:
    """The lines of each section of the Apptainer definition; the head is named ''."""
    parts = re.split(r"^%(\w+)\n", DEFINITION, flags=re.MULTILINE)
    named = dict(zip(["", *parts[1::2]], parts[::2], strict=True))
    lines = {name: [line.strip() for line in text.splitlines()] for name, text in named.items()}
    return {n: [x for x in part if x and not x.startswith("#")] for n, part in lines.items()}


def copied() -> set[str]:
    return {
        source
        for name, rest in instructions()
        if name == "COPY"
        for source in shlex.split(rest)[:-1]
    }


def test_both_have_all_that_the_workflow_and_the_environment_need():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    build = {"Makefile", "pyproject.toml", "requirements.lock"}
    build |= {project["readme"], *project["license-files"]}
    assert copied() == WORKFLOW | build
    assert {line.split()[0] for line in sections()["files"]} == copied()
    assert [name for name in copied() if not (ROOT / name).exists()] == []
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == copied()


def test_what_the_environment_is_built_from_is_copied_before():
    order = [f"{name} {rest}" for name, rest in instructions()]
    (build,) = [k for k, line in enumerate(order) if line.startswith("RUN make")]
    before = " ".join(order[:build])
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "README.md", "LICENSE", "src"):
        assert re.search(rf"COPY [^/]*\b{name}\b", before), name


def test_both_begin_with_the_same_image_and_build_the_same():
    (image,) = [rest for name, rest in instructions() if name == "FROM"]
    assert f"From: {image}" in sections()[""]
    python = yaml.safe_load((ROOT / "envs" / "torch.yaml").read_text())["dependencies"][0]
    assert re.fullmatch(rf"python:{python.split('=')[1]}\.\d+-slim-\w+", image)
    run = [re.split(r"\s*&&\s*", rest) for name, rest in instructions() if name == "RUN"]
    commands = [" ".join(one.split()) for part in run for one in part]
    post = [line for line in sections()["post"] if not line.startswith(("export", "cd"))]
    assert commands == post
    start = yaml.safe_load(dict(instructions())["ENTRYPOINT"])
    assert sections()["runscript"] == [f'exec {shlex.join(start)} "$@"']


@pytest.mark.parametrize("section", ["post", "environment", "runscript"])
def test_the_scripts_are_shell(section):
    script = "\n".join(sections()[section])
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
