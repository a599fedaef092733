"""Downloads: resumed, tried again, never half, whatever the server or a kill -9 does to them."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import nddv
from nddv.problems.fetch import FetchError, fetch
from nddv.problems.fetch import download as module
from nddv.problems.fetch.download import download
from nddv.problems.fetch.errors import DownloadError

BODY = np.random.default_rng(100).bytes(1_000_000)
CUT = 600_000


class Server:
    """Serves ``body`` at every path. ``plan`` says what to do with the next requests.

    ``"cut"`` breaks off after ``CUT`` bytes of the body, ``"anew"`` does so and changes the file,
    ``"hold"`` waits there until ``released``, ``"shifted"`` answers with another range than asked
    for; a number is a status to fail with.
    """

    def __init__(self) -> None:
        self.body, self.headers = BODY, {"ETag": '"1"'}
        self.plan: list[str | int] = []
        self.failure_headers: dict[str, str] = {}
        self.ranges = True
        self.asked: list[str | None] = []  # the Range of each request
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/files/data%20set.bin?version=1"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        asked = request.headers["Range"]
        self.asked.append(asked)
        act = self.plan.pop(0) if self.plan else ""
        if isinstance(act, int):
            request.send_response(act)
            for key, value in self.failure_headers.items():
                request.send_header(key, value)
            request.end_headers()
            return
        version = self.headers.get("ETag", self.headers.get("Last-Modified"))
        start = 0
        if asked and self.ranges and request.headers["If-Range"] == version:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(self.body):
                request.send_response(416)
                request.end_headers()
                return
            request.send_response(206)
            shown = start + (act == "shifted")
            last = len(self.body) - 1
            request.send_header("Content-Range", f"bytes {shown}-{last}/{len(self.body)}")
        else:
            request.send_response(200)
        for key, value in self.headers.items():
            request.send_header(key, value)
        request.send_header("Content-Length", str(len(self.body) - start))
        request.end_headers()
        broken = act in ("cut", "anew", "hold")
        request.wfile.write(self.body[start : CUT if broken else len(self.body)])
        if act == "hold":
            self.released.wait(60)
            request.wfile.write(self.body[CUT:])
        if act == "anew":
            self.body, self.headers = self.body[::-1], {"ETag": '"2"'}


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.released.set()
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, none of them waited for."""
    made: list[float] = []
    monkeypatch.setattr(module.time, "sleep", made.append)
    return made


def run(server: Server, folder: Path) -> bytes:
    path = folder / "data"
    download(server.url, path, progress=False)
    assert [p.name for p in folder.iterdir()] == ["data"]
    return path.read_bytes()


def test_a_file_that_is_there_is_not_asked_for_again(server, tmp_path):
    assert run(server, tmp_path) == BODY
    assert run(server, tmp_path) == BODY
    assert server.asked == [None]


def test_a_cut_connection_is_resumed(server, tmp_path, pauses):
    server.plan = ["cut"]
    assert run(server, tmp_path) == BODY
    assert server.asked == [None, f"bytes={CUT}-"]
    assert pauses == [1.0]


def test_a_server_without_etags_is_resumed_by_date(server, tmp_path, pauses):
    server.headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    server.plan = ["cut"]
    assert run(server, tmp_path) == BODY
    assert server.asked == [None, f"bytes={CUT}-"]


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"1"'}])
def test_without_a_version_to_tie_a_range_to_the_download_starts_anew(
    server, tmp_path, pauses, headers
):
    server.headers = headers
    server.plan = ["cut"]
    assert run(server, tmp_path) == BODY
    assert server.asked == [None, None]


def test_a_server_without_ranges_starts_anew(server, tmp_path, pauses):
    server.ranges = False
    server.plan = ["cut"]
    assert run(server, tmp_path) == BODY
    assert server.asked == [None, f"bytes={CUT}-"]


def test_a_file_that_changed_in_between_starts_anew(server, tmp_path, pauses):
    server.plan = ["anew"]
    assert run(server, tmp_path) == BODY[::-1]
    assert server.asked == [None, f"bytes={CUT}-"]


def test_another_range_than_asked_for_starts_anew(server, tmp_path, pauses):
    server.plan = ["cut", "shifted"]
    assert run(server, tmp_path) == BODY
    assert server.asked == [None, f"bytes={CUT}-", None]


def test_a_part_longer_than_the_file_starts_anew(server, tmp_path, pauses):
    (tmp_path / "data.part").write_bytes(b"x" * (len(BODY) + 1))
    (tmp_path / "data.part.version").write_text('"1"')
    assert run(server, tmp_path) == BODY
    assert server.asked == [f"bytes={len(BODY) + 1}-", None]


def test_a_part_of_unknown_version_is_not_trusted(server, tmp_path):
    (tmp_path / "data.part").write_bytes(b"x" * 10)
    assert run(server, tmp_path) == BODY


def test_passing_failures_are_tried_again_after_doubled_pauses(server, tmp_path, pauses):
    server.plan = [503, 500, 429]
    assert run(server, tmp_path) == BODY
    assert pauses == [1.0, 2.0, 4.0]


def test_progress_starts_the_count_of_failures_anew(server, tmp_path, pauses):
    server.plan = [503, 503, "cut", 503, 503]
    assert run(server, tmp_path) == BODY
    assert pauses == [1.0, 2.0, 1.0, 2.0, 4.0]


def test_the_pause_is_as_long_as_the_server_asks_for(server, tmp_path, pauses):
    server.plan, server.failure_headers = [503], {"Retry-After": "7"}
    assert run(server, tmp_path) == BODY
    assert pauses == [7.0]


def test_the_server_may_ask_for_a_pause_by_date(server, tmp_path, pauses):
    later = datetime.now(UTC) + timedelta(seconds=100)
    server.plan = [429]
    server.failure_headers = {"Retry-After": format_datetime(later, usegmt=True)}
    assert run(server, tmp_path) == BODY
    assert 0 < pauses[0] <= 100


def test_a_server_that_asks_for_hours_is_given_up(server, tmp_path, pauses):
    server.plan, server.failure_headers = [503], {"Retry-After": "7200"}
    with pytest.raises(DownloadError, match="HTTP 503 .*try again in 7200 s"):
        run(server, tmp_path)
    assert pauses == []


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_final(server, tmp_path, pauses, status):
    server.plan = [status]
    with pytest.raises(DownloadError, match=f"HTTP {status} "):
        run(server, tmp_path)
    assert len(server.asked) == 1


def test_a_connection_that_stays_cut_is_an_error_and_the_part_stays_for_later(
    server, tmp_path, pauses
):
    server.plan = ["cut"] * module.ATTEMPTS
    with pytest.raises(DownloadError, match=f"cut short after {CUT} of {len(BODY)} bytes, 4 times"):
        run(server, tmp_path)
    assert not (tmp_path / "data").exists()
    assert (tmp_path / "data.part").read_bytes() == BODY[:CUT]
    assert run(server, tmp_path) == BODY
    assert server.asked[-1] == f"bytes={CUT}-"


def test_nobody_there_is_an_error_with_the_reason(server, tmp_path, pauses):
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(DownloadError, match="refused.*, 4 times"):
        run(server, tmp_path)


def test_the_bar_is_shown_only_if_asked_for(server, tmp_path, capsys):
    download(server.url, tmp_path / "silent", progress=False)
    assert capsys.readouterr() == ("", "")
    download(server.url, tmp_path / "told", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "told" in err
    assert "1.00M/1.00M" in err


CHILD = """
import sys
from nddv.problems.fetch import fetch
{before}
found = fetch("data", [{{"kind": "official", "urls": [sys.argv[1]], **{more}}}])
print(found.record["sha256"])
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("NDDV_CACHE", str(folder))
    return folder


def start(server: Server, before: str = "", more: str = "{}") -> subprocess.Popen[str]:
    """Fetch in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", CHILD.format(before=before, more=more), server.url],
        env={**os.environ, "PYTHONPATH": str(Path(nddv.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain for the other process"
        time.sleep(0.01)


def test_kill_9_in_mid_download_then_the_next_run_goes_on_from_there(server, cache):
    server.plan = ["hold"]
    with start(server) as child:
        wait_until(lambda: any(p.stat().st_size for p in cache.rglob("*.part")))
        child.kill()
    (part,) = cache.rglob("*.part")
    arrived = part.stat().st_size
    assert 0 < arrived < len(BODY)
    found = fetch("data", [{"kind": "official", "urls": [server.url]}], progress=False)
    assert server.asked == [None, f"bytes={arrived}-"]
    assert found.files == ("data set.bin",)
    assert (found.folder / "data set.bin").read_bytes() == BODY
    assert found.record["sha256"] == hashlib.sha256(BODY).hexdigest()
    assert not list(cache.rglob("*.part*"))


KILL_AFTER_A_MEMBER = """
import os, signal
from nddv.problems.fetch import archives
write = archives._write
def write_and_die(member, target):
    write(member, target)
    target.write_bytes(target.read_bytes()[:10])
    os.kill(os.getpid(), signal.SIGKILL)
archives._write = write_and_die
"""


def test_kill_9_in_mid_extraction_then_the_next_run_has_the_same_bytes(server, cache):
    files = {f"data/{i}.bin": BODY[i * 1000 : (i + 1) * 1000] for i in range(5)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    server.body = packed.getvalue()
    members = {"members": ["data/*"]}
    with start(server, KILL_AFTER_A_MEMBER, str(members)) as child:
        assert child.wait() == -9
    assert [p.stat().st_size for p in cache.rglob("data/*.bin")] == [10]
    found = fetch("data", [{"kind": "official", "urls": [server.url], **members}], progress=False)
    assert server.asked == [None]  # the archive was complete
    assert {name: (found.folder / name).read_bytes() for name in found.files} == files
    assert not list(cache.rglob("*.work"))


def test_two_processes_share_one_download(server, cache):
    server.plan = ["hold"]
    with start(server) as first:
        wait_until(lambda: server.asked)
        with start(server) as second:
            assert "waiting for another process" in second.stderr.readline()
            server.released.set()
            results = [child.communicate()[0].strip() for child in (first, second)]
    assert results == [hashlib.sha256(BODY).hexdigest()] * 2
    assert server.asked == [None]


def test_an_altered_file_is_refused_with_both_checksums_and_not_kept(server, cache):
    right = hashlib.sha256(BODY).hexdigest()
    source = {"kind": "official", "urls": [server.url], "sha256": right}
    server.body = BODY[:-1] + b"?"
    wrong = hashlib.sha256(server.body).hexdigest()
    with pytest.raises(FetchError, match=f"has SHA-256 {wrong}, but {right} is expected"):
        fetch("data", [source], progress=False)
    server.body = BODY
    found = fetch("data", [source], progress=False)
    assert found.record["sha256"] == right
    assert found.record["verified"]


def test_an_altered_archive_is_refused_before_it_is_opened(server, cache):
    source = {
        "kind": "official",
        "urls": [server.url],
        "archive_sha256": "0" * 64,
        "members": ["*"],
    }
    with pytest.raises(FetchError, match=f"has SHA-256 [0-9a-f]{{64}}, but {'0' * 64} is expected"):
        fetch("data", [source], progress=False)


def test_a_failed_download_says_so_in_the_list_of_tries(server, cache):
    server.plan = [404]
    found = fetch(
        "data", [{"kind": "official", "urls": [server.url]}, {"kind": "generated"}], progress=False
    )
    (failed,) = found.record["tries"]
    assert failed["source"] == server.url
    assert "HTTP 404" in failed["error"]
