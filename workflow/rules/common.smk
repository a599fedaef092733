"""Names, paths and helpers that the rules share. No numerics."""

from nddv.files import config_hash, source_hash
from nddv.problems.registry import check_name, split_name, unavailable

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
    baseline="|".join(BASELINES) or "none",


# Problems whose data set cannot be had are left out here, and shown as gaps with the reason.
PROBLEMS, GAPS = [], []
for problem in config["problems"]:
    name = problem["dataset"]
    try:
        check_name(name, config["datasets"], config["encoders"])
    except ValueError as error:
        raise WorkflowError(f"problems: {error}")
    reason = unavailable(
        name, config["datasets"][split_name(name)[0]], config["sources"]
    )
    if reason is None:
        PROBLEMS.append(problem)
    else:
        GAPS.append({**problem, "reason": reason})
if not PROBLEMS:
    raise WorkflowError(f"problems: no data set can be had. {GAPS}")
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
    return dataset_entry(wildcards).get("path", [])


def encoder_entry(wildcards):
    """The entry of an encoder; None for a table."""
    name = wildcards.get("encoder") or split_name(wildcards.get("dataset", ""))[1]
    return config["encoders"][name] if name else None


def problem_options(wildcards):
    """What `make_problem` is told besides the address."""
    resampled = {(one["dataset"], str(one["n"])) for one in PROBLEMS if one["resample"]}
    return {
        "sizes": config["sizes"],
        "corrupt_valid": config["corrupt_valid"],
        "resample": (wildcards.dataset, wildcards.n) in resampled,
    }


def resampled_sizes():
    """The sizes at which rows of a data set are drawn with replacement, by data set."""
    found = {}
    for problem in PROBLEMS:
        if problem["resample"]:
            found.setdefault(problem["dataset"], []).append(problem["n"])
    return {name: sorted(set(sizes)) for name, sizes in found.items()}


def baseline_settings(wildcards):
    """The settings of one baseline."""
    return config["settings"][wildcards.baseline]


def project_file(path):
    """A file of the project, as seen from the folder where Snakemake runs."""
    return os.path.relpath(os.path.join(workflow.basedir, path))
