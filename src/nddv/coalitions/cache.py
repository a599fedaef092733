"""Scores of coalitions on disk, so that rules, jobs and repetitions share their fits.

A game has one SQLite file, named by the content of its arrays and settings; in it a coalition is
named by the content of its weights. Any number of processes may use the same file. A damaged
file is replaced by a new one, and a file that cannot be used is left alone; both are said.
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

DIGEST_BYTES = 16
BUSY_SECONDS = 60.0
KEYS_PER_QUERY = 500
TABLE = (
    "CREATE TABLE IF NOT EXISTS scores"
    " (coalition BLOB PRIMARY KEY, accuracy REAL NOT NULL, log_likelihood REAL NOT NULL)"
    " WITHOUT ROWID"
)

Result = TypeVar("Result")


def default_folder() -> Path:
    """Where scores are kept unless another folder is named."""
    from nddv.problems.fetch import cache_folder

    return cache_folder() / "coalitions"


def game_key(arrays: Iterable[NDArray[np.generic]], *settings: object) -> str:
    """Name a game by its arrays (values, shapes and types) and settings."""
    digest = blake2b(repr(settings).encode(), digest_size=DIGEST_BYTES)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def coalition_keys(weights: NDArray[np.generic]) -> list[bytes]:
    """Name coalitions by their weights (B, n), whatever the type of the numbers."""
    weights = np.asarray(weights)
    subset = ((weights == 0) | (weights == 1)).all(axis=1)
    # The bits of a subset and the numbers of a sample differ in length unless n = 0.
    bits = iter(np.packbits(weights[subset].astype(bool), axis=1))
    numbers = iter(weights[~subset].astype(np.float64))
    rows = (next(bits) if is_subset else next(numbers) for is_subset in subset)
    return [blake2b(row.tobytes(), digest_size=DIGEST_BYTES).digest() for row in rows]


class ScoreCache:
    """The scores of one game's coalitions in a folder.

    Parameters
    ----------
    folder : made when something is stored.
    game : the game's key.
    """

    def __init__(self, folder: Path, game: str) -> None:
        self.path = Path(folder) / f"{game}.sqlite"
        self.usable = True

    def lookup(self, keys: list[bytes]) -> NDArray[np.float64]:
        """Accuracies and log-likelihoods (B, 2) of coalitions; NaN for those not stored."""

        def select(connection: sqlite3.Connection) -> dict[bytes, tuple[float, float]]:
            found = {}
            for first in range(0, len(keys), KEYS_PER_QUERY):
                some = keys[first : first + KEYS_PER_QUERY]
                marks = ",".join("?" * len(some))
                query = f"SELECT * FROM scores WHERE coalition IN ({marks})"
                found.update({key: pair for key, *pair in connection.execute(query, some)})
            return found

        found = self._run(select) if self.path.exists() else None
        unknown = (np.nan, np.nan)
        pairs = [found.get(key, unknown) for key in keys] if found else [unknown] * len(keys)
        return np.array(pairs, dtype=np.float64).reshape(len(keys), 2)

    def store(self, keys: list[bytes], scores: NDArray[np.float64]) -> None:
        """Keep the scores (B, 2) of coalitions; what is stored already stays as it is."""
        rows = [(key, *pair) for key, pair in zip(keys, scores.tolist(), strict=True)]
        insert = "INSERT OR IGNORE INTO scores VALUES (?, ?, ?)"
        self._run(lambda connection: connection.executemany(insert, rows))

    def _run(self, action: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Run in a transaction of its own; None if the file cannot be used."""
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
        # A connection of its own each time: no process holds the file while it fits.
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
            # The journal first: afterwards it could be that of another process's new file.
            for name in (f"{self.path.name}-journal", self.path.name):
                self.path.with_name(name).unlink(missing_ok=True)

    def _is_damaged(self) -> bool:
        try:
            (verdict,) = self._transaction(
                lambda connection: connection.execute("PRAGMA quick_check").fetchone()
            )
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            return True
        return bool(verdict != "ok")


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the content is broken, as opposed to a file that is locked, full or not to be had."""
    return not isinstance(error, sqlite3.OperationalError)
