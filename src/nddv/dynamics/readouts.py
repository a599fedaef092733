"""The registry of readouts: how a trained run becomes one value per training point.

A new readout is one function in `nddv.dynamics.reading` and one entry here. The estimator, the
command line, the methods ``nddv-<readout>``, figures and pages read this registry. Functions are
named, not imported: the Snakefile reads the registry inside Snakemake's own environment.

What computes values imports this module inside functions only, so that a new title reruns nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from nddv.replay.choices import LEVELS
from nddv.support.wording import pick

PAPER = "Liang et al., Neural Dynamic Data Valuation via Stochastic State-Adjoint Trajectories"
CLASSIFICATION, REGRESSION = "classification", "regression"


@dataclass(frozen=True)
class Readout:
    """One way to read values out of a trained run.

    Attributes
    ----------
    name : as in `NDDV(readout=...)`; the method is called ``nddv-<name>``.
    title : as in figures and tables for people.
    meaning : what the number is, after "it is ".
    says : what the number tells of a row, after "It says ".
    citation : where it comes from.
    needs : parts of the problem that it reads.
    cost : how its time grows with n points and E epochs.
    function : ``"module:function"``, called with what was trained and a progress callback.
    law : of a semi-value, as `nddv.laws` names it; its function takes the law and the
        number of levels, which are as many as replays.
    low_is_bad : tasks in which a low value means a bad row.
    tasks : those that it is defined for.
    default_for : tasks in which the command line takes it unless told otherwise.
    configuration : the named settings that it is made for (`nddv.estimator.settings`): "default",
        "regression", or "paper" for what is about one run of Algorithm 1.
    replays : passes back through all training steps that a trajectory takes.
    utility : that it derives in classification, unless the user names another; None: it derives
        none, and its numbers have no unit.
    variant : whether it is read out of the fits of variants (`nddv.methods.variants`).
    colour, style, marker : its look in figures.
    """

    name: str
    title: str
    meaning: str
    says: str
    citation: str
    needs: tuple[str, ...]
    cost: str
    function: str
    low_is_bad: frozenset[str]
    colour: str
    style: str
    marker: str
    configuration: str = "default"
    tasks: frozenset[str] = frozenset({CLASSIFICATION, REGRESSION})
    default_for: frozenset[str] = frozenset()
    replays: int = 0
    utility: str | None = None
    variant: bool = False
    law: str = ""

    def load(self) -> Callable[..., Any]:
        """The function that computes it."""
        module, _, name = self.function.partition(":")
        function = getattr(import_module(module), name)
        return partial(function, law=self.law, levels=self.replays) if self.law else function


def _semivalue(
    law: str, title: str, meaning: str, replays: int, colour: str, style: str, marker: str
) -> Readout:
    """A semi-value of the rows in the game of the run itself, from replays at levels of its law."""
    return Readout(
        name=law,
        title=f"NDDV, {title}",
        meaning=f"the {meaning} of each row where the utility on the validation data is that of "
        "this very training run, trained again with fewer rows",
        says="what a row adds to the utility when it joins some of the others, compared with the "
        "mean row",
        citation="this library; Owen (1972), Aumann and Shapley (1974)",
        needs=("train", "meta", "valid"),
        cost=f"E·n, {replays} more {'run' if replays == 1 else 'runs'}, each replayed",
        function="nddv.dynamics.reading:semivalue",
        low_is_bad=frozenset({CLASSIFICATION, REGRESSION}),
        colour=colour,
        style=style,
        marker=marker,
        configuration="paper",
        replays=replays,
        # a log-likelihood jumps where a class comes in, and that would be most of the value
        utility="probability",
        law=law,
    )


READOUTS: dict[str, Readout] = {
    readout.name: readout
    for readout in (
        Readout(
            name="terminal",
            title="NDDV, terminal (the paper's score)",
            meaning="the paper's score, the sensitivity of the terminal loss to each row at the "
            "end of training",
            says="how a row fits what the others teach",
            citation=PAPER,
            needs=("train", "meta"),
            cost="E·n",
            function="nddv.dynamics.reading:terminal",
            configuration="paper",
            # radial scores follow the loss only where it is monotone along the state
            low_is_bad=frozenset({CLASSIFICATION}),
            colour="#D55E00",
            style="--",
            marker="s",
            variant=True,
        ),
        Readout(
            name="path",
            title="NDDV, path-integrated",
            meaning="minus the terminal loss of each row, averaged along the training of all "
            "members",
            says="how a row fits what the others teach",
            citation=f"{PAPER}, its future work",
            needs=("train",),
            cost="M·E·n, M members",
            function="nddv.dynamics.reading:path",
            low_is_bad=frozenset({CLASSIFICATION, REGRESSION}),
            default_for=frozenset({CLASSIFICATION}),
            colour="#0072B2",
            style="-",
            marker="o",
            variant=True,
        ),
        Readout(
            name="residual",
            title="NDDV, residual",
            meaning="minus the distance of each target from what the members predict along their "
            "training, over its uncertainty",
            says="how far its target is from what the others teach",
            citation="this library",
            needs=("train",),
            cost="M·E·n, M members",
            function="nddv.dynamics.reading:residual",
            configuration="regression",
            low_is_bad=frozenset({REGRESSION}),
            tasks=frozenset({REGRESSION}),
            default_for=frozenset({REGRESSION}),
            colour="#8C510A",
            style=":",
            marker="h",
        ),
        Readout(
            name="participation",
            title="NDDV, participation derivative",
            meaning="the derivative of the utility on the validation data with respect to each "
            "row's weight in this very training run",
            says="whether more weight on a row would have helped or harmed on the validation data, "
            "compared with the mean row",
            citation=f"{PAPER}; replay as in Engstrom et al. (2025), arXiv 2503.13751",
            needs=("train", "meta", "valid"),
            cost="E·n, about three fits",
            function="nddv.dynamics.reading:participation",
            configuration="paper",
            low_is_bad=frozenset({CLASSIFICATION, REGRESSION}),
            replays=1,
            utility="log_likelihood",
            colour="#009E73",
            style="-.",
            marker="^",
        ),
        _semivalue("shapley", "Shapley", "Shapley value", LEVELS, "#332288", "-", "D"),
        _semivalue("banzhaf", "Banzhaf", "Banzhaf value", 1, "#882255", "--", "v"),
        _semivalue("beta", "Beta Shapley", "Beta(4,1)-Shapley value", LEVELS, "#44AA99", ":", "P"),
    )
}


def get_readout(name: str) -> Readout:
    """Look a readout up by name; the error suggests the nearest.

    ``"beta(α,β)"`` names any other Beta Shapley than that of the registry.
    """
    if name.startswith("beta("):
        known = READOUTS["beta"]
        meaning = known.meaning.replace("Beta(4,1)", name.capitalize())
        return replace(known, name=name, title=f"NDDV, {name}", meaning=meaning, law=name)
    return pick(READOUTS, name, "readout")


def default_readout(task: str) -> Readout:
    """The readout to take for a task unless told otherwise."""
    return next(readout for readout in READOUTS.values() if task in readout.default_for)
