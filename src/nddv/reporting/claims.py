"""The empirical claims of the paper as entries of a file, and the language of their checks.

A claim is an entry of ``config/claims.yaml``: the paper's words, where they stand, and checks. A
check compares numbers of our tables::

    where: {n: 1000, corruption: label10, method: nddv}
    column: f1
    op: ">="
    than: {where: {method: [loo, data-oob]}, aggregate: max, times: 1, plus: 0}
    per: {dataset: [2dplanes, bbc]}
    tolerance: 0.01
    within: 1

- ``table``: may be left out where the claim ``needs`` one table only.
- ``where``: which rows: a column is equal to a value, or to one of a list, or, ``{not: ...}``, to
  none. A list within a list is of alternatives: one of them is enough. The value ``nddv`` stands
  for a readout of NDDV: the claim is judged with the paper's score, the terminal one, and can be
  judged again with another. A data set without encoder (``bbc``) stands for it with any encoder
  (``bbc@minilm``); the note names the encoder.
- ``aggregate``: max, min, mean or median of the rows; without it there must be one row.
- ``op``: ``>``, ``>=``, ``<``, ``<=``, or ``=`` for a difference of at most ``tolerance``.
- ``than``: a number, or another selection; what it leaves out (table, column, and every condition
  of ``where``) is as on the left, and it is multiplied by ``times`` before ``plus`` is added.
- ``per``: one case for every value, or every combination of values of several columns.
- ``within``: see :func:`nddv.reporting.verdicts.compare`.

Nothing of a claim is run as a program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nddv.methods.registry import get_method
from nddv.problems.addresses import parse_corruption
from nddv.support.schemas import ConfigurationError, check, read_yaml
from nddv.support.wording import pick

PROBLEM = ("dataset", "n", "corruption")
_DETECTION = (
    *(*PROBLEM, "method", "runs", "f1", "published", "area", "auroc", "seconds"),
    *("two_means", "two_means_at_least"),
)
_TIMING = ("n", "features", "valid", "method", "runs", "seconds", "lower_bound", "estimate")
_GAPS = (
    *("runs", "score_gap", "slope_tpr", "slope_fpr", "predicted_dtpr", "predicted_deo"),
    *("dtpr", "dtpr_floor", "deo", "deo_floor"),
)

COLUMNS: dict[str, tuple[str, ...]] = {
    "detection_n1000": _DETECTION,
    "detection_n10000": _DETECTION,
    "epsilon_delta": (
        *(*PROBLEM, "utility", "readout", "scale", "runs", "epsilon_ref", "delta_ctx"),
        *("envelope", "published_epsilon_ref", "published_delta_ctx"),
    ),
    "value_gaps": (
        *(*PROBLEM, "utility", "runs", "gap_50", "gap_75", "gap_90", "published_gap_50"),
        *("published_gap_75", "published_gap_90", "published_envelope", "envelope_terminal"),
        *("envelope_path", "envelope_participation"),
    ),
    "rank_correlations": (
        *(*PROBLEM, "utility", "method", "runs", "loo", "shapley", "banzhaf"),
        *("published_loo", "published_shapley"),
    ),
    "certificates": (
        *(*PROBLEM, "game", "utility", "semivalue", "readout", "runs", "hoeffding", "bernstein"),
        *("hoeffding_union", "bernstein_union", "agreement", "agreement_certified"),
    ),
    "retraining_fidelity": (*PROBLEM, "method", "runs", "spearman", "smallest"),
    "datamodelling": (*PROBLEM, "method", "runs", "lds_1", "lds_5", "lds_10"),
    "wallclock_scaling": (*_TIMING, "published_seconds"),
    "runtime_scaling": _TIMING,
    "label_noise_rates": _DETECTION,
    "feature_noise_rates": _DETECTION,
    "structured_noise_rates": _DETECTION,
    "imagenet100_scaling": _DETECTION,
    "recent_methods": (*PROBLEM, "method", "runs", "f1", "published"),
    "curation": (*PROBLEM, "method", "runs", "remove_low", "remove_high", "add_high", "add_low"),
    "sensitivity": (*PROBLEM, "method", "parameter", "setting", "runs", "f1"),
    "threshold_sensitivity": (*PROBLEM, "partition", "method", "epsilon_u", *_GAPS),
    "adult_score_gaps": (
        *(*PROBLEM, "method", "reweighting", "runs", "epsilon_u", "scaled_epsilon_u", "d_phi"),
        *("d_phi_sd_units", "weight_range"),
    ),
    "adult_detection_gaps": (*PROBLEM, "method", "rule", *_GAPS),
    "adjoint_norms": (*PROBLEM, "seed", "largest_ratio"),
}
"""The columns that claims may name, by table; beside a mean, ``<column>_sd`` is its spread."""


@dataclass(frozen=True)
class Selection:
    """Numbers of one column of a table."""

    table: str
    where: Mapping[str, Any]
    column: str
    aggregate: str | None = None


@dataclass(frozen=True)
class Check:
    """A comparison, as the module says; ``than`` is ``times`` · it + ``plus``."""

    left: Selection
    op: str
    than: float | Selection
    times: float = 1.0
    plus: float = 0.0
    per: Mapping[str, Sequence[Any]] | None = None
    tolerance: float = 0.0
    within: float = 0.0


@dataclass(frozen=True)
class Claim:
    """The paper's words, how we read them, and what must hold.

    Without checks, ``undefined`` says why nothing can be checked.
    """

    id: str
    quotation: str
    where: str
    needs: tuple[str, ...]
    checks: tuple[Check, ...]
    reading: str = ""
    undefined: str = ""


def read_claims(
    path: str | Path, schema_path: str | Path, datasets: Collection[str] | None = None
) -> tuple[Claim, ...]:
    """Read claims, validated by the schema, against :data:`COLUMNS` and by the names in them.

    datasets : those that there are; None for any.
    """
    content = read_yaml(path)
    try:
        check(content, schema_path)
        claims = tuple(_claim(entry, datasets) for entry in content["claims"])
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    names = [claim.id for claim in claims]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"{path}: more than one claim has the id {', '.join(twice)}")
    return claims


def _claim(entry: Mapping[str, Any], datasets: Collection[str] | None) -> Claim:
    needs = tuple(entry["needs"])
    try:
        for table in needs:
            pick(COLUMNS, table, "table")
        checks = tuple(_check(check, needs) for check in entry.get("checks", ()))
        for one in checks:
            _check_names(one, datasets)
        if checks and (unused := set(needs) - {s.table for c in checks for s in _sides(c)}):
            raise ValueError(f"needs {', '.join(sorted(unused))}, which no check uses")
    except ValueError as error:
        raise ValueError(f"claims[{entry['id']}]: {error}") from None
    texts = {key: entry.get(key, "") for key in ("reading", "undefined")}
    return Claim(entry["id"], entry["quotation"], entry["where"], needs, checks, **texts)


def _check(entry: Mapping[str, Any], needs: tuple[str, ...]) -> Check:
    if not needs:
        raise ValueError("it has checks, but needs no table")
    if "table" not in entry and len(needs) > 1:
        raise ValueError(f"a check must name its table, one of {', '.join(needs)}")
    where, per = dict(entry["where"]), dict(entry.get("per", {}))
    if isinstance(where.get("dataset"), str):  # a case, so that each of its encoders is one
        per["dataset"] = [where.pop("dataset")]
    left = Selection(entry.get("table", needs[0]), where, entry["column"], entry.get("aggregate"))
    than, factors = entry["than"], {}
    if isinstance(than, Mapping):
        factors = {key: float(than[key]) for key in ("times", "plus") if key in than}
        table = than.get("table", left.table)
        inherited = where if table == left.table else {}
        than = Selection(
            table,
            {**inherited, **than.get("where", {})},
            than.get("column", left.column),
            than.get("aggregate"),
        )
    margins = {key: float(entry[key]) for key in ("tolerance", "within") if key in entry}
    check = Check(left, entry["op"], than, per=per or None, **factors, **margins)
    for side in _sides(check):
        if side.table not in needs:
            raise ValueError(f"a check uses table {side.table!r}, which is not among its needs")
        for column in (side.column, *side.where):
            pick(dict.fromkeys(COLUMNS[side.table]), column, f"column of table {side.table}")
    for column in per:
        pick(dict.fromkeys(COLUMNS[left.table]), column, f"column of table {left.table}")
    return check


def _check_names(check: Check, datasets: Collection[str] | None) -> None:
    """Methods, corruptions and data sets that a check names."""
    for conditions in (check.per or {}, *(side.where for side in _sides(check))):
        for name in _words(conditions.get("method", ())):
            if name != "nddv":
                get_method(name)
        for name in _words(conditions.get("corruption", ())):
            parse_corruption(name)
        for name in _words(conditions.get("dataset", ())):
            if datasets is not None:
                pick(dict.fromkeys(datasets), name.partition("@")[0], "data set")


def _words(values: Any) -> Iterator[str]:
    """The words of a condition."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping):
        yield from _words(values["not"])
    elif isinstance(values, Sequence):
        for value in values:
            yield from _words(value)


def _sides(check: Check) -> Iterator[Selection]:
    yield check.left
    if isinstance(check.than, Selection):
        yield check.than
