"""The review list of the page: the rows that a person should look at, and what to know of each."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.checks.evidence import Columns, Contradiction, Evidence, gather_evidence
from nddv.cli.media import Media
from nddv.cli.page_media import items_at, shown_media
from nddv.tabular.encoding import Column
from nddv.tabular.files import FileTable

if TYPE_CHECKING:
    from nddv.checks.report import Report

MOST = 300  # rows of the list
RESERVED = 6  # one in so many is for each of the other faults, if there are as many
COLUMNS = 12  # of a row that are shown
TWINS = 5  # duplicates of a row that are named
LETTERS = 60  # of an entry

LABEL, OUTLIER, DUPLICATE = "label", "outlier", "duplicate"
FAULTS = {LABEL: "wrong label", OUTLIER: "outlier", DUPLICATE: "other label for equal rows"}

# of rows that were not checked for it
USUAL = {"typicality": 0.0, "outlier": False, "group": -1, "exact": False, "conflicting": False}

Indices = NDArray[np.intp]


def feature_columns(columns: Iterable[Column]) -> list[tuple[str, list[int]]]:
    """The features that an encoding makes of each column, in order."""
    empty = pd.Series([], dtype=object)
    sizes = [(column.name, sum(1 for _ in column.encode(empty))) for column in columns]
    ends = np.cumsum([size for _, size in sizes]).tolist()
    return [
        (name, list(range(end - size, end))) for (name, size), end in zip(sizes, ends, strict=True)
    ]


def complete(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a report; of tables too large for the checks of features nothing stands out."""
    return rows.assign(**{name: usual for name, usual in USUAL.items() if name not in rows})


def stands_out(rows: pd.DataFrame, flagged: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
    """(n,) which rows have each of the faults."""
    outlier, conflicting = (rows[name].to_numpy(dtype=bool) for name in ("outlier", "conflicting"))
    return {LABEL: flagged, OUTLIER: outlier, DUPLICATE: conflicting}


def choose_rows(rows: pd.DataFrame, faults: Mapping[str, NDArray[np.bool_]], most: int) -> Indices:
    """Positions of the rows to review, at most so many, by falling probability of a wrong label.

    Where these are too many, the surest of each kind stay, and each kind has its part.
    """
    sure = -rows["p_wrong"].to_numpy()
    keys = {LABEL: sure, OUTLIER: rows["typicality"].to_numpy(), DUPLICATE: sure}
    queues = {}
    for kind, key in keys.items():
        members = np.flatnonzero(faults[kind])
        queues[kind] = members[np.argsort(key[members], kind="stable")]
    others = [queues[kind][: most // RESERVED] for kind in (OUTLIER, DUPLICATE)]
    first = queues[LABEL][: most - sum(map(len, others))]
    wanted = np.concatenate([first, *others, *queues.values()])
    _, places = np.unique(wanted, return_index=True)
    chosen = wanted[np.sort(places)][:most]
    return np.asarray(chosen[np.lexsort((chosen, sure[chosen]))], dtype=np.intp)


def review(
    table: FileTable,
    result: pd.DataFrame,
    report: Report,
    columns: Sequence[str],
    media: Sequence[Media] = (),
    X: Any = None,
    features: Columns = (),
) -> list[dict[str, Any]]:
    """What the page says of each row of the list.

    Parameters
    ----------
    table : of n rows.
    result : (n, …) row and flag, in the order of the table.
    columns : whose entries are shown.
    media : columns of texts and pictures.
    X, features : (n, d) and the columns that its features were made of; without X there is no
        evidence.
    """
    rows = complete(report.rows)
    faults = stands_out(rows, result["flag"].to_numpy() == 1)
    chosen = choose_rows(rows, faults, MOST)
    evidence = Evidence(np.empty((len(chosen), 0), dtype=np.intp), [[] for _ in chosen])
    if X is not None:
        evidence = gather_evidence(rows, report.model, X, chosen, features)
    needed = sorted({*chosen.tolist(), *evidence.similar[evidence.similar >= 0].tolist()})
    texts = table.frame[list(columns)].iloc[needed].map(entry_text).to_dict("split")["data"]
    entries = dict(zip(needed, texts, strict=True))
    items = items_at(table, media, needed)
    numbers, labels = result["row"].to_numpy(), rows["label"].to_numpy()
    suggested = np.where(rows["suggested"] == labels, "", rows["suggested"].astype(str))

    def line(position: int, shown: Sequence[int], size: str) -> dict[str, Any]:
        return {
            "row": int(numbers[position]),
            "label": entry_text(labels[position]),
            "entries": [entries[position][j] for j in shown],
            "media": shown_media(items, position, size),
        }

    def card(position: int, similar: Sequence[int], found: list[Contradiction]) -> dict[str, Any]:
        against = {c.column for c in found}
        shown = _shown_columns(columns, against)
        return {
            **line(position, shown, "large"),
            **rows[["p_wrong", "value", "typicality"]].iloc[position],
            "given": str(labels[position]),
            "suggested": suggested[position],
            "faults": [kind for kind in FAULTS if faults[kind][position]],
            "why": _reasons(found, table.frame, position),
            "columns": [columns[j] for j in shown],
            "against": [columns[j] in against for j in shown],
            "similar": [line(p, shown, "small") for p in similar if p >= 0],
            "twins": _twins(rows, numbers, position),
        }

    each = zip(chosen.tolist(), evidence.similar.tolist(), evidence.contradictions, strict=True)
    return [card(*own) for own in each]


def _shown_columns(columns: Sequence[str], against: Container[str]) -> list[int]:
    """Places of the columns that are shown of a row, among them those that contradict its label."""
    places = sorted(range(len(columns)), key=lambda j: (columns[j] not in against, j))
    return sorted(places[:COLUMNS])


def _reasons(found: Sequence[Contradiction], frame: pd.DataFrame, position: int) -> list[str]:
    """Entries that speak against the given label, such as "marital-status = Married".

    Of a table that is read in pieces only the names of columns are known.
    """
    reasons = []
    for name in (c.column for c in found):
        entry = entry_text(frame[name].iloc[position]) or "missing" if name in frame else ""
        reasons.append(f"{name} = {entry}" if entry else name)
    return reasons


def _twins(rows: pd.DataFrame, numbers: NDArray[Any], position: int) -> dict[str, Any] | None:
    """The duplicates of a row, first those with other labels."""
    group = rows["group"].iloc[position]
    if group < 0:
        return None
    members = np.flatnonzero(rows["group"].to_numpy() == group)
    members = members[members != position]
    labels = rows["label"].to_numpy()
    members = members[np.argsort(labels[members] == labels[position], kind="stable")]
    shown = [(int(numbers[m]), entry_text(labels[m])) for m in members[:TWINS]]
    return {
        "exact": bool(rows["exact"].iloc[position]),
        "shown": shown,
        "more": len(members) - len(shown),
    }


def entry_text(entry: object) -> str:
    """An entry of a table in a few letters; nothing where it is missing."""
    if entry is None or entry is pd.NA or entry is pd.NaT:
        return ""
    if isinstance(entry, float | np.floating):
        return "" if np.isnan(entry) else f"{entry:.6g}"
    text = str(entry)
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
