"""Scores of coalitions on disk, so that methods, jobs and repetitions share their fits.

A cache stores together what was fitted together: a block of coalitions, or a walk. The last digits
of a fit depend on where it begins and on the other fits in its arrays. A whole block is the same
whether it was stored or fitted, so neither a cache nor an interruption changes a result.

A game has one SQLite file, named by the content of its arrays and settings. Any number of processes
may use the same file. A damaged file is replaced by a new one, and a file that cannot be used is
left alone; both cases give a warning.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterable
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from nddv.support.files import cache_folder
from nddv.support.settings import UTILITIES

DIGEST_BYTES = 16
BUSY_SECONDS = 60.0
STORED_TYPE = np.dtype("<f8")
TABLE = (
    "CREATE TABLE IF NOT EXISTS blocks"
    " (block BLOB PRIMARY KEY, scores BLOB NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID"
)

Result = TypeVar("Result")


def default_folder() -> Path:
    """Where scores are kept unless another folder is named."""
    return cache_folder() / "coalitions"


def content_key(arrays: Iterable[NDArray[np.generic]], *settings: object) -> bytes:
    """A name for the content of arrays (values, shapes and types) and settings."""
    digest = blake2b(repr(settings).encode(), digest_size=DIGEST_BYTES)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


class ScoreCache:
    """The scores of one game's coalitions in a folder.

    Parameters
    ----------
    folder : it is made when something is stored.
    game : the game's key.
    """

    def __init__(self, folder: Path, game: bytes) -> None:
        self.path = Path(folder) / f"{game.hex()}.sqlite"
        self.usable = True

    def lookup(self, block: bytes) -> NDArray[np.float64] | None:
        """Utilities (B, 3) of the coalitions of a block; None if unknown."""

        def select(connection: sqlite3.Connection) -> NDArray[np.float64] | None:
            query = "SELECT scores, checksum FROM blocks WHERE block = ?"
            row = connection.execute(query, (block,)).fetchone()
            if row is None:
                return None
            scores, checksum = row
            # SQLite notices a broken page, but not a number that has changed.
            if _checksum(block, scores) != checksum:
                raise sqlite3.DatabaseError("a block does not have its checksum")
            return np.frombuffer(scores, STORED_TYPE).astype(np.float64).reshape(-1, len(UTILITIES))

        return self._run(select) if self.path.exists() else None

    def store(self, block: bytes, scores: NDArray[np.float64]) -> None:
        """Keep the utilities (B, 3) of a block; they replace any older ones."""
        content = np.asarray(scores, STORED_TYPE).tobytes()
        row = (block, content, _checksum(block, content))
        insert = "INSERT OR REPLACE INTO blocks VALUES (?, ?, ?)"
        self._run(lambda connection: connection.execute(insert, row))

    def _run(self, action: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Run an action in a new transaction; None if the file cannot be used."""
        if not self.usable:
            return None
        try:
            try:
                return self._transaction(action)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._replace(error)
                return self._transaction(action)
        except (sqlite3.DatabaseError, OSError) as error:
            self.usable = False
            warnings.warn(
                f"{self.path}: cannot be used ({error}); going on without stored utilities",
                stacklevel=4,
            )
            return None

    def _transaction(self, action: Callable[[sqlite3.Connection], Result]) -> Result:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # A new connection each time: no process holds the file while it fits.
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection, connection:
            # Safe against killed processes; a loss of power may damage the file, which is noticed.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(TABLE)
            return action(connection)

    def _replace(self, error: sqlite3.DatabaseError) -> None:
        """Remove a damaged file, unless another process has done so meanwhile."""
        with FileLock(self.path.with_suffix(".lock"), timeout=BUSY_SECONDS):
            if not self._is_damaged():
                return
            warnings.warn(f"{self.path}: damaged ({error}); beginning a new one", stacklevel=6)
            # The journal goes first: later, another process may have made a new file with one.
            for name in (f"{self.path.name}-journal", self.path.name):
                self.path.with_name(name).unlink(missing_ok=True)

    def _is_damaged(self) -> bool:
        def check(connection: sqlite3.Connection) -> bool:
            (verdict,) = connection.execute("PRAGMA quick_check").fetchone()
            rows = connection.execute("SELECT block, scores, checksum FROM blocks")
            return verdict != "ok" or any(_checksum(b, s) != checksum for b, s, checksum in rows)

        try:
            return self._transaction(check)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            return True


def _checksum(block: bytes, scores: bytes) -> bytes:
    return blake2b(block + scores, digest_size=DIGEST_BYTES).digest()


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the content is broken; otherwise the file is locked, full or out of reach."""
    return not isinstance(error, sqlite3.OperationalError)
