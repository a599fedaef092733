"""Open features on disk for `NDDV.fit`: .npy files, and Parquet files after writing their rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nddv.support.provenance import config_hash
from nddv.support.stored import StoredRows, write_rows
from nddv.support.wording import pick


def open_rows(
    path: str | Path,
    columns: Sequence[str] | None = None,
    store: str | Path | None = None,
) -> StoredRows:
    """Features of a file, which `NDDV.fit` reads in pieces.

    Parameters
    ----------
    path : an .npy file of a two-dimensional array, or a Parquet file. A Parquet file is first
        written out as float32 rows, batch by batch.
    columns : of the Parquet file; all by default. They must be numeric.
    store : the folder where the rows of a Parquet file are written; by default the folder of the
        file. Rows that were written before are used again if file and columns are the same.
    """
    path = Path(path)
    if path.suffix != ".parquet":
        if columns is not None:
            raise ValueError(f"only columns of a Parquet file can be chosen, not of {path.name}")
        return StoredRows(path)
    about = path.stat()
    content = config_hash([about.st_size, about.st_mtime_ns, list(columns or [])])
    target = Path(store or path.parent) / f"{path.stem}.{content}.npy"
    if not target.exists():
        _write_rows(path, columns, target)
    return StoredRows(target)


def _write_rows(path: Path, columns: Sequence[str] | None, target: Path) -> None:
    """Write numeric columns of a Parquet file as the rows of an .npy file, a batch at a time."""
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from None
    with table:
        types = {field.name: field.type for field in table.schema_arrow}
        names = list(types if columns is None else columns)
        for name in names:
            kind = pick(types, name, f"column of {path.name}")
            if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
                raise ValueError(
                    f"column {name!r} of {path.name} is {kind}, not numeric: leave it out by "
                    "columns=, or encode it first"
                )
        shape = (table.metadata.num_rows, len(names))
        blocks = (
            np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
            for batch in table.iter_batches(columns=names)
        )
        write_rows(target, shape, np.dtype(np.float32), blocks)
