"""Load a data set: fetch, read, encode, check against what its entry promises."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.files import config_hash
from nddv.problems.fetch import Fetched, cache_folder, fetch
from nddv.problems.readers import Collection, Embeddings, Item, Lazy, read
from nddv.problems.registry import Entry, overlaid, split_name, usable_sources, whole_entry
from nddv.problems.splits import stratified_splits
from nddv.problems.tables import Table
from nddv.tabular.encoding import Rules, describe, learn_encoding, read_target
from nddv.tabular.files import FileTable, TableError

# A share of the smallest class that differs from the expected one by more is another data set.
SHARE_TOLERANCE = 0.005
MAXIMUM_CLASSES = 1000
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
        """The same files by the same sources, from the cache where they are; verified once more."""
        return cls(
            **{
                key: replace(fetch(name, [one["source"]]), record=dict(one["record"]))
                for key, one in stored.items()
            }
        )


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
    if encoder is None or data.source.get("read") == "embeddings":
        return Files(data)
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
        _check(table, spec)
    except (ValueError, KeyError) as error:
        reason = f"its entry lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"data set {name}, from {files.data.record['where']}: {reason}{_keys_hint(error)}"
        ) from error
    record = {
        **table.record,
        "source": files.data.record,
        "notes": [note for note in (entry.get("note"), source.get("note")) if note],
    }
    if files.weights:
        record["weights"] = files.weights.record
    return replace(table, name=name, record=record)


def _keys_hint(error: Exception) -> str:
    if isinstance(error, TableError) and "--" in str(error):
        return " (options with -- are keys of the entry, without the dashes)"
    return ""


def _documents_of(table: FileTable, spec: Entry) -> Collection:
    table.check_columns([spec["text"], spec["target"]], "text and target of the entry")
    texts = table.frame[spec["text"]].astype(str).tolist()
    return Collection(texts, table.frame[spec["target"]].to_numpy(dtype=np.str_))


def _numeric(table: FileTable, spec: Entry) -> Table:
    """Turn the columns of a table into numbers, its target into classes."""
    frame = table.frame.rename(columns=spec.get("rename", {}))
    table = FileTable(table.path, frame, table.text)
    target, group = spec["target"], spec.get("group")
    labels = _target(table, target, spec.get("binarise"))
    y, classes = _classes(labels, spec.get("class_names", {}))
    rows = _balanced(y, spec) if spec.get("balance") else np.arange(len(y))
    _check_rows(len(rows), spec)
    rows = rows[_subset(y[rows], spec)]
    if "features" in spec:
        table.check_columns(spec["features"], "features of the entry")
        used = set(spec["features"])
    else:
        used = set(frame.columns) - {target, *spec.get("drop", ())}
        table.check_columns(spec.get("drop", ()), "drop of the entry")
    if group is not None:
        table.check_columns([group], "group of the entry")
    rules = Rules(
        ignore=tuple(c for c in frame.columns if c not in used),
        categorical=tuple(spec.get("categorical", ())),
        impute=spec.get("missing", "error") == "impute",
        max_categories=int(spec.get("max_categories", 50)),
        keep_constant=True,
    )
    encoding = learn_encoding(table, rules)
    X = encoding.apply(table).to_numpy()[rows]
    codes, names = (None, []) if group is None else _classes(frame[group].astype(str).to_numpy())
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
    labels: NDArray[Any], names_of: Mapping[str, str] = MappingProxyType({})
) -> tuple[NDArray[np.int64], list[str]]:
    """Codes 0..C−1 in the order of the labels, and their names."""
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"the target has only one class, {names[0]}: there is nothing to learn")
    return codes.astype(np.int64), [names_of.get(str(name), str(name)) for name in names]


def _balanced(y: NDArray[np.int64], spec: Entry) -> NDArray[np.intp]:
    """As many rows of every class as the smallest has, drawn by the data seed, in file order."""
    rng = np.random.default_rng(int(spec.get("data_seed", 0)))
    smallest = int(np.bincount(y).min())
    drawn = [rng.permutation(np.flatnonzero(y == c))[:smallest] for c in range(int(y.max()) + 1)]
    return np.sort(np.concatenate(drawn))


def _subset(y: NDArray[np.int64], spec: Entry) -> NDArray[np.intp]:
    """The rows that are kept: ``rows`` of them, stratified, in file order; all unless asked."""
    wanted = spec.get("rows")
    if wanted is None or wanted >= len(y):
        return np.arange(len(y))
    rng = np.random.default_rng(int(spec.get("data_seed", 0)))
    return np.sort(stratified_splits(y, {"kept": int(wanted)}, rng)["kept"])


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
    _check_rows(len(y), spec)
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

    assert files.weights is not None
    assert files.weights.folder is not None
    checksums = [files.data.record["sha256"], files.weights.record["sha256"]]
    settings = [encoder["function"], encoder.get("settings", {})]
    key = config_hash([checksums, settings, choice])
    store = cache_folder() / "embeddings" / f"{name}-{key}"
    encode = load_encoder(encoder, files.weights.folder, device)
    return embed(items, encode, encoder["dimension"], store, progress=progress, label=name)


def _check_rows(rows: int, spec: Entry) -> None:
    expected = spec.get("expect", {}).get("rows")
    if expected is not None and rows != expected:
        raise ValueError(f"it has {rows} rows, but its entry expects {expected}")


def _check(table: Table, spec: Entry) -> None:
    """Compare what was loaded with what the entry expects."""
    expect: Mapping[str, Any] = spec.get("expect", {})
    share = float(np.bincount(table.y).min() / len(table.y))
    wrong = []
    if "features" in expect and table.X.shape[1] != expect["features"]:
        wrong.append(f"{table.X.shape[1]} features, not {expect['features']}")
    if "classes" in expect and len(table.classes) != expect["classes"]:
        wrong.append(f"{len(table.classes)} classes, not {expect['classes']}")
    if "minority" in expect and abs(share - expect["minority"]) > SHARE_TOLERANCE:
        wrong.append(f"{share:.3f} of the rows in the smallest class, not {expect['minority']}")
    if not np.isfinite(table.X).all():
        wrong.append("values that are not finite")
    if wrong:
        raise ValueError(f"it is not what its entry expects: {'; '.join(wrong)}")


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
