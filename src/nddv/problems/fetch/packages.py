"""Package files from the registries that pip and npm use on this machine.

A file is downloaded and read as an archive. Nothing is installed, built or executed: pip takes only
wheels, and npm runs no scripts.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tqdm import tqdm

from nddv.problems.fetch.download import download
from nddv.problems.fetch.errors import ChecksumError, DownloadError

ATTEMPTS = 3
PAUSE_SECONDS = 2.0
POLL_SECONDS = 0.1
SHOWN_LINES = 3
# pip and npm retry connections themselves; these are failures in the middle of a download.
_PASSING = re.compile(
    r"incomplete|timed out|connection reset|do not match the hashes|EINTEGRITY|ECONNRESET"
    r"|(error|status|code) E?(429|5\d\d)|(429|5\d\d) (client|server) error",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"\s*$|Looking in |\[notice\]|WARNING: Location .* is ignored"
    r"|npm (notice|warn)|npm error(\s*$|   |\s+[{}]|.* complete log)"
)
_COUNT = re.compile(r"Retrying \(Retry\(.*?\)\) after ")


def download_wheel(
    requirement: str, extra: Sequence[str], folder: Path, progress: bool = True
) -> Path:
    """Download the wheel of ``"name==version"`` with pip into ``folder``; return its path.

    ``extra`` are further arguments of ``pip download``, for a wheel of another platform.
    """
    if importlib.util.find_spec("pip") is None:
        raise DownloadError(
            f"pip is not installed in the environment of {sys.executable}; install it there"
        )
    command = [sys.executable, "-m", "pip", "download", *extra]
    command += ["--no-deps", "--only-binary=:all:", "--progress-bar=off", requirement, "--dest"]
    return _one_file(command, folder, requirement if progress else None)


def download_npm(package: str, folder: Path, progress: bool = True) -> Path:
    """Download the npm package ``"name@version"`` into ``folder``; return the tarball's path."""
    npm = shutil.which("npm")
    if npm is None:
        return _without_npm(package, folder.parent, progress)
    command = [npm, "pack", package, "--ignore-scripts", "--pack-destination"]
    return _one_file(command, folder, package if progress else None)


def _without_npm(package: str, folder: Path, progress: bool) -> Path:
    """Do what npm does: ask the registry for the tarball's address and checksum, and compare."""
    name, _, version = package.rpartition("@")
    about, tarball = folder / "about.json", folder / "package.tgz"
    download(f"{_npm_registry()}/{quote(name, safe='@')}/{version}", about, progress=False)
    try:
        dist: dict[str, Any] = json.loads(about.read_bytes())["dist"]
        url, integrity = dist["tarball"], dist["integrity"]
        algorithm, _, expected = integrity.split()[0].partition("-")
        digest = hashlib.new(algorithm)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ChecksumError(f"the npm registry gives no checksum of {package}") from error
    download(url, tarball, progress)
    with tarball.open("rb") as file:
        actual = base64.b64encode(hashlib.file_digest(file, lambda: digest).digest()).decode()
    if actual != expected:
        raise ChecksumError(f"{package} has {algorithm} {actual}, but npm expects {expected}")
    return tarball


def _npm_registry() -> str:
    """The registry that the npm client would ask."""
    for variable in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        if address := os.environ.get(variable):
            return address.rstrip("/")
    settings = Path.home() / ".npmrc"
    lines = settings.read_text("utf-8").splitlines() if settings.exists() else []
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == "registry":
            return value.strip().rstrip("/")
    raise DownloadError(
        "npm is not installed, and no registry is named by npm_config_registry in the environment "
        "or by `registry=` in ~/.npmrc: install npm or name a registry"
    )


def _one_file(command: Sequence[str], folder: Path, label: str | None) -> Path:
    """Run a command that takes a folder as its last argument and writes one file there.

    ``folder`` appears only when the file is complete. If it exists already, nothing runs.
    """
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            target = Path(scratch, "file")
            target.mkdir()
            _run([*command, str(target)], Path(scratch), label)
            if len(files := list(target.iterdir())) != 1:
                raise DownloadError(f"one file was expected of {command}, but it left {files}")
            target.rename(folder)
    return next(folder.iterdir())


def _run(command: Sequence[str], scratch: Path, label: str | None) -> None:
    """Run a client. After a failure that may pass, wait and run it again.

    label : of the progress bar; None for no bar.
    """
    for attempt in range(1, ATTEMPTS + 1):
        code, output = _client(command, scratch, label)
        if code == 0:
            return
        if attempt == ATTEMPTS or not _PASSING.search(output):
            name = "npm" if "pack" in command else "pip"
            raise DownloadError(f"{name} failed: {_reason(output)}")
        time.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))


def _client(command: Sequence[str], scratch: Path, label: str | None) -> tuple[int, str]:
    """Run a client and show how much it has written; return its exit code and output."""
    # The client's temporary files go to a folder that has room and is cleaned up.
    environment = {**os.environ, "TMPDIR": str(scratch)}
    bar = tqdm(desc=label, unit="B", unit_scale=True, mininterval=1.0, disable=label is None)
    with bar, tempfile.TemporaryFile("w+") as output:
        client = subprocess.Popen(
            command, cwd=scratch, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while client.poll() is None:
                time.sleep(POLL_SECONDS)
                bar.update(max(0, _bytes_below(scratch) - bar.n))
        finally:  # if we are interrupted, so is the client
            client.kill()
            client.wait()
        output.seek(0)
        return client.returncode, output.read()


def _bytes_below(folder: Path) -> int:
    """The bytes of the files below ``folder``, which the client changes meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):  # unlike rglob, passes over folders that vanish
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += Path(parent, name).lstat().st_size
    return total


def _reason(output: str) -> str:
    """The last informative lines of a client's output, each once."""
    lines = [_COUNT.sub("", line) for line in output.splitlines() if not _NOISE.match(line)]
    reasons = list(dict.fromkeys(line.removeprefix("npm error ").strip() for line in lines))
    return " | ".join(reasons[-SHOWN_LINES:]) or "it gave no reason"
