"""Encode documents or picture files of a user's own; what was encoded once is kept by content."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nddv.problems.encoders.ahead import ahead
from nddv.problems.encoders.kept import KeptRows
from nddv.problems.encoders.known import DATA, DEFAULTS, Kind, known_encoders
from nddv.problems.encoders.load import Encode, load_encoder
from nddv.problems.encoders.shards import as_float16
from nddv.problems.fetch import fetch
from nddv.problems.registry import code_hash
from nddv.support.files import cache_folder
from nddv.support.provenance import config_hash
from nddv.support.wording import InputError, one_line, pick

SHARD_ROWS = 128  # encoded together, then kept: a killed run loses no more
# What the encoders of the library need besides torch.
PACKAGES: dict[str, str] = {"text": "transformers", "picture": "PIL"}
Items = Sequence[str] | Sequence[Path]
Decode = Callable[[Any, str], Any]  # an item and its key -> what the encoder takes


@dataclass(frozen=True)
class Encoded:
    """Items as rows of numbers.

    Attributes
    ----------
    X : (n, dimension) float32; NaN for the items that are refused.
    refused : why, by position, for empty documents and pictures that cannot be read.
    sha256 : (n,) of the content of each item, "" for a file that cannot be read.
    """

    X: NDArray[np.float32]
    refused: dict[int, str]
    sha256: list[str]


def encode_items(
    items: Items,
    encoder: str | Mapping[str, Any] | None = None,
    kind: Kind = "text",
    cache: str | Path | None = None,
    *,
    device: str = "auto",
    progress: bool = True,
    label: str = "",
) -> Encoded:
    """Encode documents or picture files.

    Every item is encoded once: a later call, also one after an interruption, takes it from the
    cache. Where all are there, neither the weights nor the packages of the encoder are needed.

    Parameters
    ----------
    items : documents, or paths of picture files.
    encoder : name of a known one, or an entry as ``encoders.yaml`` has them; by default the one for
        this kind of ``DEFAULTS``.
    kind : "text" or "picture".
    cache : folder of encoded rows; by default ``items`` in the cache folder.
    device : "auto" (a GPU where there is one), "cpu" or "cuda".
    progress : show on stderr where the weights come from, and a bar.
    label : what the items are, for the bar.
    """
    name, entry = _entry(encoder, kind)
    dimension = int(entry["dimension"])
    kept = KeptRows(Path(cache or cache_folder() / "items") / f"{name}-{_identity(entry)}")
    shown = {"unit": kind, "disable": not progress}
    reading = tqdm(items, desc=f"{label or kind}: read", leave=False, **shown)
    sums, refused = _checksums(reading, _sum_of_text if kind == "text" else _sum_of_file)
    X = np.full((len(items), dimension), np.nan, dtype=np.float32)
    places: dict[str, list[int]] = {}  # equal items are encoded once
    for position, key in enumerate(sums):
        if position not in refused:
            places.setdefault(key, []).append(position)
    for key, row in kept.read(places, dimension):
        X[places.pop(key)] = row
    if not places:
        return Encoded(X, refused, sums)

    keys = list(places)
    shards = [keys[i : i + SHARD_ROWS] for i in range(0, len(keys), SHARD_ROWS)]
    encode = _loaded(name, entry, kind, device, progress)
    decode: Decode = _as_it_is if kind == "text" else _decoder()

    def read(shard: list[str]) -> list[tuple[str, Any]]:
        """The content of items, or the reason why there is none."""
        contents = []
        for key in shard:
            try:
                contents.append((key, decode(items[places[key][0]], key)))
            except (ValueError, OSError) as error:
                refused.update(dict.fromkeys(places[key], _reason(error)))
        return contents

    waiting = sum(len(same) for same in places.values())
    started = len(items) - len(refused) - waiting
    with (
        tqdm(total=started + waiting, initial=started, desc=label or kind, **shown) as bar,
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", module=r"PIL\.")  # of files that can be read all the same
        for shard, contents in zip(shards, ahead(read, shards), strict=True):
            if contents:
                rows = [places[key][0] for key, _ in contents]
                encoded = as_float16(encode([item for _, item in contents]), rows, dimension)
                kept.add([key for key, _ in contents], encoded)
                for (key, _), row in zip(contents, encoded, strict=True):
                    X[places[key]] = row
            bar.update(sum(len(places[key]) for key in shard))
    return Encoded(X, refused, sums)


def _entry(encoder: str | Mapping[str, Any] | None, kind: Kind) -> tuple[str, Mapping[str, Any]]:
    """Name and entry of an encoder; an entry of the user's own has its function's name."""
    pick(DATA, kind, "kind of items")
    encoder = encoder or DEFAULTS[kind]
    if isinstance(encoder, str):
        name, entry = encoder, pick(known_encoders(), encoder, "encoder")
    else:
        name, entry = str(encoder["function"]).rpartition(":")[2], dict(encoder)
    if entry["data"] != DATA[kind]:
        fitting = [n for n, other in known_encoders().items() if other["data"] == DATA[kind]]
        raise InputError(
            f"the encoder {name} does not encode a {kind}; take one of {', '.join(fitting)}",
            encoder=DEFAULTS[kind],
        )
    return name, entry


def _identity(entry: Mapping[str, Any]) -> str:
    """What of an entry decides the rows, and the code that it names."""
    keys = ("function", "settings", "dimension", "sources")
    return config_hash([{key: entry.get(key) for key in keys}, code_hash(entry["function"])])


def _loaded(name: str, entry: Mapping[str, Any], kind: Kind, device: str, progress: bool) -> Encode:
    """The encoder with its weights, which are fetched if they are not there."""
    own = not str(entry["function"]).startswith("nddv.")
    if find_spec(PACKAGES[kind]) is None and not (own and kind == "text"):
        raise InputError(
            f"to encode a {kind}, {PACKAGES[kind]} must be installed: pip install 'nddv[encode]'"
        )
    folder = None
    if entry.get("sources"):
        folder = fetch(f"encoder {name}", entry["sources"], progress=progress).folder
    return load_encoder(entry, folder, device)


def _checksums(
    items: Sequence[Any], checksum: Callable[[Any], str]
) -> tuple[list[str], dict[int, str]]:
    sums, refused = [], {}
    for position, item in enumerate(items):
        try:
            sums.append(checksum(item))
        except (ValueError, OSError) as error:
            sums.append("")
            refused[position] = _reason(error)
    return sums, refused


def _sum_of_text(text: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"it is no text but of type {type(text).__name__}")
    if not text.strip():
        raise ValueError("the text is empty")
    return hashlib.sha256(text.encode()).hexdigest()


def _sum_of_file(path: Path) -> str:
    return hashlib.sha256(_content(path)).hexdigest()


def _content(path: Path) -> bytes:
    if not os.path.lexists(path):
        raise ValueError("there is no such file")
    if not path.is_file():
        raise ValueError("it is no file")
    return path.read_bytes()


def _as_it_is(text: str, key: str) -> str:
    return text


def _decoder() -> Callable[[Path, str], NDArray[np.uint8]]:
    from nddv.problems.encoders.photos import decode  # loads Pillow

    def read(path: Path, key: str) -> NDArray[np.uint8]:
        content = _content(path)
        if hashlib.sha256(content).hexdigest() != key:
            raise ValueError("it was altered while it was read")
        return decode(content)

    return read


def _reason(error: Exception) -> str:
    return one_line(error.strerror or error if isinstance(error, OSError) else error)
