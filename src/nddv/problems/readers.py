"""From fetched files to what they hold: a table, a collection of documents or pictures, embeddings.

The key ``read`` of a source names a reader in ``READERS``. A new file format is one function and
one line in that dictionary.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from nddv.files import load_arrays
from nddv.problems.fetch import Fetched
from nddv.problems.formulas import FORMULAS
from nddv.tabular.files import FileTable, read_table

Item = str | NDArray[np.uint8]

SCIKIT_LEARN = ("digits", "breast_cancer", "wine")
PICTURES = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}
CIFAR_PIXELS = 3 * 32 * 32
STL_PIXELS = 3 * 96 * 96


@dataclass(frozen=True)
class Lazy(Sequence[Item]):
    """Items that are read from disk when they are asked for."""

    length: int
    read: Callable[[int], Item]

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self.read(i) for i in range(*index.indices(self.length))]
        return self.read(range(self.length)[index])


@dataclass(frozen=True)
class Collection:
    """Documents or pictures, (h, w, 3) uint8, and the class name of each, (rows,)."""

    items: Sequence[Item]
    labels: NDArray[np.str_]


@dataclass(frozen=True)
class Embeddings:
    """Items that somebody has encoded already: X (rows, dimension) and class names (rows,)."""

    X: NDArray[np.floating[Any]]
    labels: NDArray[np.str_]


Content = FileTable | Collection | Embeddings


def read(fetched: Fetched, entry: Mapping[str, Any]) -> Content:
    """Read what was fetched; ``entry`` is the data set's entry overlaid with its source's."""
    kind = fetched.source["kind"]
    name = "table" if kind == "file" else entry.get("read", "table")
    reader = NO_FILES.get(kind) or READERS.get(name)
    if reader is None:
        raise ValueError(f"unknown reader {name!r}; known: {', '.join(READERS)}")
    return reader(fetched, entry)


def _table(fetched: Fetched, entry: Mapping[str, Any]) -> FileTable:
    """A CSV or Parquet file."""
    return read_table(
        _only_file(fetched),
        entry.get("separator"),
        entry.get("encoding", "utf-8"),
        entry.get("na", ()),
    )


def _documents(fetched: Fetched, entry: Mapping[str, Any]) -> Collection:
    """One text file a document; the class is what ``label`` finds in the path."""
    assert fetched.folder is not None
    found = _labelled(fetched.files, entry["label"])
    encodings = [entry.get("encoding", "utf-8"), *entry.get("other_encodings", ())]
    texts = [_text(fetched.folder / name, encodings) for name in found]
    return Collection(texts, np.array(list(found.values())))


def _text(path: Path, encodings: Sequence[str]) -> str:
    content = path.read_bytes()
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ValueError(f"{path} is not {' or '.join(encodings)} text: name its encoding")


def _pictures(fetched: Fetched, entry: Mapping[str, Any]) -> Collection:
    """One picture file an item, in a folder or a tar file; the class is in the path."""
    assert fetched.folder is not None
    folder = fetched.folder
    if len(fetched.files) == 1 and fetched.files[0].endswith(".tar"):
        path = folder / fetched.files[0]
        with tarfile.open(path, "r:") as archive:
            places = {m.name: (m.offset_data, m.size) for m in archive if m.isreg()}
        found = _labelled([n for n in places if _is_picture(n)], entry["label"])
        names = list(found)

        def read_picture(i: int) -> Item:
            start, size = places[names[i]]
            with path.open("rb") as tar:
                tar.seek(start)
                return _decode(tar.read(size), names[i])
    else:
        found = _labelled([n for n in fetched.files if _is_picture(n)], entry["label"])
        names = list(found)

        def read_picture(i: int) -> Item:
            return _decode((folder / names[i]).read_bytes(), names[i])

    only = entry.get("only_classes")
    if only is not None:
        names = [name for name in names if found[name] in set(only)]
    return Collection(Lazy(len(names), read_picture), np.array([found[n] for n in names]))


def _is_picture(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in PICTURES


def _labelled(names: Sequence[str], pattern: str) -> dict[str, str]:
    """The names in which the pattern is found, in order, with the class that it captures."""
    expression = re.compile(pattern)
    if expression.groups != 1:
        raise ValueError(f"the label pattern {pattern!r} must have one group (...), for the class")
    found = {name: match[1] for name in sorted(names) if (match := expression.search(name))}
    if not found:
        shown = ", ".join(sorted(names)[:3]) or "none"
        raise ValueError(f"no file matches the label pattern {pattern!r}; there are: {shown}")
    return found


def _decode(content: bytes, name: str) -> NDArray[np.uint8]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as picture:
            return np.asarray(picture.convert("RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(f"{name} cannot be read as a picture: {error}") from error


def _jpegs(fetched: Fetched, entry: Mapping[str, Any]) -> Collection:
    """An .npz file of JPEG files end to end (`jpeg`, `offsets`), with `label` and `classes`."""
    arrays = load_arrays(_only_file(fetched))
    jpeg, offsets = arrays["jpeg"], arrays["offsets"]

    def read_picture(i: int) -> Item:
        return _decode(jpeg[offsets[i] : offsets[i + 1]].tobytes(), f"picture {i}")

    return Collection(Lazy(len(offsets) - 1, read_picture), arrays["classes"][arrays["label"]])


def _cifar(fetched: Fetched, entry: Mapping[str, Any]) -> Collection:
    """CIFAR's binary files: a byte for the class, then 32 × 32 pixels, colour by colour."""
    assert fetched.folder is not None
    rows = []
    for name in fetched.files:
        content = np.fromfile(fetched.folder / name, dtype=np.uint8)
        if len(content) % (1 + CIFAR_PIXELS):
            raise ValueError(f"{name} is no CIFAR file: {len(content)} bytes")
        rows.append(content.reshape(-1, 1 + CIFAR_PIXELS))
    table = np.concatenate(rows)
    pictures = table[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return Collection(Lazy(len(table), pictures.__getitem__), _named(table[:, 0], entry["classes"]))


def _stl(fetched: Fetched, entry: Mapping[str, Any]) -> Collection:
    """STL10's binary files: 96 × 96 pixels by colour and column; classes 1..10."""
    assert fetched.folder is not None
    files = {PurePosixPath(name).name: fetched.folder / name for name in fetched.files}
    pixels = np.fromfile(files["train_X.bin"], dtype=np.uint8)
    codes = np.fromfile(files["train_y.bin"], dtype=np.uint8)
    if len(pixels) != STL_PIXELS * len(codes):
        raise ValueError(f"train_X.bin has {len(pixels)} bytes for {len(codes)} labels")
    pictures = pixels.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1)
    return Collection(Lazy(len(codes), pictures.__getitem__), _named(codes - 1, entry["classes"]))


def _embeddings(fetched: Fetched, entry: Mapping[str, Any]) -> Embeddings:
    """An .npz file with `emb`, (rows, dimension), and `label`, (rows,) codes of the classes."""
    arrays = load_arrays(_only_file(fetched))
    missing = {"emb", "label"} - set(arrays)
    if missing:
        raise ValueError(f"{_only_file(fetched)} lacks {', '.join(sorted(missing))}")
    classes = arrays[entry["classes_array"]] if "classes_array" in entry else entry["classes"]
    return Embeddings(arrays["emb"], _named(arrays["label"], classes))


def _named(codes: NDArray[np.integer[Any]], classes: Any) -> NDArray[np.str_]:
    if codes.max() >= len(classes):
        raise ValueError(f"label {codes.max()} has no name among {len(classes)} classes")
    return np.asarray(classes, dtype=np.str_)[codes]


def _only_file(fetched: Fetched) -> Path:
    if fetched.folder is None or len(fetched.files) != 1:
        shown = ", ".join(fetched.files[:3])
        raise ValueError(f"one file is expected, there are {len(fetched.files)}: {shown}")
    return fetched.folder / fetched.files[0]


def _generated(fetched: Fetched, entry: Mapping[str, Any]) -> FileTable:
    formula = entry["formula"]
    if formula not in FORMULAS:
        raise ValueError(f"unknown formula {formula!r}; known: {', '.join(FORMULAS)}")
    frame = FORMULAS[formula](int(entry["rows_drawn"]), int(entry["data_seed"]))
    return FileTable(Path(formula), frame, text=False)


def _scikit_learn(fetched: Fetched, entry: Mapping[str, Any]) -> FileTable:
    from sklearn import datasets

    loader = entry["loader"]
    if loader not in SCIKIT_LEARN:
        raise ValueError(f"unknown loader {loader!r}; known: {', '.join(SCIKIT_LEARN)}")
    bunch = getattr(datasets, f"load_{loader}")(as_frame=True)
    names = np.asarray(bunch.target_names).astype(np.str_)
    frame = bunch.frame.assign(target=names[bunch.target.to_numpy()])
    return FileTable(Path(loader), frame, text=False)


Reader = Callable[[Fetched, Mapping[str, Any]], Content]

NO_FILES: dict[str, Reader] = {"generated": _generated, "scikit-learn": _scikit_learn}
READERS: dict[str, Reader] = {
    "table": _table,
    "documents": _documents,
    "pictures": _pictures,
    "jpegs": _jpegs,
    "cifar": _cifar,
    "stl": _stl,
    "embeddings": _embeddings,
}
