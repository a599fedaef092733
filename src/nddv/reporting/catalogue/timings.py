"""The tables of run times."""

from __future__ import annotations

from nddv.reporting.catalogue.columns import columns
from nddv.reporting.registry import Table

_TIMES = (
    "Every method runs alone in a process of its own, on standard normal features with two "
    "classes; the seconds are those of the valuation, without making data and importing. "
    "Validation rows: fixed, 100; tenth, n/10. Seconds: mean ± standard deviation of repeated runs "
    "of the same problem. Exponent: of the power law that fits the measured sizes, if there are "
    "two at least; ratios are of measured seconds, or of extrapolated ones where the note says so: "
    "no farther beyond the largest size measured than the measured sizes span. Peak memory: of the "
    "process, with the data."
)
_DIGITS = {"ratio": 2, "exponent": 2, "published_ratio": 1, "published_seconds": 0}
_DIGITS |= {"peak_memory_mb": 0}

TIMINGS = [
    Table(
        name="wallclock_scaling",
        title="Wall-clock scaling on synthetic data",
        caption="Seconds of NDDV and of KNN-Shapley as the number of points grows, beside the "
        "paper's.",
        label="tab:wallclock_scaling",
        part="scaling",
        about=(
            "tab:wallclock_scaling of the paper, which states neither its number of validation "
            "rows nor its hardware; with n/10 rows, as in the released code, KNN-Shapley is "
            "quadratic in n by construction. " + _TIMES
        ),
        function="nddv.reporting.tables.timing:wallclock_scaling",
        reads={"rows": "timings:wallclock_scaling", "published": "published:wallclock_scaling"},
        facts={"threads": "threads"},
        columns=columns(
            "n features valid title runs seconds published_seconds ratio published_ratio exponent "
            "peak_memory_mb note",
            "method lower_bound estimate extrapolated",
            features="d",
            published_seconds="Seconds, published",
        ),
        digits=_DIGITS,
        seeded=False,
    ),
    Table(
        name="runtime_scaling",
        title="Run time of NDDV, GhostSuite and LossVal as n grows",
        caption="Seconds of NDDV, GhostSuite and LossVal by number of points and of features.",
        part="scaling",
        about=f"fig:runtime_comparison_new of the paper, as numbers. {_TIMES}",
        function="nddv.reporting.tables.timing:runtime_scaling",
        reads={"rows": "timings:runtime_scaling"},
        facts={"threads": "threads"},
        columns=columns(
            "n features valid title runs seconds estimate ratio exponent peak_memory_mb note",
            "method lower_bound extrapolated",
            features="d",
        ),
        digits=_DIGITS,
        seeded=False,
    ),
]
