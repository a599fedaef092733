"""Load a data set: fetch, read, encode, and compare with what its entry expects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from collections.abc import Collection as Names
from dataclasses import dataclass, replace
from functools import partial
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nddv.problems.fetch import Fetched, fetch
from nddv.problems.numeric import (
    check_labels,
    chosen_rows,
    class_codes,
    documents_of,
    numeric_table,
)
from nddv.problems.readers import Collection, Embeddings, Lazy, read
from nddv.problems.registry import (
    EMBEDDINGS,
    Entry,
    code_hash,
    overlaid,
    rows_lacking,
    split_name,
    usable_sources,
    whole_entry,
)
from nddv.problems.tables import Table
from nddv.support.files import cache_folder
from nddv.support.provenance import config_hash
from nddv.support.wording import one_line
from nddv.tabular.files import FileTable

UNVERIFIED = {
    "generated": "a formula",
    "scikit-learn": "of the installed package",
    "local": "none known",
    "official": "none known",
    "file": "your own file",
}
# Keys of an entry that may help when its table cannot be used.
REMEDIES = ("drop", "categorical", "max_categories", "missing", "na", "separator", "encoding")

COMPARED = 8  # items that are encoded again before others are added to ready embeddings
SAME = 0.999  # the least cosine of an embedding and the same one, made elsewhere
# Keys that, besides the files, decide which items are read, and their order.
READING = ("read", "text", "label", "encoding", "other_encodings", "only_classes")


@dataclass(frozen=True)
class Files:
    """The files of a data set and, if it must still be encoded, those of its encoder.

    Attributes
    ----------
    data : a table, items, or embeddings.
    weights : of the encoder; None if nothing is to be encoded.
    items : of embeddings that are of too few rows: the items that the further rows are made of.
    """

    data: Fetched
    weights: Fetched | None = None
    items: Fetched | None = None

    def to_json(self) -> dict[str, Any]:
        """Where the files came from, for :meth:`again`."""
        every = {"data": self.data, "weights": self.weights, "items": self.items}
        return {key: {"source": f.source, "record": f.record} for key, f in every.items() if f}

    @classmethod
    def again(cls, name: str, stored: Mapping[str, Any]) -> Files:
        """The same files from the same sources; files that have changed since are refused."""
        files = {}
        for key, stored_files in stored.items():
            fetched = fetch(name, [stored_files["source"]])
            record = dict(stored_files["record"])
            if fetched.record["sha256"] != record["sha256"]:
                raise ValueError(
                    f"{name}: the files from {record['where']} have changed since they were "
                    "fetched; fetch them again (--forcerun fetch_dataset)"
                )
            files[key] = replace(fetched, record=record)
        return cls(**files)


def fetch_dataset(
    name: str,
    entry: Entry,
    encoder: Entry | None = None,
    allowed: Names[str] | None = None,
    progress: bool = True,
) -> Files:
    """Fetch the files of a data set and of its encoder, each from the first source that has them.

    Parameters as in :func:`load_dataset`.
    """
    entry, short = whole_entry(entry), split_name(name)[1]
    sources = usable_sources(entry, short)
    data, items = fetch(name, sources, allowed, progress), None
    if data.source.get("read") == EMBEDDINGS:
        if not rows_lacking(entry, data.source):
            return Files(data)
        others = [source for source in sources if source.get("read") != EMBEDDINGS]
        items = fetch(f"further rows of {name}", others, allowed, progress)
    if not (encoder or {}).get("sources"):
        return Files(data, None, items)
    assert encoder is not None
    weights = fetch(f"encoder {short}", encoder["sources"], allowed, progress)
    return Files(data, weights, items)


def load_dataset(
    name: str,
    entry: Entry,
    encoder: Entry | None = None,
    *,
    files: Files | None = None,
    allowed: Names[str] | None = None,
    device: str = "auto",
    progress: bool = True,
) -> Table:
    """Load a whole data set as numbers.

    Parameters
    ----------
    name : ``"adult"``, or with an encoder ``"bbc@minilm"``.
    entry : of ``config/datasets.yaml``.
    encoder : of ``encoders.yaml``, see :mod:`nddv.problems.encoders`; for documents and pictures.
    files : the result of an earlier :func:`fetch_dataset`.
    allowed : kinds of sources that may be used; by default all.
    device : of the encoder: ``"auto"``, ``"cpu"`` or ``"cuda"``.
    progress : show the progress on stderr.
    """
    files = files or fetch_dataset(name, entry, encoder, allowed, progress)
    source = files.data.source
    spec = overlaid(whole_entry(entry), source)
    try:
        content = _content(files.data, spec)
        if isinstance(content, FileTable):
            table = numeric_table(content, spec)
        elif encoder is None:
            raise ValueError(f"documents and pictures need an encoder: {name}@ENCODER")
        else:
            encode = partial(_embedded, name, encoder, files.weights, device, progress)
            table = _encoded(content, files.data, spec, encode)
            if files.items:
                table = _extended(table, files, whole_entry(entry), encode)
            if table.X.shape[1] != encoder["dimension"]:
                raise ValueError(
                    f"{table.X.shape[1]} dimensions, but the encoder has {encoder['dimension']}"
                )
        _check_features(table, spec)
    except (ValueError, KeyError) as error:
        reason = f"its entry lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"data set {name}, from {files.data.record['where']}: {reason}{_keys_hint(error)}"
        ) from error
    notices = table.record.get("notices", [])
    notes = [note for note in (entry.get("note"), source.get("note"), *notices) if note]
    record = {**table.record, "source": files.data.record, "notes": notes}
    if progress:
        for notice in notices:
            tqdm.write(f"{name}: {notice}", file=sys.stderr)
    if files.weights:
        record["weights"] = files.weights.record
    return replace(table, name=name, record=record)


def _keys_hint(error: Exception) -> str:
    """The keys of the entry that help."""
    remedies = getattr(error, "remedies", {}).items()
    keys = [f"{key}: {one_line(value)}" for key, value in remedies if key in REMEDIES]
    return f" (keys of its entry: {', '.join(keys)})" if keys else ""


def _content(fetched: Fetched, spec: Entry) -> FileTable | Collection | Embeddings:
    """What files hold; documents may lie in the column of a table."""
    content = read(fetched, spec)
    if isinstance(content, FileTable) and spec.get("data") == "text":
        return documents_of(content, spec)
    return content


Encoding = Callable[[Collection, Fetched, Entry, NDArray[np.intp]], NDArray[Any]]
"""The items, their files, their entry, and the rows to encode -> one embedding a row."""


def _encoded(
    content: Collection | Embeddings, data: Fetched, spec: Entry, encode: Encoding
) -> Table:
    """Encode documents or pictures, or take the embeddings as they are."""
    if spec.get("task") == "regression":
        raise ValueError("documents and pictures have classes: only a table may be a regression")
    y, classes = class_codes(content.labels, spec.get("class_names", {}))
    check_labels(y, spec)
    asked = {**spec, "rows": min(spec.get("rows", len(y)), len(y))} if spec.get("partial") else spec
    rows = chosen_rows(y, asked)
    X = content.X[rows] if isinstance(content, Embeddings) else encode(content, data, spec, rows)
    return Table(X, y[rows], classes)


def _extended(table: Table, files: Files, entry: Entry, encode: Encoding) -> Table:
    """Encode further items, drawn from those that the embeddings are not of, and append them."""
    assert files.items is not None
    spec = overlaid(entry, files.items.source)
    content = _content(files.items, spec)
    if not isinstance(content, Collection):
        raise ValueError(f"the further rows, from {files.items.record['where']}, are no items")
    y, classes = class_codes(content.labels, spec.get("class_names", {}))
    check_labels(y, spec)
    if classes != table.classes:
        raise ValueError(f"the further rows have other classes, from {files.items.record['where']}")
    first = int(files.data.source["first"])
    known = np.unique(np.linspace(0, first - 1, COMPARED).astype(np.intp))
    _check_same_encoder(table.X[known], encode(content, files.items, spec, known), files)
    lacking = rows_lacking(entry, files.data.source)
    rows = first + chosen_rows(y[first:], {**spec, "rows": None if isinf(lacking) else lacking})
    X = np.concatenate([table.X, encode(content, files.items, spec, rows)])
    notice = f"{len(rows)} of {len(X)} rows were encoded, from {files.items.record['where']}"
    return replace(table, X=X, y=np.concatenate([table.y, y[rows]]), record={"notices": [notice]})


def _check_same_encoder(X: NDArray[Any], again: NDArray[Any], files: Files) -> None:
    """Compare embeddings with those that the encoder gives the same items, by their cosines."""
    X, again = X.astype(np.float64), again.astype(np.float64)
    lengths = np.linalg.norm(X, axis=1) * np.linalg.norm(again, axis=1)
    cosines = (X * again).sum(axis=1) / np.maximum(lengths, np.finfo(np.float64).tiny)
    if cosines.min() < SAME:
        raise ValueError(
            f"its embeddings are not those that the encoder gives the same items from "
            f"{files.items and files.items.record['where']} (cosine {cosines.min():.3f}): they "
            "cannot be mixed; ask for fewer 'rows', or leave out this source"
        )


def _embedded(
    name: str,
    encoder: Entry,
    weights: Fetched | None,
    device: str,
    progress: bool,
    content: Collection,
    data: Fetched,
    spec: Entry,
    rows: NDArray[np.intp],
) -> NDArray[Any]:
    """Encode items; shards that an earlier run of the same inputs left in the cache are reused."""
    from nddv.problems.encoders import embed, load_encoder

    function = encoder["function"]
    checksums = [data.record["sha256"], weights and weights.record["sha256"]]
    settings = [function, code_hash(function), encoder.get("settings", {})]
    choice = [{key: spec[key] for key in READING if key in spec}, rows.tolist()]
    store = cache_folder() / "embeddings" / f"{name}-{config_hash([checksums, settings, choice])}"
    encode = load_encoder(encoder, weights.folder if weights else None, device)
    items = Lazy(len(rows), lambda i: content.items[int(rows[i])])
    return embed(items, encode, encoder["dimension"], store, progress=progress, label=name)


def _check_features(table: Table, spec: Entry) -> None:
    features = table.X.shape[1]
    expected = spec.get("expect", {}).get("features", features)
    if features != expected:
        raise ValueError(f"it is not what its entry expects: {features} features, not {expected}")
    if not np.isfinite(table.X).all():
        raise ValueError("some of its numbers are not finite")


def summary(table: Table, entry: Entry) -> dict[str, Any]:
    """The row of a data set in the table of data sets; JSON-able."""
    source = table.record["source"]
    return {
        "dataset": table.name,
        "title": entry.get("title", table.name),
        "data": entry.get("data", "table"),
        "rows": len(table.y),
        "features": table.X.shape[1],
        "classes": len(table.classes) or None,
        "minority": float(np.bincount(table.y).min() / len(table.y)) if table.classes else None,
        "group": entry.get("group", ""),
        "kind": source["kind"],
        "source": source["where"],
        "checksum": "verified" if source["verified"] else UNVERIFIED[source["kind"]],
        "notes": table.record["notes"],
    }
