"""`nddv.check`: everything that can be told of a table of labelled rows, in one call.

report = nddv.check(X, y)
print(report)                       # the answer in a few sentences
report.rows.query("flag == 1")      # the rows to look at, with what their label should be
"""

from __future__ import annotations

import html
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nddv.checks.duplicates import DuplicateCheck, find_duplicates
from nddv.checks.features import FeatureCheck, find_outliers
from nddv.checks.groups import compare_groups
from nddv.checks.labels import CONFIDENCE, Estimate, LabelCheck, check_labels
from nddv.checks.rows import as_table, small_enough
from nddv.checks.saved import SavedRun, save_run
from nddv.estimator.nddv import NDDV
from nddv.estimator.validation import check_targets, check_task
from nddv.support.wording import InputError
from nddv.tabular.encoding import Encoding, Rules, learn_encoding
from nddv.tabular.entries import count

SHOWN = 10  # rows of a report in a notebook


@dataclass(frozen=True)
class Report:
    """What was found about n rows.

    Attributes
    ----------
    rows : one line a row: row (from 1), label, value, rank, p_wrong, suggested, p_suggested, flag;
        typicality and outlier of the features; group (of duplicates, −1: none), exact and
        conflicting.
    classes : label, rows, wrong with low and high, mean of the values.
    groups : of the columns that were named: which are valued worse (`nddv.checks.groups`).
    labels, features, duplicates : the checks themselves; the last two are None for a table that
        is too large for them, and then `rows` lacks their columns.
    model : the fitted NDDV.
    encoding : how the columns of a frame became numbers; None for numbers.
    record : what was found, in numbers; JSON can hold it.
    """

    rows: pd.DataFrame
    classes: pd.DataFrame
    groups: pd.DataFrame
    labels: LabelCheck
    features: FeatureCheck | None
    duplicates: DuplicateCheck | None
    model: NDDV
    encoding: Encoding | None = None
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def wrong(self) -> Estimate:
        """How many labels are wrong."""
        return self.labels.wrong

    def sentences(self) -> list[str]:
        """The answer, in three sentences."""
        return [_of_labels(self), _of_classes(self), _of_others(self)]

    def to_review(self) -> pd.DataFrame:
        """The flagged rows, the surest first."""
        flagged = self.rows[self.rows["flag"] == 1]
        return flagged.sort_values(["p_wrong", "value"], ascending=[False, True])

    def save(self, folder: str | Path, replace: bool = False) -> None:
        """Keep the run in a folder, for new rows: ``nddv.load_run(folder).score(X, y)``."""
        save_run(folder, SavedRun.of(self.model, self.labels, self.encoding), replace)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For notebooks."""
        sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences())
        first = self.to_review().head(SHOWN)
        return sentences + (first.to_html(index=False, float_format="%.3g") if len(first) else "")


def check(
    X: Any,
    y: Any,
    X_meta: Any = None,
    y_meta: Any = None,
    *,
    groups: pd.DataFrame | None = None,
    model: NDDV | None = None,
    **params: Any,
) -> Report:
    """Check a table of labelled rows.

    Parameters
    ----------
    X, y : (n, d) features and (n,) labels: arrays, or frames of pandas or polars. Words and dates
        in a frame are encoded, and missing entries filled in, as by `nddv value --missing impute`.
    X_meta, y_meta : rows whose labels you trust, if there are any.
    groups : (n, …) columns by whose entries rows are compared, such as sex or source; default: the
        classes alone.
    model : an NDDV that has been fitted to X and y; by default one is fitted here.
    params : of that NDDV, such as random_state, device and progress.

    Notes
    -----
    NDDV is trained once on all rows for their values, and five times without a fifth of the rows
    for what it says of rows that it has not seen.
    """
    start = time.perf_counter()
    X, encoding = _features(_as_pandas(X))
    X_meta = _as_pandas(X_meta)
    if encoding is not None and X_meta is not None:
        X_meta = encoding.apply(as_table(X_meta, "X_meta"))
    y, y_meta = _as_array(y), _as_array(y_meta)
    labels = check_targets(y, X.shape[0] if hasattr(X, "shape") else len(X), "y", "X")
    if check_task("auto", labels) == "regression":
        raise InputError(
            "y has real numbers, and a number is not right or wrong: give classes, or value the "
            'rows with NDDV(readout="residual")'
        )
    compared: Any = {"label": labels} if groups is None else _as_pandas(groups)
    compare_groups(np.zeros(len(labels)), compared)  # refused before anything is trained
    if model is None:
        model = NDDV(**params).fit(X, labels)
    elif params:
        raise InputError(f"a fitted model has its settings already: leave {', '.join(params)} out")
    check_is_fitted(model, "values_")
    if len(model.values_) != len(labels):
        raise InputError(f"the model was fitted to {len(model.values_)} rows, not {len(labels)}")
    found = check_labels(X, labels, X_meta, y_meta, model=model)
    notices = [str(notice) for notice in (encoding.notices if encoding else [])]
    features, duplicates = None, None
    if small_enough(X):
        features = find_outliers(X, int(model.random_state or 0))
        duplicates = find_duplicates(X, labels)
    else:
        notices.append("the table is too large to look for strange features and duplicates")
    rows = _rows(labels, model, found, features, duplicates)
    classes = found.by_class.copy()
    classes["value"] = rows.groupby(found.codes)["value"].mean().to_numpy()
    record = {
        "rows": len(rows),
        "wrong": asdict(found.wrong),
        "confidence": CONFIDENCE,
        "flagged": int(rows["flag"].sum()),
        "outliers": None if features is None else int(features.outlier.sum()),
        "duplicates": None if duplicates is None else int((duplicates.group >= 0).sum()),
        "notices": notices,
        "seconds": round(time.perf_counter() - start, 3),
    }
    compared = compare_groups(rows["value"], compared, rows["p_wrong"])
    return Report(rows, classes, compared, found, features, duplicates, model, encoding, record)


def _rows(
    labels: NDArray[Any],
    model: NDDV,
    found: LabelCheck,
    features: FeatureCheck | None,
    duplicates: DuplicateCheck | None,
) -> pd.DataFrame:
    values = pd.Series(model.values_)
    p_wrong = found.p_wrong
    rows = {
        "row": np.arange(1, len(labels) + 1),
        "label": labels,
        "value": values,
        "rank": values.rank(ascending=False, method="first").astype(np.int64),
        "p_wrong": p_wrong,
        "suggested": found.suggested,
        "p_suggested": found.p_suggested,
        "flag": (p_wrong > 0.5).astype(np.int64),
    }
    if features is not None:
        rows |= {"typicality": features.scores, "outlier": features.outlier}
    if duplicates is not None:
        rows |= {name: getattr(duplicates, name) for name in ("group", "exact", "conflicting")}
    return pd.DataFrame(rows)


def _of_labels(report: Report) -> str:
    wrong, n, flagged = report.wrong, len(report.rows), report.record["flagged"]
    if flagged == 0 and wrong.low < 0.5:
        return f"No label of the {n:,} rows stands out as wrong (at most {wrong.high:.0f})."
    return (
        f"About {wrong.count:.0f} of {n:,} labels look wrong ({CONFIDENCE:.0%} interval: "
        f"{wrong.low:.0f} to {wrong.high:.0f}); {count(flagged, 'row')} "
        f"{'is' if flagged == 1 else 'are'} more likely wrong than right."
    )


def _of_classes(report: Report) -> str:
    shares = report.classes["wrong"] / report.classes["rows"]
    worst = report.classes.astype({"label": object}).loc[shares.idxmax()]
    if worst["wrong"] < 0.5:
        return "No class stands out."
    return (
        f"The class {worst['label']!r} has the largest share of them: about {worst['wrong']:.0f} "
        f"of its {count(int(worst['rows']), 'row')}."
    )


def _of_others(report: Report) -> str:
    found = []
    if report.record["outliers"]:
        found.append(f"{count(report.record['outliers'], 'row')} with strange features")
    if report.duplicates is not None:
        groups = report.duplicates.groups()
        if len(groups) and not report.duplicates.expected:
            found.append(f"{count(len(groups), 'group')} of duplicates")
            conflicts = int(groups["conflict"].sum())
            if conflicts:
                found.append(f"{count(conflicts, 'group')} of equal rows with different labels")
    worse = report.groups[report.groups["worse"]]
    if len(worse):
        names = ", ".join(f"{c} = {g}" for c, g in worse[["column", "group"]].head(3).to_numpy())
        found.append(f"rows valued worse than the others: {names}")
    return f"Besides: {'; '.join(found)}." if found else "Nothing else stands out."


def _features(X: Any) -> tuple[Any, Encoding | None]:
    """Features as numbers, and how a frame of other columns became such."""
    numeric = not isinstance(X, pd.DataFrame) or (
        all(map(pd.api.types.is_numeric_dtype, X.dtypes)) and not X.isna().any(axis=None)
    )
    if numeric:
        return X, None
    table = as_table(X, "X")
    encoding = learn_encoding(table, Rules(impute=True))
    return encoding.apply(table), encoding


def _as_pandas(table: Any) -> Any:
    """A frame of polars as one of pandas; anything else as it is."""
    return table.to_pandas() if type(table).__module__.startswith("polars") else table


def _as_array(column: Any) -> Any:
    return column.to_numpy() if type(column).__module__.startswith("polars") else column
