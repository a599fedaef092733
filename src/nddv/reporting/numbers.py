"""How numbers are written: with as many digits as their spread warrants."""

from __future__ import annotations

import math

NONE = "—"
DIGITS = 3
ROUNDING = 1e-9  # a smaller spread comes from rounding: it says nothing of the digits


def number(value: float, digits: int | None = None) -> str:
    """Write ``0.712``, or ``—`` where there is no number; -1 digits round to tens."""
    if math.isnan(value):
        return NONE
    digits = decimals(value) if digits is None else digits
    return f"{round(value, digits) + 0.0:.{max(digits, 0)}f}"  # + 0.0: no minus before a zero


def decimals(value: float) -> int:
    """Of a number whose spread is not known: three, and fewer from 1 on: three digits in all."""
    before = math.floor(math.log10(abs(value))) if abs(value) >= 1 else -1
    return max(DIGITS - 1 - before, 0)


def with_spread(mean: float, spread: float, digits: int | None = None) -> str:
    """Write ``0.993 ± 0.004``; without a spread, as :func:`number` does."""
    if math.isnan(mean) or math.isnan(spread):
        return number(mean, digits)
    places = spread_digits(spread) if spread > ROUNDING else digits
    if places is None:
        places = decimals(mean)
    return f"{number(mean, places)} ± {number(spread, places)}"


def spread_digits(spread: float) -> int:
    """Decimals of a positive spread, by the rule of the Particle Data Group.

    Of its first three digits, 100 to 354 keep two, 355 to 949 keep one, and 950 to 999 are rounded
    up to 1000, which keeps two.
    """
    mantissa, exponent = f"{spread:.2e}".split("e")
    return (float(mantissa) < 3.55) - int(exponent)


def short(value: float) -> str:
    """A number without a spread in a sentence, with up to four digits: ``0.7``, ``86400``."""
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
