"""Where the arguments of tables and figures come from: files, and facts of the configuration.

An entry of the catalogue names a source, ``"audit:errors"``; what follows the colon, separated by
commas, is told to the function of that source. A new table most often needs none but these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nddv.problems.addresses import parse_corruption
from nddv.problems.registry import split_name
from nddv.problems.sizes import part_sizes
from nddv.workflow.valuations import ADDRESS, PROBLEM, Problem, unique

if TYPE_CHECKING:
    from nddv.workflow.plan import Plan

EVALUATION = f"results/evaluation/{PROBLEM}"
AUDIT = f"results/audits/{PROBLEM}"
AUDIT_OF_SEED = f"results/audits/{ADDRESS}"
SEMIVALUES = f"{AUDIT_OF_SEED}/semivalues"
MODULES = f"{AUDIT_OF_SEED}/modules/{{module}}"
TRAJECTORIES = f"results/trajectories/{ADDRESS}"
COORDINATES = f"results/kernels/{ADDRESS}"

KNOWN = ("2dplanes", "fire")
"""Data sets whose P(y|x) is known: those of :mod:`nddv.evaluation.ceiling`."""

# Which part of the audits writes the rows of a kind, and to which file.
AUDIT_FILES = {
    "errors": ("marginals", f"{AUDIT}/errors.csv"),
    "gaps": ("marginals", f"{AUDIT}/gaps.csv"),
    "ranks": ("marginals", f"{AUDIT}/ranks.csv"),
    "context": ("marginals", f"{AUDIT_OF_SEED}/context.csv"),
    "marginal_certificates": ("marginals", f"{AUDIT_OF_SEED}/certificates.csv"),
    "retraining_certificates": ("retraining", f"{AUDIT_OF_SEED}/retraining/certificates.csv"),
    "fidelity": ("retraining", f"{AUDIT_OF_SEED}/retraining/fidelity.csv"),
    "datamodelling": ("retraining", f"{AUDIT_OF_SEED}/retraining/datamodelling.csv"),
    "bridge": ("bridge", f"{AUDIT_OF_SEED}/bridge.csv"),
    "records": ("marginals", f"{AUDIT_OF_SEED}/marginals.json"),
}


def _evaluation(file: str, problems: Callable[..., Any]) -> Callable[..., list[str]]:
    """The source of a file of the evaluation of some problems."""
    return lambda plan, *told: plan.paths(f"{EVALUATION}/{file}", problems(plan, *told))


def _of_dataset(plan: Plan, dataset: str = "") -> list[Problem]:
    """All main problems, or those of one data set."""
    return [p for p in plan.main.problems if dataset in ("", split_name(p["dataset"])[0])]


def _of_experiments(plan: Plan, *names: str) -> list[Problem]:
    return [problem for name in names for problem in plan.experiments[name].problems]


def _with_ceiling(plan: Plan, *names: str) -> list[Problem]:
    """Problems of tables of detection whose labels are wrong, where P(y|x) is known."""
    problems = [p for p in _of_experiments(plan, *names) if p["dataset"] in KNOWN]
    return [p for p in problems if [*parse_corruption(p["corruption"])] == ["label"]]


def _audit(plan: Plan, kind: str) -> list[str]:
    if kind == "certificates":  # against the downstream model, and against the NDDV model itself
        return [*_audit(plan, "marginal_certificates"), *_audit(plan, "retraining_certificates")]
    part, pattern = AUDIT_FILES[kind]
    return plan.paths(pattern, plan.audited[part].problems)


def _value_records(plan: Plan, *methods: str) -> list[str]:
    """Records of all values that the detection needs; or of the main problems, by some methods."""
    if not methods:
        valued = plan.methods_by_problem if "detection" in plan.config["parts"] else ()
        return [path for address in valued for path in plan.values_of(address, ".json")]
    paths = []
    for method in methods:
        problems = [p for p in plan.main.problems if method in plan.methods_of(p)]
        paths += plan.paths(f"results/values/{ADDRESS}/{method}.json", problems)
    return paths


def _pictured(plan: Plan, pattern: str, *further: int) -> list[str]:
    """A pattern of an address, for the run that is pictured, and for further seeds of it."""
    pictures = plan.config["pictures"]
    seeds = dict.fromkeys([pictures["seed"], *further])
    return [pattern.format(**pictures["problem"], seed=seed) for seed in seeds]


SOURCES: dict[str, Callable[..., list[str]]] = {
    # detection
    "detection_scores": _evaluation("detection.csv", _of_dataset),
    "detection_curves": _evaluation("detection_curve.csv", _of_dataset),
    "experiment_scores": _evaluation("detection.csv", _of_experiments),
    "ceilings": _evaluation("ceiling.csv", _with_ceiling),
    "sensitivity_scores": _evaluation(
        "detection.csv", lambda plan: [plan.config["sensitivity"]["problem"]]
    ),
    # removal, addition and groups
    "curation_scores": _evaluation("curation.csv", lambda plan: plan.curated),
    "curation_curves": _evaluation("curation_curve.csv", lambda plan: plan.curated),
    "curated_detection_curves": _evaluation("detection_curve.csv", lambda plan: plan.curated),
    "curated_groups": _evaluation("groups_summary.csv", lambda plan: plan.curated),
    "pictured_curation": _evaluation(
        "curation_curve.csv", lambda plan: [plan.config["pictures"]["problem"]]
    ),
    "groups": _evaluation("groups_summary.csv", _of_dataset),
    # records
    "records": _value_records,
    "summaries": lambda plan: [f"results/data/{name}/summary.json" for name in plan.datasets],
    # audits
    "audit": _audit,
    "audit_records": lambda plan: _audit(plan, "records"),
    "stability": lambda plan, check: [f"results/audits/stability/{check}.csv"],
    # estimators of semi-values
    "semivalues": lambda plan, frame: plan.paths(
        f"{SEMIVALUES}/{frame}.csv", plan.compared.problems, plan.compared_seeds
    ),
    # networks trained end to end
    "modules": lambda plan, frame: plan.paths(
        f"{MODULES}/{frame}.csv", plan.trained.problems, plan.trained_seeds
    ),
    # run times
    "timings": lambda plan, table: plan.timings.files(table),
    # one run, drawn
    "trajectories": lambda plan, frame: _pictured(plan, f"{TRAJECTORIES}/{frame}.csv"),
    # that of the pictured run first
    "weight_maps": lambda plan: _pictured(plan, f"{TRAJECTORIES}/weight_map.csv", *plan.seeds),
    "kernels": lambda plan, frame: [f"results/kernels/{frame}.csv"],
    "coordinates": lambda plan, frame: _pictured(plan, f"{COORDINATES}/{frame}.csv"),
    # the report itself, and the paper
    "table": lambda plan, name: [f"reports/tables/{name}.csv"],
    "tables": lambda plan: plan.report_files("tables", "csv", without=["claims", "page"]),
    "published": lambda plan, *names: [path for n in names if (path := plan.published(n))],
    "claims": lambda plan: [str(plan.root / "config" / "claims.yaml")],
}


FACTS: dict[str, Callable[..., Any]] = {
    "gaps": lambda plan: plan.main.gaps,
    "audit_gaps": lambda plan, *parts: [g for part in parts for g in plan.audited[part].gaps],
    "semivalue_gaps": lambda plan: plan.compared.gaps,
    "semivalue_seeds": lambda plan: plan.compared_seeds,
    "module_gaps": lambda plan: plan.trained.gaps,
    "module_seeds": lambda plan: plan.trained_seeds,
    "experiment_gaps": lambda plan, *names: [
        gap
        for experiment in (plan.experiments[name] for name in names)
        for gap in (*experiment.gaps, *plan.left_out(experiment))
    ],
    "experiment_absent": lambda plan, *names: [
        gap for name in names for gap in plan.experiments[name].gaps
    ],
    "experiment_methods": lambda plan, name: {
        PROBLEM.format(**p): plan.methods_of(p) for p in plan.experiments[name].problems
    },
    "methods": lambda plan: plan.main_methods,
    "methods_of": lambda plan, *names: unique(
        m for p in _of_experiments(plan, *names) for m in plan.methods_of(p)
    ),
    "defaults": lambda plan: plan.grid_defaults,
    "threads": lambda plan: plan.config["timings"]["threads"],
    "needed": lambda plan: [
        (p["dataset"], p["n"], part_sizes(p["n"], plan.config["sizes"])) for p in plan.main.problems
    ],
}
