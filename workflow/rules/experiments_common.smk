"""The tables of detection: which problems, valued by which methods; and what follows from that."""

from nddv.problems.sizes import part_sizes
from nddv.methods.variants import META_SIZE


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
    problems, gaps = divide(grids)
    about = {"title": entry["title"], "across": entry["across"]}
    EXPERIMENTS[name] = {**about, "problems": problems, "gaps": gaps}

SENSITIVITY = config["sensitivity"]["problem"]
PICTURED = config["pictures"]["problem"]
for name, problem in {"sensitivity": SENSITIVITY, "pictures": PICTURED}.items():
    if divide([problem])[1] and name in config["parts"]:
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
        if setting != NDDV_DEFAULTS.get(parameter)
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


# Problems that are retrained after points were removed or added.
CURATED = [one for one in PROBLEMS if one["n"] <= config["curation"]["up_to"]]
CURATION_SETTINGS = {
    key: value
    for key, value in config["curation"].items()
    if key not in ("up_to", "methods")
}
