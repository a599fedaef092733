"""Write files whole or not at all, and read them without pickle.

The import needs the standard library only: the Snakefile imports this module inside Snakemake's own
environment, which may have no numpy.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nddv.support.wording import one_line

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


ZIP_END = 22  # bytes of the record that ends an archive without a comment

_SPACE = "make room there, or write elsewhere, and run again"
_RIGHTS = "make the folder writable, or write elsewhere, and run again"
ADVICE = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), and run again",
    errno.EROFS: _RIGHTS,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EISDIR: "a folder is in its place; remove that, and run again",
}
"""What to do when a file cannot be written."""


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Give a temporary name next to ``path``; rename it to ``path`` if the block succeeds.

    After an error nothing is left behind, and an older file at ``path`` stays. A temporary file
    that a killed process has left disappears when ``path`` is written again.
    """
    path = Path(path)
    with _advised(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        # The suffix is kept because numpy and matplotlib read the format from it.
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}.{os.getpid()}.", suffix=path.suffix, dir=path.parent
        )
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(0o666 & ~umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _advised(path: Path) -> Iterator[None]:
    """Say in one line which file could not be written, and what to do."""
    try:
        yield
    except OSError as error:
        # numpy's error has no code, and only says how many bytes were written
        known = error.errno is not None or "requested and" in str(error)
        advice = ADVICE.get(error.errno or errno.ENOSPC) if known else None
        if advice is None:
            raise
        reason = error.strerror or os.strerror(errno.ENOSPC)
        raise OSError(f"{path} could not be written ({reason}): {advice}") from error


def _sweep(path: Path) -> None:
    """Remove temporary files of ``path`` whose processes have ended."""
    pattern = re.compile(rf"\.{re.escape(path.stem)}\.(\d+)\.\w+{re.escape(path.suffix)}")
    for beside in path.parent.iterdir():
        match = pattern.fullmatch(beside.name)
        if match and not _runs(int(match[1])):
            beside.unlink(missing_ok=True)


def _runs(pid: int) -> bool:
    """Whether there is a process with this number; True if the system does not say (Windows)."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except OSError as error:  # of another kind if the process is another user's
        return not isinstance(error, ProcessLookupError)
    return True


def umask() -> int:
    """The permissions that files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def save_arrays(path: str | Path, **arrays: Any) -> None:
    """Write named arrays to a compressed ``.npz`` file. Arrays of objects are refused."""
    import numpy as np

    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise ValueError(f"{path}: array {name!r} holds Python objects; give it a plain dtype")
    with atomic_write(path) as temporary:
        np.savez_compressed(temporary, **arrays)


def load_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Read every array of a ``.npz`` file, without pickle."""
    import numpy as np

    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; has the rule that makes it been run?")
    try:
        stored = np.load(path, allow_pickle=False)
        if isinstance(stored, np.ndarray):
            raise ValueError("a single array, not an archive")
        with stored:
            arrays = {name: stored[name] for name in stored.files}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member is no array")
        if len(arrays) != _members(path):
            raise ValueError("its list of arrays is damaged")
        return arrays
    except Exception as error:  # numpy and zipfile have many kinds of errors for a damaged file
        raise ValueError(
            f"{path} is not a readable .npz file of plain arrays ({one_line(error)}); delete it "
            "and run again"
        ) from error


def _members(path: Path) -> int:
    """The number of files that an archive states at its end; zipfile does not check it."""
    with path.open("rb") as file:
        file.seek(-ZIP_END, os.SEEK_END)
        return int.from_bytes(file.read(ZIP_END)[10:12], "little")


def write_json(path: str | Path, content: Any) -> None:
    """Write JSON with sorted keys, so that equal content gives equal bytes."""
    with atomic_write(path) as temporary:
        temporary.write_text(as_json(content), encoding="utf-8")


def as_json(content: Any) -> str:
    """The text that :func:`write_json` writes."""
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def read_json(path: str | Path) -> Any:
    """Read a JSON file; the error for a broken one names it."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON ({error}); delete it and run again") from error


def write_csv(path: str | Path, frame: pd.DataFrame) -> None:
    """Write a pandas frame, without its index."""
    with atomic_write(path) as temporary:
        frame.to_csv(temporary, index=False)


def read_csv(path: str | Path, comment: str | None = None) -> pd.DataFrame:
    """Read a pandas frame; the error for a broken file names it.

    comment : lines that begin with it are no rows.
    """
    import pandas as pd

    try:
        return pd.read_csv(path, comment=comment)
    except ValueError as error:
        reason = str(error).strip()
        raise ValueError(
            f"{path} is no readable CSV ({reason}); delete it and run again"
        ) from error


def cache_folder() -> Path:
    """The folder that ``NDDV_CACHE`` names, or ``nddv`` in the user's cache folder."""
    if named := os.environ.get("NDDV_CACHE"):
        return Path(named).expanduser().absolute()
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        parent = Path.home() / "Library" / "Caches"
    else:
        parent = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(parent) / "nddv"
