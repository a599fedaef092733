"""requirements.lock: one version of everything that the package and its extras need, no more.

requirements.hashes: the checksums of their files.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
READY = ROOT / ".venv" / ".ready"
# Its builds have versions of their own; pyproject.toml pins it.
LEFT_OUT = {"torch"}
CONDA_TO_PIP = {"pytorch": "torch", "matplotlib-base": "matplotlib"}


def read_lock() -> list[Requirement]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def applies(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras})


LOCKED = {
    canonicalize_name(one.name): str(one.specifier).removeprefix("==")
    for one in read_lock()
    if applies(one, set())
}


def needed(requirements: list[str]) -> set[str]:
    """The names of requirements and of all that these need here, as installed."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(line) for line in requirements]
    while waiting:
        one = waiting.pop()
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in found or key[0] == "nddv":
            continue
        found.add(key)
        inside = map(Requirement, metadata.distribution(one.name).requires or [])
        waiting += [other for other in inside if applies(other, one.extras)]
    return {name for name, _ in found}


def test_every_line_is_one_version():
    for one in read_lock():
        assert re.fullmatch(r"==[\w.]+", str(one.specifier)), one
        assert one.url is None
        assert not one.extras
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--" not in text


def test_every_locked_version_has_checksums_and_nothing_else_has():
    text = (ROOT / "requirements.hashes").read_text()
    assert "://" not in text
    entries = re.split(r"\n(?=[^ #])", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).rstrip())
    lines = [re.split(r" \\\n    ", entry) for entry in entries]
    assert [Requirement(line[0]) for line in lines] == read_lock()
    for name, *hashes in lines:
        assert hashes, name
        assert len(set(hashes)) == len(hashes), name
        assert [one for one in hashes if not re.fullmatch("--hash=sha256:[0-9a-f]{64}", one)] == []


def test_locked_versions_are_within_the_bounds_of_the_package():
    for line in chain(PROJECT["dependencies"], *EXTRAS.values()):
        one = Requirement(line)
        if one.name not in {"nddv", *LEFT_OUT}:
            assert one.specifier.contains(LOCKED[canonicalize_name(one.name)]), line


def test_everything_that_is_needed_is_locked_and_nothing_else():
    try:
        names = needed([*chain(PROJECT["dependencies"], *EXTRAS.values())])
    except metadata.PackageNotFoundError as error:
        pytest.skip(f"not all extras are installed: {error}")
    assert names - LEFT_OUT == set(LOCKED)


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda p: p.stem)
def test_conda_environments_admit_the_locked_versions(path):
    versions = {**LOCKED, "torch": "2.13.0"}
    for line in yaml.safe_load(path.read_text())["dependencies"]:
        name, pin = line.split(" =")
        if name not in {"python", "nodejs"}:  # not Python packages
            version = Version(versions[CONDA_TO_PIP.get(name, name)])
            wanted = Version(pin).release
            assert version.release[: len(wanted)] == wanted, line


def test_the_environment_of_make_has_the_locked_versions():
    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("not in the .venv of make")
    if READY.read_text().strip() != "locked":
        pytest.skip(".venv was built with LOCKED=")
    installed = {canonicalize_name(d.name): d.version for d in metadata.distributions()}
    assert {name: installed[name] for name in LOCKED if name in installed} == {
        name: version for name, version in LOCKED.items() if name in installed
    }
