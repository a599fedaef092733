"""Read fetched files: a table, documents, pictures or embeddings.

The key ``read`` of a source names a reader in ``READERS``. To add a file format, write one function
and add one line to that dictionary.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from nddv.problems.fetch import Fetched
from nddv.problems.formulas import FORMULAS
from nddv.support.files import load_arrays
from nddv.support.wording import pick
from nddv.tabular.files import FileTable, read_table

Item = str | NDArray[np.uint8]

SCIKIT_LEARN = ("digits", "breast_cancer", "wine")
PICTURES = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}
CIFAR_PIXELS = 3 * 32 * 32
STL_PIXELS = 3 * 96 * 96


@dataclass(frozen=True)
class Lazy(Sequence[Item]):
    """Items that are read from disk on demand."""

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
    """Documents, or (h, w, 3) uint8 pictures, and their class names (rows,)."""

    items: Sequence[Item]
    labels: NDArray[np.str_]


@dataclass(frozen=True)
class Embeddings:
    """Items that are encoded already: X (rows, dimension) and class names (rows,)."""

    X: NDArray[np.floating[Any]]
    labels: NDArray[np.str_]


Content = FileTable | Collection | Embeddings


def read(fetched: Fetched, entry: Mapping[str, Any]) -> Content:
    """Read fetched files; ``entry`` is the data set's entry, overlaid with its source."""
    kind = fetched.source["kind"]
    name = "table" if kind == "file" else entry.get("read", "table")
    return (NO_FILES.get(kind) or pick(READERS, name, "reader"))(fetched, entry)


def _table(fetched: Fetched, entry: Mapping[str, Any]) -> FileTable:
    """A CSV or Parquet file."""
    how = entry.get("separator"), entry.get("encoding", "utf-8"), entry.get("na", ())
    return read_table(_only_file(fetched), *how)


def _documents(fetched: Fetched, entry: Mapping[str, Any]) -> Collection:
    """One text file per document; the pattern ``label`` finds the class in the path."""
    assert fetched.folder is not None
    labels = _labelled(fetched.files, entry["label"])
    encodings = [entry.get("encoding", "utf-8"), *entry.get("other_encodings", ())]
    texts = [_text(fetched.folder / name, encodings) for name in labels]
    return Collection(texts, np.array(list(labels.values())))


def _text(path: Path, encodings: Sequence[str]) -> str:
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            return path.read_bytes().decode(encoding)
    raise ValueError(f"{path} is not {' or '.join(encodings)} text: name its encoding")


def _pictures(fetched: Fetched, entry: Mapping[str, Any]) -> Collection:
    """One file per picture, in a folder or a tar file; the class is in the path."""
    assert fetched.folder is not None
    # A picture is a piece of a file: (file, start, bytes); −1 bytes are the whole file.
    places = {name: (fetched.folder / name, 0, -1) for name in fetched.files}
    if len(fetched.files) == 1 and fetched.files[0].endswith(".tar"):
        path = fetched.folder / fetched.files[0]
        try:
            with tarfile.open(path, "r:") as archive:
                places = {m.name: (path, m.offset_data, m.size) for m in archive if m.isreg()}
        except (tarfile.TarError, OSError, ValueError) as error:
            raise ValueError(f"{path} cannot be read as a tar file: {error}") from error
    pictures = [name for name in places if PurePosixPath(name).suffix.lower() in PICTURES]
    labels = _labelled(pictures, entry["label"])
    only = set(entry.get("only_classes", labels.values()))
    names = [name for name in labels if labels[name] in only]

    def read_picture(i: int) -> Item:
        path, start, size = places[names[i]]
        with path.open("rb") as file:
            file.seek(start)
            return _decode(file.read(size), names[i])

    return Collection(Lazy(len(names), read_picture), np.array([labels[n] for n in names]))


def _labelled(names: Sequence[str], pattern: str) -> dict[str, str]:
    """The names that match the pattern, sorted, each with the class that the pattern captures."""
    expression = re.compile(pattern)
    if expression.groups != 1:
        raise ValueError(f"the label pattern {pattern!r} must have one group (...), for the class")
    labels = {name: match[1] for name in sorted(names) if (match := expression.search(name))}
    if not labels:
        shown = ", ".join(sorted(names)[:3]) or "none"
        raise ValueError(f"no file matches the label pattern {pattern!r}; there are: {shown}")
    return labels


def _decode(content: bytes, name: str) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as picture:
            return np.asarray(picture.convert("RGB"))
    except Exception as error:  # every format of pictures has its own kinds of errors
        raise ValueError(f"{name} cannot be read as a picture: {error}") from error


def _jpegs(fetched: Fetched, entry: Mapping[str, Any]) -> Collection:
    """An .npz file of concatenated JPEG files (`jpeg`, `offsets`), with `label` and `classes`."""
    jpeg, offsets, label, classes = _arrays(fetched, "jpeg", "offsets", "label", "classes")
    if not _is_index(offsets, len(jpeg)) or len(offsets) != len(label) + 1:
        raise ValueError(f"{_only_file(fetched)}: its offsets do not fit its pictures and labels")

    def read_picture(i: int) -> Item:
        return _decode(jpeg[offsets[i] : offsets[i + 1]].tobytes(), f"picture {i}")

    return Collection(Lazy(len(label), read_picture), _named(label, classes))


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
    for name in ("train_X.bin", "train_y.bin"):
        if name not in files:
            raise ValueError(f"there is no {name} among the files of {fetched.folder}")
    pixels = np.fromfile(files["train_X.bin"], dtype=np.uint8)
    codes = np.fromfile(files["train_y.bin"], dtype=np.uint8)
    if len(pixels) != STL_PIXELS * len(codes):
        raise ValueError(f"train_X.bin has {len(pixels)} bytes for {len(codes)} labels")
    pictures = pixels.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1)
    return Collection(Lazy(len(codes), pictures.__getitem__), _named(codes - 1, entry["classes"]))


def _embeddings(fetched: Fetched, entry: Mapping[str, Any]) -> Embeddings:
    """An .npz file with `emb`, (rows, dimension), and `label`, (rows,) codes of the classes."""
    names = [entry["classes_array"]] if "classes_array" in entry else []
    emb, label, *named = _arrays(fetched, "emb", "label", *names)
    if emb.ndim != 2 or emb.dtype.kind not in "fiu" or len(emb) != len(label):
        shape = f"emb is {emb.dtype} of shape {emb.shape}, for {len(label)} labels"
        raise ValueError(f"{_only_file(fetched)}: {shape}")
    return Embeddings(emb, _named(label, named[0] if named else entry["classes"]))


def _arrays(fetched: Fetched, *names: str) -> list[NDArray[Any]]:
    """Arrays with rows of an .npz file, by name."""
    path = _only_file(fetched)
    arrays = load_arrays(path)
    missing = [name for name in names if name not in arrays or arrays[name].ndim == 0]
    if missing:
        raise ValueError(f"{path} lacks the array {', '.join(missing)}")
    return [arrays[name] for name in names]


def _is_index(numbers: NDArray[Any], last: int) -> bool:
    """Whether these are whole numbers from 0 to the last."""
    whole = numbers.ndim == 1 and numbers.dtype.kind in "iu" and numbers.size > 0
    return whole and int(numbers.min()) >= 0 and int(numbers.max()) <= last


def _named(codes: NDArray[Any], classes: Any) -> NDArray[np.str_]:
    if not _is_index(codes, len(classes) - 1):
        whole = codes.dtype.kind in "iu" and codes.size > 0
        codes_seen = f"{codes.min()} to {codes.max()}" if whole else f"of {codes.dtype}"
        raise ValueError(f"not all labels {codes_seen} have a name among {len(classes)} classes")
    return np.asarray(classes, dtype=np.str_)[codes]


def _only_file(fetched: Fetched) -> Path:
    if fetched.folder is None or len(fetched.files) != 1:
        shown = ", ".join(fetched.files[:3])
        raise ValueError(f"one file is expected, there are {len(fetched.files)}: {shown}")
    return fetched.folder / fetched.files[0]


def _generated(fetched: Fetched, entry: Mapping[str, Any]) -> FileTable:
    draw = pick(FORMULAS, entry["formula"], "formula")
    frame = draw(int(entry["rows_drawn"]), int(entry["data_seed"]))
    return FileTable(Path(entry["formula"]), frame, text=False)


def _scikit_learn(fetched: Fetched, entry: Mapping[str, Any]) -> FileTable:
    from sklearn import datasets

    loader = pick({name: name for name in SCIKIT_LEARN}, entry["loader"], "loader")
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
