"""A report on a small table, made by hand, and the page that shows it."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from nddv.checks.duplicates import find_duplicates
from nddv.checks.groups import compare_groups
from nddv.cli.page import render_page
from nddv.dynamics.readouts import READOUTS
from nddv.estimator.settings import SETTINGS
from nddv.tabular.encoding import Rules, learn_encoding
from nddv.tabular.files import FileTable


class Linear:
    """Speaks for the second class by one feature alone."""

    def __init__(self, classes, feature):
        self.classes_, self.feature = classes, feature

    def class_scores(self, X):
        return np.asarray(X)[:, [self.feature]] * [[0.0, 1.0]]


def make_table(n: int = 40, **columns) -> FileTable:
    """Rows of size 0 … n−1; the label is yes from the middle on, but for rows 1 and n."""
    size = np.arange(n, dtype=np.float64)
    label = np.where(size >= n // 2, "yes", "no")
    label[[0, -1]] = ["yes", "no"]
    colour = np.resize(["red", "green", "blue"], n)
    frame = pd.DataFrame({"size": size, "colour": colour, **columns, "y": label})
    return FileTable(Path("things.csv"), frame, text=True)


def make_report(table: FileTable, wrong: int = 2, outliers: int = 1, X=None, feature=0):
    """Rows 1 and n are wrong (then row 2, and so on); row 3 is an outlier."""
    labels, n = table.frame["y"].to_numpy(dtype=str), len(table.frame)
    sure = np.full(n, 0.01)
    places = np.concatenate([[0, n - 1], np.arange(1, n - 1)])[:wrong]
    sure[places] = np.linspace(0.97, 0.6, len(places))
    both = np.unique(labels)
    other = np.where(labels == both[0], both[1], both[0])
    values = -sure + np.linspace(0, 0.005, n)
    typicality = np.linspace(0, 1, n)
    typicality[2 : 2 + outliers] = -9.0
    duplicates = find_duplicates(np.zeros((n, 1)) if X is None else X, labels)
    rows = pd.DataFrame(
        {
            "row": np.arange(1, n + 1),
            "label": labels,
            "value": values - values.mean(),
            "rank": pd.Series(values).rank(ascending=False, method="first").astype(int),
            "p_wrong": sure,
            "suggested": np.where(sure > 0.5, other, labels),
            "p_suggested": np.maximum(sure, 1 - sure),
            "flag": (sure > 0.5).astype(int),
            "typicality": typicality,
            "outlier": typicality < -5,
            "group": duplicates.group,
            "exact": duplicates.exact,
            "conflicting": duplicates.conflicting,
        }
    )
    counts = rows.groupby("label")
    classes = pd.DataFrame(
        {
            "rows": counts.size(),
            "wrong": counts["p_wrong"].sum(),
            "low": 0.0,
            "high": counts.size(),
            "value": counts["value"].mean(),
        }
    ).reset_index()
    return SimpleNamespace(
        rows=rows,
        classes=classes,
        groups=compare_groups(rows["value"], {"label": labels}, rows["p_wrong"]),
        duplicates=duplicates,
        model=Linear(both, feature),
        record={"confidence": 0.9},
        sentences=lambda: ["About 2 labels look wrong.", "Most are no.", "Nothing else."],
    )


def make_page(
    table=None, media=(), evidence=True, sha256="00", flag=None, held=None, **changes
) -> str:
    """The page.

    held : columns of the table that are in memory. changes : of the report (wrong, outliers).
    """
    table = table or make_table()
    ignored = ("y", *(m.column for m in media))
    encoding = learn_encoding(table, Rules(ignore=ignored, impute=True))
    X = encoding.apply(table)
    feature = list(X.columns).index("size")
    report = make_report(table, X=X.to_numpy(), feature=feature, **changes)
    result = report.rows[["row", "value", "rank", "flag"]]
    record = {
        "nddv": "0",
        "command": "nddv value things.csv",
        "input": {
            **{"file": "things.csv", "sha256": sha256, "rows": len(result), "target": "y"},
            **{"id": [], "meta": None, "valid": None},
        },
        "columns": [{"column": c} for c in table.frame.columns if c != "y"],
        "features": X.shape[1],
        "notices": [],
        "flag": {"fraction": flag, "rows": int(result["flag"].sum())},
        "seconds": 1.0,
        "settings": {
            **{"task": "classification", "readout": "path", "meta_fraction": 0.2},
            "reweighting": SETTINGS["reweighting"].value(READOUTS["path"].configuration),
        },
        "estimator": {"seconds": 1.0},
    }
    options = {"X": X, "encoding": encoding} if evidence else {}
    history = {"epoch": [0, 1], "train_loss": [2.0, 1.0]}
    if held is not None:
        table = replace(table, frame=table.frame[held])
    return render_page(table, result, record, history, report, media, **options)
