"""What a configuration asks for: problems, methods, tables and figures, and what they are made of.

    plan = Plan.of(config, root)
    plan.main.problems                # the main problems, those whose data set is available
    plan.part_files("detection")      # the files of the report that a part asks for
    plan.files("audit:errors")        # the files behind an argument of a table (`SOURCES`)

A plan knows paths and names, no numbers, and no Snakemake: rules ask it for their inputs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nddv.methods.settings import effective
from nddv.problems.registry import split_name
from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.catalogue.tables import TABLES, detection_table, experiment_table
from nddv.reporting.claims import check_claims
from nddv.reporting.contents import check_report, find_table
from nddv.reporting.registry import Entry, Figure, Table
from nddv.support.provenance import config_hash
from nddv.support.schemas import ConfigurationError
from nddv.support.wording import hint
from nddv.workflow.sources import FACTS, SOURCES
from nddv.workflow.timings import Timings
from nddv.workflow.valuations import Problem, Valuations, unique, without

SUFFIXES = {"tables": ("csv", "md"), "figures": ("pdf", "png")}


@dataclass(frozen=True)
class Plan(Valuations):
    """What a configuration asks for; see the module."""

    root: Path
    """The project's folder, where ``config/paper`` lies."""

    @classmethod
    def of(cls, config: Mapping[str, Any], root: str | Path) -> Plan:
        """The plan of a configuration that was checked; nothing to do is an error."""
        plan = cls(config, Path(root))
        for i, part in enumerate(config["parts"]):
            if part not in plan.parts:
                known = hint(part, plan.parts)
                raise ConfigurationError(f"parts[{i}]: unknown name {part!r}; {known}")
        if not plan.main.problems:
            reasons = "; ".join(f"{gap['dataset']}: {gap['reason']}" for gap in plan.main.gaps)
            raise ConfigurationError(f"problems: no data set is available. {reasons}")
        for part in ("sensitivity", "pictures"):
            gaps = plan.divide([config[part]["problem"]]).gaps
            if part in config["parts"] and gaps:
                raise ConfigurationError(
                    f"{part}: {gaps[0]['dataset']} is not available: {gaps[0]['reason']}"
                )
        return plan

    def check_documents(self) -> None:
        """Raise for a mistake in the claims or in what the page shows, where asked for."""
        config, schemas = self.root / "config", self.root / "workflow" / "schemas"
        if {"claims", "page"} & set(self.config["parts"]):
            check_claims(
                config / "claims.yaml",
                schemas / "claims.schema.yaml",
                self.config["datasets"],
                lambda name: find_table(self.tables, name).columns,
            )
        if "page" in self.config["parts"]:
            check_report(config / "report.yaml", schemas / "report.schema.yaml", self.tables)

    # ------------------------------------------------------------------ paths

    def paths(
        self, pattern: str, problems: Iterable[Problem], seeds: Sequence[int] | None = None
    ) -> list[str]:
        """A pattern with the wildcards of `PROBLEM` or `ADDRESS`, for each problem (and seed).

        seeds : all, if None.
        """
        chosen = self.seeds if seeds is None else seeds
        return unique(pattern.format(**p, seed=seed) for p in problems for seed in chosen)

    def published(self, table: str) -> str | None:
        """The file of the numbers that the paper prints for a table; None where it prints none."""
        path = self.root / "config" / "paper" / f"{table}.csv"
        return os.path.relpath(path) if path.exists() else None

    # ------------------------------------------------------------------ the report

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Every table that this configuration can make, by name."""
        datasets = {split_name(problem["dataset"])[0] for problem in self.main.problems}
        entries = [entry for entry in TABLES.values() if entry.requires in ("", *datasets)]
        entries += map(detection_table, sorted({p["n"] for p in self.config["problems"]}))
        for name, about in self.config["experiments"].items():
            entries.append(experiment_table(name, **without(about, "grids")))
        return {entry.name: entry for entry in entries}

    @property
    def figures(self) -> dict[str, Figure]:
        """Every figure, by name."""
        return FIGURES

    @cached_property
    def parts(self) -> list[str]:
        """The parts of the report; each is also a target of Snakemake."""
        entries: list[Entry] = [*TABLES.values(), *FIGURES.values()]
        return unique([*(entry.part for entry in entries), "experiments", "page"])

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What every table says of its origin. All settings count, those at their default too."""
        settings = {
            name: effective(self.config["settings"], name)
            for name in [*self.readouts, *self.baselines]
        }
        return {
            "config": config_hash({**self.config, "settings": settings}),
            "seeds": self.seeds,
            "corrupt_valid": self.config["corrupt_valid"],
        }

    def methods_shown(self, figure: Figure) -> list[str] | None:
        """The methods of a figure whose frames have more; None for all."""
        return self.fact(figure.methods) if figure.methods else None

    def shown(self, source: str) -> list[str]:
        """What the figures show of a source, as the frames of ``trajectories:``."""
        reads = [read.partition(":") for f in FIGURES.values() for read in f.reads.values()]
        return unique(what for name, _, what in reads if name == source)

    def part_files(self, part: str) -> list[str]:
        """The files of the report that a part asks for."""
        formats = [(kind, suffix) for kind, suffixes in SUFFIXES.items() for suffix in suffixes]
        files = [file for of in formats for file in self._files_of(part, *of)]
        return ["reports/index.html", *files] if part == "page" else files

    def _files_of(self, part: str, kind: str, suffix: str) -> list[str]:
        """The files of one kind and format of a part, in the order of the catalogue."""
        known: Mapping[str, Entry] = self.tables if kind == "tables" else self.figures
        folder = f"results/{kind}" if suffix == "json" else f"reports/{kind}"
        return [f"{folder}/{name}.{suffix}" for name, e in known.items() if e.part == part]

    def report_files(self, kind: str, suffix: str, *, without: Sequence[str] = ()) -> list[str]:
        """The files of one kind and format of all parts that are asked for; a page has claims."""
        parts = [*self.config["parts"], *(["claims"] if "page" in self.config["parts"] else [])]
        wanted = [part for part in unique(parts) if part not in without]
        return [file for part in wanted for file in self._files_of(part, kind, suffix)]

    def inputs(self, entry: Entry) -> dict[str, list[str]]:
        """The files behind each argument of a table or figure."""
        if entry.name in self.config["experiments"] and not self.asks_for(entry.name):
            raise ConfigurationError(
                f"{entry.name}: `experiments` is not among the parts of this configuration"
            )
        return {name: self.files(source) for name, source in entry.reads.items()}

    def told(self, entry: Entry) -> dict[str, Any]:
        """The facts of the configuration that a table or figure is told."""
        return {name: self.fact(fact) for name, fact in entry.facts.items()}

    def files(self, source: str) -> list[str]:
        """The files of a source, ``"audit:errors"``: a name of `SOURCES`, and what it is told."""
        files: list[str] = self._ask(SOURCES, source)
        return files

    def fact(self, fact: str) -> Any:
        """A fact, ``"audit_gaps:marginals"``: a name of `FACTS`, and what it is told."""
        return self._ask(FACTS, fact)

    def _ask(self, functions: Mapping[str, Callable[..., Any]], question: str) -> Any:
        name, _, arguments = question.partition(":")
        return functions[name](self, *filter(None, arguments.split(",")))

    @cached_property
    def timings(self) -> Timings:
        """The run times that are measured."""
        return Timings(self.config["timings"])
