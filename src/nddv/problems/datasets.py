"""Load a data set: fetch, read, encode, check against what its entry promises."""

from __future__ import annotations

import sys
from collections.abc import Collection as Names
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nddv.files import config_hash
from nddv.problems.fetch import Fetched, cache_folder, fetch
from nddv.problems.readers import Collection, Embeddings, Item, Lazy, read
from nddv.problems.registry import (
    Entry,
    code_hash,
    overlaid,
    split_name,
    usable_sources,
    whole_entry,
)
from nddv.problems.splits import stratified_splits
from nddv.problems.tables import Table
from nddv.tabular.encoding import MISSING_LEVEL, Rules, describe, learn_encoding, read_target
from nddv.tabular.files import FileTable, TableError

# A share of the smallest class that differs from the expected one by more is another data set.
SHARE_TOLERANCE = 0.005
MAXIMUM_CLASSES = 1000
MAXIMUM_GROUPS = 50
UNVERIFIED = {
    "generated": "a formula",
    "scikit-learn": "of the installed package",
    "local": "none known",
    "official": "none known",
    "file": "your own file",
}


@dataclass(frozen=True)
class Files:
    """The files of a data set and, where it has yet to be encoded, those of its encoder."""

    data: Fetched
    weights: Fetched | None = None

    def to_json(self) -> dict[str, Any]:
        """Where the files came from: what :meth:`again` needs."""
        found = {"data": self.data, "weights": self.weights}
        return {
            key: {"source": one.source, "record": one.record} for key, one in found.items() if one
        }

    @classmethod
    def again(cls, name: str, stored: Mapping[str, Any]) -> Files:
        """The same files by the same sources; those that have changed since are refused."""
        found = {}
        for key, one in stored.items():
            fetched = fetch(name, [one["source"]])
            record = dict(one["record"])
            if fetched.record["sha256"] != record["sha256"]:
                raise ValueError(
                    f"{name}: the files from {record['where']} have changed since they were "
                    "fetched; fetch them again (--forcerun fetch_dataset)"
                )
            found[key] = replace(fetched, record=record)
        return cls(**found)


def fetch_dataset(
    name: str,
    entry: Entry,
    encoder: Entry | None = None,
    allowed: Names[str] | None = None,
    progress: bool = True,
) -> Files:
    """Fetch the files of a data set, and its encoder's, each by the first source that has them.

    Parameters as in :func:`load_dataset`.
    """
    short = split_name(name)[1]
    data = fetch(name, usable_sources(whole_entry(entry), short), allowed, progress)
    needs_weights = encoder is not None and encoder.get("sources")
    if not needs_weights or data.source.get("read") == "embeddings":
        return Files(data)
    assert encoder is not None
    return Files(data, fetch(f"encoder {short}", encoder["sources"], allowed, progress))


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
    encoder : of ``config/encoders.yaml``, for documents and pictures.
    files : fetched before, by :func:`fetch_dataset`.
    allowed : kinds of sources that may be used; all unless given.
    device : for the encoder: ``"auto"``, ``"cpu"`` or ``"cuda"``.
    progress : show it on stderr.
    """
    files = files or fetch_dataset(name, entry, encoder, allowed, progress)
    source = files.data.source
    spec = overlaid(whole_entry(entry), source)
    try:
        content = read(files.data, spec)
        if isinstance(content, FileTable) and spec.get("data") == "text":
            content = _documents_of(content, spec)
        if isinstance(content, FileTable):
            table = _numeric(content, spec)
        elif encoder is None:
            raise ValueError(f"documents and pictures need an encoder: {name}@ENCODER")
        else:
            table = _encoded(name, content, spec, encoder, files, device, progress)
        _check_features(table, spec)
    except (ValueError, KeyError) as error:
        reason = f"its entry lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"data set {name}, from {files.data.record['where']}: {reason}{_keys_hint(error)}"
        ) from error
    notices = table.record.get("notices", [])
    record = {
        **table.record,
        "source": files.data.record,
        "notes": [note for note in (entry.get("note"), source.get("note"), *notices) if note],
    }
    if progress:
        for notice in notices:
            tqdm.write(f"{name}: {notice}", file=sys.stderr)
    if files.weights:
        record["weights"] = files.weights.record
    return replace(table, name=name, record=record)


def _keys_hint(error: Exception) -> str:
    if isinstance(error, TableError) and "--" in str(error):
        return " (in an entry, the keys drop, categorical, missing and na do what these options do)"
    return ""


def _documents_of(table: FileTable, spec: Entry) -> Collection:
    columns = [spec["text"], spec["target"]]
    table.check_columns(columns, "text and target of the entry")
    for column in columns:
        absent = np.flatnonzero(table.frame[column].isna())
        if absent.size:
            raise ValueError(f"{column!r} is missing at {table.where(int(absent[0]))}")
    texts, labels = (table.frame[column].astype(str).tolist() for column in columns)
    return Collection(texts, np.array(labels))


def _numeric(table: FileTable, spec: Entry) -> Table:
    """Turn the columns of a table into numbers, its target into classes."""
    frame = table.frame.rename(columns=spec.get("rename", {}))
    table = FileTable(table.path, frame, table.text)
    target, group = spec["target"], spec.get("group")
    labels = _target(table, target, spec.get("binarise"))
    y, classes = _classes(labels, spec.get("class_names", {}))
    rows = _balanced(y, spec) if spec.get("balance") else np.arange(len(y))
    _check_labels(y[rows], spec)
    rows = rows[_subset(y[rows], spec)]
    table.check_columns(spec.get("features", ()), "features of the entry")
    table.check_columns(spec.get("drop", ()), "drop of the entry")
    if target in spec.get("features", ()):
        raise ValueError(f"the target {target!r} is among the features")
    used = set(spec.get("features", frame.columns)) - {target, *spec.get("drop", ())}
    rules = Rules(
        ignore=tuple(c for c in frame.columns if c not in used),
        categorical=tuple(spec.get("categorical", ())),
        impute=spec.get("missing", "error") == "impute",
        max_categories=int(spec.get("max_categories", 50)),
        keep_constant=True,
    )
    encoding = learn_encoding(table, rules)
    X = encoding.apply(table).to_numpy()[rows]
    codes, names = (None, []) if group is None else _groups(table, group)
    return Table(
        X,
        y[rows],
        classes,
        None if codes is None else codes[rows],
        names,
        record={"columns": describe(encoding.columns), "notices": list(encoding.notices)},
    )


def _target(table: FileTable, column: str, binarise: str | None) -> NDArray[Any]:
    """The target; binarised, the family of OpenML's v2 data sets: below the mean P, else N."""
    target = read_target(table, column, "regression" if binarise else "auto")
    if binarise == "mean":
        return np.where(target < target.mean(), "P", "N")
    if target.dtype.kind == "f" or len(np.unique(target)) > MAXIMUM_CLASSES:
        raise ValueError(
            f"target {column!r} holds numbers, not classes; split it at its mean with "
            "'binarise: mean' in the entry"
        )
    return target


def _classes(
    labels: NDArray[Any], names_of: Mapping[str, str]
) -> tuple[NDArray[np.int64], list[str]]:
    """Codes 0..C−1 in the order of the labels, and their names."""
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"the target has only one class, {names[0]}: there is nothing to learn")
    return codes.astype(np.int64), [names_of.get(str(name), str(name)) for name in names]


def _groups(table: FileTable, column: str) -> tuple[NDArray[np.int64], list[str]]:
    """Codes of the group attribute; rows without an entry are a group of their own."""
    table.check_columns([column], "group of the entry")
    series = table.frame[column]
    words = series.astype(object).where(series.notna(), MISSING_LEVEL).astype(str)
    names, codes = np.unique(words.to_numpy(dtype=np.str_), return_inverse=True)
    if not 2 <= len(names) <= MAXIMUM_GROUPS:
        raise ValueError(
            f"the group {column!r} has {len(names)} levels; groups to compare are at least 2 and "
            f"at most {MAXIMUM_GROUPS}"
        )
    return codes.astype(np.int64), [str(name) for name in names]


def _balanced(y: NDArray[np.int64], spec: Entry) -> NDArray[np.intp]:
    """As many rows of every class as the smallest has, drawn by the data seed, in file order."""
    rng = np.random.default_rng(int(spec.get("data_seed", 0)))
    smallest = int(np.bincount(y).min())
    drawn = [rng.permutation(np.flatnonzero(y == c))[:smallest] for c in range(int(y.max()) + 1)]
    return np.sort(np.concatenate(drawn))


def _subset(y: NDArray[np.int64], spec: Entry) -> NDArray[np.intp]:
    """The rows that are kept: ``rows`` of them, stratified, in file order; all unless asked."""
    wanted = spec.get("rows")
    if wanted is None:
        return np.arange(len(y))
    if wanted > len(y):
        raise ValueError(f"{wanted} rows are asked for ('rows'), but there are only {len(y)}")
    rng = np.random.default_rng(int(spec.get("data_seed", 0)))
    kept = np.sort(stratified_splits(y, {"kept": int(wanted)}, rng)["kept"])
    if len(np.unique(y[kept])) < len(np.unique(y)):
        raise ValueError(f"{wanted} rows ('rows') leave a class without any: raise them")
    return kept


def _encoded(
    name: str,
    content: Collection | Embeddings,
    spec: Entry,
    encoder: Entry,
    files: Files,
    device: str,
    progress: bool,
) -> Table:
    """Encode documents or pictures, or take the embeddings as they are."""
    y, classes = _classes(content.labels, spec.get("class_names", {}))
    _check_labels(y, spec)
    rows = _subset(y, spec)
    if isinstance(content, Collection):
        items = Lazy(len(rows), lambda i: content.items[int(rows[i])])
        X = _embedded(
            name, items, encoder, files, [_reading(spec), rows.tolist()], device, progress
        )
    else:
        X = content.X[rows]
    if X.shape[1] != encoder["dimension"]:
        raise ValueError(f"{X.shape[1]} dimensions, but the encoder has {encoder['dimension']}")
    return Table(X, y[rows], classes)


def _reading(spec: Entry) -> dict[str, Any]:
    """What, besides the files, decides which items are read and in which order."""
    keys = ("read", "text", "label", "encoding", "other_encodings", "only_classes")
    return {key: spec[key] for key in keys if key in spec}


def _embedded(
    name: str,
    items: Sequence[Item],
    encoder: Entry,
    files: Files,
    choice: Any,
    device: str,
    progress: bool,
) -> NDArray[Any]:
    """Encode items, resuming from the shards in the cache that the same inputs have left there."""
    from nddv.problems.encoders import embed, load_encoder

    function, weights = encoder["function"], files.weights
    checksums = [files.data.record["sha256"], weights and weights.record["sha256"]]
    settings = [function, code_hash(function), encoder.get("settings", {})]
    key = config_hash([checksums, settings, choice])
    store = cache_folder() / "embeddings" / f"{name}-{key}"
    encode = load_encoder(encoder, weights.folder if weights else None, device)
    return embed(items, encode, encoder["dimension"], store, progress=progress, label=name)


def _check_labels(y: NDArray[np.int64], spec: Entry) -> None:
    """Compare the labels of the whole data set with what the entry expects."""
    expect: Mapping[str, Any] = spec.get("expect", {})
    counts = np.bincount(y)
    share = float(counts.min() / len(y))
    wrong = []
    if len(y) != expect.get("rows", len(y)):
        wrong.append(f"{len(y)} rows, not {expect['rows']}")
    if len(counts) != expect.get("classes", len(counts)):
        wrong.append(f"{len(counts)} classes, not {expect['classes']}")
    if abs(share - expect.get("minority", share)) > SHARE_TOLERANCE:
        wrong.append(f"{share:.3f} of the rows in the smallest class, not {expect['minority']}")
    if wrong:
        raise ValueError(f"it is not what its entry expects: {'; '.join(wrong)}")


def _check_features(table: Table, spec: Entry) -> None:
    features = table.X.shape[1]
    expected = spec.get("expect", {}).get("features", features)
    if features != expected:
        raise ValueError(f"it is not what its entry expects: {features} features, not {expected}")
    if not np.isfinite(table.X).all():
        raise ValueError("some of its numbers are not finite")


def summary(table: Table, entry: Entry) -> dict[str, Any]:
    """What the table of data sets says of one; JSON-able."""
    source = table.record["source"]
    return {
        "dataset": table.name,
        "title": entry.get("title", table.name),
        "data": entry.get("data", "table"),
        "rows": len(table.y),
        "features": table.X.shape[1],
        "classes": len(table.classes),
        "minority": float(np.bincount(table.y).min() / len(table.y)),
        "group": entry.get("group", ""),
        "kind": source["kind"],
        "source": source["where"],
        "checksum": "verified" if source["verified"] else UNVERIFIED[source["kind"]],
        "notes": table.record["notes"],
    }
