"""Names, paths and helpers that the rules share. No numerics."""

from nddv.files import config_hash, source_hash
from nddv.methods import get_method
from nddv.problems.addresses import parse_corruption
from nddv.problems.registry import check_name, code_hash, split_name, unavailable

for name in config["methods"]:
    try:
        get_method(name)
    except ValueError as error:
        raise WorkflowError(f"methods: {error}")

SEEDS = config["seeds"]
NDDV_METHODS = [name for name in config["methods"] if name.startswith("nddv-")]
BASELINES = [name for name in config["methods"] if not name.startswith("nddv-")]

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


def check_problem(problem):
    """Refuse a problem that is misspelt, before anything runs; say why one cannot be had."""
    name, base = problem["dataset"], split_name(problem["dataset"])[0]
    check_name(name, config["datasets"], config["encoders"])
    parse_corruption(problem["corruption"])
    entry = config["datasets"][base]
    path = os.path.expanduser(entry.get("path", ""))
    # Snakemake would take older results for good where their input is gone.
    if path and not os.path.exists(path):
        raise ValueError(
            f"data set {base}: there is no file {path}, seen from {os.getcwd()}"
        )
    encoder = config["encoders"].get(split_name(name)[1])
    return unavailable(name, entry, encoder, ALLOWED)


# Problems whose data set cannot be had are left out here, and shown as gaps with the reason.
PROBLEMS, GAPS = [], []
ADDRESSES = set()
for problem in config["problems"]:
    try:
        reason = check_problem(problem)
        address = PROBLEM.format(**problem)
        if address in ADDRESSES:
            raise ValueError(f"{address} is listed twice")
    except ValueError as error:
        raise WorkflowError(f"problems: {error}")
    ADDRESSES.add(address)
    if reason is None:
        PROBLEMS.append(problem)
    else:
        entry = config["datasets"][split_name(problem["dataset"])[0]]
        about = {"title": entry.get("title", ""), "data": entry.get("data", "table")}
        GAPS.append({**problem, **about, "reason": reason})
if not PROBLEMS:
    reasons = "; ".join(f"{gap['dataset']}: {gap['reason']}" for gap in GAPS)
    raise WorkflowError(f"problems: no data set can be had. {reasons}")
DATASETS = list(dict.fromkeys(problem["dataset"] for problem in PROBLEMS))


def get_final_output():
    """Everything that `rule all` asks for."""
    return [
        *expand("reports/tables/datasets.{suffix}", suffix=["csv", "md", "html"]),
        *expand("reports/tables/detection.{suffix}", suffix=["csv", "md", "html"]),
        *expand("reports/figures/detection_curve.{suffix}", suffix=["png", "svg"]),
    ]


def for_problems(pattern):
    """A pattern with the wildcards of PROBLEM, for every problem of the configuration."""
    return [pattern.format(**problem) for problem in PROBLEMS]


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
    resampled = {PROBLEM.format(**one) for one in PROBLEMS if one["resample"]}
    return {
        "sizes": config["sizes"],
        "corrupt_valid": config["corrupt_valid"],
        "resample": address in resampled,
    }


def baseline_settings(wildcards):
    """The settings of one baseline; an evaluator of OpenDataVal may have none."""
    return config["settings"].get(wildcards.baseline, {})


def baseline_sources(wildcards):
    """The code that decides the values of one baseline."""
    return source_hash(*get_method(wildcards.baseline).modules)


def project_file(path):
    """A file of the project, as seen from the folder where Snakemake runs."""
    return os.path.relpath(os.path.join(workflow.basedir, path))
