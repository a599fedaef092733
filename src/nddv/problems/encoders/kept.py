"""Encoded rows that are kept by the content of their items, in shards that are never changed."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nddv.support.files import load_arrays, save_arrays
from nddv.support.wording import one_line

DIGEST_BYTES = 32


@dataclass(frozen=True)
class KeptRows:
    """The rows of one encoder in a folder, which several processes may share.

    A shard is an .npz file with ``keys``, (k, 32) bytes, the SHA-256 of each item, and ``rows``,
    (k, dimension) float16. It is named by its keys, written whole, and has checksums.
    """

    folder: Path

    def read(
        self, wanted: Container[str], dimension: int
    ) -> Iterator[tuple[str, NDArray[np.float16]]]:
        """Yield the rows that are there among the wanted, each once; damaged shards are removed."""
        seen: set[str] = set()
        for path in sorted(self.folder.glob("*.npz")):
            try:
                keys = _keys(path)
                hits = [i for i, key in enumerate(keys) if key in wanted and key not in seen]
                if not hits:
                    continue
                rows = load_arrays(path)["rows"]
                if rows.shape != (len(keys), dimension) or rows.dtype != np.float16:
                    raise ValueError(f"its rows have shape {rows.shape}, {rows.dtype}")
            except FileNotFoundError:
                continue  # another process has removed it
            except (ValueError, KeyError, OSError) as error:
                said = f"{path} is damaged, and its items are encoded again: {one_line(error)}"
                warnings.warn(said, stacklevel=2)
                path.unlink(missing_ok=True)
                continue
            for i in hits:
                seen.add(keys[i])
                yield keys[i], rows[i]

    def add(self, keys: Sequence[str], rows: NDArray[np.float16]) -> None:
        """Keep the (k, dimension) rows of items."""
        digests = bytes.fromhex("".join(keys))
        path = self.folder / f"{hashlib.sha256(digests).hexdigest()[:24]}.npz"
        table = np.frombuffer(digests, dtype=np.uint8).reshape(len(keys), DIGEST_BYTES)
        save_arrays(path, keys=table, rows=rows)


def _keys(path: Path) -> list[str]:
    """The keys of a shard, without its rows: of a large cache only few are needed."""
    try:
        with np.load(path, allow_pickle=False) as shard:
            table = shard["keys"]
    except FileNotFoundError:
        raise
    except Exception as error:  # numpy and zipfile have many kinds of errors for a damaged file
        raise ValueError(one_line(error)) from error
    if table.ndim != 2 or table.shape[1] != DIGEST_BYTES or table.dtype != np.uint8:
        raise ValueError(f"its keys have shape {table.shape}, {table.dtype}")
    return [row.tobytes().hex() for row in table]
