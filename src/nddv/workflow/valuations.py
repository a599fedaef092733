"""Which problems are valued, and by which methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from nddv.dynamics.choices import LEARNED_WEIGHTS
from nddv.dynamics.readouts import CLASSIFICATION
from nddv.methods.registry import METHODS, REPLAYED_READOUTS, VARIANT_READOUTS, get_method
from nddv.methods.settings import effective, settings_key
from nddv.methods.variants import META_SIZE, is_nddv
from nddv.problems.registry import split_name, unavailable
from nddv.problems.sizes import part_sizes
from nddv.support.schemas import ConfigurationError

PROBLEM = "{dataset}/n{n}/{corruption}"
ADDRESS = f"{PROBLEM}/seed{{seed}}"
OF_PROBLEMS = ("datasets", "n", "corruptions")
"""What says which problems a part has."""
AS_THEY_ARE = {"image": "pixels", "text": "words"}
"""The encoders, by the kind of items, that leave these as they are."""
OF_LEARNED_WEIGHTS = "meta_"
"""How the settings of learned weights, and of the data that they are learned on, begin."""

Problem = Mapping[str, Any]
"""``dataset``, ``n``, ``corruption``; perhaps its own ``methods``, with the reason ``why`` there
are no others; methods that it is ``without``, each with its reason; and ``resample``."""

Gap = Mapping[str, Any]
"""What cannot be run: a problem, perhaps a ``method`` of it, and the ``reason``."""


class Experiment(NamedTuple):
    """Problems whose data set is available, and the others as gaps."""

    problems: tuple[Problem, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True)
class Valuations:
    """The problems of a configuration that was checked, and their methods."""

    config: Mapping[str, Any]

    # ------------------------------------------------------------------ problems

    @property
    def seeds(self) -> list[int]:
        """Every problem is made for each of them."""
        return list(self.config["seeds"])

    @cached_property
    def allowed_sources(self) -> list[str]:
        """Kinds of sources; a user's own table is always allowed, since nothing replaces it."""
        return [*self.config["sources"], "file"]

    def divide(self, problems: Iterable[Problem]) -> Experiment:
        """Tell the problems whose data set is available from the gaps, which get the reason."""
        available, gaps = [], []
        for problem in problems:
            name, encoder = split_name(problem["dataset"])
            entry = self.config["datasets"][name]
            encoding = self.config["encoders"].get(encoder)
            reason = unavailable(problem["dataset"], entry, encoding, self.allowed_sources)
            if reason is None:
                available.append(problem)
            else:
                about = {"title": entry.get("title", ""), "data": entry.get("data", "table")}
                gaps.append({**problem, **about, "reason": reason})
        return Experiment(tuple(available), tuple(gaps))

    @cached_property
    def main(self) -> Experiment:
        """The main problems."""
        return self.divide(self.config["problems"])

    @cached_property
    def curated(self) -> tuple[Problem, ...]:
        """The main problems that are retrained after points were removed or added."""
        up_to = self.config["curation"]["up_to"]
        return tuple(problem for problem in self.main.problems if problem["n"] <= up_to)

    @cached_property
    def audited(self) -> dict[str, Experiment]:
        """The problems of each part of the audits."""
        parts = {
            part: self.config["audits"][part] for part in ("marginals", "retraining", "bridge")
        }
        return {
            part: self.divide(grid_problems({**entry, "n": [entry["n"]]}))
            for part, entry in parts.items()
        }

    def audit_settings(self, part: str) -> dict[str, Any]:
        """The settings of a part of the audits, without what its problems are."""
        return without(self.config["audits"][part], *OF_PROBLEMS)

    @cached_property
    def compared(self) -> Experiment:
        """The problems on which estimators of semi-values are compared."""
        entry = self.config["semivalues"]
        return self.divide(grid_problems({**entry, "n": [entry["n"]]}))

    @property
    def compared_seeds(self) -> list[int]:
        """The seeds of these problems: the first of all, since it takes minutes each."""
        return self.seeds[: self.config["semivalues"]["seeds"]]

    @cached_property
    def comparison(self) -> dict[str, Any]:
        """What the comparison is told besides the problem."""
        entry = self.config["semivalues"]
        names = unique(name for law in entry["laws"].values() for name in law["methods"])
        settings = {name: self.settings(name) for name in names}
        return {**without(entry, *OF_PROBLEMS, "seeds"), "settings": settings}

    def items_of(self, dataset: str) -> str:
        """A data set as networks read it that are trained end to end: pixels, words, or numbers."""
        name = split_name(dataset)[0]
        encoder = AS_THEY_ARE.get(self.config["datasets"][name].get("data", "table"))
        return f"{name}@{encoder}" if encoder else name

    @cached_property
    def trained(self) -> Experiment:
        """The problems on whose items networks are trained, each with its ``module``."""
        entry = self.config["modules"]
        problems, gaps = [], []
        for module, about in entry["trained"].items():
            for problem in grid_problems({**entry, **about, "n": [entry["n"]]}):
                items = {**problem, "dataset": self.items_of(problem["dataset"])}
                absent = self.divide([problem, items]).gaps
                if absent:
                    gaps.append({**absent[0], "dataset": problem["dataset"], "module": module})
                else:
                    problems.append({**problem, "module": module})
        return Experiment(tuple(problems), tuple(gaps))

    @property
    def trained_seeds(self) -> list[int]:
        """The seeds of these problems: the first of all, since it takes minutes each."""
        return self.seeds[: self.config["modules"]["seeds"]]

    def training(self, module: str) -> dict[str, Any]:
        """What the comparison of a network is told besides the problem."""
        entry = self.config["modules"]
        settings = {name: self.settings(name) for name in entry["methods"]}
        asked = without(entry, *OF_PROBLEMS, "seeds", "trained")
        return {**asked, "settings": settings, "replay": entry["trained"][module]["replay"]}

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """The tables of detection by name: one for each n of the main problems, and the further."""
        main = self.config["problems"]
        tables = {
            f"detection_n{n}": [p for p in main if p["n"] == n]
            for n in sorted({p["n"] for p in main})
        }
        for name, entry in self.config["experiments"].items():
            tables[name] = [problem for grid in entry["grids"] for problem in grid_problems(grid)]
        return {name: self.divide(problems) for name, problems in tables.items()}

    @cached_property
    def datasets(self) -> list[str]:
        """Every data set that values are made for, those of the main problems first."""
        return unique(address.partition("/")[0] for address in self.methods_by_problem)

    @cached_property
    def resampled(self) -> frozenset[str]:
        """Addresses of the problems whose rows are drawn with replacement."""
        return frozenset(
            PROBLEM.format(**problem)
            for experiment in self.experiments.values()
            for problem in experiment.problems
            if problem.get("resample")
        )

    def problem_options(self, address: str) -> dict[str, Any]:
        """What `make_problem` is told besides the address."""
        shared = {key: self.config[key] for key in ("sizes", "corrupt_valid")}
        return {**shared, "resample": address in self.resampled}

    # ------------------------------------------------------------------ methods

    def methods_of(self, problem: Problem) -> list[str]:
        """The methods of a problem: its own, or all of the main problems; without some."""
        names = problem.get("methods", self.main_methods)
        return [name for name in names if name not in problem.get("without", ())]

    @cached_property
    def main_methods(self) -> list[str]:
        """The methods of the configuration that can value the main problems, which have classes."""
        names = self.config["methods"]
        return [name for name in names if CLASSIFICATION in get_method(name).tasks]

    def settings(self, method: str) -> dict[str, Any]:
        """What the configuration says of a method; all readouts of NDDV share one entry."""
        return dict(self.config["settings"].get(settings_key(method), {}))

    @property
    def audit_methods(self) -> list[str]:
        """The methods that the audits look at."""
        return list(self.config["audits"]["methods"])

    @cached_property
    def grid_defaults(self) -> dict[str, dict[str, Any]]:
        """The usual values of the settings that the sensitivity changes, for each readout.

        They are those of the readout's configuration. Settings of learned weights do nothing to a
        readout whose weights are not learned: it has none of them.
        """
        meta = part_sizes(self.config["sensitivity"]["problem"]["n"], self.config["sizes"])["meta"]
        defaults = {}
        for readout in VARIANT_READOUTS:
            usual = {**effective(self.config["settings"], readout), META_SIZE: meta}
            learns = usual["reweighting"] in LEARNED_WEIGHTS
            defaults[readout] = {
                parameter: usual[parameter]
                for parameter in self.config["sensitivity"]["grid"]
                if learns or not parameter.startswith(OF_LEARNED_WEIGHTS)
            }
        return defaults

    @property
    def variants(self) -> list[str]:
        """The readouts with each setting of the sensitivity's grid that is not their usual one."""
        return [
            f"{readout}:{parameter}={setting}"
            for parameter, settings in self.config["sensitivity"]["grid"].items()
            for setting in settings
            for readout, usual in self.grid_defaults.items()
            if parameter in usual and setting != usual[parameter]
        ]

    def asks_for(self, experiment: str) -> bool:
        """Whether a table of detection belongs to the parts asked for; the main ones always do."""
        further = experiment in self.config["experiments"]
        return not further or "experiments" in self.config["parts"]

    @cached_property
    def methods_by_problem(self) -> dict[str, list[str]]:
        """The methods that value each problem of the parts asked for, by its address."""
        wanted = [
            (problem, self.methods_of(problem))
            for name, experiment in self.experiments.items()
            if self.asks_for(name)
            for problem in experiment.problems
        ]
        if "sensitivity" in self.config["parts"]:
            names = [*VARIANT_READOUTS, *self.variants]
            wanted.append((self.config["sensitivity"]["problem"], names))
        if "pictures" in self.config["parts"]:
            wanted.append((self.config["pictures"]["problem"], VARIANT_READOUTS))
        methods: dict[str, list[str]] = {}
        for problem, names in wanted:
            methods.setdefault(PROBLEM.format(**problem), []).extend(names)
        return {address: unique(names) for address, names in methods.items()}

    @cached_property
    def methods(self) -> list[str]:
        """Every method that values anything, each once."""
        valued = (name for names in self.methods_by_problem.values() for name in names)
        audited = self.audit_methods if "audits" in self.config["parts"] else []
        return unique([*valued, *audited])

    @property
    def readouts(self) -> list[str]:
        """The readouts of NDDV among the methods, without variants."""
        return [name for name in self.methods if name in METHODS and is_nddv(name)]

    def readouts_for(self, task: str) -> list[str]:
        """Those that are read out of one fit, for problems of a task."""
        names = [name for name in self.readouts if name not in REPLAYED_READOUTS]
        return [name for name in names if task in METHODS[name].tasks]

    @property
    def baselines(self) -> list[str]:
        """The other methods of this library."""
        return [name for name in self.methods if not is_nddv(name) and name in METHODS]

    def curated_methods(self, address: str) -> list[str]:
        """The methods that points are removed and added by: those of a main problem, or some."""
        main = {PROBLEM.format(**p): self.methods_of(p) for p in reversed(self.main.problems)}
        names = main.get(address, list(VARIANT_READOUTS))
        return [name for name in names if name in self.config["curation"].get("methods", names)]

    def values_of(self, address: str, suffix: str, curated: bool = False) -> list[str]:
        """Files of the values of a problem, of all seeds; of all its methods, or of the curated."""
        if address not in self.methods_by_problem:
            raise ConfigurationError(f"{address} is in none of the parts of this configuration")
        names = self.curated_methods(address) if curated else self.methods_by_problem[address]
        start = f"results/values/{address}/seed"
        return [f"{start}{seed}/{name}{suffix}" for name in names for seed in self.seeds]

    def left_out(self, experiment: Experiment) -> list[Gap]:
        """Methods of a table that some of its problems are not valued by, with the reason."""
        every = (name for p in experiment.problems for name in p.get("methods", self.main_methods))
        names = unique(every)
        return [
            {key: problem[key] for key in ("dataset", "n", "corruption")}
            | {"method": name, "title": get_method(name).title}
            | {"reason": _why_without(problem, name)}
            for problem in experiment.problems
            for name in names
            if name not in self.methods_of(problem)
        ]


def _why_without(problem: Problem, method: str) -> str:
    """Why a problem is not valued by a method."""
    otherwise = problem.get("why", "left out of this configuration")
    return str(problem.get("without", {}).get(method, otherwise))


def grid_problems(grid: Mapping[str, Any]) -> list[Problem]:
    """The problems of a grid, with its methods."""
    kept = {key: grid[key] for key in ("methods", "without", "resample", "why") if key in grid}
    return [
        {"dataset": dataset, "n": n, "corruption": corruption, **kept}
        for dataset in grid["datasets"]
        for n in grid["n"]
        for corruption in grid["corruptions"]
    ]


def without(settings: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """All settings but some."""
    return {key: value for key, value in settings.items() if key not in keys}


def unique(names: Iterable[str]) -> list[str]:
    """Names in their order, each once."""
    return list(dict.fromkeys(names))
