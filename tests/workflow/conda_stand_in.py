"""A stand-in for conda, for machines without it and without its channels.

It solves environment files with the solver of the conda world (rattler), against a channel that has
what is installed in the environment of the tests: these versions, with these dependencies. A new
environment has a Python of its own and links to the packages of the solution, nothing else.

What it answers is what Snakemake asks: ``--version``, ``info``, ``config --get``, ``env create``,
``clean``.
CONDA_HOME is the folder with the ``bin/activate`` of the installation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import venv
from importlib import metadata
from pathlib import Path

import rattler
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rattler.exceptions import SolverError

CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
# Programs that are not Python packages; nothing of the tests starts them.
PROGRAMS = {"python": platform.python_version(), "nodejs": "22.12.0"}


def conda_name(name: str) -> str:
    name = canonicalize_name(name)
    return CONDA_NAMES.get(name, name)


class Installed:
    """A channel with what is installed here."""

    def __init__(self) -> None:
        self.distributions = {conda_name(d.name): d for d in metadata.distributions()}
        self.subdir = str(rattler.Subdir.current())

    def package_names(self, subdir: rattler.Subdir) -> list[str]:
        return [*PROGRAMS, *self.distributions] if str(subdir) == self.subdir else []

    async def fetch_package_records(
        self, subdir: rattler.Subdir, package: rattler.PackageName
    ) -> list[rattler.RepoDataRecord]:
        name = package.normalized
        if name not in self.package_names(subdir):
            return []
        if name in PROGRAMS:
            version, depends = PROGRAMS[name], []
        else:
            version, depends = self.distributions[name].version, ["python", *self.needs(name)]
        version = version.partition("+")[0]  # of torch: the kind of build
        build = rattler.BuildString("0")
        record = rattler.PackageRecord(name, version, build, 0, self.subdir, depends=depends)
        file = f"{name}-{version}-0.conda"
        return [rattler.RepoDataRecord(record, file, f"file:///{file}", "file:///")]

    def needs(self, name: str) -> list[str]:
        """What a package needs here: without its extras."""
        wanted = map(Requirement, self.distributions[name].requires or [])
        return [
            conda_name(one.name)
            for one in wanted
            if one.marker is None or one.marker.evaluate({"extra": ""})
        ]

    def link(self, name: str, folder: Path) -> None:
        """Put the modules of a package into a folder, as links."""
        distribution = self.distributions[name]
        for first in {file.parts[0] for file in distribution.files or []}:
            # the programs of a package are outside; a .pth file runs when Python starts
            if first not in ("..", "__pycache__") and not first.endswith(".pth"):
                link = folder / first
                if not link.exists():
                    link.symlink_to(Path(str(distribution.locate_file(first))))


def create(file: Path, prefix: Path) -> None:
    """Make the environment that a file describes."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    if content["channels"] != ["conda-forge", "nodefaults"]:
        raise ValueError(f"{file}: this stand-in has conda-forge only")
    channel = Installed()
    found = asyncio.run(rattler.solve([channel], content["dependencies"]))
    venv.EnvBuilder(symlinks=True).create(prefix)
    (packages,) = prefix.glob("lib/python*/site-packages")
    for record in found:
        if record.name.normalized not in PROGRAMS:
            channel.link(record.name.normalized, packages)


def main() -> None:
    parser = argparse.ArgumentParser(prog="conda")
    parser.add_argument("--version", action="version", version="conda 25.1.1")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--prefix", type=Path)
    for flag in ("--json", "--quiet", "--no-default-packages", "--get", "-y", "--tarballs"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_intermixed_args()
    match given.words:
        case ["info"]:
            print(json.dumps({"conda_prefix": os.environ["CONDA_HOME"], "platform": "linux-64"}))
        case ["config", "channel_priority"]:
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["env", "create"]:
            create(given.file, given.prefix)
        case ["clean"]:
            pass
        case words:
            raise ValueError(f"this stand-in for conda does not know {' '.join(words)}")


if __name__ == "__main__":
    try:
        main()
        code = 0
    except (ValueError, SolverError) as error:
        print(error, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of the solver may crash an interpreter that ends in the usual way
