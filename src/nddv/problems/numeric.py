"""From a table in a file to numbers: its features, classes, groups and chosen rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nddv.problems.readers import Collection
from nddv.problems.registry import Entry
from nddv.problems.splits import stratified_splits
from nddv.problems.tables import Table
from nddv.tabular.encoding import Rules, describe, learn_encoding, read_target
from nddv.tabular.entries import MISSING_LEVEL
from nddv.tabular.files import FileTable

# If the share of the smallest class differs by more from what is expected, the data set is another.
SHARE_TOLERANCE = 0.005
MAXIMUM_CLASSES = 1000
MAXIMUM_GROUPS = 50
# Keys of an entry, or of what it expects, that speak of classes.
OF_CLASSES = ("binarise", "balance", "class_names", "classes", "minority")


def documents_of(table: FileTable, spec: Entry) -> Collection:
    """The documents of a table, from its columns ``text`` and ``target``."""
    columns = [spec["text"], spec["target"]]
    table.check_columns(columns, "text and target of the entry")
    for column in columns:
        absent = np.flatnonzero(table.frame[column].isna())
        if absent.size:
            raise ValueError(f"{column!r} is missing at {table.where(int(absent[0]))}")
    texts, labels = (table.frame[column].astype(str).tolist() for column in columns)
    return Collection(texts, np.array(labels))


def numeric_table(table: FileTable, spec: Entry) -> Table:
    """Turn the columns of a table into numbers, its target into classes or real numbers."""
    frame = table.frame.rename(columns=spec.get("rename", {}))
    table = FileTable(table.path, frame, table.text)
    target, group = spec["target"], spec.get("group")
    y, classes = _learnt(table, spec)
    rows = _balanced(y, spec) if spec.get("balance") else np.arange(len(y))
    check_labels(y[rows], spec)
    rows = rows[chosen_rows(y[rows], spec)]
    table.check_columns(spec.get("features", ()), "features of the entry")
    table.check_columns(spec.get("drop", ()), "drop of the entry")
    if target in spec.get("features", ()):
        raise ValueError(f"the target {target!r} is among the features")
    used = set(spec.get("features", frame.columns)) - {target, *spec.get("drop", ())}
    rules = Rules(
        ignore=tuple(c for c in frame.columns if c not in used),
        categorical=tuple(spec.get("categorical", ())),
        impute=spec.get("missing", "error") == "impute",
        max_categories=int(spec.get("max_categories", 50)),
        keep_constant=True,
    )
    encoding = learn_encoding(table, rules)
    X = encoding.apply(table).to_numpy()[rows]
    codes, names = (None, []) if group is None else _groups(table, group)
    codes = None if codes is None else codes[rows]
    record = {"columns": describe(encoding.columns), "notices": list(encoding.notices)}
    return Table(X, y[rows], classes, codes, names, record=record)


def class_codes(
    labels: NDArray[Any], names_of: Mapping[str, str]
) -> tuple[NDArray[np.int64], list[str]]:
    """Codes 0..C−1 in the order of the labels, and their names."""
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"the target has only one class, {names[0]}: there is nothing to learn")
    return codes.astype(np.int64), [names_of.get(str(name), str(name)) for name in names]


def check_labels(y: NDArray[Any], spec: Entry) -> None:
    """Compare the labels or targets of the whole data set with what the entry expects."""
    expect: Mapping[str, Any] = spec.get("expect", {})
    wrong = []
    if len(y) != expect.get("rows", len(y)):
        wrong.append(f"{len(y)} rows, not {expect['rows']}")
    if not _is_regression(spec):
        counts = np.bincount(y)
        share = float(counts.min() / len(y))
        if len(counts) != expect.get("classes", len(counts)):
            wrong.append(f"{len(counts)} classes, not {expect['classes']}")
        if abs(share - expect.get("minority", share)) > SHARE_TOLERANCE:
            wrong.append(f"{share:.3f} of the rows in the smallest class, not {expect['minority']}")
    if wrong:
        raise ValueError(f"it is not what its entry expects: {'; '.join(wrong)}")


def chosen_rows(y: NDArray[Any], spec: Entry) -> NDArray[np.intp]:
    """The rows to keep, in file order: ``rows`` of them, stratified; without that key all."""
    wanted = spec.get("rows")
    if wanted is None:
        return np.arange(len(y))
    if wanted > len(y):
        raise ValueError(f"{wanted} rows are asked for ('rows'), but there are only {len(y)}")
    rng = np.random.default_rng(int(spec.get("data_seed", 0)))
    kept = np.sort(stratified_splits(y, {"kept": int(wanted)}, rng)["kept"])
    if not _is_regression(spec) and len(np.unique(y[kept])) < len(np.unique(y)):
        raise ValueError(f"{wanted} rows ('rows') leave a class without any: raise them")
    return kept


def _is_regression(spec: Entry) -> bool:
    return spec.get("task") == "regression"


def _learnt(table: FileTable, spec: Entry) -> tuple[NDArray[Any], list[str]]:
    """What is to be learnt: codes of classes and their names, or real numbers and no names."""
    if not _is_regression(spec):
        labels = _target(table, spec["target"], spec.get("binarise"))
        return class_codes(labels, spec.get("class_names", {}))
    for key in OF_CLASSES:
        if key in spec or key in spec.get("expect", {}):
            raise ValueError(f"{key!r} is for classes, and the entry says 'task: regression'")
    y = read_target(table, spec["target"], "regression").astype(np.float64)
    if np.ptp(y) == 0:
        raise ValueError(f"the target has only one value, {y[0]:g}: there is nothing to learn")
    return y, []


def _target(table: FileTable, column: str, binarise: str | None) -> NDArray[Any]:
    """The target; binarised, it is P below the mean, else N, as in OpenML's v2 data sets."""
    target = read_target(table, column, "regression" if binarise else "auto")
    if binarise == "mean":
        return np.where(target < target.mean(), "P", "N")
    if target.dtype.kind == "f" or len(np.unique(target)) > MAXIMUM_CLASSES:
        raise ValueError(
            f"target {column!r} holds numbers, not classes; in the entry, 'binarise: mean' splits "
            "it at its mean, and 'task: regression' keeps it"
        )
    return target


def _groups(table: FileTable, column: str) -> tuple[NDArray[np.int64], list[str]]:
    """Codes of the group attribute; rows without an entry form a separate group."""
    table.check_columns([column], "group of the entry")
    series = table.frame[column]
    words = series.astype(object).where(series.notna(), MISSING_LEVEL).astype(str)
    names, codes = np.unique(words.to_numpy(dtype=np.str_), return_inverse=True)
    if not 2 <= len(names) <= MAXIMUM_GROUPS:
        raise ValueError(
            f"the group {column!r} has {len(names)} levels; groups to compare are at least 2 and "
            f"at most {MAXIMUM_GROUPS}"
        )
    return codes.astype(np.int64), [str(name) for name in names]


def _balanced(y: NDArray[np.int64], spec: Entry) -> NDArray[np.intp]:
    """Rows in which every class is as frequent as the smallest, drawn by the data seed."""
    rng = np.random.default_rng(int(spec.get("data_seed", 0)))
    smallest = int(np.bincount(y).min())
    drawn = [rng.permutation(np.flatnonzero(y == c))[:smallest] for c in range(int(y.max()) + 1)]
    return np.sort(np.concatenate(drawn))
