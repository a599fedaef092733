"""The parts of a problem and their numbers of rows. Needs the standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral

PARTS = ("train", "valid", "test", "meta")


def part_sizes(n: int, sizes: Mapping[str, int | float]) -> dict[str, int]:
    """Rows of each part, the training part of ``n`` rows first.

    Parameters
    ----------
    sizes : of the parts ``valid``, ``test`` and ``meta``: a whole number of rows, or a share of n
        between 0 and 1.
    """
    sides = PARTS[1:]  # parts are drawn in this order, whatever the order of the configuration
    if set(sizes) != set(sides):
        raise ValueError(f"sizes must give {', '.join(sides)}, got {', '.join(sizes) or 'nothing'}")
    if n < 1:
        raise ValueError(f"n, the number of training points, must be positive, got {n}")
    return {"train": n} | {part: _rows(part, sizes[part], n) for part in sides}


def _rows(part: str, size: int | float, n: int) -> int:
    whole = isinstance(size, Integral) and not isinstance(size, bool)
    if not whole and not (isinstance(size, float) and 0 < size < 1):
        raise ValueError(
            f"the size of the {part} part must be a whole number of rows or a share of n between "
            f"0 and 1, got {size!r}"
        )
    rows = int(size) if whole else round(size * n)
    if rows < 1:
        raise ValueError(f"the size {size} of the {part} part gives {rows} rows at n={n}")
    return rows
