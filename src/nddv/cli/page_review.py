"""The review list of the page: the rows that a person should look at, and what to know of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
RESERVED = 50  # of them for each of the other faults, if there are so many
TWINS = 5  # duplicates of a row that are named
LETTERS = 60  # of an entry

LABEL, OUTLIER, DUPLICATE = "label", "outlier", "duplicate"
FAULTS = {LABEL: "wrong label", OUTLIER: "outlier", DUPLICATE: "other label for equal rows"}

Indices = NDArray[np.intp]


def feature_columns(columns: Iterable[Column]) -> list[tuple[str, list[int]]]:
    """The features that an encoding makes of each column, in order."""
    empty = pd.Series([], dtype=object)
    sizes = [(column.name, sum(1 for _ in column.encode(empty))) for column in columns]
    ends = np.cumsum([size for _, size in sizes]).tolist()
    return [
        (name, list(range(end - size, end))) for (name, size), end in zip(sizes, ends, strict=True)
    ]


def choose_rows(rows: pd.DataFrame, flagged: NDArray[np.bool_], most: int = MOST) -> Indices:
    """Positions of the rows to review, at most so many, by falling probability of a wrong label.

    Flagged rows, outliers and duplicates with different labels. Where these are too many, the
    surest of each kind stay, and each kind has its part.
    """
    sure = -rows["p_wrong"].to_numpy()
    kinds = [
        (flagged, sure),
        (rows["outlier"].to_numpy(), rows["typicality"].to_numpy()),
        (rows["conflicting"].to_numpy(), sure),
    ]
    queues = [
        np.flatnonzero(is_one)[np.argsort(key[is_one], kind="stable")] for is_one, key in kinds
    ]
    others = [queue[: min(RESERVED, most // 6)] for queue in queues[1:]]
    first = queues[0][: most - sum(map(len, others))]
    wanted = np.concatenate([first, *others, *queues])
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
    rows, flagged = report.rows, result["flag"].to_numpy() == 1
    chosen = choose_rows(rows, flagged)
    if X is None:
        evidence = Evidence(np.empty((len(chosen), 0), dtype=np.intp), [[] for _ in chosen])
    else:
        evidence = gather_evidence(rows, report.model, X, chosen, features)
    needed = sorted({*chosen.tolist(), *evidence.similar[evidence.similar >= 0].tolist()})
    texts = table.frame[list(columns)].iloc[needed].map(entry_text).to_numpy()
    entries = dict(zip(needed, texts.tolist(), strict=True))
    items = items_at(table, media, needed)
    numbers, labels = result["row"].to_numpy(), rows["label"].to_numpy()

    def line(position: int, size: str) -> dict[str, Any]:
        return {
            "row": int(numbers[position]),
            "label": entry_text(labels[position]),
            "entries": entries[position],
            "media": shown_media(items, position, size),
        }

    kinds = {LABEL: flagged, OUTLIER: rows["outlier"], DUPLICATE: rows["conflicting"]}
    has = {kind: np.asarray(own, dtype=bool) for kind, own in kinds.items()}
    scores = rows[["p_wrong", "p_suggested", "value", "typicality"]].iloc[chosen]
    suggested = rows["suggested"].to_numpy()
    return [
        {
            **line(position, "large"),
            **own_scores,
            "given": str(labels[position]),
            "suggested": str(suggested[position])
            if suggested[position] != labels[position]
            else "",
            "faults": [kind for kind in FAULTS if has[kind][position]],
            "why": _reasons(evidence.contradictions[i], table.frame, position),
            "against": [name in {c.column for c in evidence.contradictions[i]} for name in columns],
            "similar": [line(p, "small") for p in evidence.similar[i].tolist() if p >= 0],
            "twins": _twins(rows, numbers, position),
        }
        for i, (position, own_scores) in enumerate(
            zip(chosen.tolist(), scores.to_dict("records"), strict=True)
        )
    ]


def _reasons(
    found: Sequence[Contradiction], frame: pd.DataFrame, position: int
) -> list[dict[str, str]]:
    """Entries that speak against the given label, with their columns."""
    return [
        {"column": c.column, "entry": entry_text(frame[c.column].iloc[position]) or "missing"}
        for c in found
    ]


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
