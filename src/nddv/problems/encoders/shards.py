"""Encode a data set in shards, so that a killed run continues where it was."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nddv.problems.encoders.ahead import ahead
from nddv.problems.encoders.load import Encode
from nddv.support.files import load_arrays, save_arrays


def embed(
    items: Sequence[Any],
    encode: Encode,
    dimension: int,
    store: str | Path,
    shard_rows: int = 256,
    progress: bool = True,
    label: str = "",
) -> NDArray[np.float16]:
    """Encode all items; keep finished shards in ``store``.

    Every shard is encoded alone, so a run that was killed and started again gives the same result.
    A store belongs to one data set and one encoder with its settings: name it after both.

    Parameters
    ----------
    items : documents or pictures, read by ``items[i]``. They may lie on disk: a thread reads the
        next shard while the current one is encoded.
    encode : items -> (items, dimension) float32, see :func:`~nddv.problems.encoders.load_encoder`.
    store : folder of the shards ``00000.npz``, ``00001.npz`` ..., which have checksums. Intact
        shards are reused.
    shard_rows : rows of a shard; a killed run loses at most one shard.
    progress : show a bar that counts rows.
    label : name of the data set, for the bar and for errors.

    Returns
    -------
    (len(items), dimension) float16.
    """
    if shard_rows < 1 or dimension < 1:
        raise ValueError(
            f"shard_rows and dimension must be positive, got {shard_rows} and {dimension}"
        )
    store, name = Path(store), label or "the data"
    embedded = np.empty((len(items), dimension), dtype=np.float16)
    missing: list[tuple[Path, range]] = []
    for start in range(0, len(items), shard_rows):
        rows = range(start, min(start + shard_rows, len(items)))
        path = store / f"{start // shard_rows:05d}.npz"
        stored = _load_shard(path, (len(rows), dimension))
        if stored is None:
            missing.append((path, rows))
        else:
            embedded[rows.start : rows.stop] = stored

    def read(shard: tuple[Path, range]) -> list[Any]:
        return [items[row] for row in shard[1]]

    done = len(items) - sum(len(rows) for _, rows in missing)
    shown = {"desc": label or None, "unit": "row", "disable": not progress}
    with tqdm(total=len(items), initial=done, **shown) as bar:
        for (path, rows), batch in zip(missing, ahead(read, missing), strict=True):
            try:
                shard = as_float16(encode(batch), rows, dimension)
            except Exception as error:
                error.add_note(f"while rows {rows.start} to {rows.stop - 1} of {name} were encoded")
                raise
            save_arrays(path, rows=shard)
            embedded[rows.start : rows.stop] = shard
            bar.update(len(rows))
    return embedded


def _load_shard(path: Path, shape: tuple[int, int]) -> NDArray[np.float16] | None:
    """Read a shard; None if it must be computed."""
    if not path.exists():
        return None
    with suppress(ValueError, KeyError):
        shard = load_arrays(path)["rows"]
        if shard.shape == shape and shard.dtype == np.float16 and np.isfinite(shard).all():
            return shard
    warnings.warn(f"{path} is damaged or of another shape: computed again", stacklevel=3)
    return None


def as_float16(
    values: NDArray[np.float32], rows: Sequence[int], dimension: int
) -> NDArray[np.float16]:
    """Check the output of an encoder for ``rows``, and convert it to float16."""
    values = np.asarray(values)
    if values.shape != (len(rows), dimension):
        raise ValueError(
            f"the encoder gave an array of shape {values.shape} for {len(rows)} items, "
            f"but its entry promises ({len(rows)}, {dimension})"
        )
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float16)
    bad = np.argwhere(~np.isfinite(narrow))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"row {rows[row]}: the encoder gave {values[row, column]}, which is no finite "
            "float16 number; look at that item"
        )
    return narrow
