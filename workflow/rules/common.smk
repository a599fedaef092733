"""Names, paths and helpers that the rules share. No numerics."""

from functools import cache

from nddv.support import provenance
from nddv.support.provenance import config_hash
from nddv.methods.registry import get_method
from nddv.problems.registry import code_hash, split_name, unavailable
from nddv.methods.variants import VARIANT_READOUTS

# Thousands of jobs ask for the same few: the sources are read once.
source_hash = cache(provenance.source_hash)

AUDITS = config["audits"]
READOUTS = ["nddv-terminal", "nddv-path", "nddv-participation"]
AUDIT_METHODS = [*READOUTS, *AUDITS["controls"]]

SEEDS = config["seeds"]

STABILITY_CHECKS = [
    "contraction",
    "score_gap_transfer",
    "frozen_aggregate",
    "discretisation",
    "stationarity",
]

TRAJECTORY_FRAMES = [
    "run",
    "points",
    "states",
    "steps",
    "epochs",
    "layers",
    "weight_map",
]

PROBLEM = "{dataset}/n{n}/{corruption}"
ADDRESS = "{dataset}/n{n}/{corruption}/seed{seed}"


wildcard_constraints:
    dataset="[A-Za-z0-9_@-]+",
    table="[A-Za-z0-9_-]+",
    collection="[A-Za-z0-9_-]+",
    encoder="[A-Za-z0-9_-]+",
    n=r"\d+",
    corruption=r"clean|(label|feature|gauss)\d+(\+(feature|gauss)\d+)*",
    seed=r"\d+",


# One's own table is always allowed: nothing else can stand in for it.
ALLOWED = [*config["sources"], "file"]


def divide(problems):
    """The problems that can be had, and as gaps, with the reason, those that cannot."""
    found, gaps = [], []
    for problem in problems:
        name, encoder = split_name(problem["dataset"])
        entry = config["datasets"][name]
        reason = unavailable(
            problem["dataset"], entry, config["encoders"].get(encoder), ALLOWED
        )
        if reason is None:
            found.append(problem)
        else:
            about = {
                "title": entry.get("title", ""),
                "data": entry.get("data", "table"),
            }
            gaps.append({**problem, **about, "reason": reason})
    return found, gaps


def audit_problems(part):
    """The problems of a part of the audits: its data sets, under its corruptions."""
    return [
        {"dataset": dataset, "n": part["n"], "corruption": corruption}
        for dataset in part["datasets"]
        for corruption in part["corruptions"]
    ]


PROBLEMS, GAPS = divide(config["problems"])
if not PROBLEMS:
    reasons = "; ".join(f"{gap['dataset']}: {gap['reason']}" for gap in GAPS)
    raise WorkflowError(f"problems: no data set can be had. {reasons}")
AUDITED, AUDIT_GAPS = {}, {}
for part in ("marginals", "retraining", "bridge"):
    AUDITED[part], AUDIT_GAPS[part] = divide(audit_problems(AUDITS[part]))


def for_problems(pattern, problems=PROBLEMS):
    """A pattern with the wildcards of PROBLEM, for every problem of the configuration."""
    return [pattern.format(**problem) for problem in problems]


def for_seeds(pattern):
    """A pattern with a {seed}, for every seed; its other wildcards stay."""
    return expand(pattern, seed=SEEDS, allow_missing=True)


def dataset_entry(wildcards):
    """The entry of a data set, whose name may carry an encoder."""
    name = (
        wildcards.get("dataset")
        or wildcards.get("table")
        or wildcards.get("collection")
    )
    return config["datasets"][split_name(name)[0]]


def own_file(wildcards):
    """The file of one's own table, so that a change of it is noticed; nothing for other data sets."""
    path = dataset_entry(wildcards).get("path")
    return os.path.expanduser(path) if path else []


def encoder_entry(wildcards):
    """The entry of an encoder; None for a table."""
    name = wildcards.get("encoder") or split_name(wildcards.get("dataset", ""))[1]
    return config["encoders"][name] if name else None


def encoder_code(wildcards):
    """The code of an encoder, one's own included, so that a change of it is noticed."""
    return code_hash(encoder_entry(wildcards)["function"])


def problem_options(wildcards):
    """What `make_problem` is told besides the address."""
    address = PROBLEM.format(**wildcards)
    return {
        "sizes": config["sizes"],
        "corrupt_valid": config["corrupt_valid"],
        "resample": address in RESAMPLED,
    }


def baseline_settings(wildcards):
    """The settings of one baseline; an evaluator of OpenDataVal may have none."""
    return config["settings"].get(wildcards.baseline, {})


def baseline_sources(wildcards):
    """The code that decides the values of one baseline."""
    return source_hash(*get_method(wildcards.baseline).modules)


def growing(limit):
    """A limit of a job, of megabytes or minutes, that doubles with each attempt: what died of it may live.

    limit : of the first attempt; a number, or a function of the wildcards.
    """

    def of_attempt(wildcards, attempt):
        first = limit(wildcards) if callable(limit) else limit
        return first * 2 ** (attempt - 1)

    return of_attempt


def project_file(path):
    """A file of the project, as seen from the folder where Snakemake runs."""
    return os.path.relpath(os.path.join(workflow.basedir, path))


def check_writable():
    """Refuse, before any work, folders that nothing can be written to."""
    for folder in ("results", "reports"):
        if os.path.exists(folder) and not os.access(folder, os.W_OK):
            raise WorkflowError(
                f"{os.path.abspath(folder)} cannot be written to: make it writable, "
                "or run elsewhere with --directory"
            )
