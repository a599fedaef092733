"""What the functions of tables and figures are given, read from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nddv.support.files import read_csv, read_json


def read_inputs(paths: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """Read the files of each argument, by its name.

    CSV files become one frame, JSON files a list of records; ``tables`` is a frame for each file by
    its name. A file of another kind stays a path. Without files: an empty frame.
    """
    return {name: _read(name, [of] if isinstance(of, str) else of) for name, of in paths.items()}


def _read(name: str, files: Sequence[str]) -> Any:
    if name == "tables":
        return {Path(path).stem: read_csv(path) for path in files}
    comment = "#" if name == "published" else None
    suffixes = {Path(path).suffix for path in files}
    if suffixes <= {".csv"}:
        frames = [read_csv(path, comment) for path in files]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    return [read_json(path) for path in files] if suffixes == {".json"} else files[0]
