"""Names, paths and helpers that the rules share. No numerics."""

from nddv.files import config_hash, source_hash
from nddv.methods import get_method
from nddv.names import pick
from nddv.problems.addresses import parse_corruption
from nddv.problems.registry import check_name, code_hash, split_name, unavailable
from nddv.problems.splits import part_sizes
from nddv.variants import META_SIZE, split_variant

AUDITS = config["audits"]
READOUTS = ["nddv-terminal", "nddv-path", "nddv-participation"]
AUDIT_METHODS = [*READOUTS, *AUDITS["controls"]]
# Read out of the one fit of a variant.
VARIANT_READOUTS = ["nddv-terminal", "nddv-path"]

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


def divide(problems, where):
    """The problems that can be had, and as gaps, with the reason, those that cannot."""
    found, gaps, addresses = [], [], set()
    for problem in problems:
        try:
            reason = check_problem(problem)
            address = PROBLEM.format(**problem)
            if address in addresses:
                raise ValueError(f"{address} is listed twice")
        except ValueError as error:
            raise WorkflowError(f"{where}: {error}")
        addresses.add(address)
        if reason is None:
            found.append(problem)
        else:
            entry = config["datasets"][split_name(problem["dataset"])[0]]
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


def grid_problems(grid):
    """The problems of a grid of an experiment, with its methods."""
    kept = ("methods", "resample", "why")
    return [
        {"dataset": dataset, "n": n, "corruption": corruption}
        | {key: grid[key] for key in kept if key in grid}
        for dataset in grid["datasets"]
        for n in grid["n"]
        for corruption in grid["corruptions"]
    ]


PROBLEMS, GAPS = divide(config["problems"], "problems")
if not PROBLEMS:
    reasons = "; ".join(f"{gap['dataset']}: {gap['reason']}" for gap in GAPS)
    raise WorkflowError(f"problems: no data set can be had. {reasons}")
AUDITED, AUDIT_GAPS = {}, {}
for part in ("marginals", "retraining", "bridge"):
    AUDITED[part], AUDIT_GAPS[part] = divide(
        audit_problems(AUDITS[part]), f"audits: {part}"
    )

# Tables of detection: title, what their columns are, problems with methods, and what cannot be had.
EXPERIMENTS = {
    f"detection_n{n}": {
        "title": f"Detection of corrupted training points, n = {n}",
        "across": "dataset",
        "problems": [one for one in PROBLEMS if one["n"] == n],
        "gaps": [gap for gap in GAPS if gap["n"] == n],
    }
    for n in sorted({one["n"] for one in [*PROBLEMS, *GAPS]})
}
for name, entry in config["experiments"].items():
    grids = [problem for grid in entry["grids"] for problem in grid_problems(grid)]
    problems, gaps = divide(grids, f"experiments: {name}")
    about = {"title": entry["title"], "across": entry["across"]}
    EXPERIMENTS[name] = {**about, "problems": problems, "gaps": gaps}

SENSITIVITY = config["sensitivity"]["problem"]
PICTURED = config["pictures"]["problem"]
for name, problem in {"sensitivity": SENSITIVITY, "pictures": PICTURED}.items():
    if divide([problem], name)[1]:
        raise WorkflowError(f"{name}: {problem['dataset']} cannot be had")
NDDV_DEFAULTS = {
    **config["settings"]["nddv"],
    META_SIZE: part_sizes(SENSITIVITY["n"], config["sizes"])["meta"],
}


def variants():
    """The readouts with each setting of the grid of the sensitivity that is not the usual one."""
    return [
        f"{readout}:{parameter}={setting}"
        for parameter, settings in config["sensitivity"]["grid"].items()
        for setting in settings
        for readout in VARIANT_READOUTS
        if setting != NDDV_DEFAULTS[parameter]
    ]


def methods_of(problem):
    """The methods of a problem: its own, or all of the configuration."""
    return problem.get("methods", config["methods"])


def asked_for(experiment):
    """Whether a table of detection belongs to the parts of the configuration; the main ones always do."""
    return experiment not in config["experiments"] or "experiments" in config["parts"]


def all_methods():
    """What each problem of the parts asked for is valued by; by the address of the problem."""
    wanted = [
        (problem, methods_of(problem))
        for name, entry in EXPERIMENTS.items()
        if asked_for(name)
        for problem in entry["problems"]
    ]
    if "sensitivity" in config["parts"]:
        wanted.append((SENSITIVITY, [*VARIANT_READOUTS, *variants()]))
    if "pictures" in config["parts"]:
        wanted.append((PICTURED, VARIANT_READOUTS))
    found = {}
    for problem, names in wanted:
        found.setdefault(PROBLEM.format(**problem), []).extend(names)
    return {address: list(dict.fromkeys(names)) for address, names in found.items()}


METHODS_OF = all_methods()
METHODS = list(
    dict.fromkeys(
        [*(m for names in METHODS_OF.values() for m in names), *AUDIT_METHODS]
    )
)
for name in METHODS:
    try:
        get_method(name)
        variant = None if name.startswith("odv:") else split_variant(name)[1]
        if variant:
            pick(NDDV_DEFAULTS, variant.parameter, "setting of NDDV")
            if name.partition(":")[0] not in VARIANT_READOUTS:
                raise ValueError(
                    f"{name!r}: variants have the readouts {VARIANT_READOUTS}"
                )
    except ValueError as error:
        raise WorkflowError(f"methods: {error}")
NDDV_METHODS = [name for name in METHODS if name in READOUTS]
BASELINES = [name for name in METHODS if not name.startswith("nddv-")]

# Every data set that some table or figure needs, the main ones first.
DATASETS = list(dict.fromkeys(address.partition("/")[0] for address in METHODS_OF))
RESAMPLED = {
    PROBLEM.format(**problem)
    for entry in EXPERIMENTS.values()
    for problem in entry["problems"]
    if problem.get("resample")
}


def left_out(entry):
    """Methods of a table that some of its problems are not valued by, as gaps with a reason."""
    names = list(dict.fromkeys(m for one in entry["problems"] for m in methods_of(one)))
    return [
        {key: problem[key] for key in ("dataset", "n", "corruption")}
        | {
            "method": name,
            "title": get_method(name).title,
            "reason": problem.get("why", "left out of this configuration"),
        }
        for problem in entry["problems"]
        for name in names
        if name not in methods_of(problem)
    ]


def report_files(tables, figures):
    """The files of tables and figures, by their names."""
    return [
        *expand(
            "reports/tables/{table}.{suffix}",
            table=tables,
            suffix=["csv", "md", "html", "tex"],
        ),
        *expand(
            "reports/figures/{figure}.{suffix}", figure=figures, suffix=["pdf", "png"]
        ),
    ]


# Title and problems of the tables of groups. Without Adult there is nothing to say of its protected attribute.
ADULT = [one for one in PROBLEMS if one["dataset"] == "adult"]
GROUP_TABLES = {
    "threshold_sensitivity": ("Sensitivity of detection to the threshold", PROBLEMS),
    "adult_score_gaps": ("Adult: gaps of scores between groups", ADULT),
    "adult_detection_gaps": ("Adult: gaps of detection between groups", ADULT),
}

# What the parts of the configuration ask for: tables and figures by name.
PARTS = {
    "detection": (
        [
            "datasets",
            *(name for name in EXPERIMENTS if name not in config["experiments"]),
            "leaders",
        ],
        ["detection_curve"],
    ),
    "experiments": (
        list(config["experiments"]),
        ["noise_levels", "noise_levels_structured", "imagenet100_curves"],
    ),
    "sensitivity": (["sensitivity", "adjoint_norms"], ["sensitivity"]),
    "curation": (["curation"], ["detection_removal_addition"]),
    "groups": (
        [name for name, (_, problems) in GROUP_TABLES.items() if problems],
        ["class_conditional"],
    ),
    "audits": (
        [
            "epsilon_delta",
            "value_gaps",
            "rank_correlations",
            "certificates",
            "retraining_fidelity",
            "datamodelling",
        ],
        [
            "certificates",
            "certificates_retrained",
            "bridge_budget",
            *(f"stability_{check}" for check in STABILITY_CHECKS),
        ],
    ),
    "scaling": (
        ["wallclock_scaling", "runtime_scaling"],
        ["elapsed_time", "runtime_scaling"],
    ),
    "pictures": (
        [],
        [
            "overview",
            "state_dynamics",
            "layer_epoch_values",
            "valuation_process",
            "matern_kan",
        ],
    ),
}


def report_of(parts):
    """The files of parts of the report."""
    named = [PARTS[part] for part in parts if part in PARTS]
    return report_files(
        [table for tables, _ in named for table in tables],
        [figure for _, figures in named for figure in figures],
    )


def part_files(part):
    """What a part asks for; the claims and the page are made of the other parts that are asked for."""
    if part == "claims":
        return report_files(["claims"], [])
    return ["reports/index.html"] if part == "page" else report_of([part])


def of_all_parts(folder, suffix):
    """The files of the parts that are asked for, of one folder of the report and one format."""
    start = f"reports/{folder}/"
    return [
        path
        for path in report_of(config["parts"])
        if path.startswith(start) and path.endswith(suffix)
    ]


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


# Problems that are retrained after points were removed or added.
CURATED = [one for one in PROBLEMS if one["n"] <= config["curation"]["up_to"]]
CURATION_SETTINGS = {
    key: value
    for key, value in config["curation"].items()
    if key not in ("up_to", "methods")
}


def experiment_input(wildcards):
    """The scores of a table of detection, and the published numbers where the paper has some."""
    if not asked_for(wildcards.experiment):
        raise WorkflowError(
            f"{wildcards.experiment}: `experiments` is not among the parts of this configuration"
        )
    problems = EXPERIMENTS[wildcards.experiment]["problems"]
    pattern = f"results/evaluation/{PROBLEM}/detection.csv"
    found = {"scores": [pattern.format(**problem) for problem in problems]}
    published = f"config/paper/{wildcards.experiment}.csv"
    if os.path.exists(os.path.join(workflow.basedir, published)):
        found["published"] = project_file(published)
    return found


def experiment_methods(wildcards):
    """The methods of each problem of a table, by its address: it may be valued by others too."""
    problems = EXPERIMENTS[wildcards.experiment]["problems"]
    return {PROBLEM.format(**problem): methods_of(problem) for problem in problems}


def experiment_gaps(wildcards):
    """What a table lacks: problems that cannot be had, methods that were left out."""
    entry = EXPERIMENTS[wildcards.experiment]
    return [*entry["gaps"], *left_out(entry)]


def values_of(wildcards, suffix, methods=None):
    """Files of the values of a problem, of all seeds; of all its methods, or of some."""
    address = PROBLEM.format(**wildcards)
    if address not in METHODS_OF:
        raise WorkflowError(f"{address} is in none of the parts of this configuration")
    names = METHODS_OF[address] if methods is None else methods
    return [
        f"results/values/{address}/seed{seed}/{name}{suffix}"
        for name in names
        for seed in SEEDS
    ]


def curated_methods(wildcards):
    """The methods that points are removed and added by: those of the main problem, or some of them."""
    address = PROBLEM.format(**wildcards)
    of_main = [methods_of(one) for one in PROBLEMS if PROBLEM.format(**one) == address]
    names = of_main[0] if of_main else VARIANT_READOUTS
    return [name for name in names if name in config["curation"].get("methods", names)]


def baseline_settings(wildcards):
    """The settings of one baseline; an evaluator of OpenDataVal may have none."""
    return config["settings"].get(wildcards.baseline, {})


def baseline_sources(wildcards):
    """The code that decides the values of one baseline."""
    return source_hash(*get_method(wildcards.baseline).modules)


def project_file(path):
    """A file of the project, as seen from the folder where Snakemake runs."""
    return os.path.relpath(os.path.join(workflow.basedir, path))
