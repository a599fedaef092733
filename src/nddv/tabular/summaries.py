"""What a column is like, from all its entries at once or from one chunk of them after the other.

A `Summary` holds what decisions about a column need: how many entries are missing and where the
first is, of which kind the entries are, how often each word occurs, the smallest and the largest
number. Chunks are added to it. A table in memory is the case of one chunk, so that a table is
understood in the same way whether it is read at once or in pieces.
"""

from __future__ import annotations

from collections import Counter
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nddv.tabular.entries import (
    SORTS,
    Kind,
    are_dates,
    are_numbers,
    count,
    kind_of_type,
    numbers_of,
    words_of,
)
from nddv.tabular.files import Source, TableError


class Places:
    """Rows where something holds: the first of them, and how many there are."""

    def __init__(self) -> None:
        self.first = -1
        self.count = 0

    def add(self, condition: ArrayLike, start: int = 0) -> None:
        """Add rows, of which the first has the position ``start``."""
        rows = np.flatnonzero(np.asarray(condition))
        if rows.size and self.count == 0:
            self.first = start + int(rows[0])
        self.count += rows.size

    def named(self, source: Source) -> str:
        """Name the first row, and say how many others there are."""
        more = f" and {count(self.count - 1, 'other row')}" if self.count > 1 else ""
        return source.where(self.first) + more


class Numbers:
    """What is known of the numbers of a column.

    Attributes
    ----------
    low, high : the smallest and the largest.
    infinite : where they are infinite.
    foreign : whether an entry is no number.
    """

    def __init__(self, file: Path | None = None):
        self.low, self.high = np.inf, -np.inf
        self.infinite = Places()
        self.foreign = False
        self._rows, self._last, self._by_one = 0, np.nan, True
        self._kept: list[NDArray[np.float64]] | Path = [] if file is None else file

    def add(self, numbers: NDArray[np.float64], keep: bool) -> None:
        """Add the next numbers, NaN where missing; ``keep`` them if the median will be asked."""
        self.infinite.add(np.isinf(numbers), self._rows)
        if numbers.size:
            with np.errstate(over="ignore", invalid="ignore"):
                steps = np.abs(np.diff(numbers, prepend=[self._last] if self._rows else []))
            self._by_one &= bool((steps == 1).all())
            self._rows, self._last = self._rows + numbers.size, float(numbers[-1])
        present = numbers[~np.isnan(numbers)]
        if present.size:
            self.low = min(self.low, float(present.min()))
            self.high = max(self.high, float(present.max()))
        if keep and isinstance(self._kept, list):
            self._kept.append(present)
        elif keep:
            with self._kept.open("ab") as file:  # type: ignore[union-attr]
                file.write(present.tobytes())

    @property
    def counting(self) -> bool:
        """Whether the numbers go up or down by one from row to row."""
        return self._rows > 2 and self._by_one

    def median(self) -> float:
        """The median of the numbers that were kept."""
        kept = self._kept
        numbers = np.concatenate(kept) if isinstance(kept, list) else np.fromfile(kept)
        return float(np.median(numbers, overwrite_input=True))


class Summary:
    """What is known of a column from the entries that were added.

    Attributes
    ----------
    rows : how many entries were added.
    missing : where there is none.
    words : how often each word occurs, if the entries may be categories.
    numbers : of entries that may be numbers, flags or dates.
    """

    def __init__(
        self,
        name: str,
        dtype: Any,
        text: bool,
        kind: Kind | None = None,
        medians: bool = False,
        numbers_file: Path | None = None,
    ):
        """Begin with no entries.

        name, dtype : of the column as a whole.
        text : whether it comes from a text file.
        kind : if it is known; by default the type and the entries decide.
        medians : whether the median will be asked for.
        numbers_file : holds the numbers until then; by default they stay in memory.
        """
        self.name, self.dtype = name, dtype
        self.rows = 0
        self.missing = Places()
        self.words: Counter[str] = Counter()
        self.numbers = Numbers(numbers_file)
        self._known: Kind | None = kind or kind_of_type(dtype)
        self._text, self._medians = text, medians
        # of entries whose type says nothing: what all of them are, the first type that is neither
        # word nor number, whether all are dates, and which are no numbers
        self._sorts = list(SORTS)
        self._strange: type | None = None
        self._dates = True
        self._no_number = Places()
        self._first_word = ""

    def add(self, series: pd.Series) -> None:
        """Add the next entries."""
        absent = series.isna().to_numpy()
        kind = self._known or self._look(series, absent)
        if kind == "category" or (self._known is None and self._may_be_words()):
            entries = series[~absent]
            self.words.update(words_of(entries).value_counts(sort=False).to_dict())
        if kind != "category":
            self._add_numbers(series, absent, kind)
        self.missing.add(absent, self.rows)
        self.rows += len(series)

    def kind(self, source: Source) -> Kind:
        """What the column holds. Its type decides; where that says nothing, its entries do."""
        if self._known is not None:
            return self._known
        if not self._sorts:
            strange = self._strange.__name__ if self._strange else ""
            raise TableError(
                f"column {self.name!r} of {source.path} holds entries of type {strange}; "
                "turn them into numbers or words, or keep the column out",
                drop=self.name,
            )
        sort = self._sorts[0]
        if sort == "word":
            return self._kind_of_words(source)
        return "category" if sort == "word or number" else sort  # type: ignore[return-value]

    def check(self, source: Source, kind: Kind, impute: bool) -> None:
        """Raise for entries that are missing (unless imputed), of another kind, or not finite."""
        if not impute and self.missing.count == self.rows:
            raise TableError(
                f"column {self.name!r} of {source.path} is empty; keep it out", drop=self.name
            )
        if not impute and self.missing.count:
            raise TableError(
                f"column {self.name!r} has no entry at {self.missing.named(source)}; "
                "complete or remove these rows, keep the column out, or have missing entries "
                "imputed",
                drop=self.name,
                missing="impute",
            )
        if kind == "category":
            return
        if self.numbers.foreign:
            raise TableError(
                f"column {self.name!r} of {source.path} does not hold {kind}s as in the valued "
                "table"
            )
        check_finite(source, self.numbers.infinite, f"column {self.name!r}")

    def is_saved_index(self) -> bool:
        """Whether this is the index that pandas writes into a CSV file under an empty name."""
        return (
            self.name.startswith("Unnamed: ")
            and pd.api.types.is_integer_dtype(self.dtype)
            and self.numbers.counting
        )

    def _look(self, series: pd.Series, absent: NDArray[np.bool_]) -> Kind:
        """The kind of the entries so far, as far as their numbers are concerned."""
        entries = series[~absent]
        if isinstance(series.dtype, pd.StringDtype):
            types: list[type] = [str]
        else:
            types = list(entries.map(type).unique())
        self._sorts = [s for s in self._sorts if all(issubclass(t, SORTS[s]) for t in types)]
        strange = (t for t in types if not issubclass(t, str | Real))
        self._strange = self._strange or next(strange, None)
        if not self._may_be_words():
            self.words.clear()
        sort = self._sorts[0] if self._sorts else ""
        if sort == "word" and len(entries):
            self._look_at_words(series, absent)
        if sort == "word":
            return "date" if self._dates else "category"
        return sort if sort in ("flag", "number", "date") else "category"  # type: ignore[return-value]

    def _may_be_words(self) -> bool:
        return bool({"word", "word or number"} & set(self._sorts))

    def _look_at_words(self, series: pd.Series, absent: NDArray[np.bool_]) -> None:
        codes, different = pd.factorize(series)
        words = pd.Series(different)
        self._dates = self._dates and are_dates(words)
        if self._text:
            no_number = ~are_numbers(words)[codes] & ~absent
            if self._no_number.count == 0 and no_number.any():
                self._first_word = series.iloc[int(no_number.argmax())]
            self._no_number.add(no_number, self.rows)

    def _kind_of_words(self, source: Source) -> Kind:
        if self._dates:
            return "date"
        words = self.rows - self.missing.count
        if self._text and 0.5 < 1 - self._no_number.count / words < 1.0:
            raise TableError(
                f"column {self.name!r} holds numbers, but {self._first_word!r} at "
                f"{self._no_number.named(source)}; "
                "correct it, declare it as missing, or take the column as categories",
                na=self._first_word,
                categorical=self.name,
            )
        return "category"

    def _add_numbers(self, series: pd.Series, absent: NDArray[np.bool_], kind: Kind) -> None:
        try:
            numbers = numbers_of(series, kind)
        except (TypeError, ValueError):
            self.numbers.foreign = True
            return
        self.numbers.foreign |= bool((np.isnan(numbers) & ~absent).any())
        self.numbers.add(numbers, self._medians)


def summarise(series: pd.Series, text: bool, **options: Any) -> Summary:
    """The summary of a whole column; the options are those of `Summary`."""
    summary = Summary(str(series.name), series.dtype, text, **options)
    summary.add(series)
    return summary


def rows_where(source: Source, condition: ArrayLike) -> str:
    """Name the first row where a condition holds, and say how many others there are."""
    places = Places()
    places.add(condition)
    return places.named(source)


def check_finite(source: Source, infinite: Places, what: str) -> None:
    """Raise for infinite numbers; missing ones pass."""
    if infinite.count:
        where = infinite.named(source)
        raise TableError(f"{what} is infinite at {where}; correct or remove these rows")
