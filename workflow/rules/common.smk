"""Names, paths and helpers that the rules share. No numerics."""

from nddv.files import config_hash, source_hash

SEEDS = config["seeds"]
NDDV_METHODS = [name for name in config["methods"] if name.startswith("nddv-")]
BASELINES = [name for name in config["methods"] if not name.startswith("nddv-")]

PROBLEM = "{dataset}/n{n}/{corruption}"
ADDRESS = "{dataset}/n{n}/{corruption}/seed{seed}"


wildcard_constraints:
    dataset="[A-Za-z0-9_@-]+",
    n=r"\d+",
    corruption=r"clean|label\d+",
    seed=r"\d+",
    baseline="|".join(BASELINES) or "none",


for problem in config["problems"]:
    if problem["dataset"] not in config["datasets"]:
        known = ", ".join(config["datasets"])
        raise WorkflowError(f"Unknown data set {problem['dataset']!r}; known: {known}")


def get_final_output():
    """Everything that `rule all` asks for."""
    return [
        *expand("reports/tables/detection.{suffix}", suffix=["csv", "md", "html"]),
        *expand("reports/figures/detection_curve.{suffix}", suffix=["png", "svg"]),
    ]


def for_problems(pattern):
    """A pattern with the wildcards of PROBLEM, for every problem of the configuration."""
    return [pattern.format(**problem) for problem in config["problems"]]


def for_seeds(pattern):
    """A pattern with a {seed}, for every seed; its other wildcards stay."""
    return expand(pattern, seed=SEEDS, allow_missing=True)


def dataset_entry(wildcards):
    """The entry of a data set, with its name."""
    return {"name": wildcards.dataset, **config["datasets"][wildcards.dataset]}


def baseline_settings(wildcards):
    """The settings of one baseline."""
    return config["settings"][wildcards.baseline]


def project_file(path):
    """A file of the project, as seen from the folder where Snakemake runs."""
    return os.path.relpath(os.path.join(workflow.basedir, path))
