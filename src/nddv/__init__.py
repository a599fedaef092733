"""Neural Dynamic Data Valuation: one training run, one adjoint pass, one value per data point.

    import nddv
    values = nddv.value(X, y).values          # one call
    model = nddv.NDDV(readout="path").fit(X, y, X_meta, y_meta)   # scikit-learn style
    report = nddv.check(X, y)   # which labels are wrong, how many, what they should be
    shapley = nddv.semivalues(X, y, X_valid, y_valid)   # and which of their orders are certain
    run = nddv.Replay(module).fit(X, y); run.values(X_valid, y_valid)   # your own torch module

The names are loaded when they are first used: importing the package costs nothing, which the
workflow and the command line rely on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nddv.audit.semivalues import semivalues
    from nddv.checks.labels import find_label_issues
    from nddv.checks.report import check
    from nddv.checks.saved import load_run
    from nddv.estimator.nddv import NDDV, value
    from nddv.estimator.together import fit_together
    from nddv.replay.run import Replay
    from nddv.tabular.stored import open_rows
    from nddv.values import Values

__all__ = [
    "NDDV",
    "Replay",
    "Values",
    "check",
    "find_label_issues",
    "fit_together",
    "load_run",
    "open_rows",
    "semivalues",
    "value",
]

_HOMES = {
    "NDDV": "nddv.estimator.nddv",
    "Replay": "nddv.replay.run",
    "Values": "nddv.values",
    "check": "nddv.checks.report",
    "find_label_issues": "nddv.checks.labels",
    "load_run": "nddv.checks.saved",
    "fit_together": "nddv.estimator.together",
    "open_rows": "nddv.tabular.stored",
    "semivalues": "nddv.audit.semivalues",
    "value": "nddv.estimator.nddv",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'nddv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
