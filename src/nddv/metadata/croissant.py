"""Data sets in the words of Croissant, from their entries in ``config/datasets.yaml``.

The format knows a file by its own checksum. So a source is a file here if its entry has one: a
local file, an archive, a file inside a package. Formulas, data sets that scikit-learn ships, and
files of which only the checksum of a listing is known, are named in the description.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from nddv.problems.fetch.sources import where

Entry = Mapping[str, Any]

FORMATS = {
    ".csv.gz": ["text/csv", "application/gzip"],
    ".csv": ["text/csv"],
    ".npz": ["application/zip"],
    ".parquet": ["application/x-parquet"],
    ".parquet.brotli": ["application/x-parquet"],
    ".tar": ["application/x-tar"],
    ".tar.gz": ["application/x-tar", "application/gzip"],
    ".zip": ["application/zip"],
}
MEMBERS = {".txt": "text/plain"}  # of an archive; others are the format of a program
OPENML = "https://www.openml.org/d/"


def croissants(root: Path) -> dict[str, dict[str, Any]]:
    """The JSON-LD of every data set, by name."""
    content = yaml.safe_load((root / "config" / "datasets.yaml").read_text("utf-8"))
    return {name: croissant(name, entry) for name, entry in content["datasets"].items()}


def croissant(name: str, entry: Entry) -> dict[str, Any]:
    """The JSON-LD of one data set."""
    import mlcroissant as mlc

    sources = entry["sources"]
    files = [_file(mlc, source) for source in sources if _has_checksum(source)]
    pages = [url for source in sources for url in source.get("urls", [])]
    pages += [f"{OPENML}{source['openml']}" for source in sources if "openml" in source]
    metadata = mlc.Metadata(
        name=name,
        description=" ".join(_sentences(entry)),
        cite_as=entry["citation"],
        license=[entry["licence"]],
        url=pages[0] if pages else None,
        same_as=pages[1:] or None,
        distribution=[part for parts in files for part in parts],
    )
    content: dict[str, Any] = metadata.to_json()
    return content


def _has_checksum(source: Entry) -> bool:
    """Whether the checksum of one file is known, be it an archive."""
    members = source.get("members", [])
    single = not members or (len(members) == 1 and "*" not in members[0])
    return "archive_sha256" in source or ("sha256" in source and single)


def _file(mlc: Any, source: Entry) -> list[Any]:
    """The file of a source; of an archive also the files that are read from it."""
    if "archive_sha256" in source:
        (url,) = source["urls"]
        name = url.rpartition("/")[2]
        suffixes = {Path(member).suffix for member in source["members"]}
        formats = sorted({MEMBERS.get(one, "application/octet-stream") for one in suffixes})
        archive = mlc.FileObject(
            id=name,
            name=name,
            content_url=url,
            encoding_formats=FORMATS[_suffix(name)],
            sha256=source["archive_sha256"],
        )
        members = mlc.FileSet(
            id=f"{name}/members",
            name="members",
            contained_in=[name],
            includes=source["members"],
            encoding_formats=formats,
        )
        return [archive, members]
    url = source["path"] if source["kind"] == "local" else _package_url(source)
    file = mlc.FileObject(
        id=url,
        name=url.rpartition("/")[2],
        description=". ".join([_place(source), *([source["note"]] if "note" in source else [])]),
        content_url=url,
        encoding_formats=FORMATS[_suffix(url)],
        sha256=source["sha256"],
    )
    return [file]


def _suffix(name: str) -> str:
    """The longest known suffix of a file's name."""
    return max((one for one in FORMATS if name.endswith(one)), key=len)


def _package_url(source: Entry) -> str:
    """A file inside a package as a package URL, which names no host."""
    kind = "pypi" if "pypi" in source else "npm"
    return f"pkg:{kind}/{source[kind].replace('==', '@')}#{source['members'][0]}"


def _place(source: Entry) -> str:
    """Where a file is, in words."""
    if source["kind"] == "local":
        return "Below the folder that NDDV_DATA names; you supply it"
    return f"A file inside a package: {where(source)}"


def _sentences(entry: Entry) -> Iterator[str]:
    """The description, what is expected of the rows, and the sources that are no files here."""
    yield entry["description"].strip()
    counts = [f"{number} {what}" for what, number in entry["expect"].items() if what != "minority"]
    yield f"Expected: {', '.join(counts)}."
    for source in (one for one in entry["sources"] if not _has_checksum(one)):
        if source["kind"] == "generated":
            yield (
                f"Without a file, {source['rows_drawn']} rows are drawn from a formula: "
                f"{source['formula']} of nddv.problems.formulas, seed {source['data_seed']}."
            )
        elif source["kind"] == "scikit-learn":
            yield f"scikit-learn ships it: sklearn.datasets.load_{source['loader']}."
        else:
            yield f"Also from {where(source)}, without a checksum of a single file."
