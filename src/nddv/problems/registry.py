"""The meaning of the entries of ``config/datasets.yaml`` and ``encoders/encoders.yaml``.

A data set of documents or pictures is named with its encoder, ``bbc@minilm``; a table has no
encoder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from nddv.support.provenance import HASH_LENGTH, source_hash
from nddv.support.wording import pick

Entry = Mapping[str, Any]

EMBEDDINGS = "embeddings"
"""The reader of files whose items are encoded already."""


def _table(target: str, /, **source: Any) -> dict[str, Any]:
    return {"data": "table", "target": target, "sources": [source]}


def _real(target: str, /, **source: Any) -> dict[str, Any]:
    """A table whose target is a real number."""
    return {**_table(target, **source), "task": "regression"}


_DRAWN = {"kind": "generated", "rows_drawn": 40768}
_HALVES = {**_DRAWN, "binarise": "mean"}
_HEAVY = {"kind": "generated", "formula": "heavy_tails", "rows_drawn": 20000}
# Data sets that need no file and no network. These are their entries in config/datasets.yaml,
# without the prose and without other sources.
BUILT_IN = {
    "2dplanes": _table("binaryClass", **_HALVES, formula="2dplanes", data_seed=727, target="y"),
    "fire": _table("binaryClass", **_HALVES, formula="friedman", data_seed=901, target="Y"),
    "fire_target": _real("Y", **_DRAWN, formula="friedman", data_seed=901),
    "houses": _real("price", kind="generated", formula="houses", rows_drawn=20640, data_seed=1),
    "heavy_tails": _table("y", **_HEAVY, data_seed=1),
    "heavy_tails_2": _table("y", **_HEAVY, data_seed=2),
    "digits": _table("target", kind="scikit-learn", loader="digits"),
    "breast_cancer": _table("target", kind="scikit-learn", loader="breast_cancer"),
    "wine": _table("target", kind="scikit-learn", loader="wine"),
}


def split_name(name: str) -> tuple[str, str | None]:
    """Split ``"bbc@minilm"`` into data set and encoder; the encoder of a table is None."""
    dataset, at, encoder = name.partition("@")
    return dataset, encoder if at else None


def task_of(name: str, datasets: Mapping[str, Entry]) -> str:
    """What is to be learnt from a data set: ``"classification"`` or ``"regression"``."""
    task: str = datasets[split_name(name)[0]].get("task", "classification")
    return task


def check_name(name: str, datasets: Mapping[str, Entry], encoders: Mapping[str, Entry]) -> None:
    """Raise if a data set or encoder is unknown, or if the two do not fit."""
    dataset, encoder = split_name(name)
    entry = pick(datasets, dataset, "data set")
    kind = entry.get("data", "table")
    fitting = [e for e, value in encoders.items() if value["data"] == kind]
    if kind == "table":
        if encoder is not None:
            raise ValueError(f"{dataset} is a table and takes no encoder: write {dataset!r}")
        return
    if encoder is None:
        wrong = f"{dataset} holds {kind}s and needs an encoder"
    elif pick(encoders, encoder, "encoder")["data"] != kind:
        wrong = f"{encoder} does not encode {kind}s"
    else:
        return
    raise ValueError(f"{wrong}: write {dataset}@ENCODER with one of {', '.join(fitting)}")


def whole_entry(entry: Entry) -> dict[str, Any]:
    """Expand the short form of a user's table, ``{source: csv, path: ..., target: ...}``."""
    if "source" not in entry:
        return dict(entry)
    if "path" not in entry:
        raise ValueError(f"an entry with source {entry['source']} needs the 'path' of the file")
    source = {"kind": "file", "path": entry["path"]}
    rest = {key: value for key, value in entry.items() if key not in ("source", "path")}
    return {"data": "table", **rest, "sources": [source]}


def usable_sources(entry: Entry, encoder: str | None) -> list[dict[str, Any]]:
    """The sources that can serve an encoder, in order.

    Ready embeddings serve only the encoder that made them. Embeddings of a part of the data set
    serve only if no more ``rows`` are asked for, or if it is known which items they are of, so that
    others can be encoded (``first``).
    """
    return [
        dict(source)
        for source in entry["sources"]
        if "encoder" not in source
        or (source["encoder"] == encoder and ("first" in source or not rows_lacking(entry, source)))
    ]


def rows_lacking(entry: Entry, source: Entry) -> float:
    """How many rows an entry asks for beyond those of embeddings of a part of the data set.

    Infinitely many if it asks for all.
    """
    if not source.get("partial"):
        return 0
    return max(entry.get("rows", math.inf) - source["expect"]["rows"], 0)


def code_hash(function: str) -> str:
    """Hash the code of a ``module:function`` without importing it; a change gives another hash."""
    module = function.partition(":")[0]
    if module.startswith("nddv."):
        return source_hash(module.removeprefix("nddv."))
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""  # the encoder says so when it is loaded
    return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()[:HASH_LENGTH]


def overlaid(entry: Entry, source: Entry) -> dict[str, Any]:
    """The entry with the keys of one of its sources, which win."""
    expect = {**entry.get("expect", {}), **source.get("expect", {})}
    return {**entry, **source, "expect": expect}


def unavailable(
    name: str, entry: Entry, encoder: Entry | None, allowed: Collection[str]
) -> str | None:
    """Why no source of a data set, or of its encoder, can be tried; None if one can.

    Two reasons can be known without trying: the kinds of sources are not allowed, or the user has
    not supplied the files.
    """
    entry = whole_entry(entry)
    usable = usable_sources(entry, split_name(name)[1])
    sources = [source for source in usable if not rows_lacking(entry, source)]
    reason = _nothing_to_try(sources, allowed)
    if reason or encoder is None or not encoder.get("sources"):
        return reason
    ready = [source for source in sources if source.get("read") == EMBEDDINGS]
    if ready and _nothing_to_try(ready, allowed) is None:
        return None
    lacking = _nothing_to_try(encoder["sources"], allowed)
    return lacking and f"its encoder: {lacking}"


def _nothing_to_try(sources: Sequence[Entry], allowed: Collection[str]) -> str | None:
    possible = [source for source in sources if source["kind"] in allowed]
    if not possible:
        kinds = ", ".join(dict.fromkeys(source["kind"] for source in sources))
        return f"its sources ({kinds}) are not among those that the configuration allows"
    if any(source["kind"] != "local" for source in possible):
        return None
    folder = os.environ.get("NDDV_DATA")
    if folder and any(Path(folder, s["path"]).expanduser().exists() for s in possible):
        return None
    paths = ", ".join(source["path"] for source in possible)
    return f"you supply its files ({paths}) in the folder that NDDV_DATA names"
