"""Download a URL: resume after a cut, retry after passing failures, keep no incomplete file."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tqdm import tqdm

from nddv.problems.fetch.errors import DownloadError

ATTEMPTS = 4  # without a byte gained
PAUSE_SECONDS = 1.0  # before the second attempt; doubled before each further one
LONGEST_PAUSE_SECONDS = 120.0
TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 18
PASSING_STATUS = {408, 425, 429, 500, 502, 503, 504}


class _Interrupted(Exception):
    """An attempt failed for a reason that may pass; `pause`: seconds that the server asks for."""

    def __init__(self, reason: object, pause: float | None = None):
        super().__init__(str(reason))
        self.pause = pause


def download(url: str, path: Path, progress: bool = True) -> None:
    """Download ``url`` to ``path``; an existing file is left alone.

    The bytes go to ``<name>.part``, which is renamed when it is complete. The ``.part`` of an
    earlier run is continued, unless the server says that the file has changed since.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    failures = 0
    while True:
        before = _size(part)
        try:
            _transfer(url, part, progress)
            break
        except _Interrupted as error:
            failures = 1 if _size(part) > before else failures + 1
            if failures == ATTEMPTS:
                raise DownloadError(f"{url}: {error}, {ATTEMPTS} times") from error
            pause = PAUSE_SECONDS * 2 ** (failures - 1) if error.pause is None else error.pause
            if pause > LONGEST_PAUSE_SECONDS:
                raise DownloadError(f"{url}: {error}; try again in {pause:.0f} s") from error
            time.sleep(pause)
    _tag(part).unlink(missing_ok=True)
    part.replace(path)


def _transfer(url: str, part: Path, progress: bool) -> None:
    """Request the bytes that ``part`` still lacks."""
    offset = _size(part)
    headers = {}
    if offset and _tag(part).exists():
        headers = {"Range": f"bytes={offset}-", "If-Range": _tag(part).read_text("utf-8")}
    with _open(url, headers, part) as response:
        if response.status != 206:  # the whole file: it has changed, or the server has no ranges
            offset = 0
            part.unlink(missing_ok=True)
            _tag(part).unlink(missing_ok=True)
            if version := _version(response):
                _tag(part).write_text(version, "utf-8")
        length = response.headers.get("Content-Length", "")
        total = offset + int(length) if length.isdecimal() else None
        bar = tqdm(
            desc=part.stem,
            initial=offset,
            total=total,
            unit="B",
            unit_scale=True,
            disable=not progress,
            mininterval=0.1 if sys.stderr.isatty() else 10.0,  # a log file needs few lines
        )
        with part.open("ab") as file, bar:
            for chunk in _chunks(response):
                file.write(chunk)
                bar.update(len(chunk))
    if total is not None and _size(part) != total:
        raise _Interrupted(f"cut short after {_size(part)} of {total} bytes")


def _open(url: str, headers: Mapping[str, str], part: Path) -> HTTPResponse:
    request = Request(url, headers={"User-Agent": "nddv", "Accept-Encoding": "identity", **headers})
    try:
        response: HTTPResponse = urlopen(request, timeout=TIMEOUT_SECONDS)
    except HTTPError as error:
        reason = f"HTTP {error.code} {error.reason}"
        if error.code == 416:  # our part is as long as the file, or longer: it is another file
            part.unlink(missing_ok=True)
            raise _Interrupted(reason) from error
        if error.code in PASSING_STATUS:
            raise _Interrupted(reason, _retry_after(error.headers)) from error
        raise DownloadError(f"{url}: {reason}") from error
    except (OSError, HTTPException) as error:
        raise _Interrupted(getattr(error, "reason", error)) from error
    begin = headers.get("Range", "bytes=0-").replace("=", " ")
    if response.status == 206 and not response.headers.get("Content-Range", "").startswith(begin):
        response.close()
        part.unlink(missing_ok=True)
        raise _Interrupted("the server sent another range than it was asked for")
    return response


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    try:
        while chunk := response.read(CHUNK_BYTES):
            yield chunk
    except (OSError, HTTPException) as error:
        raise _Interrupted(error) from error


def _version(response: HTTPResponse) -> str | None:
    """The mark of the file's version, if the server gives one."""
    tag = response.headers.get("ETag", "")
    # A weak ETag stays the same under small changes, so ranges cannot be tied to it.
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def _retry_after(headers: Message) -> float | None:
    """Seconds that the server asks us to wait; it gives a number or a date."""
    text = headers.get("Retry-After", "")
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _tag(part: Path) -> Path:
    """The file that holds the version of a part."""
    return part.with_name(part.name + ".version")
