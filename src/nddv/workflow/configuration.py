"""The configuration of the workflow, checked before anything runs.

The schemas say which keys there are and what they hold; that of ``settings`` is made from the
settings of the methods. Here is what schemas cannot say: every data set, encoder, method, setting
and corruption that the configuration names exists. All mistakes are a
:class:`~nddv.support.schemas.ConfigurationError`, one line that names the key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nddv.audit.choices import PARTICIPATION
from nddv.dynamics.readouts import CLASSIFICATION
from nddv.methods.registry import (
    CLEANLAB_PREFIX,
    OPENDATAVAL_PREFIX,
    VARIANT_READOUTS,
    get_method,
)
from nddv.methods.settings import EVALUATORS
from nddv.methods.settings import schema as settings_schema
from nddv.methods.signatures import LIBRARY, functions, parse
from nddv.methods.variants import META_SIZE, Variant, split_variant
from nddv.problems.addresses import check_task, parse_corruption
from nddv.problems.registry import check_name, split_name, task_of
from nddv.support.schemas import ConfigurationError, check, fault
from nddv.support.wording import hint, pick
from nddv.workflow.valuations import PROBLEM, grid_problems

Config = Mapping[str, Any]
REGISTRIES = ("datasets", "encoders", "settings")


def check_configuration(config: Config, root: str | Path) -> None:
    """Raise for the first mistake in a configuration.

    Parameters
    ----------
    config : all of it, as Snakemake has merged it.
    root : the project's folder, with its schemas.
    """
    check(config, Path(root, "workflow", "schemas", "config.schema.yaml"))
    check({"settings": config["settings"]}, {"properties": {"settings": settings_schema()}})
    _check_sources(config)
    _check_encoders(config["encoders"])
    for where, name in _named(config, "dataset", "datasets"):
        _at(where, check_name, name, config["datasets"], config["encoders"])
        _at(where, _check_own_file, config["datasets"][split_name(name)[0]])
    for where, name in _named(config, "corruption", "corruptions"):
        _at(where, _check_corruption, name, where.startswith("audits."))
    _check_tasks(config)
    _check_repetitions(config)
    _check_sizes(config)
    for where, name in _named(config, "methods"):
        _at(where, _check_method, name, config, not where.startswith("timings."))
    _at("audits.methods", _check_audited, config["audits"]["methods"])
    for where, names in _named(config, "without"):
        for name in names:
            _at(where, _check_method, name, config, True)
    for parameter, values in config["sensitivity"]["grid"].items():
        where = f"sensitivity.grid.{parameter}"
        for i, value in enumerate(values):
            _at(f"{where}[{i}]", _check_variant, Variant(parameter, value), config)


def _at(where: str, function: Callable[..., object], *arguments: Any) -> None:
    """Call a check; its error then says where."""
    try:
        function(*arguments)
    except ValueError as error:
        raise ConfigurationError(f"{where}: {error}") from None


def _named(content: Any, *keys: str, where: str = "") -> Iterator[tuple[str, Any]]:
    """What stands under some keys, lists item by item, and where; not in the registries."""
    if isinstance(content, list):
        for i, part in enumerate(content):
            yield from _named(part, *keys, where=f"{where}[{i}]")
    elif isinstance(content, Mapping):
        for key, part in content.items():
            path = f"{where}.{key}" if where else key
            if path in REGISTRIES:
                continue
            if key not in keys:
                yield from _named(part, *keys, where=path)
            elif isinstance(part, list):
                yield from ((f"{path}[{i}]", item) for i, item in enumerate(part))
            else:
                yield path, part


def _check_corruption(name: str, clean_too: bool) -> None:
    if not parse_corruption(name) and not clean_too:
        raise ValueError("'clean' leaves nothing to detect: only audits take it")


def _check_tasks(config: Config) -> None:
    """Corruptions fit the task of their data set; classes are everywhere but in experiments."""
    for name, entry in config["experiments"].items():
        for i, grid in enumerate(entry["grids"]):
            for problem in grid_problems(grid):
                task = task_of(problem["dataset"], config["datasets"])
                at = f"experiments.{name}.grids[{i}]: {problem['dataset']}"
                _at(at, check_task, problem["corruption"], task)
    further = "experiments."
    for where, name in _named(config, "dataset", "datasets"):
        if not where.startswith(further) and task_of(name, config["datasets"]) != CLASSIFICATION:
            raise ConfigurationError(
                f"{where}: {name} has real-valued targets; only `experiments` take them"
            )
    for where, name in _named(config, "corruption", "corruptions"):
        if not where.startswith(further):
            _at(where, check_task, name, CLASSIFICATION)


def _check_repetitions(config: Config) -> None:
    """No table has a problem twice."""
    tables = {"problems": config["problems"]}
    for name, entry in config["experiments"].items():
        tables[f"experiments.{name}"] = [p for grid in entry["grids"] for p in grid_problems(grid)]
    for where, problems in tables.items():
        for address, times in Counter(PROBLEM.format(**p) for p in problems).items():
            if times > 1:
                raise ConfigurationError(f"{where}: {address} is listed twice")


def _check_sizes(config: Config) -> None:
    """Every part of every problem has rows."""
    points = [n for where, n in _named(config, "n") if not where.startswith("timings.")]
    for part, size in config["sizes"].items():
        if size < 1 and round(size * min(points)) < 1:
            raise ConfigurationError(
                f"sizes.{part}: {size} of n = {min(points)} is less than a row"
            )


# ------------------------------------------------------------------ methods


def _check_audited(names: Sequence[str]) -> None:
    """Audits are of classes; their pairs of points are chosen by the gaps of one readout."""
    if PARTICIPATION not in names:
        raise ValueError(f"{PARTICIPATION} must be among them: its gaps choose the pairs")
    for name in names:
        if CLASSIFICATION not in get_method(name).tasks:
            raise ValueError(f"{name} is not for classes, which the audits have")


def _check_method(name: str, config: Config, variants: bool) -> None:
    if name.startswith(OPENDATAVAL_PREFIX):
        if not re.search(EVALUATORS, name):
            raise ValueError(f"unknown method {name!r}; OpenDataVal's are named as odv:DataBanzhaf")
        return
    get_method(name)
    if name.startswith(CLEANLAB_PREFIX):
        return
    base, variant = split_variant(name)
    if variant is None:
        return
    if not variants:
        raise ValueError(f"{name!r}: variants are not timed; name {base!r}")
    if base not in VARIANT_READOUTS:
        raise ValueError(f"{name!r}: variants have the readouts {', '.join(VARIANT_READOUTS)}")
    _check_variant(variant, config)


def _check_variant(variant: Variant, config: Config) -> None:
    """One setting of NDDV: whether there is such a setting, and it may have that value."""
    parameter, value = variant.parameter, variant.setting
    if parameter == META_SIZE:
        size, n = config["sizes"]["meta"], config["sensitivity"]["problem"]["n"]
        rows = size if isinstance(size, int) else round(size * n)
        if not (isinstance(value, int) and 1 <= value <= rows):
            raise ValueError(f"{META_SIZE} must be a whole number from 1 to {rows}, not {value!r}")
        return
    known = settings_schema()["properties"]["nddv"]["properties"]
    mistake = fault(value, pick({**known, META_SIZE: {}}, parameter, "setting of NDDV"))
    if mistake is not None:
        raise ValueError(f"{parameter} {mistake[1]}")


# ------------------------------------------------------------------ registries


def _check_own_file(entry: Config) -> None:
    path = Path(entry.get("path", ".")).expanduser()
    # Snakemake would take older results for good where their input is gone.
    if not path.exists():
        raise ValueError(f"there is no file {path}, seen from {Path.cwd()}")


def _check_sources(config: Config) -> None:
    for name, entry in config["datasets"].items():
        for i, source in enumerate(entry.get("sources", [])):
            where = f"datasets.{name}.sources[{i}]"
            if "encoder" in source:
                _at(f"{where}.encoder", pick, config["encoders"], source["encoder"], "encoder")
            if entry["data"] == "table" and "target" not in {**entry, **source}:
                raise ConfigurationError(f"{where}: the key 'target' is missing, here and above")


def _check_encoders(encoders: Config) -> None:
    """Whether the functions of the library that encoders name are there and have such settings."""
    for name, entry in encoders.items():
        module, _, function = entry["function"].partition(":")
        if not module.startswith("nddv."):
            continue  # the user's own: known when it is loaded
        where = f"encoders.{name}"
        try:
            known = functions(parse(module))
        except (OSError, ValueError):
            sources = (LIBRARY / "problems" / "encoders").glob("[a-z]*.py")
            near = hint(module, [f"nddv.problems.encoders.{source.stem}" for source in sources])
            raise ConfigurationError(f"{where}.function: no module {module!r}; {near}") from None
        _at(f"{where}.function", pick, known, function, f"function of {module}")
        taken = known[function].args
        settings = [parameter.arg for parameter in (*taken.args[2:], *taken.kwonlyargs)]
        for key in entry.get("settings", {}):
            if key not in settings and not taken.kwarg:
                raise ConfigurationError(
                    f"{where}.settings.{key}: unknown key; {hint(key, settings)}"
                )
