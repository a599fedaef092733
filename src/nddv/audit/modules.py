"""Networks trained end to end: values of their training points against exact retraining.

A network is trained from the items of a problem as they are. The replay of its run, TracIn, the
terminal pairing, and methods that read the problem's fixed features are held against exact
retraining, and all are asked for the wrong labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nddv.audit.datamodelling import drop_subsets
from nddv.audit.networks import NETWORKS
from nddv.audit.ranks import correlation
from nddv.methods.valuation import value_or_gap
from nddv.problems.addresses import KINDS
from nddv.problems.items import items_of
from nddv.problems.problem import Problem, Truth
from nddv.problems.tables import Table
from nddv.replay.choices import REPLAY, TERMINAL, TRACIN
from nddv.replay.modules import cross_entropy
from nddv.replay.run import Replay
from nddv.support.measuring import versions
from nddv.support.wording import pick
from nddv.values import Values

Array = NDArray[np.float64]
Row = dict[str, Any]

SHARE = 0.05
"""Of the points, in a group that is dropped."""

POINT, GROUP = "point", "group"

COLUMNS = {
    "fidelity": ["method", "reads", "points", "spearman", "subsets", "lds_5", "f1", "gap"],
    "changes": ["what", "predicted", "actual"],
    "costs": ["parameters", "steps", "accuracy", "training", "replay", "times_training"],
}
"""Of the frames."""

STREAM = 9  # of random numbers, apart from those of the other audits


def compare_modules(
    problem: Problem,
    truth: Truth,
    items: Table,
    module: str,
    points: int,
    groups: int,
    methods: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    replay: Mapping[str, Any] | None = None,
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Train a network on the items of a problem, and hold scores of its points against retraining.

    Parameters
    ----------
    items : the data set of the problem, encoded as pixels or words; of a table, the table itself.
    module : a name of ``NETWORKS``.
    points : how many are left out one by one, drawn at random.
    groups : of a twentieth of the points, how many are dropped.
    methods : of the registry, which read the features of the problem.
    settings : of the methods, by name.
    replay : settings of the training (`nddv.Replay`).

    Returns
    -------
    Frames, and a record.

    - fidelity: a row per ``method``: what it ``reads``; Spearman's ρ with leaving out one point, of
      summed values with dropping groups (``lds_5``), in the network's validation log-likelihood;
      ``f1`` of the wrong labels, where as many points are flagged as are wrong.
    - changes: the changes of the utility that the replay predicted, and the actual ones.
    - costs: one row; processor seconds of the ``training`` and of the ``replay``.
    """
    if set(truth.kinds) - {KINDS.index("clean"), KINDS.index("label")}:
        raise ValueError("items cannot be corrupted, only their labels: name label noise only")
    seed, n = problem.record["seed"], len(problem.y_train)
    trained = _Trained.of(problem, items_of(problem, truth, items), module, replay or {})
    scores = {REPLAY: trained.values, TRACIN: trained.tracin(), TERMINAL: trained.terminal()}
    reads = dict.fromkeys(scores, items.name)
    for name in methods:
        of_method = (settings or {}).get(name, {})
        scores[name] = value_or_gap(name, problem, seed, **of_method)
        reads[name] = problem.record["dataset"]

    rng = np.random.default_rng([seed, STREAM])
    alone = np.zeros((min(points, n), n), dtype=bool)
    alone[np.arange(len(alone)), rng.permutation(n)[: len(alone)]] = True
    dropped = {POINT: alone, GROUP: drop_subsets(n, SHARE, groups, rng)}
    actual = {what: trained.changes(which) for what, which in dropped.items()}

    rows = [
        {"method": name, "reads": reads[name], **_held(scores[name], dropped, actual, truth.mask)}
        for name in scores
    ]
    changes = [
        {"what": what, "predicted": predicted, "actual": change}
        for what, which in dropped.items()
        for predicted, change in zip(-(which @ trained.values.values), actual[what], strict=True)
    ]
    frames = {"fidelity": rows, "changes": changes, "costs": [trained.costs(problem.y_test)]}
    record = {"module": module, "items": items.name, "problem": problem.record["address"]}
    record |= {"replay": trained.values.record, "versions": versions()}
    return {k: pd.DataFrame(v, columns=COLUMNS[k]) for k, v in frames.items()}, record


def _held(
    scores: Values,
    dropped: Mapping[str, NDArray[np.bool_]],
    actual: Mapping[str, Array],
    wrong: NDArray[np.bool_],
) -> Row:
    """Values against the actual changes, and against the wrong labels."""
    values = scores.values
    if not len(values):
        return {"gap": scores.record["gap"]}
    rho = {what: correlation(-(which @ values), actual[what]) for what, which in dropped.items()}
    counts = {what: len(which) for what, which in dropped.items()}
    lowest = np.argsort(values, kind="stable")[: wrong.sum()]
    return {
        "points": counts[POINT],
        "spearman": rho[POINT],
        "subsets": counts[GROUP],
        "lds_5": rho[GROUP],
        "f1": float(wrong[lowest].mean()),
        "gap": "",
    }


class _Trained:
    """A trained network, its inputs, and what its replay took."""

    def __init__(self, run: Replay, x: Mapping[str, Tensor], y_valid: Tensor, seconds: float):
        self.run, self.x, self.y_valid, self.training = run, x, y_valid, seconds
        begun = process_time()
        self.values = run.values(x["valid"], y_valid, trust=0)
        self.seconds = process_time() - begun

    @classmethod
    def of(
        cls,
        problem: Problem,
        items: Mapping[str, NDArray[Any]],
        module: str,
        settings: Mapping[str, Any],
    ) -> _Trained:
        """Train a network on the items of each part."""
        network = pick(NETWORKS, module, "module")
        tensors = {part: torch.as_tensor(rows).float() for part, rows in items.items()}
        x = {part: network.inputs(rows, tensors["train"]) for part, rows in tensors.items()}
        seed, classes = problem.record["seed"], len(problem.record["classes"])
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            made = network.module(torch.cat(list(x.values())), classes)
        run = Replay(made, random_state=seed, **settings)
        begun = process_time()
        run.fit(x["train"], problem.y_train)
        return cls(run, x, torch.as_tensor(problem.y_valid), process_time() - begun)

    def tracin(self) -> Values:
        return self.run.tracin(self.x["valid"], self.y_valid)

    def terminal(self) -> Values:
        return self.run.terminal()

    @torch.no_grad()
    def utility(self, module: nn.Module) -> float:
        """The mean log-likelihood of the validation labels."""
        return -float(cross_entropy(module(self.x["valid"]), self.y_valid).mean())

    def changes(self, dropped: NDArray[np.bool_]) -> Array:
        """How the utility changes (m,) when points (m, n) are dropped and all else is the same."""
        at = self.utility(self.run.module_)
        kept = 1.0 - dropped
        return np.array([self.utility(self.run.retrain(weights)) - at for weights in kept])

    @torch.no_grad()
    def costs(self, y_test: NDArray[Any]) -> Row:
        """The size of the network, how well it does, and processor seconds."""
        settings = self.values.record["settings"]
        batches = -(-len(self.values.values) // settings["batch_size"])
        predicted = self.run.module_(self.x["test"]).argmax(1).numpy()
        return {
            "parameters": sum(p.numel() for p in self.run.module_.parameters()),
            "steps": settings["epochs"] * batches,
            "accuracy": float((predicted == y_test).mean()),
            "training": self.training,
            "replay": self.seconds,
            "times_training": self.seconds / self.training,
        }
