"""Where the arguments of tables and figures come from: files, and facts of the configuration.

An entry of the catalogue names a source, ``"audit:errors"``; what follows the colon, separated by
commas, is told to the function of that source. A new table most often needs none but these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nddv.problems.registry import split_name
from nddv.problems.sizes import part_sizes

if TYPE_CHECKING:
    from nddv.workflow.plan import Plan
    from nddv.workflow.valuations import Problem

EVALUATION = "results/evaluation/{dataset}/n{n}/{corruption}"
AUDIT = "results/audits/{dataset}/n{n}/{corruption}"
AUDIT_OF_SEED = f"{AUDIT}/seed{{seed}}"

# Which part of the audits writes the rows of a kind, and to which file.
AUDIT_FILES = {
    "errors": ("marginals", f"{AUDIT}/errors.csv"),
    "gaps": ("marginals", f"{AUDIT}/gaps.csv"),
    "ranks": ("marginals", f"{AUDIT}/ranks.csv"),
    "marginal_certificates": ("marginals", f"{AUDIT_OF_SEED}/certificates.csv"),
    "retraining_certificates": ("retraining", f"{AUDIT_OF_SEED}/retraining/certificates.csv"),
    "fidelity": ("retraining", f"{AUDIT_OF_SEED}/retraining/fidelity.csv"),
    "datamodelling": ("retraining", f"{AUDIT_OF_SEED}/retraining/datamodelling.csv"),
    "bridge": ("bridge", f"{AUDIT_OF_SEED}/bridge.csv"),
    "records": ("marginals", f"{AUDIT_OF_SEED}/marginals.json"),
}


def _evaluation(file: str, problems: Callable[[Plan], Any]) -> Callable[[Plan], list[str]]:
    """The source of a file of the evaluation of some problems."""
    return lambda plan: plan.for_problems(f"{EVALUATION}/{file}", problems(plan))


def _experiment_problems(plan: Plan, *names: str) -> list[Problem]:
    return [problem for name in names for problem in plan.experiments[name].problems]


def _groups(plan: Plan, dataset: str = "") -> list[str]:
    """Of all main problems, or of those of one data set."""
    names = [p for p in plan.problems if dataset in ("", split_name(p["dataset"])[0])]
    return plan.for_problems(f"{EVALUATION}/groups_summary.csv", names)


def _audit(plan: Plan, kind: str) -> list[str]:
    if kind == "certificates":  # against the downstream model, and against the NDDV model itself
        return [*_audit(plan, "marginal_certificates"), *_audit(plan, "retraining_certificates")]
    part, pattern = AUDIT_FILES[kind]
    problems = plan.audited[part][0]
    by_seed = "{seed}" in pattern
    return (plan.for_seeds if by_seed else plan.for_problems)(pattern, problems)


def _value_records(plan: Plan, method: str = "") -> list[str]:
    """Records of all values that the detection needs; or of the main problems, by one method."""
    if not method:
        valued = plan.methods_by_problem if "detection" in plan.config["parts"] else ()
        return [path for address in valued for path in plan.values_of(address, ".json")]
    pattern = f"results/values/{{dataset}}/n{{n}}/{{corruption}}/seed{{seed}}/{method}.json"
    return plan.for_seeds(pattern, [p for p in plan.problems if method in plan.methods_of(p)])


def _pictured(plan: Plan, pattern: str) -> str:
    """A pattern with the wildcards of an address, for the run that is pictured."""
    return pattern.format(
        **plan.config["pictures"]["problem"], seed=plan.config["pictures"]["seed"]
    )


def _weight_maps(plan: Plan) -> list[str]:
    """Weight maps of all seeds, that of the pictured run first."""
    problem, own = plan.config["pictures"]["problem"], plan.config["pictures"]["seed"]
    pattern = "results/trajectories/{dataset}/n{n}/{corruption}/seed{seed}/weight_map.csv"
    return [pattern.format(**problem, seed=seed) for seed in dict.fromkeys([own, *plan.seeds])]


TRAJECTORIES = "results/trajectories/{dataset}/n{n}/{corruption}/seed{seed}"
COORDINATES = "results/kernels/{dataset}/n{n}/{corruption}/seed{seed}"

SOURCES: dict[str, Callable[..., list[str]]] = {
    # detection
    "detection_scores": _evaluation("detection.csv", lambda plan: plan.problems),
    "detection_curves": _evaluation("detection_curve.csv", lambda plan: plan.problems),
    "experiment_scores": lambda plan, *names: plan.for_problems(
        f"{EVALUATION}/detection.csv", _experiment_problems(plan, *names)
    ),
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
    "groups": _groups,
    # records
    "records": _value_records,
    "summaries": lambda plan: [f"results/data/{name}/summary.json" for name in plan.datasets],
    # audits
    "audit": _audit,
    "audit_records": lambda plan: _audit(plan, "records"),
    "stability": lambda plan, check: [f"results/audits/stability/{check}.csv"],
    # run times
    "timings": lambda plan, table: plan.timings.files(table),
    # one run, drawn
    "trajectories": lambda plan, frame: [_pictured(plan, f"{TRAJECTORIES}/{frame}.csv")],
    "weight_maps": _weight_maps,
    "kernels": lambda plan, frame: [f"results/kernels/{frame}.csv"],
    "coordinates": lambda plan, frame: [_pictured(plan, f"{COORDINATES}/{frame}.csv")],
    # the report itself, and the paper
    "table": lambda plan, name: [f"reports/tables/{name}.csv"],
    "tables": lambda plan: plan.report_files("tables", "csv", without=["claims", "page"]),
    "published": lambda plan, *names: [path for n in names if (path := plan.published(n))],
    "claims": lambda plan: [str(plan.root / "config" / "claims.yaml")],
}


FACTS: dict[str, Callable[..., Any]] = {
    "gaps": lambda plan: plan.gaps,
    "audit_gaps": lambda plan, *parts: [g for part in parts for g in plan.audited[part][1]],
    "experiment_gaps": lambda plan, *names: [
        gap
        for experiment in (plan.experiments[name] for name in names)
        for gap in (*experiment.gaps, *plan.left_out(experiment))
    ],
    "experiment_absent": lambda plan, *names: [
        gap for name in names for gap in plan.experiments[name].gaps
    ],
    "experiment_methods": lambda plan, name: {
        f"{p['dataset']}/n{p['n']}/{p['corruption']}": plan.methods_of(p)
        for p in plan.experiments[name].problems
    },
    "methods": lambda plan: list(plan.config["methods"]),
    "methods_of": lambda plan, *names: list(
        dict.fromkeys(m for p in _experiment_problems(plan, *names) for m in plan.methods_of(p))
    ),
    "defaults": lambda plan: plan.grid_defaults,
    "threads": lambda plan: plan.config["timings"]["threads"],
    "needed": lambda plan: [
        (p["dataset"], p["n"], part_sizes(p["n"], plan.config["sizes"])) for p in plan.problems
    ],
}
