"""Run times: tables beside the published minutes, and figures of how they grow.

All read the rows of :mod:`nddv.timing.runs`: method, title, n, features, valid, valid_rows,
seed, repeat, threads, timeout, status (done, timed out, gap), seconds, peak_memory_mb, gap.
"""

from nddv.reporting.timing.figures import elapsed_time_figure, runtime_scaling_figure
from nddv.reporting.timing.tables import (
    EXTRAPOLATED,
    LARGEST,
    NOT_RUN,
    fit_power_law,
    timing_table,
    write_timing,
)

__all__ = [
    "EXTRAPOLATED",
    "LARGEST",
    "NOT_RUN",
    "elapsed_time_figure",
    "fit_power_law",
    "runtime_scaling_figure",
    "timing_table",
    "write_timing",
]
