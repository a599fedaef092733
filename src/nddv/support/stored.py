"""Features on disk, read in pieces: for tables larger than memory.

    X = nddv.open_rows("features.npy")          # or a Parquet file and its numeric columns
    nddv.NDDV().fit(X, y, X_meta, y_meta)

Rows are read through the system's file cache, not through a memory map. So the memory of the
process stays small, however large the file is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nddv.support.files import atomic_write

Index = slice | NDArray[np.intp]


class StoredRows:
    """Rows of an (n, d) matrix of float32 or float64 in an .npy file; indexing reads them.

    Consecutive rows are read in one piece.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        with self.path.open("rb") as file:
            self.shape, self.dtype = _header(file, self.path)
            self._start = file.tell()
        self._row_bytes = self.shape[1] * self.dtype.itemsize
        expected, actual = self._start + self.shape[0] * self._row_bytes, self.path.stat().st_size
        if actual < expected:
            raise ValueError(f"{self.path} is cut short: {actual} of {expected} bytes are there")

    def __len__(self) -> int:
        return self.shape[0]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_descriptor"}

    def __getitem__(self, where: Index) -> NDArray[Any]:
        starts, lengths = _runs(where, len(self))
        rows = np.empty((int(lengths.sum()), self.shape[1]), self.dtype)
        room, done = memoryview(rows.reshape(-1).view(np.uint8)), 0  # type: ignore[arg-type]
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            stop = done + length * self._row_bytes
            self._read(room[done:stop], self._start + start * self._row_bytes)
            done = stop
        return rows

    @cached_property
    def _descriptor(self) -> _Descriptor:
        return _Descriptor(self.path)

    def _read(self, room: memoryview, offset: int) -> None:
        while len(room):
            count = os.preadv(self._descriptor.number, [room], offset)
            if count == 0:
                raise OSError(f"{self.path} has become shorter while it was read")
            room, offset = room[count:], offset + count


def write_rows(
    path: Path, shape: tuple[int, int], dtype: np.dtype[Any], blocks: Iterable[NDArray[Any]]
) -> StoredRows:
    """Write (n, d) rows to an .npy file, block by block, and open them."""
    descr = np.dtype(dtype).newbyteorder("<").str
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    rows = 0
    with atomic_write(path) as scratch, scratch.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=descr).data)
            rows += len(block)
        if rows != shape[0]:
            raise ValueError(f"{path}: {rows} rows were to be written, not {shape[0]}")
    return StoredRows(path)


class _Descriptor:
    """An open file that is closed with the object."""

    def __init__(self, path: Path):
        self.number = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        os.close(self.number)


def _header(file: BinaryIO, path: Path) -> tuple[tuple[int, int], np.dtype[Any]]:
    """Shape and dtype that an .npy file states; afterwards the file is at its first number."""
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_columns, dtype = read(file)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path} is not an .npy file: {error}") from None
    if len(shape) != 2 or dtype not in (np.float32, np.float64) or dtype.byteorder == ">":
        raise ValueError(
            f"{path} holds {dtype} of shape {shape}: rows must be stored as a two-dimensional "
            "array of float32 or float64"
        )
    if by_columns and 1 not in shape:
        raise ValueError(f"{path} is stored column by column: save np.ascontiguousarray of it")
    return shape, dtype


def _runs(where: Index, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Starts and lengths of the pieces of consecutive rows."""
    if isinstance(where, slice):
        start, stop, step = where.indices(n)
        if step != 1:
            raise IndexError("rows on disk are read in order: a slice must have step 1")
        return np.array([start]), np.array([max(stop - start, 0)])
    index = np.asarray(where, dtype=np.intp)
    if index.ndim != 1 or (len(index) and (index.min() < 0 or index.max() >= n)):
        raise IndexError(f"row numbers must be from 0 to {n - 1}")
    breaks = np.flatnonzero(np.diff(index) != 1) + 1
    edges = np.concatenate([[0], breaks, [len(index)]]) if len(index) else np.array([0, 0])
    return index[edges[:-1]] if len(index) else np.array([0]), np.diff(edges)
