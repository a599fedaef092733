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

- ``table``: the table on the left side; needed only if the claim ``needs`` several.
- ``where``: which rows. A column equals a value, or one of a list, or, with ``{not: ...}``, none of
  them. A list within a list holds alternatives: a number for one of them is enough. The value
  ``nddv`` stands for a score of NDDV, one of `SCORES`; the claim is judged with each. A data set
  without encoder (``bbc``) stands for that data set with any encoder (``bbc@minilm``).
- ``ours``: our readout for this check; without it, that of the claim, or `OURS`.
- ``aggregate``: max, min, mean or median of the rows; without it one row must match.
- ``op``: ``>``, ``>=``, ``<``, ``<=``, or ``=`` for a difference of at most ``tolerance``.
- ``than``: a number, or another selection. What that selection leaves out (table, column, and every
  condition of ``where``) is as on the left. It is multiplied by ``times``, then ``plus`` is added.
- ``per``: one case for every value, or for every combination of values of several columns.
- ``within``: see :func:`nddv.reporting.verdicts.compare`.

Nothing of a claim is run as a program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nddv.methods.registry import get_method
from nddv.methods.variants import RELEASED
from nddv.problems.addresses import parse_corruption
from nddv.support.schemas import ConfigurationError, check, read_yaml
from nddv.support.wording import pick

SCORED = ("method", "readout")
"""The columns whose value may be a score of NDDV."""


class Score(NamedTuple):
    """A score of NDDV that the claims are judged with; ``nddv`` stands for its method in a check.

    The verdicts are in a column of the table of claims, under the title. The method is empty where
    each check names its own.
    """

    name: str
    column: str
    title: str
    method: str

    @property
    def reason(self) -> str:
        """The column that says why there is no verdict, or no number in some cases."""
        return self.column.replace("verdict", "reason")

    def of(self, check: Check) -> str:
        """The method that ``nddv`` stands for in a check."""
        return self.method or check.ours


PAPER = Score("paper", "verdict", "With the paper's equations", "nddv-terminal")
SCORES = (
    PAPER,
    Score("released", "verdict_released", "With the released procedure", RELEASED),
    Score("ours", "verdict_ours", "With ours", ""),
)
"""The paper's score is first: notes and shown numbers are those of its cases."""

OURS = "nddv-path"
"""Our readout, where neither a claim nor its check names another."""


@dataclass(frozen=True)
class Selection:
    """Numbers of one column of a table."""

    table: str
    where: Mapping[str, Any]
    column: str
    aggregate: str | None = None


@dataclass(frozen=True)
class Check:
    """A comparison, as the module says; the right side is ``times`` · ``than`` + ``plus``."""

    left: Selection
    op: str
    than: float | Selection
    times: float = 1.0
    plus: float = 0.0
    per: Mapping[str, Sequence[Any]] | None = None
    tolerance: float = 0.0
    within: float = 0.0
    ours: str = OURS

    @property
    def sides(self) -> tuple[Selection, ...]:
        """The selections that are compared."""
        return (self.left, self.than) if isinstance(self.than, Selection) else (self.left,)

    def scored(self, method: str) -> tuple[Selection, ...]:
        """The selections whose numbers are those of a score, by ``nddv`` or by its method."""

        def named(side: Selection) -> bool:
            words = _words([side.where.get(column, ()) for column in SCORED])
            return not {"nddv", method}.isdisjoint(words)

        return tuple(side for side in self.sides if named(side))


@dataclass(frozen=True)
class Claim:
    """The paper's words, how we read them, and what must hold.

    Attributes
    ----------
    undefined : why nothing can be checked; of a claim without checks.
    not_applicable : name of a score that the claim cannot be judged with -> why.
    stand_ins : data set -> another, which is shown, and not counted, where the first has no number.
    """

    id: str
    quotation: str
    where: str
    needs: tuple[str, ...]
    checks: tuple[Check, ...]
    reading: str = ""
    undefined: str = ""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)

    @property
    def ours(self) -> tuple[str, ...]:
        """Our readouts for its checks, each once."""
        return tuple(dict.fromkeys(check.ours for check in self.checks))


def read_checked(path: str | Path, schema_path: str | Path) -> Any:
    """Read a YAML file that must fit a schema; the error names the file."""
    content = read_yaml(path)
    try:
        check(content, schema_path)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    return content


def repeated(names: Sequence[str]) -> str:
    """The names that are there more than once."""
    return ", ".join(sorted({name for name in names if names.count(name) > 1}))


def read_claims(path: str | Path) -> tuple[Claim, ...]:
    """Read claims from a file that :func:`check_claims` accepts."""
    content = read_yaml(path)
    stand_ins = content.get("stand_ins", {})
    try:
        return tuple(_claim(entry, stand_ins) for entry in content["claims"])
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def check_claims(
    path: str | Path,
    schema_path: str | Path,
    datasets: Collection[str],
    columns: Callable[[str], Collection[str]],
) -> tuple[Claim, ...]:
    """Read claims; a mistake in their file is an error of one line.

    Parameters
    ----------
    datasets : the names that a check may use.
    columns : the columns of a table, by its name; raises for a table that is not known.
    """
    read_checked(path, schema_path)
    claims = read_claims(path)
    if twice := repeated([claim.id for claim in claims]):
        raise ConfigurationError(f"{path}: more than one claim has the id {twice}")
    for claim in claims:
        try:
            _check_names(claim, datasets, columns)
        except ValueError as error:
            raise ConfigurationError(f"{path}: claims[{claim.id}]: {error}") from None
    return claims


def _claim(entry: Mapping[str, Any], stand_ins: Mapping[str, str]) -> Claim:
    needs, ours = tuple(entry["needs"]), entry.get("ours", OURS)
    try:
        checks = tuple(_check({"ours": ours, **check}, needs) for check in entry.get("checks", ()))
    except ValueError as error:
        raise ValueError(f"claims[{entry['id']}]: {error}") from None
    further = {
        key: entry[key] for key in ("reading", "undefined", "not_applicable") if key in entry
    }
    words = entry["id"], entry["quotation"], entry["where"]
    return Claim(*words, needs, checks, **further, stand_ins=stand_ins)


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
        table, column = than.get("table", left.table), than.get("column", left.column)
        conditions = (where if table == left.table else {}) | than.get("where", {})
        than = Selection(table, conditions, column, than.get("aggregate"))
    margins = {key: float(entry[key]) for key in ("tolerance", "within") if key in entry}
    return Check(left, entry["op"], than, per=per or None, ours=entry["ours"], **factors, **margins)


def _check_names(
    claim: Claim, datasets: Collection[str], columns: Callable[[str], Collection[str]]
) -> None:
    """Raise for a table, column, method, corruption or data set that is not known."""
    known = {table: dict.fromkeys(columns(table)) for table in claim.needs}
    sides = [side for comparison in claim.checks for side in comparison.sides]
    for side in sides:
        if side.table not in known:
            raise ValueError(f"a check uses table {side.table!r}, which is not among its needs")
    if sides and (unused := set(known) - {side.table for side in sides}):
        raise ValueError(f"needs {', '.join(sorted(unused))}, which no check uses")
    for name in (*claim.stand_ins, *claim.stand_ins.values()):
        pick(dict.fromkeys(datasets), name, "data set")
    for comparison in claim.checks:
        get_method(comparison.ours)
        named = [(side.table, (side.column, *side.where)) for side in comparison.sides]
        for table, names in [*named, (comparison.left.table, comparison.per or ())]:
            for column in names:
                pick(known[table], column, f"column of table {table}")
        for conditions in (comparison.per or {}, *(side.where for side in comparison.sides)):
            for name in _words(conditions.get("method", ())):
                if name != "nddv":
                    get_method(name)
            for name in _words(conditions.get("corruption", ())):
                parse_corruption(name)
            for name in _words(conditions.get("dataset", ())):
                pick(dict.fromkeys(datasets), name.partition("@")[0], "data set")


def _words(values: Any) -> Iterator[str]:
    """The words of a condition."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping | Sequence):
        for value in values.values() if isinstance(values, Mapping) else values:
            yield from _words(value)
