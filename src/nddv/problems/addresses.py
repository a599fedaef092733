"""Names of problems. Needs the standard library only: the Snakefile checks names with it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nddv.support.wording import nearest

# What may have happened to a point; its code is the position in this list. A mixed corruption names
# its kinds in this order, so that a problem has only one address.
KINDS = ("clean", "label", "feature", "gauss", "target")

# Kinds that replace what is to be learnt fit one task only.
TASK_OF = {"label": "classification", "target": "regression"}

# How a problem is drawn and corrupted, other than as usual: 'label10@released'.
RELEASED = "released"

RULES = (
    f"use 'clean', or one of {', '.join(KINDS[1:])} with a percentage from 1 to 99, e.g. 'label10'"
    "; mixed, each kind once: 'label10+feature5'; in the released regime: 'label10@released'"
)
_KIND_AND_PERCENT = re.compile(rf"({'|'.join(KINDS[1:])})([1-9][0-9]?)")


def split_regime(corruption: str) -> tuple[str, str | None]:
    """Split ``"label10@released"`` into kinds and regime; the usual regime is None."""
    kinds, at, regime = corruption.partition("@")
    if at and regime != RELEASED:
        raise ValueError(
            f"unknown regime {regime!r} of corruption {corruption!r}: "
            f"use '{kinds}@{RELEASED}', or {kinds!r} for the usual one"
        )
    return kinds, regime if at else None


def parse_corruption(name: str) -> dict[str, float]:
    """Read ``"label10+feature5"`` as ``{"label": 0.1, "feature": 0.05}``; ``"clean"`` is empty.

    The regime changes nothing: ``"label10@released"`` is ``{"label": 0.1}`` as well.
    """
    name, _ = split_regime(name)
    if name == "clean":
        return {}
    matches = [_KIND_AND_PERCENT.fullmatch(word) for word in name.split("+")]
    percents = {match[1]: int(match[2]) for match in matches if match}
    if len(percents) < len(matches):
        guess = _guess(name)
        hint = f"did you mean {guess!r}?" if guess else RULES
        raise ValueError(f"unknown corruption {name!r}; {hint}")
    in_order = sorted(percents, key=KINDS.index)
    if list(percents) != in_order:
        canonical = "+".join(f"{kind}{percents[kind]}" for kind in in_order)
        raise ValueError(f"unknown corruption {name!r}: write it as {canonical!r}")
    if sum(percents.values()) >= 100:
        raise ValueError(f"corruption {name!r} leaves no point clean: lower its percentages")
    return {kind: percent / 100 for kind, percent in percents.items()}


def check_task(name: str, task: str) -> None:
    """Raise if a corruption does not fit a task, ``"classification"`` or ``"regression"``."""
    if split_regime(name)[1] == RELEASED and task != "classification":
        raise ValueError(f"the regime of {name!r} splits by class, and this is a {task} problem")
    for kind in parse_corruption(name):
        if TASK_OF.get(kind, task) != task:
            fitting = next(other for other, its_task in TASK_OF.items() if its_task == task)
            raise ValueError(
                f"{kind} noise is for {TASK_OF[kind]}, and this is a {task} problem: "
                f"use {fitting} noise, as in '{fitting}10'"
            )


def _guess(name: str) -> str | None:
    """The corruption that a misspelt name may mean; only for one kind."""
    letters = name.rstrip("0123456789")
    kind = nearest(letters, KINDS) if letters.isalpha() else None
    guess = "clean" if kind == "clean" else f"{kind}{name[len(letters) :]}"
    return guess if guess == "clean" or _KIND_AND_PERCENT.fullmatch(guess) else None


def columns_of(wildcards: Mapping[str, str]) -> dict[str, str | int]:
    """The parts of an address as columns of a table: dataset, n, corruption and, if there, seed."""
    named = dict(wildcards.items())  # Snakemake's are no mapping, but have items
    whole = {"n", "seed"}
    columns = [name for name in ("dataset", "n", "corruption", "seed") if name in named]
    return {name: int(named[name]) if name in whole else named[name] for name in columns}


def address(dataset: str, n: int, corruption: str, seed: int) -> str:
    """Name a problem as files, tables and logs do: ``{dataset}/n{n}/{corruption}/seed{seed}``."""
    parse_corruption(corruption)
    return f"{dataset}/n{n}/{corruption}/seed{seed}"
